/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of batches: all errors are reported at once. */
#include "unit.h"

#include <apr_strings.h>

#include "resources/list.h"
#include "schema/batch.h"

#define BROKER "brk_01jd3x8m5t9w2q7r4y6z0a1b3c"

static neo_problem *read_text(const char *text, neo_batch *batch, apr_pool_t *pool)
{
    return neo_batch_read(&neo_broker, parse_json(text, pool), pool, batch);
}

/* Appends "code field, code field" for all errors of a problem. */
static const char *add(const char *all, const neo_problem *problem, apr_pool_t *pool)
{
    for (int i = 0; problem && i < problem->items->nelts; i++) {
        const neo_problem_item *item = &APR_ARRAY_IDX(problem->items, i, neo_problem_item);
        all = apr_pstrcat(pool, all, *all ? ", " : "", item->code, " ", item->field, NULL);
    }
    return all;
}

/* All errors of a body and of its operations. */
static const char *problems_of(const char *text, apr_pool_t *pool)
{
    neo_batch batch;
    const char *all = add("", read_text(text, &batch, pool), pool);
    for (int i = 0; i < batch.count; i++)
        all = add(all, batch.operations[i].problem, pool);
    return all;
}

TEST(each_method_is_read_with_its_members)
{
    neo_batch batch;
    assert_null(read_text("{\"operations\":[{\"method\":\"create\",\"data\":{\"name\":\"Ana\"}},"
                          "{\"data\":{},\"id\":\"" BROKER "\",\"method\":\"update\"},"
                          "{\"method\":\"delete\",\"id\":\"x\",\"data\":null}]}",
                          &batch, *state));
    assert_int_equal(batch.is_atomic, 0);
    assert_int_equal(batch.count, 3);
    assert_int_equal(batch.operations[0].method, NEO_METHOD_CREATE);
    assert_null(batch.operations[0].id);
    assert_string_equal(neo_json_string(neo_json_get(batch.operations[0].data, "name")), "Ana");
    assert_int_equal(batch.operations[1].method, NEO_METHOD_UPDATE);
    assert_string_equal(batch.operations[1].id, BROKER);
    assert_int_equal(neo_json_size(batch.operations[1].data), 0);
    assert_int_equal(batch.operations[2].method, NEO_METHOD_DELETE);
    assert_string_equal(batch.operations[2].id, "x");
    assert_null(batch.operations[2].data);
}

TEST(atomic_is_read)
{
    neo_batch batch;
#define ONE "\"operations\":[{\"method\":\"delete\",\"id\":\"x\"}]"
    assert_null(read_text("{\"atomic\":true," ONE "}", &batch, *state));
    assert_int_equal(batch.is_atomic, 1);
    assert_null(read_text("{\"atomic\":false," ONE "}", &batch, *state));
    assert_int_equal(batch.is_atomic, 0);
    assert_null(read_text("{\"atomic\":null," ONE "}", &batch, *state));
    assert_int_equal(batch.is_atomic, 0);
    assert_string_equal(problems_of("{\"atomic\":\"true\"," ONE "}", *state), "validation.broker.atomic_invalid atomic");
    assert_string_equal(problems_of("{\"atomic\":1," ONE "}", *state), "validation.broker.atomic_invalid atomic");
}

static const char *batch_of(int count, apr_pool_t *pool)
{
    const char *list = "";
    for (int i = 0; i < count; i++)
        list = apr_pstrcat(pool, list, i ? "," : "", "{\"method\":\"delete\",\"id\":\"" BROKER "\"}", NULL);
    return apr_pstrcat(pool, "{\"operations\":[", list, "]}", NULL);
}

TEST(a_batch_has_from_1_to_100_operations)
{
    neo_batch batch;
    assert_null(read_text(batch_of(1, *state), &batch, *state));
    assert_null(read_text(batch_of(NEO_BATCH_MAX_OPERATIONS, *state), &batch, *state));
    assert_int_equal(batch.count, 100);
    assert_string_equal(problems_of(batch_of(0, *state), *state), "validation.broker.operations_invalid operations");
    assert_string_equal(problems_of(batch_of(101, *state), *state), "validation.batch_too_large operations");
    assert_string_equal(problems_of("{}", *state), "validation.broker.operations_required operations");
    assert_string_equal(problems_of("{\"operations\":null}", *state), "validation.broker.operations_required operations");
    assert_string_equal(problems_of("{\"operations\":{}}", *state), "validation.broker.operations_invalid operations");
    assert_string_equal(problems_of("[]", *state), "validation.malformed_json body");
}

