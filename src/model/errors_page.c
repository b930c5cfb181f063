/* The page that explains every code to people (see model/openapi.h). One file of HTML: no scripts, nothing from elsewhere. */
#include <apr_strings.h>
#include <string.h>

#include "model/openapi.h"
#include "model/operation.h"

/* clang-format off */
static const char head[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<title>Errors of the Public Integration API</title>\n"
    "<style>\n"
    ":root { color-scheme: light dark; --paper: #fff; --text: #1f2328; --dim: #59636e; --line: #d8dee4; --panel: #f6f8fa;\n"
    "  --link: #0a58b5; --caller: #8a5200; --ours: #b3261e; --here: #fff4c2; }\n"
    "@media (prefers-color-scheme: dark) { :root { --paper: #0f1318; --text: #e6edf3; --dim: #9aa6b2; --line: #30373f;\n"
    "  --panel: #181e25; --link: #86b7fe; --caller: #f0b35a; --ours: #ff8f86; --here: #3b3310; } }\n"
    "* { box-sizing: border-box; }\n"
    "html { scroll-padding-top: 1rem; }\n"
    "body { margin: 0 auto; max-width: 76rem; padding: 2rem 1.25rem 6rem; background: var(--paper); color: var(--text);\n"
    "  font: 1rem/1.55 system-ui, sans-serif; }\n"
    "a { color: var(--link); text-decoration: none; }\n"
    "a:hover, a:focus-visible { text-decoration: underline; }\n"
    "code { font: 0.9em/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }\n"
    "h1 { margin: 0 0 0.5rem; font-size: 2rem; line-height: 1.2; }\n"
    "h2 { margin: 3rem 0 1rem; padding-bottom: 0.3rem; border-bottom: 1px solid var(--line); font-size: 1.4rem; }\n"
    "h3 { display: flex; gap: 1rem; align-items: baseline; justify-content: space-between; margin: 0; font-size: 1.05rem; }\n"
    "header, main p { max-width: 46rem; }\n"
    "nav p { margin: 0; }\n"
    "nav ul { margin: 0.2rem 0 1.2rem; padding: 0; list-style: none; font-size: 0.85rem; }\n"
    "nav strong { font-weight: 600; }\n"
    "article { margin: 0.9rem 0; padding: 0.9rem 1.1rem; border: 1px solid var(--line); border-radius: 0.5rem; }\n"
    "article p { margin: 0.4rem 0 0; }\n"
    "article p + p { color: var(--dim); }\n"
    "article:target, tr:target { background: var(--here); }\n"
    ".status { font: 600 0.9rem/1 ui-monospace, monospace; color: var(--caller); }\n"
    ".internal .status { color: var(--ours); }\n"
    "table { width: 100%; margin-top: 0.9rem; border-collapse: collapse; font-size: 0.9rem; }\n"
    "caption { padding-bottom: 0.3rem; text-align: left; font-weight: 600; }\n"
    "td { padding: 0.4rem 0.6rem; border-top: 1px solid var(--line); vertical-align: top; }\n"
    "td:first-child { width: 55%; padding-left: 0; }\n"
    "td code { font-size: 0.85em; }\n"
    "tr:target td:first-child { padding-left: 0.6rem; }\n"
    "@media (min-width: 62rem) {\n"
    "  .columns { display: grid; grid-template-columns: 20rem minmax(0, 1fr); gap: 3rem; }\n"
    "  nav { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 3rem 0 2rem; }\n"
    "}\n"
    "@media print { nav { display: none; } article { break-inside: avoid; } }\n"
    "</style>\n"
    "</head>\n"
    "<body>\n"
    "<header>\n"
    "<h1>Errors</h1>\n"
    "<p>Every error is a problem document (RFC 9457). Its <code>type</code> is the class, its <code>code</code> says exactly what\n"
    "happened: that is what a program decides by. <code>detail</code> is for people. Where <code>errors</code> is present, each\n"
    "of its members names a field, parameter or header and has a code of its own. Quote <code>request_id</code> when you report\n"
    "a problem.</p>\n"
    "</header>\n"
    "<div class=\"columns\">\n";
/* clang-format on */

static const char tail[] = "</main>\n</div>\n</body>\n</html>\n";

/* ---------------------------------------------------------------- text */

/* Text with what HTML reserves replaced, and `words` between backticks as code. */
static void add_text(neo_buf *out, const char *text)
{
    int in_code = 0;
    for (; *text; text++) {
        switch (*text) {
        case '&': neo_buf_puts(out, "&amp;"); break;
        case '<': neo_buf_puts(out, "&lt;"); break;
        case '>': neo_buf_puts(out, "&gt;"); break;
        case '"': neo_buf_puts(out, "&quot;"); break;
        case '`':
            in_code = !in_code;
            neo_buf_puts(out, in_code ? "<code>" : "</code>");
            break;
        default: neo_buf_putc(out, *text);
        }
    }
}

static void add_paragraph(neo_buf *out, const char *text)
{
    neo_buf_puts(out, "<p>");
    add_text(out, text);
    neo_buf_puts(out, "</p>\n");
}

/* The code's pattern with other braces: open and close stand around each name. */
static const char *pattern_of(neo_code code, const char *open, const char *close, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 64);
    for (const char *c = neo_code_row(code)->code; *c; c++) {
        if (*c == '{' || *c == '}')
            neo_buf_puts(&out, *c == '{' ? open : close);
        else
            neo_buf_putc(&out, *c);
    }
    return out.ptr;
}

