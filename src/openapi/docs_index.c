/* SPDX-License-Identifier: Apache-2.0 */
/* The index of the documentation's search: the text of each section of each page (see openapi/docs.h). */
#include <apr_lib.h>
#include <apr_strings.h>
#include <string.h>

#include "core/buf.h"
#include "openapi/docs.h"

typedef struct {
    neo_buf *out;
    const char *path, *anchor, *title;
    neo_buf heading, text;
    int in_heading;
    apr_pool_t *pool; /* cleared after each page */
} index_writer;

/* What is not text to search: code, drawings, forms, and the links that a page has in common with others. */
static const char *const skipped[] = {"pre", "svg", "form", "nav", NULL};

/* The responses of an operation have the fields of its resource, which the operation that creates it has, too. */
static const char end_of_text[] = "<h2 id=\"responses\" data-unindexed>";

static void add_section(index_writer *w)
{
    const char *const members[] = {w->path, w->anchor, w->title, w->heading.ptr, w->text.ptr};
    if (w->heading.len && (w->text.len || strcmp(w->heading.ptr, w->title) == 0)) {
        neo_buf_puts(w->out, w->out->len > 1 ? ",\n" : "");
        for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
            neo_buf_putc(w->out, i ? ',' : '[');
            neo_buf_json(w->out, members[i]);
        }
        neo_buf_putc(w->out, ']');
    }
    neo_buf_init(&w->heading, w->pool, 64);
    neo_buf_init(&w->text, w->pool, 1024);
}

static void add_character(index_writer *w, char c)
{
    neo_buf *to = w->in_heading ? &w->heading : &w->text;
    int is_space = apr_isspace(c);
    if (!is_space)
        neo_buf_putc(to, c);
    else if (to->len && to->ptr[to->len - 1] != ' ')
        neo_buf_putc(to, ' ');
}

/* Adds the character of a reference. Returns its end. */
static const char *add_reference(index_writer *w, const char *at)
{
    static const struct {
        const char *name;
        char character;
    } references[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&amp;", '&'}};
    for (size_t i = 0; i < sizeof references / sizeof *references; i++)
        if (strncmp(at, references[i].name, strlen(references[i].name)) == 0) {
            add_character(w, references[i].character);
            return at + strlen(references[i].name);
        }
    add_character(w, '&');
    return at + 1;
}

static int is_tag(const char *at, const char *name)
{
    size_t len = strlen(name);
    return strncmp(at + 1, name, len) == 0 && !apr_isalnum(at[1 + len]);
}

/* The end of an element that is skipped; NULL if it is not. */
static const char *end_of_skipped(const index_writer *w, const char *at)
{
    for (const char *const *name = skipped; *name; name++) {
        const char *closing = is_tag(at, *name) ? strstr(at, apr_pstrcat(w->pool, "</", *name, ">", NULL)) : NULL;
        if (closing)
            return strchr(closing, '>') + 1;
    }
    return NULL;
}

/* The id of an element; "" if it has none. */
static const char *id_at(const index_writer *w, const char *at, const char *end)
{
    const char *id = strstr(at, " id=\"");
    return id && id < end ? apr_pstrmemdup(w->pool, id + 5, strcspn(id + 5, "\"")) : "";
}

/* A heading begins a section. That in an article has the article's anchor. Returns the end of the tag or element. */
static const char *read_tag(index_writer *w, const char *at)
{
    const char *skip = end_of_skipped(w, at), *end = strchr(at, '>') + 1;
    int is_article = is_tag(at, "article"), is_heading = at[1] == 'h' && strchr("123", at[2]);
    if (skip)
        return skip;
    if (is_article || is_heading) {
        const char *id = id_at(w, at, end);
        int is_inside = is_heading && !*id && w->text.len == 0 && w->heading.len == 0;
        add_section(w);
        w->anchor = is_inside ? w->anchor : id;
    }
    if (is_heading)
        w->in_heading = 1;
    if (at[1] == '/' && at[2] == 'h' && strchr("123", at[3])) {
        w->in_heading = 0;
        if (!w->title)
            w->title = apr_pstrdup(w->pool, w->heading.ptr);
    } else if (!is_tag(at, "code") && !is_tag(at, "/code") && !is_tag(at, "a") && !is_tag(at, "/a"))
        add_character(w, ' ');
    return end;
}

static void add_page(neo_buf *out, const neo_docs_page *page, apr_pool_t *pool)
{
    index_writer w = {.out = out, .path = page->path, .anchor = "", .pool = pool};
    const char *at = strstr(page->html.ptr, "<main"), *end = strstr(page->html.ptr, end_of_text);
    if (!end)
        end = strstr(page->html.ptr, "</main>");
    neo_buf_init(&w.heading, pool, 64);
    neo_buf_init(&w.text, pool, 1024);
    while (at < end) {
        if (*at == '<')
            at = read_tag(&w, at);
        else if (*at == '&')
            at = add_reference(&w, at);
        else
            add_character(&w, *at++);
    }
    add_section(&w);
}

neo_text neo_docs_index(const apr_array_header_t *pages, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 262144);
    neo_buf_putc(&out, '[');
    for (int i = 0; i < pages->nelts; i++) {
        apr_pool_t *scratch;
        apr_pool_create(&scratch, pool);
        add_page(&out, &APR_ARRAY_IDX(pages, i, neo_docs_page), scratch);
        apr_pool_destroy(scratch);
    }
    neo_buf_putc(&out, ']');
    return neo_buf_text(&out);
}
