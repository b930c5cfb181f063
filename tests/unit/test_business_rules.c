/* SPDX-License-Identifier: Apache-2.0 */
/* Rules between resources: which writes read related resources, and which are refused. */
#include "unit.h"

#include "resources/list.h"
#include "resources/rules.h"

#define PROPERTY "\"property_id\":\"prp_1\""
#define PARTIES  "\"parties\":[{\"party_id\":\"pty_1\",\"role\":\"seller\"},{\"party_id\":\"pty_2\",\"role\":\"buyer\"}]"
#define SALE     "\"kind\":\"sale\",\"amount\":100," PROPERTY "," PARTIES
#define PURCHASE "\"kind\":\"purchase\",\"valid_until\":\"2026-02-14\"," PROPERTY

static neo_json *json(const char *text, apr_pool_t *pool)
{
    return text ? parse_json(text, pool) : NULL;
}

static neo_rule_input input_of(const neo_resource *resource, const char *before, const char *after, apr_pool_t *pool)
{
    return (neo_rule_input){.resource = resource, .id = "x", .before = json(before, pool), .after = json(after, pool)};
}

typedef struct {
    const neo_resource *resource;
    const char *before, *after;
    int needs;
} write_case;

TEST(only_writes_with_rules_about_related_resources_read_them)
{
    static const write_case cases[] = {
        {&neo_proposal, NULL, "{" PURCHASE ",\"status\":\"draft\"}", 1},
        {&neo_proposal, "{" PURCHASE ",\"status\":\"draft\"}", "{" PURCHASE ",\"status\":\"draft\",\"notes\":\"x\"}", 0},
        {&neo_proposal, "{" PURCHASE ",\"status\":\"draft\"}", "{" PURCHASE ",\"status\":\"submitted\"}", 0},
        {&neo_proposal, "{" PURCHASE ",\"status\":\"submitted\"}", "{" PURCHASE ",\"status\":\"accepted\"}", 1},
        {&neo_proposal, "{" PURCHASE ",\"status\":\"accepted\"}", "{" PURCHASE ",\"status\":\"accepted\",\"notes\":\"x\"}", 0},
        {&neo_contract, NULL, "{" SALE ",\"status\":\"draft\"}", 0},
        {&neo_contract, NULL, "{" SALE ",\"status\":\"draft\",\"proposal_id\":\"pps_1\"}", 1},
        {&neo_contract, NULL, "{\"kind\":\"sale\",\"status\":\"draft\",\"proposal_id\":\"pps_1\"," PROPERTY "}", 1},
        {&neo_contract, "{" SALE ",\"status\":\"draft\"}", "{" SALE ",\"status\":\"pending_signature\"}", 0},
        {&neo_contract, "{" SALE ",\"status\":\"pending_signature\"}", "{" SALE ",\"status\":\"active\"}", 1},
        {&neo_contract, "{" SALE ",\"status\":\"active\"}", "{" SALE ",\"status\":\"active\",\"notes\":\"x\"}", 0},
        {&neo_contract, "{" SALE ",\"status\":\"draft\"}", "{" SALE ",\"status\":\"cancelled\"}", 1},
        {&neo_contract, "{" SALE ",\"status\":\"draft\"}", NULL, 0},
        {&neo_property, NULL, "{\"status\":\"active\"}", 0},
        {&neo_property, "{\"status\":\"sold\"}", "{\"status\":\"sold\",\"title\":\"x\"}", 0},
        {&neo_property, "{\"status\":\"sold\"}", "{\"status\":\"active\"}", 1},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const neo_rule_input input = input_of(cases[i].resource, cases[i].before, cases[i].after, *state);
        if (neo_rules_need_input(&input) != cases[i].needs)
            fail_msg("case %d", i);
    }
}

TEST(rules_about_the_resource_itself_are_checked_without_related_ones)
{
    static const struct {
        const neo_resource *resource;
        const char *before, *after;
        neo_code code;
    } cases[] = {
        {&neo_contract, "{" SALE ",\"status\":\"active\"}",
         "{\"kind\":\"sale\",\"amount\":101," PROPERTY "," PARTIES ",\"status\":\"active\"}", NEO_CONFLICT_FIELD_LOCKED},
        {&neo_contract, "{" SALE ",\"status\":\"pending_signature\"}", NULL, NEO_CONFLICT_NOT_DELETABLE},
        {&neo_contract, NULL, "{\"kind\":\"sale\",\"amount\":1," PROPERTY ",\"parties\":[],\"status\":\"pending_signature\"}",
         NEO_CONFLICT_PARTIES_MISSING},
        {&neo_proposal, "{" PURCHASE ",\"status\":\"rejected\"}", "{" PURCHASE ",\"status\":\"rejected\",\"amount\":1}",
         NEO_CONFLICT_FIELD_LOCKED},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const neo_rule_input input = input_of(cases[i].resource, cases[i].before, cases[i].after, *state);
        assert_int_equal(neo_rules_need_input(&input), 0);
        neo_problem *problem = neo_rules_check(&input, *state);
        assert_non_null(problem);
        assert_int_equal(problem->kind, cases[i].code);
    }
}

/* The problem of accepting a proposal for the property; NULL if it is accepted. */
static neo_problem *acceptance(const char *property, const char *today, int is_history, apr_pool_t *pool)
{
    neo_rule_input input =
        input_of(&neo_proposal, "{" PURCHASE ",\"status\":\"submitted\"}", "{" PURCHASE ",\"status\":\"accepted\"}", pool);
    input.read[NEO_READ_PROPERTY] = json(property, pool);
    input.today = today;
    input.is_history = is_history;
    return neo_rules_check(&input, pool);
}

TEST(time_rules_do_not_apply_to_history)
{
    static const char *const sold = "{\"transaction_type\":\"sale\",\"status\":\"sold\"}",
                             *const active = "{\"transaction_type\":\"sale\",\"status\":\"active\"}",
                             *const rented = "{\"transaction_type\":\"rent\",\"status\":\"active\"}";
    assert_null(acceptance(active, "2026-02-14", 0, *state));
    assert_int_equal(acceptance(active, "2026-02-15", 0, *state)->kind, NEO_CONFLICT_PROPOSAL_EXPIRED);
    assert_int_equal(acceptance(sold, "2026-02-14", 0, *state)->kind, NEO_CONFLICT_PROPERTY_UNAVAILABLE);
    assert_int_equal(acceptance(rented, "2026-02-14", 0, *state)->kind, NEO_CONFLICT_TRANSACTION_TYPE);
    assert_null(acceptance(sold, "2026-02-15", 1, *state));
    assert_null(acceptance(rented, "2026-02-15", 1, *state));
}
