/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of bodies: normalized values in order, all errors in one pass. Walks the table, so that new fields are tested too.
 */
#include "unit.h"

#include <apr_strings.h>

#include "core/encode.h"
#include "resources/list.h"
#include "schema/validate.h"

#define NAMED "\"name\":\"Ana\""

/* The validated body of a create; fails if it is refused. */
static const char *cleaned(const char *body, apr_pool_t *pool)
{
    neo_json *clean = NULL;
    neo_problem *problem = neo_validate(&neo_broker, parse_json(body, pool), pool, &clean);
    if (problem)
        fail_msg("%s was refused: %s", body, problem->detail);
    return neo_json_text(clean, pool).ptr;
}

static neo_problem *problem_of(const char *body, apr_pool_t *pool)
{
    neo_json *clean;
    neo_problem *problem = neo_validate(&neo_broker, parse_json(body, pool), pool, &clean);
    if (!problem)
        fail_msg("%s was taken", body);
    assert_int_equal(neo_problem_status(problem), 400);
    return problem;
}

static const neo_problem_item *item_of(const neo_problem *problem, int index)
{
    assert_non_null(problem->items);
    assert_true(index < problem->items->nelts);
    return &APR_ARRAY_IDX(problem->items, index, neo_problem_item);
}

/* A problem of one item, with that field and code. */
static void assert_one(const neo_problem *problem, const char *field, const char *code)
{
    assert_int_equal(problem->items->nelts, 1);
    assert_string_equal(item_of(problem, 0)->field, field);
    assert_string_equal(item_of(problem, 0)->code, code);
    assert_string_equal(problem->code, code);
}

static void assert_invalid(const char *body, const char *field, apr_pool_t *pool)
{
    const char *code = apr_psprintf(pool, "validation.broker.%s_invalid", field);
    for (char *dot = strchr(code, '.') + 8; *dot; dot++)
        if (*dot == '.')
            *dot = '_';
    assert_one(problem_of(body, pool), field, code);
}

/* Every field that a body can set, the members of objects by their paths. */
typedef struct {
    const neo_field *field;
    const char *path;
    const char *open, *close; /* of the body around "name":value */
} place;

static int writable_places(place *places, int max, apr_pool_t *pool)
{
    int n = 0;
    for (const neo_field *f = neo_broker.fields; f->name; f++) {
        if (f->flags & NEO_SERVER)
            continue;
        places[n++] = (place){f, f->name, "", ""};
        for (const neo_field *m = f->fields; m && m->name; m++) {
            assert_true(n < max);
            places[n++] =
                (place){m, apr_pstrcat(pool, f->name, ".", m->name, NULL), apr_psprintf(pool, "\"%s\":{", f->name), "}"};
        }
    }
    return n;
}

/* A valid body except for one value. */
static const char *body_with(const place *p, const char *value, apr_pool_t *pool)
{
    const char *other = strcmp(p->path, "name") == 0 ? "" : NAMED ",";
    return apr_psprintf(pool, "{%s%s\"%s\":%s%s}", other, p->open, p->field->name, value, p->close);
}

/* Valid bodies. */

TEST(a_name_is_enough_and_defaults_are_filled_in)
{
    assert_string_equal(cleaned("{" NAMED "}", *state), "{\"name\":\"Ana\",\"visibility\":\"restricted\"}");
    assert_string_equal(cleaned("{\"visibility\":\"public\"," NAMED "}", *state),
                        "{\"name\":\"Ana\",\"visibility\":\"public\"}");
}

TEST(fields_are_in_the_order_of_the_table)
{
    assert_string_equal(
        cleaned("{\"visibility\":\"private\",\"phone\":\"+55 11 1\",\"bank_account\":{\"pix_key\":\"p\","
                "\"account_type\":\"savings\",\"account_number\":\"1-2\",\"agency\":\"3\",\"bank_name\":\"B\","
                "\"bank_code\":\"001\"},\"email\":\"a@b.c\",\"document_number\":\"5\",\"creci\":\"F-1\"," NAMED "}",
                *state),
        "{\"name\":\"Ana\",\"creci\":\"F-1\",\"document_number\":\"5\",\"email\":\"a@b.c\",\"phone\":\"+55 11 1\","
        "\"bank_account\":{\"bank_code\":\"001\",\"bank_name\":\"B\",\"agency\":\"3\",\"account_number\":\"1-2\","
        "\"account_type\":\"savings\",\"pix_key\":\"p\"},\"visibility\":\"private\"}");
}

TEST(null_means_absent)
{
    assert_string_equal(cleaned("{" NAMED ",\"creci\":null,\"visibility\":null,\"bank_account\":null}", *state),
                        "{\"name\":\"Ana\",\"visibility\":\"restricted\"}");
    assert_string_equal(cleaned("{" NAMED ",\"bank_account\":{\"pix_key\":null}}", *state),
                        "{\"name\":\"Ana\",\"visibility\":\"restricted\"}");
    assert_string_equal(cleaned("{" NAMED ",\"bank_account\":{}}", *state), "{\"name\":\"Ana\",\"visibility\":\"restricted\"}");
}

