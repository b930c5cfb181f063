/* SPDX-License-Identifier: Apache-2.0 */
/* Finds documents and fills in the placeholders of pages and downloads (see openapi/docs.h). */
#include "openapi/docs.h"

#include <apr_strings.h>
#include <string.h>

#include "openapi/reference.h"
#include "resources/list.h"
#include "resources/scope.h"

const neo_doc *neo_docs_at(const char *path)
{
    for (int i = 0; i < neo_docs_count; i++)
        if (strcmp(neo_docs[i].path, path) == 0)
            return &neo_docs[i];
    return NULL;
}

/* What placeholders are filled from. */
typedef struct {
    const neo_reference *reference;
    const neo_reference_entry *entry; /* or NULL */
} source;

static void add_event_types(neo_buf *out, const source *from)
{
    (void)from;
    for (const neo_event_type *t = neo_event_types; t->name; t++) {
        neo_buf_printf(out, "<dt id=\"%s\"><code>%s</code></dt>\n<dd>%s. Scope <code>%s</code>, since %s.\n", t->name, t->name,
                       t->summary, neo_scope_text(NEO_SCOPE_READ(t->area), out->pool), t->since ? t->since : NEO_FIRST_VERSION);
        neo_buf_puts(out, "<details><summary>Example</summary>\n");
        neo_sample_json_block(out, neo_openapi_event_sample(t, out->pool));
        neo_buf_puts(out, "</details></dd>\n");
    }
}

static void add_base_url(neo_buf *out, const source *from)
{
    neo_buf_html(out, from->reference->base_url);
}

static void add_articles(neo_buf *out, const source *from)
{
    neo_errors_articles(out, from->reference->operations);
}

static void add_error_links(neo_buf *out, const source *from)
{
    neo_errors_links(out, from->reference->operations);
}

static void add_operations(neo_buf *out, const source *from)
{
    neo_reference_list(out, from->reference);
}

static void add_tags(neo_buf *out, const source *from)
{
    neo_reference_tags(out, from->reference);
}

static void add_operation_title(neo_buf *out, const source *from)
{
    neo_buf_html(out, neo_json_string_at(from->entry->described, "summary"));
}

static void add_operation_links(neo_buf *out, const source *from)
{
    neo_reference_links(out, from->reference, from->entry);
}

static void add_operation(neo_buf *out, const source *from)
{
    neo_reference_article(out, from->reference, from->entry);
}

static void add_register(neo_buf *out, const source *from)
{
    (void)from;
    neo_register_add(out);
}

/* Placeholders of pages besides {{rules_of_…}}, with the collection of a resource. */
static const struct {
    const char *word;
    void (*add)(neo_buf *out, const source *from);
} placeholders[] = {
    {"base_url", add_base_url},
    {"error_articles", add_articles},
    {"error_links", add_error_links},
    {"events", add_event_types},
    {"operations", add_operations},
    {"operation_tags", add_tags},
    {"operation_title", add_operation_title},
    {"operation_links", add_operation_links},
    {"operation", add_operation},
    {"register", add_register},
};

static int is_word(const char *text, size_t len, const char *word)
{
    return len == strlen(word) && strncmp(text, word, len) == 0;
}

static void fill(neo_buf *out, const source *from, const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof placeholders / sizeof *placeholders; i++)
        if (is_word(word, len, placeholders[i].word))
            placeholders[i].add(out, from);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if (is_word(word, len, apr_pstrcat(out->pool, "rules_of_", (*r)->collection, NULL)))
            neo_rules_add(out, *r);
}

neo_text neo_docs_content(const neo_doc *document, const neo_reference *reference, const neo_reference_entry *entry,
                          apr_pool_t *pool)
{
    const char *at = (const char *)document->bytes, *end = at + document->len, *open, *close;
    const source from = {reference, entry};
    apr_pool_t *scratch;
    neo_buf out;
    if (document->is_immutable)
        return (neo_text){at, document->len};
    apr_pool_create(&scratch, pool);
    neo_buf_init(&out, scratch, 65536);
    while ((open = memmem(at, (size_t)(end - at), "{{", 2)) && (close = memmem(open, (size_t)(end - open), "}}", 2))) {
        neo_buf_add(&out, at, (apr_size_t)(open - at));
        fill(&out, &from, open + 2, (size_t)(close - open - 2));
        at = close + 2;
    }
    neo_buf_add(&out, at, (apr_size_t)(end - at));
    neo_text content = {apr_pstrmemdup(pool, out.ptr, out.len), out.len};
    apr_pool_destroy(scratch);
    return content;
}
