/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas as rows of tables, for the pages of the reference (see openapi/reference.h). */
#include <apr_strings.h>
#include <string.h>

#include "openapi/reference.h"

enum { MAX_DEPTH = 4 };

typedef struct {
    neo_buf *out;
    const neo_reference *reference;
    int depth;
} table;

static void add_properties(const table *t, const char *outer, neo_json *schema);

/* ---------------------------------------------------------------- types */

static const char *list_types(const neo_reference *reference, neo_json *alternatives)
{
    const char *all = NULL;
    for (apr_size_t i = 0; i < neo_json_size(alternatives); i++) {
        const char *one = neo_reference_type(reference, neo_json_at(alternatives, i));
        if (!all || !strstr(all, one))
            all = all ? apr_pstrcat(reference->pool, all, " or ", one, NULL) : one;
    }
    return all;
}

/* ["string", "null"]: null is said by the description of a patch. */
static const char *first_type(neo_json *type)
{
    if (!type)
        return "object";
    return neo_json_get_kind(type) == NEO_JSON_ARRAY ? neo_json_string(neo_json_at(type, 0)) : neo_json_string(type);
}

const char *neo_reference_type(const neo_reference *reference, neo_json *schema)
{
    schema = neo_reference_follow(reference, schema);
    neo_json *either = neo_json_get(schema, "oneOf");
    if (!either)
        either = neo_json_get(schema, "anyOf");
    if (either)
        return list_types(reference, either);
    const char *type = first_type(neo_json_get(schema, "type")), *format = neo_json_string_at(schema, "format");
    if (strcmp(type, "array") == 0 && neo_json_get(schema, "items"))
        return apr_pstrcat(reference->pool, "array of ", neo_reference_type(reference, neo_json_get(schema, "items")), NULL);
    return format && strcmp(format, "int64") != 0 ? format : type;
}

static const char *append(const char *text, const char *more, apr_pool_t *pool)
{
    return *text ? apr_pstrcat(pool, text, "; ", more, NULL) : more;
}

static const char *list_values(neo_json *values, apr_pool_t *pool)
{
    const char *all = "one of";
    for (apr_size_t i = 0; i < neo_json_size(values); i++) {
        const char *value = neo_json_string(neo_json_at(values, i));
        if (value)
            all = apr_pstrcat(pool, all, i ? ", `" : " `", value, "`", NULL);
    }
    return all;
}

const char *neo_reference_limits(neo_json *schema, apr_pool_t *pool)
{
    static const struct {
        const char *least, *most, *unit;
    } ranges[] = {{"minLength", "maxLength", " characters"},
                  {"minimum", "maximum", ""},
                  {"minItems", "maxItems", " items"},
                  {NULL, "maxProperties", " members"}};
    const char *text = "";
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        neo_json *least = ranges[i].least ? neo_json_get(schema, ranges[i].least) : NULL;
        neo_json *most = neo_json_get(schema, ranges[i].most);
        if (most)
            text = append(text,
                          apr_pstrcat(pool, least ? neo_json_text(least, pool).ptr : "at most", least ? " to " : " ",
                                      neo_json_text(most, pool).ptr, ranges[i].unit, NULL),
                          pool);
    }
    neo_json *items = neo_json_get(schema, "items"), *values = neo_json_get(schema, "enum"),
             *value = neo_json_get(schema, "const");
    if (!values && items)
        values = neo_json_get(items, "enum");
    if (values)
        text = append(text, list_values(values, pool), pool);
    if (value && neo_json_string(value))
        text = append(text, apr_pstrcat(pool, "always `", neo_json_string(value), "`", NULL), pool);
    return text;
}

/* ---------------------------------------------------------------- rows */

static int is_required(neo_json *schema, const char *name)
{
    neo_json *names = neo_json_get(schema, "required");
    for (apr_size_t i = 0; names && i < neo_json_size(names); i++)
        if (strcmp(neo_json_string(neo_json_at(names, i)), name) == 0)
            return 1;
    return 0;
}

/* Whether the service sets it, whatever a request has. */
static int is_ignored(neo_json *schema)
{
    return neo_json_is_true(neo_json_get(schema, "readOnly")) && !neo_json_get(schema, "type");
}

static void add_row(const table *t, const char *name, neo_json *field, int required)
{
    neo_json *target = neo_reference_follow(t->reference, field);
    const char *doc = neo_json_string_at(field, "description"), *limits = neo_reference_limits(target, t->out->pool);
    if (!doc)
        doc = neo_json_string_at(target, "description");
    neo_buf_printf(t->out, "<tr><td data-label=\"Field\"><code>%s</code>%s%s</td><td data-label=\"Type\">", name,
                   required ? " <span class=\"note\">required</span>" : "",
                   neo_json_get(field, "x-masked") ? " <span class=\"note\">can be masked</span>" : "");
    neo_buf_html(t->out, neo_reference_type(t->reference, field));
    neo_buf_puts(t->out, "</td><td>");
    neo_buf_html(t->out, doc ? doc : "");
    if (*limits) {
        neo_buf_puts(t->out, doc ? " (" : "(");
        neo_buf_html(t->out, limits);
        neo_buf_puts(t->out, ")");
    }
    neo_buf_puts(t->out, "</td></tr>\n");
}

/* The members of a field, under its name. */
static void add_nested(const table *t, const char *name, neo_json *field)
{
    const char *suffix = ".";
    neo_json *schema = neo_reference_follow(t->reference, field), *items = neo_json_get(schema, "items");
    table inner = *t;
    inner.depth++;
    if (items) {
        schema = neo_reference_follow(t->reference, items);
        suffix = "[].";
    }
    neo_json *either = neo_json_get(schema, "oneOf");
    const char *outer = apr_pstrcat(t->out->pool, name, suffix, NULL);
    /* An id or {external_id}: its type says so. Alternatives of a list's elements are shown one after the other. */
    for (apr_size_t i = 0; items && either && i < neo_json_size(either); i++)
        add_properties(&inner, outer, neo_json_at(either, i));
    if (!either)
        add_properties(&inner, outer, schema);
}

static void add_property(const table *t, const char *outer, neo_json *schema, void *member)
{
    neo_json *field = neo_json_member_value(member);
    const char *name = apr_pstrcat(t->out->pool, outer, neo_json_member_key(member), NULL);
    if (is_ignored(field))
        return;
    add_row(t, name, field, is_required(schema, neo_json_member_key(member)));
    if (t->depth < MAX_DEPTH)
        add_nested(t, name, field);
}

/* What the schema extends comes first, without the members that it describes itself. */
static void add_properties(const table *t, const char *outer, neo_json *schema)
{
    schema = neo_reference_follow(t->reference, schema);
    neo_json *bases = neo_json_get(schema, "allOf"), *properties = neo_json_get(schema, "properties");
    for (apr_size_t i = 0; bases && i < neo_json_size(bases); i++)
        add_properties(t, outer, neo_json_at(bases, i));
    for (void *m = properties ? neo_json_first(properties) : NULL; m; m = neo_json_next(properties, m))
        add_property(t, outer, schema, m);
}

void neo_reference_fields(neo_buf *out, const neo_reference *reference, neo_json *schema)
{
    const table t = {.out = out, .reference = reference};
    neo_json *either = neo_json_get(neo_reference_follow(reference, schema), "oneOf");
    for (apr_size_t i = 0; either && i < neo_json_size(either); i++)
        add_properties(&t, "", neo_json_at(either, i));
    if (!either)
        add_properties(&t, "", schema);
}