static const char *filled_code(neo_code code, const neo_resource *resource, const char *path, apr_pool_t *pool)
{
    neo_problem *problem = NULL;
    neo_problem_field(&problem, pool, code, resource->name, path, "%s", "");
    return problem->code;
}

static int has_field(neo_code code)
{
    return strstr(neo_code_row(code)->code, "{field}") != NULL;
}

static int is_pattern(neo_code code)
{
    return strchr(neo_code_row(code)->code, '{') != NULL;
}

/* ---------------------------------------------------------------- the rows of a pattern: a code for each resource or field */

static int ends_in(const char *text, const char *end)
{
    size_t len = strlen(text), tail_len = strlen(end);
    return len > tail_len && strcmp(text + len - tail_len, end) == 0;
}

/* Whether a field can be wrong in that way. Only fields named …_id or …_ids refer to something. */
static int concerns(neo_code code, const neo_field *field)
{
    if (code == NEO_VALIDATION_FIELD_REQUIRED)
        return field->flags & NEO_REQUIRED;
    if (code == NEO_VALIDATION_FIELD_NOT_FOUND)
        return ends_in(field->name, "_id") || ends_in(field->name, "_ids");
    return 1;
}

/* What a field takes. */
static const char *takes(const neo_field *field, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 128);
    switch (field->type) {
    case NEO_STRING: neo_buf_printf(&out, "A string of %d to %d characters.", field->min ? field->min : 1, field->max); break;
    case NEO_TIMESTAMP: neo_buf_puts(&out, "An RFC 3339 date-time."); break;
    case NEO_OBJECT: neo_buf_puts(&out, "An object."); break;
    case NEO_BOOLEAN: neo_buf_puts(&out, "true or false."); break;
    case NEO_ENUM_LIST:
    case NEO_ENUM:
        for (const char *const *v = field->values; *v; v++)
            neo_buf_printf(&out, "%s`%s`",
                           v > field->values         ? ", "
                           : field->type == NEO_ENUM ? "One of "
                                                     : "One or more of ",
                           *v);
        neo_buf_putc(&out, '.');
        break;
    case NEO_TYPES: break;
    }
    return out.ptr;
}

static void add_row(neo_buf *out, const char *code, const char *text)
{
    neo_buf_printf(out, "<tr id=\"%s\"><td><a href=\"#%s\"><code>%s</code></a></td><td>", code, code, code);
    add_text(out, text);
    neo_buf_puts(out, "</td></tr>\n");
}

static void add_field_rows(neo_buf *out, neo_code code, const neo_resource *resource, const neo_field *fields,
                           const char *outer)
{
    for (const neo_field *f = fields; f->name; f++) {
        const char *path = apr_pstrcat(out->pool, outer, f->name, NULL);
        if (f->flags & NEO_SERVER)
            continue;
        if (concerns(code, f))
            add_row(out, filled_code(code, resource, path, out->pool),
                    apr_pstrcat(out->pool, f->doc, " ", takes(f, out->pool), NULL));
        if (f->type == NEO_OBJECT)
            add_field_rows(out, code, resource, f->fields, apr_pstrcat(out->pool, path, ".", NULL));
    }
}

/* Bodies and ids that belong to a resource without being it, once each. */
static void add_rows_of_operations(neo_buf *rows, neo_code code, const neo_resource *resource)
{
    const char *last = "";
    for (int a = 0; a < NEO_ACTIONS; a++) {
        const neo_operation *o = &neo_operations[a];
        if (strncmp(o->path, resource->collection, strlen(resource->collection)) != 0)
            continue;
        if (has_field(code) && o->body)
            add_field_rows(rows, code, o->body, o->body->fields, "");
        if (code != NEO_NOT_FOUND_RESOURCE || !o->part || strcmp(o->part, last) == 0)
            continue;
        const neo_resource part = {.name = last = o->part};
        add_row(rows, filled_code(code, &part, "", rows->pool),
                apr_psprintf(rows->pool, "A %s that belongs to a %s.", o->part, resource->name));
    }
}

