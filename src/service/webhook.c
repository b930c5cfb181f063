/* SPDX-License-Identifier: Apache-2.0 */
/* Webhook subscriptions: rotation of the secret, a delivery, test deliveries, retries and recovery. */
#include "call.h"
#include "core/json.h"
#include "core/secret.h"
#include "model/validate.h"
#include "store/delivery.h"

neo_problem *neo_call_rotate_secret(neo_call *call, neo_result *result)
{
    neo_pg *pg;
    neo_rows rows;
    const char *secret = neo_webhook_secret_make(call->pool);
    neo_problem *problem = neo_call_acquire_for_id(call, &pg);
    if (problem)
        return problem;
    const char *sealed = neo_secret_seal(&call->site->keys, call->match.id, secret, call->pool);
    neo_pg_status status = neo_delivery_rotate(pg, &call->actor, call->match.id, sealed, call->pool, &rows);
    neo_call_release(call, pg);
    problem = neo_call_check_found(call, status, &rows);
    if (!problem)
        *result = (neo_result){.status = 200, .body = neo_rows_text(&rows, 0, 0), .secret = secret};
    return problem;
}

neo_problem *neo_call_read_delivery(neo_call *call, neo_result *result)
{
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = neo_call_acquire_for_id(call, &pg);
    if (problem)
        return problem;
    neo_pg_status status = neo_delivery_read(pg, &call->actor, call->match.id, call->match.subresource_id, call->pool, &rows);
    neo_call_release(call, pg);
    problem = neo_call_check_found(call, status, &rows);
    if (!problem)
        *result = (neo_result){.status = 200, .body = neo_rows_text(&rows, 0, 0)};
    return problem;
}

/* ---------------------------------------------------------------- new deliveries */

typedef struct {
    neo_delivery_kind kind;
    const char *of;
} delivery_request;

static neo_pg_status make(neo_call *call, neo_pg *pg, void *baton, neo_rows *rows)
{
    const delivery_request *wanted = baton;
    return neo_delivery_make(pg, wanted->kind, &call->actor, call->idempotency, call->match.id, wanted->of, call->pool, rows);
}

static neo_problem *deliver(neo_call *call, neo_delivery_kind kind, const char *of, neo_result *result)
{
    neo_pg *pg;
    neo_rows rows;
    delivery_request wanted = {kind, of};
    neo_problem *problem = neo_call_acquire_for_id(call, &pg);
    if (problem)
        return problem;
    problem = neo_call_write_idempotent(call, pg, &(neo_idempotent){.write = make, .baton = &wanted}, &rows, result);
    neo_call_release(call, pg);
    if (!problem && !result->is_replayed)
        *result = (neo_result){.status = call->match.operation->status, .body = neo_rows_text(&rows, 0, 0)};
    return problem;
}

neo_problem *neo_call_test_webhook(neo_call *call, neo_result *result)
{
    return deliver(call, NEO_DELIVERY_TEST, NULL, result);
}

neo_problem *neo_call_retry_delivery(neo_call *call, neo_result *result)
{
    return deliver(call, NEO_DELIVERY_RETRY, call->match.subresource_id, result);
}

neo_problem *neo_call_recover(neo_call *call, neo_result *result)
{
    neo_json *clean;
    neo_problem *problem = neo_validate(&neo_recovery, call->body, call->pool, &clean);
    if (!problem)
        problem = neo_call_find(call);
    return problem ? problem : deliver(call, NEO_DELIVERY_RECOVER, neo_json_string(neo_json_get(clean, "since")), result);
}
