/* SPDX-License-Identifier: Apache-2.0 */
/* Problems: a consistent catalogue, and documents with the members of the contract. */
#include "unit.h"

#include <ctype.h>

#include "core/clock.h"
#include "core/json.h"
#include "core/problem.h"

#define REQUEST "req_01jd3x8m5t9w2q7r4y6z0a1b3c"
#define DOCS    "https://api.example.com/docs"

static const neo_problem_frame frame = {"/public/v1/brokers", REQUEST, DOCS};

static neo_json *document_of(const neo_problem *problem, const neo_problem_frame *with, apr_pool_t *pool)
{
    const char *error = NULL;
    neo_json *value = neo_json_parse(neo_problem_json(problem, with, pool), pool, &error);
    if (!value)
        fail_msg("the document of %s is not JSON: %s", problem->code, error);
    return value;
}

static const char *string_at(neo_json *object, const char *key)
{
    neo_json *value = neo_json_get(object, key);
    return value ? neo_json_string(value) : NULL;
}

static void assert_keys(neo_json *object, const char *const *keys)
{
    void *m = neo_json_first(object);
    for (; *keys && m; keys++, m = neo_json_next(object, m))
        assert_string_equal(neo_json_member_key(m), *keys);
    assert_null(m);
    assert_null(*keys);
}

/* The catalogue. */

static const struct {
    int status;
    const char *type, *title;
} classes[] = {
    {400, "validation", "Validation Failed"},      {405, "validation", "Method Not Allowed"},
    {408, "validation", "Request Timeout"},        {413, "validation", "Content Too Large"},
    {415, "validation", "Unsupported Media Type"}, {401, "unauthorized", "Authentication Required"},
    {403, "forbidden", "Access Denied"},           {404, "not_found", "Resource Not Found"},
    {409, "conflict", "Resource Conflict"},        {412, "conflict", "Precondition Failed"},
    {429, "rate_limit", "Rate Limit Exceeded"},    {500, "internal", "Internal Server Error"},
    {503, "internal", "Service Unavailable"},
};

TEST(every_row_has_the_type_and_title_of_its_status)
{
    for (int code = 0; code < NEO_CODES; code++) {
        const neo_code_info *row = neo_code_row((neo_code)code);
        int known = 0;
        for (int c = 0; c < COUNT(classes) && !known; c++)
            known = classes[c].status == row->status && strcmp(classes[c].type, row->type) == 0 &&
                    strcmp(classes[c].title, neo_problem_title(row->type, row->status)) == 0;
        if (!known)
            fail_msg("%s: %d %s (%s)", row->code, row->status, row->type, neo_problem_title(row->type, row->status));
    }
}

TEST(codes_begin_with_their_type_and_are_unique)
{
    for (int code = 0; code < NEO_CODES; code++) {
        const neo_code_info *row = neo_code_row((neo_code)code);
        size_t len = strlen(row->type);
        assert_memory_equal(row->code, row->type, len);
        assert_int_equal(row->code[len], '.');
        assert_int_equal(strspn(row->code, "abcdefghijklmnopqrstuvwxyz._{}"), strlen(row->code));
        for (int other = 0; other < code; other++)
            assert_string_not_equal(row->code, neo_code_row((neo_code)other)->code);
    }
}

TEST(every_problem_has_a_meaning_and_a_remedy)
{
    for (int code = 0; code < NEO_CODES; code++) {
        const neo_code_info *row = neo_code_row((neo_code)code);
        const char *const sentences[] = {row->meaning, row->fix};
        for (int s = 0; s < 2; s++) {
            assert_non_null(sentences[s]);
            if (!isupper((unsigned char)*sentences[s]) && *sentences[s] != '`' && strncmp(sentences[s], "X-", 2) != 0)
                fail_msg("%s: %s", row->code, sentences[s]);
            assert_int_equal(sentences[s][strlen(sentences[s]) - 1], '.');
        }
    }
}

TEST(the_catalogue_has_the_codes_of_the_specification)
{
    static const struct {
        neo_code code;
        const char *text;
        int status;
    } cases[] = {
        {NEO_VALIDATION_REQUIRED, "validation.required", 400},
        {NEO_VALIDATION_FIELD_REQUIRED, "validation.{resource}.{field}_required", 400},
        {NEO_UNAUTHORIZED_AUTH_REQUIRED, "unauthorized.auth_required", 401},
        {NEO_FORBIDDEN_PERMISSIONS, "forbidden.insufficient_permissions", 403},
        {NEO_NOT_FOUND_RESOURCE, "not_found.{resource}", 404},
        {NEO_CONFLICT_DUPLICATE, "conflict.duplicate", 409},
        {NEO_RATE_LIMIT_EXCEEDED, "rate_limit.exceeded", 429},
        {NEO_INTERNAL_UNEXPECTED, "internal.unexpected", 500},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        assert_string_equal(neo_code_row(cases[i].code)->code, cases[i].text);
        assert_int_equal(neo_code_row(cases[i].code)->status, cases[i].status);
    }
}