/* A table for each resource that has such codes; nothing where none has. */
static neo_text tables_of(neo_code code, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 4096);
    for (const neo_resource *const *r = neo_resources; *r; r++) {
        neo_buf rows;
        neo_buf_init(&rows, pool, 4096);
        if (has_field(code))
            add_field_rows(&rows, code, *r, (*r)->fields, "");
        else
            add_row(&rows, filled_code(code, *r, "", pool), (*r)->tag_doc);
        add_rows_of_operations(&rows, code, *r);
        if (rows.len)
            neo_buf_printf(&out, "<table>\n<caption>%s</caption>\n<tbody>\n%s</tbody>\n</table>\n", (*r)->title, rows.ptr);
    }
    return neo_buf_text(&out);
}

/* ---------------------------------------------------------------- the page */

/* Whether the page has an article of the code: a pattern that fits no field cannot be answered. */
static int is_shown(neo_code code, apr_pool_t *pool)
{
    return !is_pattern(code) || tables_of(code, pool).len > 0;
}

/* An article's anchor: the code itself, or of a pattern what is left without braces. */
static const char *anchor_of(neo_code code, apr_pool_t *pool)
{
    return pattern_of(code, "", "", pool);
}

static void add_heading(neo_buf *out, neo_code code)
{
    const char *anchor = anchor_of(code, out->pool);
    neo_buf_printf(out, "<article id=\"%s\">\n<h3><a href=\"#%s\"><code>%s</code></a> <span class=\"status\">%d</span></h3>\n",
                   anchor, anchor, pattern_of(code, "&lt;", "&gt;", out->pool), neo_code_row(code)->status);
}

static void add_article(neo_buf *out, neo_code code)
{
    add_heading(out, code);
    add_paragraph(out, neo_code_row(code)->meaning);
    add_paragraph(out, neo_code_row(code)->mend);
    if (is_pattern(code))
        neo_buf_puts(out, tables_of(code, out->pool).ptr);
    neo_buf_puts(out, "</article>\n");
}

static void add_link(neo_buf *out, neo_code code)
{
    neo_buf_printf(out, "<li><a href=\"#%s\"><code>%s</code></a></li>\n", anchor_of(code, out->pool),
                   pattern_of(code, "&lt;", "&gt;", out->pool));
}

/* The contents and the main part, both type by type. */
typedef struct {
    void (*open)(neo_buf *out, const char *type);
    void (*add)(neo_buf *out, neo_code code);
    const char *close;
} page_part;

static void open_links(neo_buf *out, const char *type)
{
    neo_buf_printf(out, "<p><a href=\"#%s\"><strong>%s</strong></a></p>\n<ul>\n", type, neo_type_title(type));
}

static void open_articles(neo_buf *out, const char *type)
{
    neo_buf_printf(out, "<section class=\"%s\">\n<h2 id=\"%s\">%s</h2>\n", type, type, neo_type_title(type));
}

/* The codes of a type stand together in the catalogue. */
static void add_part(neo_buf *out, const page_part *part)
{
    const char *type = NULL;
    for (neo_code code = 0; code < NEO_CODES; code++) {
        const neo_code_info *row = neo_code_row(code);
        if (!is_shown(code, out->pool))
            continue;
        if (!type || strcmp(row->type, type) != 0) {
            neo_buf_puts(out, type ? part->close : "");
            part->open(out, row->type);
            type = row->type;
        }
        part->add(out, code);
    }
    neo_buf_puts(out, part->close);
}

neo_text neo_errors_page(apr_pool_t *pool)
{
    apr_pool_t *scratch;
    neo_buf out;
    apr_pool_create(&scratch, pool);
    neo_buf_init(&out, scratch, 65536);
    neo_buf_puts(&out, head);
    neo_buf_puts(&out, "<nav aria-label=\"Contents\">\n");
    add_part(&out, &(page_part){open_links, add_link, "</ul>\n"});
    neo_buf_puts(&out, "</nav>\n<main>\n");
    add_part(&out, &(page_part){open_articles, add_article, "</section>\n"});
    neo_buf_puts(&out, tail);
    neo_text page = {apr_pstrmemdup(pool, out.ptr, out.len), out.len};
    apr_pool_destroy(scratch);
    return page;
}
