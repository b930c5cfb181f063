/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the page of errors from the catalogue and the resource tables (see openapi/docs.h). */
#include <apr_strings.h>
#include <string.h>

#include "openapi/docs.h"
#include "schema/batch.h"
#include "schema/operation.h"

/* ---------------------------------------------------------------- text */

static void add_paragraph(neo_buf *out, const char *text)
{
    neo_buf_puts(out, "<p>");
    neo_buf_html(out, text);
    neo_buf_puts(out, "</p>\n");
}

/* The pattern of a code with its braces replaced. */
static const char *code_pattern(neo_code code, const char *open, const char *close, apr_pool_t *pool)
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

/* ---------------------------------------------------------------- tables: the codes of a pattern by resource and field */

/* Whether the code applies to the field. */
static int applies_to(neo_code code, const neo_field *field)
{
    if (code == NEO_VALIDATION_FIELD_REQUIRED)
        return field->flags & (NEO_REQUIRED | NEO_CONDITIONAL);
    if (code == NEO_VALIDATION_FIELD_NOT_FOUND)
        return field->type == NEO_REFERENCE || field->type == NEO_REFERENCE_LIST;
    return 1;
}

static void add_enum_values(neo_buf *out, const neo_field *field)
{
    neo_buf_puts(out, field->type == NEO_ENUM ? "One of " : "One or more of ");
    for (const char *const *v = field->values; *v; v++)
        neo_buf_printf(out, "%s`%s`", v > field->values ? ", " : "", *v);
    neo_buf_putc(out, '.');
}

/* Describes the accepted values of a field. */
static const char *accepted_values(const neo_field *field, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 128);
    switch (field->type) {
    case NEO_STRING:
        if (!field->max) {
            neo_buf_puts(&out, "A string.");
            break;
        }
        neo_buf_printf(
            &out, field->normalize ? "A string; %lld to %lld characters are stored." : "A string of %lld to %lld characters.",
            field->min ? field->min : 1, field->max);
        break;
    case NEO_TIMESTAMP: neo_buf_puts(&out, "An RFC 3339 date-time."); break;
    case NEO_DATE: neo_buf_puts(&out, "A date from 1800 on, such as 2026-01-31."); break;
    case NEO_OBJECT: neo_buf_puts(&out, "An object."); break;
    case NEO_BOOLEAN: neo_buf_puts(&out, "true or false."); break;
    case NEO_ENUM:
    case NEO_ENUM_LIST: add_enum_values(&out, field); break;
    case NEO_INTEGER: neo_buf_printf(&out, "An integer from %lld to %lld.", field->min, field->max); break;
    case NEO_DECIMAL: neo_buf_printf(&out, "A number from %lld to %lld.", field->min, field->max); break;
    case NEO_TEXT_LIST: neo_buf_printf(&out, "Up to %d strings of 1 to %lld characters.", field->max_items, field->max); break;
    case NEO_LIST: neo_buf_printf(&out, "Up to %d objects.", field->max_items); break;
    case NEO_MAP: neo_buf_printf(&out, "Up to %d strings of at most %lld characters.", field->max_items, field->max); break;
    case NEO_REFERENCE:
    case NEO_REFERENCE_LIST:
        neo_buf_puts(&out, field->refers ? apr_psprintf(pool,
                                                        field->type == NEO_REFERENCE ? "The id of a %s."
                                                                                     : "A list of ids of resources of type %s.",
                                                        field->refers->name)
                                         : "An id.");
        break;
    case NEO_TYPES: break;
    }
    return out.ptr;
}

static void add_row(neo_buf *out, const char *code, const char *text)
{
    neo_buf_printf(out, "<tr id=\"%s\"><td><a href=\"#%s\"><code>%s</code></a></td><td>", code, code, code);
    neo_buf_html(out, text);
    neo_buf_puts(out, "</td></tr>\n");
}

static void add_field_rows(neo_buf *out, neo_code code, const neo_resource *resource, const neo_field *fields,
                           const char *outer)
{
    for (const neo_field *f = fields; f->name; f++) {
        const char *path = apr_pstrcat(out->pool, outer, f->name, NULL);
        if (f->flags & NEO_SERVER)
            continue;
        if (applies_to(code, f))
            add_row(out, filled_code(code, resource, path, out->pool),
                    apr_pstrcat(out->pool, f->doc, " ", accepted_values(f, out->pool), NULL));
        if (f->fields)
            add_field_rows(out, code, resource, f->fields, apr_pstrcat(out->pool, path, ".", NULL));
    }
}

/* Request bodies and subresources of a resource, each once. */
static void add_operation_rows(neo_buf *rows, const neo_operation *const *operations, neo_code code,
                               const neo_resource *resource)
{
    const char *last = "";
    for (; *operations; operations++) {
        const neo_operation *o = *operations;
        if (strncmp(o->path, resource->collection, strlen(resource->collection)) != 0)
            continue;
        if (has_field(code) && o->body)
            add_field_rows(rows, code, o->body, o->body->fields, "");
        if (code != NEO_NOT_FOUND_RESOURCE || !o->subresource || strcmp(o->subresource, last) == 0)
            continue;
        const neo_resource subresource = {.name = last = o->subresource};
        add_row(rows, filled_code(code, &subresource, "", rows->pool),
                apr_psprintf(rows->pool, "A %s that belongs to a %s.", o->subresource, resource->name));
    }
}

