/* SPDX-License-Identifier: Apache-2.0 */
/* What a credential with a masked scope ("parties:read_masked") may do: its responses are masked as a whole before they are
 * sent, whatever made them, and it can neither look up nor be sent what it does not see. */
#include "resources/mask.h"

#include <apr_strings.h>
#include <string.h>

#include "call.h"

int neo_call_mask(const neo_call *call, neo_text *body, apr_pool_t *pool)
{
    return call->match.operation->access < NEO_ACCESS_READ || !(call->scopes & NEO_SCOPES_MASKED) ||
           neo_mask_text(body, call->match.resource, call->scopes, pool);
}

/* ---------------------------------------------------------------- what is looked up */

neo_problem *neo_call_check_filters(neo_call *call)
{
    const neo_match *match = &call->match;
    const apr_array_header_t *all = apr_table_elts(call->query);
    for (int i = 0; match->resource && neo_scopes_mask(call->scopes, match->resource->area) && i < all->nelts; i++) {
        const char *name = APR_ARRAY_IDX(all, i, apr_table_entry_t).key;
        const neo_filter *filter = neo_operation_filter(match->operation, match->resource, name);
        if (filter && neo_filter_is_sensitive(filter, match->resource))
            return neo_problem_make(call->pool, NEO_FORBIDDEN_PERMISSIONS,
                                    "The filter %s compares data that the credential sees masked. It needs the scope %s.", name,
                                    neo_scope_text(NEO_SCOPE_READ(match->resource->area), call->pool));
    }
    return NULL;
}

/* ---------------------------------------------------------------- what is sent back */

static void find_masks(neo_call *call, neo_json *value, const char *path, neo_problem **problem)
{
    neo_json_kind kind = neo_json_get_kind(value);
    if (kind == NEO_JSON_STRING && strcmp(neo_json_string(value), NEO_MASK) == 0)
        neo_problem_field(problem, call->pool, NEO_VALIDATION_FIELD_INVALID, call->match.resource->name, path,
                          "is the mask of a value: leave it out of a PATCH, or send the value");
    for (void *m = kind == NEO_JSON_OBJECT ? neo_json_first(value) : NULL; m; m = neo_json_next(value, m))
        find_masks(call, neo_json_member_value(m),
                   apr_pstrcat(call->pool, path, *path ? "." : "", neo_json_member_key(m), NULL), problem);
    for (apr_size_t i = 0; kind == NEO_JSON_ARRAY && i < neo_json_size(value); i++)
        find_masks(call, neo_json_at(value, i), apr_psprintf(call->pool, "%s[%d]", path, (int)i), problem);
}

/* ---------------------------------------------------------------- subscriptions */

#define IS_MASKED "is_masked"

/* Sets is_masked, so that it cannot be lost between the check of a subscription and the write. */
static void set_is_masked(neo_call *call, neo_problem **problem)
{
    const neo_json *value = neo_json_get(call->body, IS_MASKED);
    if (value && !neo_json_is_true(value))
        neo_problem_field(problem, call->pool, NEO_VALIDATION_FIELD_INVALID, neo_webhook.name, IS_MASKED,
                          "must be true, because the credential has a masked scope");
    neo_json_set_boolean(call->body, IS_MASKED, 1, call->pool);
}

/* An atomic batch can be made to fail without a trace. It would reveal whether an update with a guessed value changes
 * something, by the ETag that its next operation requires. */
static int can_guess(const neo_call *call)
{
    return call->match.operation->accepts & NEO_ACCEPTS_BATCH && neo_scopes_mask(call->scopes, call->match.resource->area) &&
           neo_json_is_true(neo_json_get(call->body, "atomic"));
}

neo_problem *neo_call_check_masked_body(neo_call *call)
{
    neo_problem *problem = NULL;
    if (!call->match.resource || !(call->scopes & NEO_SCOPES_MASKED))
        return NULL;
    if (can_guess(call))
        return neo_problem_make(
            call->pool, NEO_FORBIDDEN_PERMISSIONS,
            "A credential that sees the %s masked cannot send atomic batches of them. Send it without atomic.",
            call->match.resource->collection);
    find_masks(call, call->body, "", &problem);
    if (call->match.resource == &neo_webhook && !call->match.operation->body &&
        neo_json_get_kind(call->body) == NEO_JSON_OBJECT)
        set_is_masked(call, &problem);
    return problem;
}

/* Otherwise it could have deliveries with all data sent to itself. */
neo_problem *neo_call_check_subscription(neo_call *call)
{
    neo_pg *pg;
    neo_rows rows;
    const char *error;
    if (!(call->scopes & NEO_SCOPES_MASKED) || call->match.resource != &neo_webhook || !call->match.id ||
        call->match.operation->access != NEO_ACCESS_WRITE)
        return NULL;
    neo_problem *problem = neo_call_acquire_for_id(call, &pg);
    if (problem)
        return problem;
    neo_pg_status status = neo_table_read(pg, &neo_webhook, &call->actor, call->match.id, call->pool, &rows);
    neo_call_release(call, pg);
    if ((problem = neo_call_check_found(call, status, &rows)))
        return problem;
    return neo_json_is_true(neo_json_get(neo_json_parse(neo_rows_text(&rows, 0, 0), call->pool, &error), IS_MASKED))
               ? NULL
               : neo_problem_make(call->pool, NEO_FORBIDDEN_PERMISSIONS,
                                  "A credential with a masked scope can change only subscriptions with " IS_MASKED ".");
}
