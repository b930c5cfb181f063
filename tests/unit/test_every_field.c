/* SPDX-License-Identifier: Apache-2.0 */
/* Every field of every resource, also in objects and lists. Walks the tables, so that new fields are tested too. */
#include "body.h"

#include <apr_strings.h>

/* A field, and the text before and after it in a body: {"commission":{"splits":[{"bps": and }]}} */
typedef struct {
    const neo_resource *resource;
    const neo_field *field;
    const char *path, *open, *close;
} place;

typedef void (*place_test)(const place *p, apr_pool_t *pool);

static void walk(const neo_field *fields, const place *outer, place_test test, apr_pool_t *pool)
{
    for (const neo_field *f = fields; f->name; f++) {
        place here = {outer->resource, f, apr_pstrcat(pool, outer->path, f->name, NULL),
                      apr_psprintf(pool, "%s{\"%s\":", outer->open, f->name), apr_pstrcat(pool, "}", outer->close, NULL)};
        if (f->flags & NEO_SERVER)
            continue;
        test(&here, pool);
        if (!f->fields)
            continue;
        int is_list = f->type == NEO_LIST;
        here.path = apr_pstrcat(pool, here.path, is_list ? "[0]." : ".", NULL);
        here.open = apr_pstrcat(pool, here.open, is_list ? "[" : "", NULL);
        here.close = apr_pstrcat(pool, is_list ? "]" : "", here.close, NULL);
        walk(f->fields, &here, test, pool);
    }
}

static void for_each_field(place_test test, apr_pool_t *pool)
{
    for (int i = 0; i < COUNT(minimal_bodies); i++)
        walk(minimal_bodies[i].resource->fields, &(place){minimal_bodies[i].resource, NULL, "", "", ""}, test, pool);
}

/* Whether an error with the path of the value is reported; other errors are ignored. */
static int is_reported(const place *p, const char *value, apr_pool_t *pool)
{
    neo_json *clean;
    const char *change = apr_pstrcat(pool, p->open, value, p->close, NULL), *code = "";
    const neo_problem *problem = neo_validate(p->resource, body_of(p->resource, change, pool), pool, &clean);
    for (int i = 0; problem && i < problem->items->nelts; i++)
        if (strcmp(APR_ARRAY_IDX(problem->items, i, neo_problem_item).field, p->path) == 0)
            code = APR_ARRAY_IDX(problem->items, i, neo_problem_item).code;
    size_t len = strlen(code);
    assert_true(len == 0 || strncmp(code, "validation.", 11) == 0);
    return len > 8 && strcmp(code + len - 8, "_invalid") == 0;
}

static void assert_refused_value(const place *p, const char *value, apr_pool_t *pool)
{
    if (!is_reported(p, value, pool))
        fail_msg("%s: %s takes %.60s", p->resource->name, p->path, value);
}

static void assert_accepted_value(const place *p, const char *value, apr_pool_t *pool)
{
    if (is_reported(p, value, pool))
        fail_msg("%s: %s does not take %.60s", p->resource->name, p->path, value);
}

static neo_json_kind kind_of(const neo_field *field)
{
    switch (field->type) {
    case NEO_BOOLEAN: return NEO_JSON_BOOLEAN;
    case NEO_INTEGER:
    case NEO_DECIMAL: return NEO_JSON_INTEGER;
    case NEO_OBJECT:
    case NEO_MAP: return NEO_JSON_OBJECT;
    case NEO_ENUM_LIST:
    case NEO_TEXT_LIST:
    case NEO_LIST:
    case NEO_REFERENCE_LIST: return NEO_JSON_ARRAY;
    default: return NEO_JSON_STRING;
    }
}