TEST(service_fields_are_ignored_in_a_body)
{
    static const char *const values[] = {"\"brk_01jd3x8m5t9w2q7r4y6z0a1b3c\"", "null", "5", "[]", "{\"a\":1}", "\"\"", "true"};
    for (const neo_field *f = neo_broker.fields; f->name; f++)
        for (int v = 0; (f->flags & NEO_SERVER) && v < COUNT(values); v++)
            assert_string_equal(cleaned(apr_psprintf(*state, "{\"%s\":%s," NAMED "}", f->name, values[v]), *state),
                                "{\"name\":\"Ana\",\"visibility\":\"restricted\"}");
}

TEST(every_value_of_an_enumeration_is_accepted)
{
    place places[64];
    int n = writable_places(places, COUNT(places), *state), enums = 0;
    for (int i = 0; i < n; i++)
        for (int v = 0; places[i].field->type == NEO_ENUM && places[i].field->values[v]; v++, enums++) {
            const char *value = apr_psprintf(*state, "\"%s\"", places[i].field->values[v]);
            assert_non_null(strstr(cleaned(body_with(&places[i], value, *state), *state), value));
        }
    assert_int_equal(enums, 7);
}

/* Errors. */

TEST(every_field_refuses_every_other_type)
{
    static const struct {
        neo_json_kind kind;
        const char *text;
    } values[] = {
        {NEO_JSON_BOOLEAN, "true"}, {NEO_JSON_BOOLEAN, "false"}, {NEO_JSON_INTEGER, "7"},     {NEO_JSON_REAL, "1.5"},
        {NEO_JSON_STRING, "\"x\""}, {NEO_JSON_ARRAY, "[]"},      {NEO_JSON_ARRAY, "[\"x\"]"}, {NEO_JSON_OBJECT, "{}"},
    };
    place places[64];
    int n = writable_places(places, COUNT(places), *state);
    assert_int_equal(n, 15);
    for (int i = 0; i < n; i++) {
        neo_type type = places[i].field->type;
        neo_json_kind right = type == NEO_OBJECT || type == NEO_MAP ? NEO_JSON_OBJECT : NEO_JSON_STRING;
        for (int v = 0; v < COUNT(values); v++)
            if (values[v].kind != right)
                assert_invalid(body_with(&places[i], values[v].text, *state), places[i].path, *state);
    }
}

/* `length` times the character, in quotes. */
static const char *long_string(const char *character, long long length, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 1024);
    neo_buf_putc(&out, '"');
    for (long long i = 0; i < length; i++)
        neo_buf_puts(&out, character);
    neo_buf_putc(&out, '"');
    return out.ptr;
}

TEST(lengths_are_counted_in_code_points)
{
    static const char *const characters[] = {"a",       "\xC3\xA9", "\xE2\x82\xAC",  "\xF0\x9F\x8F\xA0",
                                             "\\u00e9", "\\\"",     "\\ud83c\\udfe0"};
    place places[64];
    int n = writable_places(places, COUNT(places), *state);
    for (int i = 0; i < n; i++) {
        const neo_field *f = places[i].field;
        for (int c = 0; f->type == NEO_STRING && !f->rule && c < COUNT(characters); c++) {
            cleaned(body_with(&places[i], long_string(characters[c], 1, *state), *state), *state);
            cleaned(body_with(&places[i], long_string(characters[c], f->max, *state), *state), *state);
            assert_invalid(body_with(&places[i], long_string(characters[c], f->max + 1, *state), *state), places[i].path,
                           *state);
        }
    }
    assert_non_null(strstr(problem_of("{\"name\":\"\"}", *state)->detail, "empty"));
}

TEST(fields_with_a_rule_have_limits_too)
{
    cleaned(apr_psprintf(*state, "{" NAMED ",\"creci\":%s}", long_string("7", 32, *state)), *state);
    assert_invalid(apr_psprintf(*state, "{" NAMED ",\"creci\":%s}", long_string("7", 33, *state)), "creci", *state);
    assert_invalid("{" NAMED ",\"creci\":\"-/.\"}", "creci", *state);
    assert_invalid("{" NAMED ",\"email\":\"ana\"}", "email", *state);
}

TEST(every_field_refuses_empty_and_blank_strings)
{
    static const char *const values[] = {"\"\"", "\" \"", "\"     \""};
    place places[64];
    int n = writable_places(places, COUNT(places), *state);
    for (int i = 0; i < n; i++)
        for (int v = 0; places[i].field->type != NEO_OBJECT && v < COUNT(values); v++)
            assert_invalid(body_with(&places[i], values[v], *state), places[i].path, *state);
}

TEST(control_characters_are_refused_everywhere)
{
    static const char *const values[] = {"\\u0001", "\\b",  "\\t",     "\\n",      "\\r",     "\\u001b",
                                         "\\u001f", "\x7F", "\\u0080", "\xC2\x85", "\xC2\x9F"};
    place places[64];
    int n = writable_places(places, COUNT(places), *state);
    for (int i = 0; i < n; i++)
        for (int v = 0; places[i].field->type == NEO_STRING && v < COUNT(values); v++)
            for (int at = 0; at < 3; at++) {
                const char *value = apr_psprintf(*state, "\"%s%s%s\"", at > 0 ? "a" : "", values[v], at < 2 ? "b" : "");
                assert_invalid(body_with(&places[i], value, *state), places[i].path, *state);
            }
    cleaned("{\"name\":\"\xC2\xA0\xC3\x80\xE2\x80\x8D\"}", *state);
}

