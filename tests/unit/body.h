/* SPDX-License-Identifier: Apache-2.0 */
/* Minimal bodies of the resources, changed by merge patches, and the result of their validation. */
#ifndef NEO_TESTS_BODY_H
#define NEO_TESTS_BODY_H

#include "unit.h"

#include "resources/fields.h"
#include "schema/validate.h"

static const struct {
    const neo_resource *resource;
    const char *json;
} minimal_bodies[] = {
    {&neo_broker, "{\"name\":\"Ana\"}"},
    {&neo_property,
     "{\"code\":\"AP-1\",\"transaction_type\":\"sale\",\"usage_type\":\"residential\",\"property_type\":\"house\","
     "\"sale_price\":1,\"address\":{\"postal_code\":\"01310100\",\"city\":\"Recife\",\"state\":\"PE\"}}"},
    {&neo_party, "{\"kind\":\"person\",\"name\":\"Marcos\",\"roles\":[\"seller\"]}"},
    {&neo_proposal, "{\"kind\":\"purchase\",\"property_id\":\"" NEO_SAMPLE_PROPERTY "\",\"proponent_ids\":[\"" NEO_SAMPLE_BUYER
                    "\"],\"amount\":100,\"valid_until\":\"2026-02-14\"}"},
    {&neo_contract, "{\"kind\":\"sale\",\"property_id\":\"" NEO_SAMPLE_PROPERTY
                    "\",\"parties\":[{\"party_id\":\"" NEO_SAMPLE_OWNER "\",\"role\":\"seller\"}],\"amount\":100}"},
    {&neo_document, "{\"kind\":\"other\",\"related\":{\"type\":\"property\",\"id\":\"" NEO_SAMPLE_PROPERTY
                    "\"},\"file\":{\"url\":\"https://a.example/b\"}}"},
};

static inline neo_json *body_of(const neo_resource *resource, const char *change, apr_pool_t *pool)
{
    int i = 0;
    while (minimal_bodies[i].resource != resource)
        i++;
    return neo_json_merge_patch(parse_json(minimal_bodies[i].json, pool), parse_json(change, pool), pool);
}

/* The validated body; the test fails if it is refused. */
static inline neo_json *validated(const neo_resource *resource, const char *change, apr_pool_t *pool)
{
    neo_json *clean = NULL;
    neo_problem *problem = neo_validate(resource, body_of(resource, change, pool), pool, &clean);
    if (problem)
        fail_msg("%s was refused: %s", change, problem->detail);
    return clean;
}

/* A field of the validated body as JSON; "" if it is absent. */
static inline const char *stored_field(const neo_resource *resource, const char *change, const char *field, apr_pool_t *pool)
{
    const neo_json *value = neo_json_get(validated(resource, change, pool), field);
    return value ? neo_json_text(value, pool).ptr : "";
}

static inline neo_problem *refused(const neo_resource *resource, const char *change, apr_pool_t *pool)
{
    neo_json *clean;
    neo_problem *problem = neo_validate(resource, body_of(resource, change, pool), pool, &clean);
    if (!problem)
        fail_msg("%s was accepted", change);
    assert_int_equal(neo_problem_status(problem), 400);
    assert_non_null(problem->items);
    return problem;
}

/* The body must have this error and no other. Returns the message. */
static inline const char *only_error(const neo_resource *resource, const char *change, const char *field, const char *code,
                                     apr_pool_t *pool)
{
    neo_problem *problem = refused(resource, change, pool);
    const neo_problem_item *item = &APR_ARRAY_IDX(problem->items, 0, neo_problem_item);
    if (problem->items->nelts != 1)
        fail_msg("%s: %s: %s", change, item->field, problem->detail);
    assert_string_equal(item->field, field);
    assert_string_equal(item->code, code);
    return item->message;
}

#endif
