/* SPDX-License-Identifier: Apache-2.0 */
/* Finds documents and fills in the placeholders of pages and downloads (see openapi/docs.h). */
#include "openapi/docs.h"

#include <apr_strings.h>
#include <string.h>

#include "openapi/openapi.h"
#include "resources/scope.h"

const neo_doc *neo_docs_at(const char *path)
{
    for (int i = 0; i < neo_docs_count; i++)
        if (strcmp(neo_docs[i].path, path) == 0)
            return &neo_docs[i];
    return NULL;
}

/* Compact JSON with a line for each member and element. */
static const char *indented(neo_text json, apr_pool_t *pool)
{
    neo_buf out;
    int depth = 0, is_text = 0;
    neo_buf_init(&out, pool, 2 * json.len);
    for (const char *c = json.ptr; *c; c++) {
        int opens = !is_text && strchr("{[", *c), closes = !is_text && strchr("}]", *c);
        if (*c == '"')
            is_text = !is_text;
        depth -= closes;
        if (closes)
            neo_buf_printf(&out, "\n%*s", 2 * depth, "");
        neo_buf_putc(&out, *c);
        depth += opens;
        if (*c == '\\')
            neo_buf_putc(&out, *++c);
        else if (opens || (!is_text && *c == ','))
            neo_buf_printf(&out, "\n%*s", 2 * depth, "");
        else if (!is_text && *c == ':')
            neo_buf_putc(&out, ' ');
    }
    return out.ptr;
}

static void list_event_types(neo_buf *out, const neo_operation *const *operations)
{
    (void)operations;
    for (const neo_event_type *t = neo_event_types; t->name; t++) {
        neo_buf_printf(out, "<dt id=\"%s\"><code>%s</code></dt>\n<dd>%s. Scope <code>%s</code>, since %s.\n", t->name, t->name,
                       t->summary, neo_scope_text(NEO_SCOPE_READ(t->area), out->pool), t->since ? t->since : NEO_FIRST_VERSION);
        neo_buf_puts(out, "<details><summary>Example</summary>\n<pre><code class=\"language-json\">");
        neo_buf_html(out, indented(neo_json_text(neo_openapi_event_sample(t, out->pool), out->pool), out->pool));
        neo_buf_puts(out, "</code></pre></details></dd>\n");
    }
}

/* Placeholders of pages besides {{base_url}} and {{rules_of_…}}, with the collection of a resource. */
static const struct {
    const char *word;
    void (*add)(neo_buf *out, const neo_operation *const *operations);
} placeholders[] = {
    {"error_articles", neo_errors_articles},
    {"error_links", neo_errors_links},
    {"events", list_event_types},
};

static int is_word(const char *text, size_t len, const char *word)
{
    return len == strlen(word) && strncmp(text, word, len) == 0;
}

static void fill(neo_buf *out, const neo_operation *const *operations, const char *word, size_t len, const char *base_url)
{
    if (is_word(word, len, "base_url"))
        neo_buf_html(out, base_url);
    for (size_t i = 0; i < sizeof placeholders / sizeof *placeholders; i++)
        if (is_word(word, len, placeholders[i].word))
            placeholders[i].add(out, operations);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if (is_word(word, len, apr_pstrcat(out->pool, "rules_of_", (*r)->collection, NULL)))
            neo_rules_add(out, *r);
}

neo_text neo_docs_content(const neo_doc *document, const neo_operation *const *operations, const char *base_url,
                          apr_pool_t *pool)
{
    const char *at = (const char *)document->bytes, *end = at + document->len, *open, *close;
    apr_pool_t *scratch;
    neo_buf out;
    if (document->is_immutable)
        return (neo_text){at, document->len};
    apr_pool_create(&scratch, pool);
    neo_buf_init(&out, scratch, 65536);
    while ((open = memmem(at, (size_t)(end - at), "{{", 2)) && (close = memmem(open, (size_t)(end - open), "}}", 2))) {
        neo_buf_add(&out, at, (apr_size_t)(open - at));
        fill(&out, operations, open + 2, (size_t)(close - open - 2), base_url);
        at = close + 2;
    }
    neo_buf_add(&out, at, (apr_size_t)(end - at));
    neo_text content = {apr_pstrmemdup(pool, out.ptr, out.len), out.len};
    apr_pool_destroy(scratch);
    return content;
}