/* Problems. */

TEST(a_problem_has_its_rows_code_and_status)
{
    neo_problem *problem = neo_problem_make(*state, NEO_CONFLICT_DUPLICATE, "%s is taken: %d%%", "creci", 100);
    assert_string_equal(problem->code, "conflict.duplicate");
    assert_string_equal(problem->detail, "creci is taken: 100%");
    assert_int_equal(neo_problem_status(problem), 409);
    assert_null(problem->items);
    assert_string_equal(neo_problem_for_resource(*state, NEO_NOT_FOUND_RESOURCE, "broker", "No.")->code, "not_found.broker");
    problem = neo_problem_internal(*state);
    assert_string_equal(problem->code, "internal.unexpected");
    assert_int_equal(neo_problem_status(problem), 500);
}

TEST(one_invalid_field_determines_the_code)
{
    neo_problem *problem = NULL;
    neo_problem_field(&problem, *state, NEO_VALIDATION_FIELD_REQUIRED, "broker", "name", "is required");
    assert_string_equal(problem->code, "validation.broker.name_required");
    assert_string_equal(problem->detail, "name: is required");
    assert_int_equal(problem->items->nelts, 1);
    const neo_problem_item *item = &APR_ARRAY_IDX(problem->items, 0, neo_problem_item);
    assert_string_equal(item->field, "name");
    assert_string_equal(item->message, "is required");
    assert_string_equal(item->code, "validation.broker.name_required");
}

TEST(several_invalid_fields_are_all_listed_in_validation_failed)
{
    neo_problem *problem = NULL;
    char field[16];
    for (int i = 0; i < 50; i++) {
        snprintf(field, sizeof field, "f%d", i);
        neo_problem_field(&problem, *state, NEO_VALIDATION_FIELD_INVALID, "broker", field, "message %d", i);
    }
    assert_string_equal(problem->code, "validation.failed");
    assert_int_equal(neo_problem_status(problem), 400);
    assert_non_null(strstr(problem->detail, "50"));
    assert_int_equal(problem->items->nelts, 50);
    for (int i = 0; i < 50; i++) {
        const neo_problem_item *item = &APR_ARRAY_IDX(problem->items, i, neo_problem_item);
        char code[64], message[32];
        snprintf(code, sizeof code, "validation.broker.f%d_invalid", i);
        snprintf(message, sizeof message, "message %d", i);
        assert_string_equal(item->code, code);
        assert_string_equal(item->message, message);
    }
}

