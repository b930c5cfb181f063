/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the rules between resources in a request (see model/business_rules.h). */
#include "call.h"
#include "store/facts.h"

/* The values that are taken over from a proposal are subject to the rules of the body as well. */
static neo_problem *fill_and_check(const neo_facts *facts, apr_pool_t *pool)
{
    const neo_resource *resource = facts->resource;
    neo_problem *problem = NULL;
    if (facts->after && resource->fill) {
        resource->fill(facts, pool);
        resource->rule(resource, facts->after, &problem, pool);
    }
    return problem ? problem : neo_rules_check(facts, 0, pool);
}

neo_pg_status neo_call_check_rules(neo_call *call, neo_pg *pg, neo_facts *facts, neo_problem **refusal, neo_rows *rows)
{
    neo_pg_status status = NEO_PG_OK;
    *refusal = NULL;
    if (!neo_rules_need_facts(facts)) {
        *refusal = neo_rules_check(facts, 0, call->pool);
        return status;
    }
    status = neo_facts_read(pg, &call->actor, facts, call->pool, rows);
    if (status == NEO_PG_OK)
        *refusal = fill_and_check(facts, call->pool);
    return status;
}