static void add_table(neo_buf *out, const char *title, const neo_buf *rows)
{
    if (rows->len)
        neo_buf_printf(out, "<table>\n<caption>%s</caption>\n<tbody>\n%s</tbody>\n</table>\n", title, rows->ptr);
}

/* Operations outside the collections: the fields of their bodies and the resources that they refer to. */
static void add_other_tables(neo_buf *out, const neo_operation *const *operations, neo_code code)
{
    const char *last = "";
    const neo_resource *described = NULL; /* operations that follow each other can have the same body */
    for (; *operations; operations++) {
        const neo_operation *o = *operations;
        if (!o->tag) /* it belongs to a collection, which has its table */
            continue;
        const neo_resource missing = {.name = o->subresource ? o->subresource : o->resource ? o->resource->name : ""};
        neo_buf rows;
        neo_buf_init(&rows, out->pool, 1024);
        const neo_resource *body = o->body ? o->body : o->resource;
        if (o->resource && o->accepts & NEO_ACCEPTS_BODY && has_field(code)) {
            if (body != described)
                add_field_rows(&rows, code, body, body->fields, "");
            described = body;
        } else if (o->resource && code == NEO_NOT_FOUND_RESOURCE && !neo_resource_named(missing.name) &&
                   strcmp(missing.name, last) != 0) {
            last = missing.name;
            add_row(&rows, filled_code(code, &missing, "", out->pool),
                    apr_psprintf(out->pool, "A %s of the organization.", missing.name));
        }
        add_table(out, o->resource ? o->resource->title : "", &rows);
    }
}

/* A table for each resource that has codes of this pattern. */
static neo_text make_tables(const neo_operation *const *operations, neo_code code, apr_pool_t *pool)
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
        if (has_field(code) && (*r)->has_batch)
            add_field_rows(&rows, code, *r, neo_batch_fields, "");
        add_operation_rows(&rows, operations, code, *r);
        add_table(&out, (*r)->title, &rows);
    }
    add_other_tables(&out, operations, code);
    return neo_buf_text(&out);
}

/* ---------------------------------------------------------------- the page */

/* The anchor of an article: the code without braces. */
static const char *code_anchor(neo_code code, apr_pool_t *pool)
{
    return code_pattern(code, "", "", pool);
}

static void add_article(neo_buf *out, const neo_operation *const *operations, neo_code code)
{
    const char *anchor = code_anchor(code, out->pool);
    neo_buf_printf(out, "<article id=\"%s\">\n<h3><a href=\"#%s\"><code>%s</code></a> <span class=\"status\">%d</span></h3>\n",
                   anchor, anchor, code_pattern(code, "&lt;", "&gt;", out->pool), neo_code_row(code)->status);
    add_paragraph(out, neo_code_row(code)->meaning);
    add_paragraph(out, neo_code_row(code)->fix);
    if (is_pattern(code))
        neo_buf_puts(out, make_tables(operations, code, out->pool).ptr);
    neo_buf_puts(out, "</article>\n");
}

/* The page has two parts, the list of contents and the articles, both grouped by type, as the catalogue is. */
static void add_part(neo_buf *out, const neo_operation *const *operations, int has_articles)
{
    const char *type = "", *end = has_articles ? "</section>\n" : "</ul>\n";
    for (neo_code code = 0; code < NEO_CODES; code++) {
        const neo_code_info *row = neo_code_row(code);
        if (is_pattern(code) && make_tables(operations, code, out->pool).len == 0)
            continue; /* it applies to no field, so that no response has such a code */
        if (strcmp(row->type, type) != 0) {
            neo_buf_puts(out, *type ? end : "");
            type = row->type;
            if (has_articles)
                neo_buf_printf(out, "<section class=\"%s\">\n<h2 id=\"%s\">", type, type);
            else
                neo_buf_printf(out, "<p><a href=\"#%s\"><strong>", type);
            neo_buf_printf(out, has_articles ? "%s</h2>\n" : "%s</strong></a></p>\n<ul>\n", neo_type_title(type));
        }
        if (has_articles)
            add_article(out, operations, code);
        else
            neo_buf_printf(out, "<li><a href=\"#%s\"><code>%s</code></a></li>\n", code_anchor(code, out->pool),
                           code_pattern(code, "&lt;", "&gt;", out->pool));
    }
    neo_buf_puts(out, end);
}

void neo_errors_articles(neo_buf *out, const neo_operation *const *operations)
{
    add_part(out, operations, 1);
}

void neo_errors_links(neo_buf *out, const neo_operation *const *operations)
{
    add_part(out, operations, 0);
}