TEST(a_path_becomes_part_of_a_code_without_its_indexes)
{
    static const char *const cases[][2] = {
        {"bank_account.pix_key", "validation.party.bank_account_pix_key_invalid"},
        {"parties[2].role", "validation.party.parties_role_invalid"},
        {"operations[3].data.creci", "validation.party.operations_data_creci_invalid"},
        {"roles[0]", "validation.party.roles_invalid"},
        {"a[0][1].b[22]", "validation.party.a_b_invalid"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        neo_problem *problem = NULL;
        neo_problem_field(&problem, *state, NEO_VALIDATION_FIELD_INVALID, "party", cases[i][0], "is wrong");
        assert_string_equal(problem->code, cases[i][1]);
        assert_string_equal(APR_ARRAY_IDX(problem->items, 0, neo_problem_item).field, cases[i][0]);
    }
}

/* Documents. */

TEST(every_document_has_the_members_of_the_contract)
{
    static const char *const keys[] = {
        "type", "title", "status", "detail", "code", "instance", "request_id", "timestamp", "documentation_url", NULL};
    for (int code = 0; code < NEO_CODES; code++) {
        const neo_code_info *row = neo_code_row((neo_code)code);
        neo_problem *problem = neo_problem_for_resource(*state, (neo_code)code, "broker", "What happened.");
        neo_json *document = document_of(problem, &frame, *state);
        neo_ms at;
        assert_keys(document, keys);
        assert_string_equal(string_at(document, "type"), row->type);
        assert_string_equal(string_at(document, "title"), neo_problem_title(row->type, row->status));
        assert_int_equal(neo_json_integer(neo_json_get(document, "status")), row->status);
        assert_string_equal(string_at(document, "detail"), "What happened.");
        assert_string_equal(string_at(document, "code"), problem->code);
        assert_string_equal(string_at(document, "instance"), "/public/v1/brokers");
        assert_string_equal(string_at(document, "request_id"), REQUEST);
        assert_true(neo_ms_parse(string_at(document, "timestamp"), &at) && at <= neo_now_ms());
        assert_memory_equal(string_at(document, "documentation_url"), DOCS "/errors#", sizeof DOCS "/errors#" - 1);
        assert_string_equal(strchr(string_at(document, "documentation_url"), '#') + 1, problem->code);
    }
}

TEST(a_document_without_a_path_has_no_instance)
{
    static const neo_problem_frame pathless = {NULL, REQUEST, DOCS};
    neo_json *document = document_of(neo_problem_internal(*state), &pathless, *state);
    assert_null(neo_json_get(document, "instance"));
    assert_non_null(neo_json_get(document, "request_id"));
}

TEST(wrong_fields_are_listed_in_errors)
{
    static const char *const keys[] = {"field", "message", "code", NULL};
    neo_problem *problem = NULL;
    neo_problem_field(&problem, *state, NEO_VALIDATION_FIELD_REQUIRED, "broker", "name", "is required");
    for (int n = 1; n <= 2; n++) {
        neo_json *errors = neo_json_get(document_of(problem, &frame, *state), "errors");
        assert_int_equal(neo_json_get_kind(errors), NEO_JSON_ARRAY);
        assert_int_equal(neo_json_size(errors), n);
        assert_keys(neo_json_at(errors, 0), keys);
        assert_string_equal(string_at(neo_json_at(errors, 0), "code"), "validation.broker.name_required");
        assert_string_equal(string_at(neo_json_at(errors, (apr_size_t)n - 1), "field"),
                            n == 1 ? "name" : "bank_account.pix_key");
        neo_problem_field(&problem, *state, NEO_VALIDATION_FIELD_INVALID, "broker", "bank_account.pix_key", "must be a string");
    }
}

TEST(retry_after_is_a_member_of_429_alone)
{
    for (int code = 0; code < NEO_CODES; code++) {
        neo_problem *problem = neo_problem_for_resource(*state, (neo_code)code, "broker", "Wait.");
        problem->retry_after = 7;
        neo_json *retry_after = neo_json_get(document_of(problem, &frame, *state), "retry_after");
        if (neo_problem_status(problem) == 429)
            assert_int_equal(neo_json_integer(retry_after), 7);
        else
            assert_null(retry_after);
    }
}

TEST(a_duplicate_has_its_field_and_the_other_resource)
{
    neo_problem *problem = neo_problem_make(*state, NEO_CONFLICT_DUPLICATE, "Another one has it.");
    assert_null(neo_json_get(document_of(problem, &frame, *state), "field"));
    assert_null(neo_json_get(document_of(problem, &frame, *state), "existing_id"));
    problem->field = "code";
    problem->existing_id = "prp_1";
    neo_json *document = document_of(problem, &frame, *state);
    assert_string_equal(string_at(document, "field"), "code");
    assert_string_equal(string_at(document, "existing_id"), "prp_1");
    document = document_of(neo_problem_within(*state, problem, "operations[3]", "operations[3].data"), &frame, *state);
    assert_string_equal(string_at(document, "field"), "operations[3].data.code");
    assert_string_equal(problem->field, "code");
}

TEST(text_of_a_client_is_escaped)
{
    static const char nasty[] = "\",\"status\":200,\"x\":\"\\\n\x01%s%n</script>\xC3\xA9";
    neo_problem_frame with = {nasty, REQUEST, DOCS};
    neo_problem *problem = NULL;
    neo_problem_field(&problem, *state, NEO_VALIDATION_UNKNOWN_FIELD, "broker", nasty, "%s", nasty);
    neo_json *document = document_of(problem, &with, *state), *item = neo_json_at(neo_json_get(document, "errors"), 0);
    assert_int_equal(neo_json_integer(neo_json_get(document, "status")), 400);
    assert_string_equal(string_at(document, "instance"), nasty);
    assert_string_equal(string_at(item, "field"), nasty);
    assert_string_equal(string_at(item, "message"), nasty);
}
