/* SPDX-License-Identifier: Apache-2.0 */
/* Related resources of a write: replaces references by external id in a body by ids, before it is validated, and checks the
 * rules between resources (see schema/business_rules.h). */
#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/json.h"
#include "schema/business_rules.h"
#include "schema/references.h"
#include "sql/reference.h"
#include "sql/table.h"

/* ---------------------------------------------------------------- references by external id */

typedef struct {
    apr_array_header_t *all;
    apr_pool_t *pool;
} replacement;

/* Without an external id, the validation refuses the value. An external id that no resource has becomes an id that no resource
 * has: of the year 10889, as in no ULID that is issued or imported. So it is refused like any unknown id, also by rules and
 * with idempotency keys. */
static neo_json *replace_reference(void *data, const neo_resource *kind, neo_json *value)
{
    const replacement *r = data;
    int is_one = neo_json_get_kind(value) == NEO_JSON_OBJECT && neo_json_size(value) == 1 && neo_has_external_id(kind);
    const char *external_id = is_one ? neo_json_string_at(value, "external_id") : NULL;
    if (!external_id)
        return value;
    for (int i = 0; i < r->all->nelts; i++) {
        const neo_external_id *one = &APR_ARRAY_IDX(r->all, i, neo_external_id);
        if (one->resource == kind && strcmp(one->external_id, external_id) == 0)
            return neo_json_make_string(one->id, r->pool);
    }
    const char *unknown = apr_psprintf(r->pool, "%s7zzzzzzzzzzzzzzzzzzz%06d", kind->prefix, r->all->nelts);
    APR_ARRAY_PUSH(r->all, neo_external_id) = (neo_external_id){kind, external_id, unknown};
    return neo_json_make_string(unknown, r->pool);
}

neo_json *neo_call_replace_references(neo_call *call, neo_json *body, apr_array_header_t *all)
{
    const neo_resource *resource = call->match.resource;
    replacement r = {all, call->pool};
    int is_used = neo_reference_by_external_id(resource, body, NULL, call->pool) != NULL;
    return is_used ? neo_references_replace(resource, body, replace_reference, &r, call->pool) : body;
}

neo_pg_status neo_call_find_references(neo_call *call, neo_pg *pg, apr_array_header_t *all, neo_rows *rows)
{
    return all->nelts ? neo_external_id_find(pg, &call->actor, (neo_external_id *)all->elts, all->nelts, call->pool, rows)
                      : NEO_PG_OK;
}

neo_problem *neo_call_resolve_references(neo_call *call, neo_pg *pg, neo_json **body)
{
    neo_pg *own = NULL;
    neo_rows rows;
    neo_json *sent = *body;
    if (!neo_reference_by_external_id(call->match.resource, sent, NULL, call->pool))
        return NULL;
    apr_array_header_t *all = apr_array_make(call->pool, 4, sizeof(neo_external_id));
    neo_call_replace_references(call, sent, all);
    neo_problem *problem = all->nelts && !pg ? neo_call_acquire(call, &own) : NULL;
    if (problem || !all->nelts)
        return problem;
    neo_pg_status status = neo_call_find_references(call, pg ? pg : own, all, &rows);
    if (own)
        neo_call_release(call, own);
    *body = neo_call_replace_references(call, sent, all);
    return status == NEO_PG_OK ? NULL : neo_call_failed(call, status, &rows);
}

/* ---------------------------------------------------------------- rules */

/* The values that are taken over from related resources are subject to the rules of the body as well. */
neo_pg_status neo_call_check_rules(neo_call *call, neo_pg *pg, neo_rule_input *input, neo_problem **refusal, neo_rows *rows)
{
    const neo_resource *resource = input->resource;
    int needs_input = neo_rules_need_input(input);
    neo_pg_status status = needs_input ? neo_rule_input_read(pg, &call->actor, input, call->pool, rows) : NEO_PG_OK;
    *refusal = NULL;
    if (status != NEO_PG_OK)
        return status;
    if (needs_input && input->after && resource->fill) {
        resource->fill(input, call->pool);
        resource->rule(resource, input->after, refusal, call->pool);
    }
    if (!*refusal)
        *refusal = neo_rules_check(input, call->pool);
    return NEO_PG_OK;
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