TEST(all_errors_are_reported_at_once)
{
    static const char *const cases[][2] = {
        {"null", "_invalid operations[0]"},
        {"7", "_invalid operations[0]"},
        {"{}", "_method_required operations[0].method"},
        {"{\"method\":\"CREATE\",\"id\":7}", "_method_invalid operations[0].method"},
        {"{\"method\":7}", "_method_invalid operations[0].method"},
        {"{\"method\":\"create\"}", "_data_required operations[0].data"},
        {"{\"method\":\"create\",\"data\":[]}", "_data_invalid operations[0].data"},
        {"{\"method\":\"create\",\"data\":{},\"id\":\"x\"}", "_id_invalid operations[0].id"},
        {"{\"method\":\"update\"}", "_id_required operations[0].id, validation.broker.operations_data_required "
                                    "operations[0].data"},
        {"{\"method\":\"update\",\"id\":7,\"data\":{}}", "_id_invalid operations[0].id"},
        {"{\"method\":\"delete\"}", "_id_required operations[0].id"},
        {"{\"method\":\"delete\",\"id\":\"x\",\"data\":{}}", "_data_invalid operations[0].data"},
        {"{},{\"method\":\"delete\"}",
         "_method_required operations[0].method, validation.broker.operations_id_required operations[1].id"},
    };
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(problems_of(apr_pstrcat(*state, "{\"operations\":[", cases[i][0], "]}", NULL), *state),
                            apr_pstrcat(*state, "validation.broker.operations", cases[i][1], NULL));
}

TEST(unknown_members_are_named_unless_their_names_are_too_long)
{
    const char *name = apr_pstrcat(*state, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL);
    assert_string_equal(problems_of("{\"operations\":[{\"method\":\"delete\",\"id\":\"x\",\"if\":1}],\"Atomic\":true}", *state),
                        "validation.unknown_field Atomic, validation.unknown_field operations[0].if");
    assert_string_equal(
        problems_of(
            apr_psprintf(*state, "{\"operations\":[{\"method\":\"delete\",\"id\":\"x\",\"%s\":1}],\"%s\":1}", name, name),
            *state),
        "validation.unknown_field body, validation.unknown_field operations[0]");
}

TEST(a_problem_within_a_batch_has_the_path_of_its_operation)
{
    neo_problem *problem = NULL;
    neo_problem_field(&problem, *state, NEO_VALIDATION_FIELD_INVALID, "broker", "email", "must be an e-mail address");
    const neo_problem *whole = neo_problem_within(*state, problem, "operations[3]", "operations[3].data");
    assert_string_equal(whole->code, "validation.broker.email_invalid");
    assert_string_equal(whole->detail, "operations[3].data.email: must be an e-mail address");
    assert_string_equal(APR_ARRAY_IDX(whole->items, 0, neo_problem_item).field, "operations[3].data.email");
    assert_string_equal(APR_ARRAY_IDX(problem->items, 0, neo_problem_item).field, "email");
    neo_problem_field(&problem, *state, NEO_VALIDATION_FIELD_REQUIRED, "broker", "name", "is required");
    whole = neo_problem_within(*state, problem, "operations[3]", "operations[3].data");
    assert_string_equal(whole->detail, problem->detail);
    assert_string_equal(APR_ARRAY_IDX(whole->items, 1, neo_problem_item).field, "operations[3].data.name");
    problem = neo_problem_make(*state, NEO_CONFLICT_DUPLICATE, "Another broker has it.");
    assert_string_equal(neo_problem_within(*state, problem, "operations[3]", "x")->detail,
                        "operations[3]: Another broker has it.");
}

TEST(no_resource_with_batches_has_a_secret_which_only_single_writes_handle)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        assert_false((*r)->has_batch && neo_secret_field(*r));
    assert_non_null(neo_secret_field(&neo_webhook));
}
