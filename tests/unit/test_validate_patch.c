/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of merge patches. */
#include "unit.h"

#include "resources/list.h"
#include "schema/validate.h"

/* A broker as in responses. */
#define CURRENT                                                                                                                \
    "{\"id\":\"brk_01jd3x8m5t9w2q7r4y6z0a1b3c\",\"name\":\"Ana\",\"creci\":\"F-1\",\"email\":\"a@b.c\","                       \
    "\"bank_account\":{\"bank_code\":\"001\",\"pix_key\":\"p\"},\"tenant_id\":\"tnt_01jd3x0a4c8f2h6k1m5p9r3t7v\","             \
    "\"organization_id\":\"org_01jd3x1b5d9g3j7m2n6q0s4v8w\",\"visibility\":\"public\","                                        \
    "\"created_at\":\"2026-01-31T13:45:10.123Z\",\"updated_at\":\"2026-01-31T13:45:10.123Z\","                                 \
    "\"created_by\":\"nbr_01jd3x2c6e0h4k8n3p7r1t5w9x\",\"updated_by\":\"nbr_01jd3x2c6e0h4k8n3p7r1t5w9x\"}"

static const char *patched(const char *patch, apr_pool_t *pool)
{
    neo_json *clean = NULL;
    neo_problem *problem = neo_validate_patch(&neo_broker, parse_json(CURRENT, pool), parse_json(patch, pool), pool, &clean);
    if (problem)
        fail_msg("%s was refused: %s", patch, problem->detail);
    return neo_json_text(clean, pool).ptr;
}

static neo_problem *problem_of(const char *patch, apr_pool_t *pool)
{
    neo_json *clean;
    neo_problem *problem = neo_validate_patch(&neo_broker, parse_json(CURRENT, pool), parse_json(patch, pool), pool, &clean);
    if (!problem)
        fail_msg("%s was taken", patch);
    assert_int_equal(neo_problem_status(problem), 400);
    return problem;
}

TEST(patches_change_only_the_given_fields)
{
    static const char *const cases[][2] = {
        {"{}",
         "{\"name\":\"Ana\",\"creci\":\"F-1\",\"email\":\"a@b.c\",\"bank_account\":{\"bank_code\":\"001\",\"pix_key\":\"p\"},"
         "\"visibility\":\"public\"}"},
        {"{\"name\":\"Bia\",\"phone\":\"1\"}",
         "{\"name\":\"Bia\",\"creci\":\"F-1\",\"email\":\"a@b.c\",\"phone\":\"1\","
         "\"bank_account\":{\"bank_code\":\"001\",\"pix_key\":\"p\"},\"visibility\":\"public\"}"},
        {"{\"creci\":null,\"email\":null,\"phone\":null,\"bank_account\":null}",
         "{\"name\":\"Ana\",\"visibility\":\"public\"}"},
        {"{\"visibility\":null,\"creci\":null,\"email\":null,\"bank_account\":null}",
         "{\"name\":\"Ana\",\"visibility\":\"restricted\"}"},
    };
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(patched(cases[i][0], *state), cases[i][1]);
}

TEST(members_of_an_object_are_patched_one_by_one)
{
    static const char *const cases[][2] = {
        {"{\"bank_account\":{}}", "{\"bank_code\":\"001\",\"pix_key\":\"p\"}"},
        {"{\"bank_account\":{\"pix_key\":\"q\"}}", "{\"bank_code\":\"001\",\"pix_key\":\"q\"}"},
        {"{\"bank_account\":{\"agency\":\"9\"}}", "{\"bank_code\":\"001\",\"agency\":\"9\",\"pix_key\":\"p\"}"},
        {"{\"bank_account\":{\"pix_key\":null}}", "{\"bank_code\":\"001\"}"},
        {"{\"bank_account\":{\"agency\":null}}", "{\"bank_code\":\"001\",\"pix_key\":\"p\"}"},
        {"{\"bank_account\":{\"pix_key\":null,\"bank_code\":null}}", "none"},
        {"{\"bank_account\":null}", "none"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        neo_json *account = neo_json_get(parse_json(patched(cases[i][0], *state), *state), "bank_account");
        assert_string_equal(account ? neo_json_text(account, *state).ptr : "none", cases[i][1]);
    }
}

TEST(service_fields_are_not_in_the_result)
{
    assert_string_equal(patched("{\"id\":\"brk_x\",\"created_at\":null,\"updated_by\":7,\"tenant_id\":{}}", *state),
                        patched("{}", *state));
    assert_string_equal(patched(CURRENT, *state), patched("{}", *state));
}

TEST(invalid_patches_are_refused)
{
    static const char *const cases[][3] = {
        {"{\"name\":null}", "name", "validation.broker.name_required"},
        {"{\"name\":\"\"}", "name", "validation.broker.name_invalid"},
        {"{\"name\":{}}", "name", "validation.broker.name_invalid"},
        {"{\"email\":\"x\"}", "email", "validation.broker.email_invalid"},
        {"{\"nickname\":null}", "nickname", "validation.unknown_field"},
        {"{\"nickname\":\"x\"}", "nickname", "validation.unknown_field"},
        {"{\"bank_account\":\"x\"}", "bank_account", "validation.broker.bank_account_invalid"},
        {"{\"bank_account\":[]}", "bank_account", "validation.broker.bank_account_invalid"},
        {"{\"bank_account\":{\"iban\":null}}", "bank_account.iban", "validation.unknown_field"},
        {"{\"bank_account\":{\"iban\":{\"x\":null}}}", "bank_account.iban", "validation.unknown_field"},
        {"{\"bank_account\":{\"pix_key\":{}}}", "bank_account.pix_key", "validation.broker.bank_account_pix_key_invalid"},
        {"{\"bank_account\":{\"pix_key\":7}}", "bank_account.pix_key", "validation.broker.bank_account_pix_key_invalid"},
        {"[]", "body", "validation.malformed_json"},
        {"null", "body", "validation.malformed_json"},
        {"\"x\"", "body", "validation.malformed_json"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        neo_problem *problem = problem_of(cases[i][0], *state);
        assert_string_equal(problem->code, cases[i][2]);
        assert_int_equal(problem->items->nelts, 1);
        assert_string_equal(APR_ARRAY_IDX(problem->items, 0, neo_problem_item).field, cases[i][1]);
    }
}

TEST(all_errors_of_a_patch_are_reported_at_once)
{
    neo_problem *problem =
        problem_of("{\"name\":null,\"creci\":1,\"bank_account\":{\"agency\":\"\",\"x\":null},\"y\":2}", *state);
    assert_string_equal(problem->code, "validation.failed");
    assert_int_equal(problem->items->nelts, 5);
}