TEST(a_value_that_is_not_of_the_enumeration_is_refused)
{
    static const char *const values[] = {"\"Restricted\"", "\"restricted \"", "\"hidden\"", "\"restricted\\n\""};
    for (int v = 0; v < COUNT(values); v++)
        assert_invalid(apr_psprintf(*state, "{" NAMED ",\"visibility\":%s}", values[v]), "visibility", *state);
    const neo_problem *problem = problem_of("{" NAMED ",\"visibility\":\"hidden\"}", *state);
    assert_string_equal(item_of(problem, 0)->message, "must be private, restricted or public");
}

TEST(a_missing_required_field_is_named)
{
    static const char *const bodies[] = {"{}", "{\"name\":null}", "{\"creci\":\"1\"}", "{\"id\":\"x\",\"email\":\"a@b\"}"};
    for (int i = 0; i < COUNT(bodies); i++)
        assert_one(problem_of(bodies[i], *state), "name", "validation.broker.name_required");
}

TEST(unknown_fields_are_refused_at_every_level)
{
    static const char *const cases[][2] = {
        {"{" NAMED ",\"nam\":1}", "nam"},
        {"{" NAMED ",\"Name\":null}", "Name"},
        {"{" NAMED ",\"\":null}", ""},
        {"{" NAMED ",\"meta_data\":{}}", "meta_data"},
        {"{" NAMED ",\"bank_account.pix_key\":\"x\"}", "bank_account.pix_key"},
        {"{" NAMED ",\"bank_account\":{\"pix\":1}}", "bank_account.pix"},
        {"{" NAMED ",\"bank_account\":{\"id\":\"x\"}}", "bank_account.id"},
        {"{" NAMED ",\"bank_account\":{\"name\":null}}", "bank_account.name"},
    };
    for (int i = 0; i < COUNT(cases); i++)
        assert_one(problem_of(cases[i][0], *state), cases[i][1], "validation.unknown_field");
}

TEST(a_long_unknown_name_is_truncated_between_characters)
{
    static const char *const characters[] = {"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x8F\xA0"};
    for (int c = 0; c < COUNT(characters); c++)
        for (int before = 0; before < 4; before++) {
            const char *key = apr_psprintf(*state, "\"%.*s%s", before, "xxxx", long_string(characters[c], 500, *state) + 1);
            const neo_problem *problem =
                problem_of(apr_psprintf(*state, "{" NAMED ",\"bank_account\":{%s:1},%s:1}", key, key), *state);
            for (int i = 0; i < 2; i++) {
                const char *field = item_of(problem, i)->field;
                assert_true(neo_utf8_is_valid(field, strlen(field)));
                assert_in_range(neo_utf8_length(field), 10, 90);
            }
        }
}

TEST(all_errors_are_reported_at_once)
{
    static const char body[] =
        "{\"name\":\"\",\"creci\":7,\"email\":\"x\",\"bank_account\":{\"agency\":[],\"account_type\":\"gold\","
        "\"iban\":\"x\"},\"visibility\":true,\"nickname\":\"A\"}";
    static const char *const expected[][2] = {
        {"name", "validation.broker.name_invalid"},
        {"creci", "validation.broker.creci_invalid"},
        {"email", "validation.broker.email_invalid"},
        {"bank_account.agency", "validation.broker.bank_account_agency_invalid"},
        {"bank_account.account_type", "validation.broker.bank_account_account_type_invalid"},
        {"visibility", "validation.broker.visibility_invalid"},
        {"bank_account.iban", "validation.unknown_field"},
        {"nickname", "validation.unknown_field"},
    };
    neo_problem *problem = problem_of(body, *state);
    assert_string_equal(problem->code, "validation.failed");
    assert_int_equal(problem->items->nelts, COUNT(expected));
    for (int i = 0; i < COUNT(expected); i++) {
        assert_string_equal(item_of(problem, i)->field, expected[i][0]);
        assert_string_equal(item_of(problem, i)->code, expected[i][1]);
    }
}

TEST(a_message_names_the_type_that_was_sent)
{
    assert_string_equal(item_of(problem_of("{\"name\":7}", *state), 0)->message,
                        "must be a string of 1 to 200 characters, not an integer");
    assert_string_equal(item_of(problem_of("{" NAMED ",\"bank_account\":[]}", *state), 0)->message,
                        "must be an object, not an array");
    assert_string_equal(item_of(problem_of("{}", *state), 0)->message, "is required");
}

TEST(a_body_that_is_no_object_is_malformed)
{
    static const char *const bodies[] = {"[]", "[{" NAMED "}]", "\"x\"", "1", "1.5", "true", "null"};
    for (int i = 0; i < COUNT(bodies); i++)
        assert_one(problem_of(bodies[i], *state), "body", "validation.malformed_json");
}
