/* SPDX-License-Identifier: Apache-2.0 */
/* Transitions of status, and the errors. */
#include "unit.h"

#include "resources/list.h"
#include "schema/business_rules.h"

/* The detail of the error; NULL if the change is allowed. */
static const char *refusal(const neo_resource *resource, const char *from, const char *to, const char **timestamp_field,
                           apr_pool_t *pool)
{
    neo_problem *problem = neo_transition_check(resource, from, to, pool, timestamp_field);
    if (!problem)
        return NULL;
    assert_int_equal(problem->kind, NEO_CONFLICT_INVALID_TRANSITION);
    assert_int_equal(neo_problem_status(problem), 409);
    return problem->detail;
}

TEST(an_allowed_transition_sets_its_timestamp)
{
    static const neo_resource *const machines[] = {&neo_proposal, &neo_contract};
    for (int i = 0; i < COUNT(machines); i++)
        for (const neo_transition *t = machines[i]->transitions; t->from; t++) {
            const char *timestamp_field = "x";
            assert_null(refusal(machines[i], t->from, t->to, &timestamp_field, *state));
            assert_ptr_equal(timestamp_field, t->timestamp_field);
        }
}

TEST(every_other_change_is_refused)
{
    static const neo_resource *const machines[] = {&neo_proposal, &neo_contract};
    for (int i = 0; i < COUNT(machines); i++) {
        const char *const *statuses = neo_field_named(machines[i]->fields, "status")->values;
        for (const char *const *from = statuses; *from; from++)
            for (const char *const *to = statuses; *to; to++) {
                const char *timestamp_field = "x";
                int is_row = strcmp(*from, *to) == 0;
                for (const neo_transition *t = machines[i]->transitions; t->from; t++)
                    is_row |= strcmp(t->from, *from) == 0 && strcmp(t->to, *to) == 0;
                assert_int_equal(refusal(machines[i], *from, *to, &timestamp_field, *state) == NULL, is_row);
            }
    }
}

TEST(a_refusal_names_the_allowed_statuses)
{
    const char *timestamp_field;
    assert_string_equal(refusal(&neo_contract, "draft", "active", &timestamp_field, *state),
                        "The status of this contract cannot change from draft to active; it can become pending_signature or "
                        "cancelled.");
    assert_string_equal(refusal(&neo_proposal, "draft", "accepted", &timestamp_field, *state),
                        "The status of this proposal cannot change from draft to accepted; it can become submitted.");
    assert_string_equal(refusal(&neo_proposal, "rejected", "draft", &timestamp_field, *state),
                        "The status of this proposal is rejected, which is final: it cannot become draft.");
    assert_string_equal(refusal(&neo_contract, NULL, "active", &timestamp_field, *state),
                        "A contract cannot be created with the status active; it can be created with draft, "
                        "pending_signature or cancelled.");
}

TEST(an_unchanged_status_sets_no_timestamp)
{
    const char *timestamp_field = "x";
    assert_null(refusal(&neo_proposal, "accepted", "accepted", &timestamp_field, *state));
    assert_null(timestamp_field);
}

TEST(a_resource_without_transitions_may_have_any_status)
{
    const char *timestamp_field = "x";
    assert_null(refusal(&neo_property, "sold", "draft", &timestamp_field, *state));
    assert_null(timestamp_field);
    timestamp_field = "x";
    assert_null(refusal(&neo_broker, NULL, NULL, &timestamp_field, *state));
    assert_null(timestamp_field);
}

TEST(timestamps_of_transitions_are_service_fields)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (const neo_transition *t = (*r)->transitions; t && t->from; t++)
            if (t->timestamp_field) {
                const neo_field *field = neo_field_named((*r)->fields, t->timestamp_field);
                assert_true(field->flags & NEO_SERVER && field->type == NEO_TIMESTAMP && neo_transition_sets(*r, field));
            }
    assert_false(neo_transition_sets(&neo_contract, neo_field_named(neo_contract.fields, "created_at")));
}

TEST(history_has_the_timestamps_of_its_earlier_statuses)
{
    static const struct {
        const neo_resource *resource;
        const char *field, *status;
        int is_set;
    } cases[] = {
        {&neo_contract, "signed_at", "pending_signature", 0}, {&neo_contract, "signed_at", "active", 1},
        {&neo_contract, "signed_at", "expired", 1},           {&neo_contract, "signed_at", "cancelled", 0},
        {&neo_contract, "terminated_at", "active", 0},        {&neo_contract, "terminated_at", "terminated", 1},
        {&neo_proposal, "decided_at", "countered", 0},        {&neo_proposal, "decided_at", "withdrawn", 1},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const neo_field *field = neo_field_named(cases[i].resource->fields, cases[i].field);
        assert_int_equal(neo_transition_has_set(cases[i].resource, field, cases[i].status), cases[i].is_set);
    }
}

/* A creation has no effects (see neo_rules_target), so no status that requires one may directly follow the first. */
TEST(no_resource_is_created_in_a_status_that_requires_an_effect)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (const neo_effect *e = (*r)->effects; e && e->state; e++) {
            const char *timestamp_field;
            if (e->code)
                assert_non_null(refusal(*r, NULL, e->state, &timestamp_field, *state));
            assert_non_null(neo_field_named((*r)->fields, e->through)->refers);
        }
}
