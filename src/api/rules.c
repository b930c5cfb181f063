/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the rules between resources in a request (see schema/business_rules.h). */
#include "call.h"
#include "schema/transition.h"
#include "sql/rule_input.h"

/* The values that are taken over from related resources are subject to the rules of the body as well. */
static neo_problem *fill_and_check(const neo_rule_input *input, apr_pool_t *pool)
{
    const neo_resource *resource = input->resource;
    neo_problem *problem = NULL;
    if (input->after && resource->fill) {
        resource->fill(input, pool);
        resource->rule(resource, input->after, &problem, pool);
    }
    return problem ? problem : neo_rules_check(input, pool);
}

neo_pg_status neo_call_check_rules(neo_call *call, neo_pg *pg, neo_rule_input *input, neo_problem **refusal, neo_rows *rows)
{
    neo_pg_status status = NEO_PG_OK;
    *refusal = NULL;
    if (!neo_rules_need_input(input)) {
        *refusal = neo_rules_check(input, call->pool);
        return status;
    }
    status = neo_rule_input_read(pg, &call->actor, input, call->pool, rows);
    if (status == NEO_PG_OK)
        *refusal = fill_and_check(input, call->pool);
    return status;
}

neo_pg_status neo_call_check_change(neo_call *call, neo_pg *pg, neo_rule_input *input, neo_change *row, neo_problem **refusal,
                                    neo_rows *rows)
{
    *refusal = neo_transition_check(input->resource, input->before ? neo_json_string_at(input->before, "status") : NULL,
                                    neo_json_string_at(input->after, "status"), call->pool, &row->timestamp_field);
    if (*refusal)
        return NEO_PG_OK;
    neo_pg_status status = neo_call_check_rules(call, pg, input, refusal, rows);
    if (status == NEO_PG_OK && !*refusal)
        row->target = neo_rules_target(input);
    return status;
}