static void refuses_other_kinds(const place *p, apr_pool_t *pool)
{
    static const struct {
        neo_json_kind kind;
        const char *text;
    } values[] = {
        {NEO_JSON_BOOLEAN, "true"},         {NEO_JSON_INTEGER, "7"}, {NEO_JSON_STRING, "\"x\""}, {NEO_JSON_ARRAY, "[\"x\"]"},
        {NEO_JSON_OBJECT, "{\"a\":\"b\"}"},
    };
    for (int v = 0; v < COUNT(values); v++)
        if (values[v].kind != kind_of(p->field))
            assert_refused_value(p, values[v].text, pool);
    if (p->field->type != NEO_DECIMAL)
        assert_refused_value(p, "1.5", pool);
}

TEST(every_field_refuses_every_other_kind_of_value)
{
    for_each_field(refuses_other_kinds, *state);
}

static void accepts_its_example(const place *p, apr_pool_t *pool)
{
    if (p->field->example && p->field->type != NEO_LIST) /* elements of a list must match the sums of the whole example */
        assert_accepted_value(p, p->field->example, pool);
}

TEST(every_field_accepts_its_example)
{
    for_each_field(accepts_its_example, *state);
}

static const char *repeated(const char *text, long long times, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 1024);
    neo_buf_putc(&out, '"');
    while (times-- > 0)
        neo_buf_puts(&out, text);
    neo_buf_putc(&out, '"');
    return out.ptr;
}

static void has_the_limits_of_its_table(const place *p, apr_pool_t *pool)
{
    const neo_field *f = p->field;
    if (f->type == NEO_INTEGER || f->type == NEO_DECIMAL) {
        assert_accepted_value(p, apr_psprintf(pool, "%ld", (long)f->min), pool);
        assert_accepted_value(p, apr_psprintf(pool, "%ld", (long)f->max), pool);
        assert_refused_value(p, apr_psprintf(pool, "%ld", (long)f->min - 1), pool);
        assert_refused_value(p, apr_psprintf(pool, "%ld", (long)f->max + 1), pool);
    }
    if (f->type != NEO_STRING)
        return;
    assert_refused_value(p, repeated("a", f->max + 1, pool), pool);
    assert_refused_value(p, repeated(" ", 3, pool), pool);
    assert_refused_value(p, "\"a\\u0001b\"", pool);
    if (!f->rule)
        assert_accepted_value(p, repeated("\xF0\x9F\x8F\xA0", f->max, pool), pool);
}

TEST(every_field_has_the_limits_of_its_table)
{
    for_each_field(has_the_limits_of_its_table, *state);
}

static void accepts_only_its_values(const place *p, apr_pool_t *pool)
{
    for (const char *const *v = p->field->values; v && *v; v++) {
        const char *value = apr_psprintf(pool, p->field->type == NEO_ENUM ? "\"%s\"" : "[\"%s\"]", *v);
        assert_accepted_value(p, value, pool);
    }
    if (p->field->values)
        assert_refused_value(p, p->field->type == NEO_ENUM ? "\"Sale\"" : "[\"Seller\"]", pool);
}

TEST(every_enumeration_accepts_only_its_values)
{
    for_each_field(accepts_only_its_values, *state);
}

/* Required members of an optional object or list are required only if that is present. */
static void is_required(const place *p, apr_pool_t *pool)
{
    neo_json *clean;
    int found = 0;
    const char *change = apr_pstrcat(pool, p->open, "null", p->close, NULL);
    const neo_problem *problem = neo_validate(p->resource, body_of(p->resource, change, pool), pool, &clean);
    if (!(p->field->flags & NEO_REQUIRED))
        return;
    for (int i = 0; problem && i < problem->items->nelts; i++) {
        const neo_problem_item *item = &APR_ARRAY_IDX(problem->items, i, neo_problem_item);
        found |= strcmp(item->field, p->path) == 0 && strstr(item->code, "_required") != NULL;
    }
    if (!found)
        fail_msg("%s: %s is not required", p->resource->name, p->path);
}

TEST(every_required_field_is)
{
    for_each_field(is_required, *state);
}
