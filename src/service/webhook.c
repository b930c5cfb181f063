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

static neo_pg_status test(neo_call *call, neo_pg *pg, void *baton, neo_rows *rows)
{
    (void)baton;
    return neo_delivery_make(pg, NEO_DELIVERY_TEST, &call->actor, call->idempotency, call->match.id, NULL, call->pool, rows);
}

static neo_pg_status retry(neo_call *call, neo_pg *pg, void *baton, neo_rows *rows)
{
    (void)baton;
    return neo_delivery_make(pg, NEO_DELIVERY_RETRY, &call->actor, call->idempotency, call->match.id,
                             call->match.subresource_id, call->pool, rows);
}

static neo_pg_status recover(neo_call *call, neo_pg *pg, void *body, neo_rows *rows)
{
    return neo_delivery_recover(pg, &call->actor, call->idempotency, call->match.id, body, call->pool, rows);
}

static neo_problem *deliver(neo_call *call, const neo_idempotent *operation, neo_result *result)
{
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = neo_call_acquire_for_id(call, &pg);
    if (problem)
        return problem;
    problem = neo_call_write_idempotent(call, pg, operation, &rows, result);
    neo_call_release(call, pg);
    if (!problem && !result->is_replayed)
        *result = (neo_result){.status = call->match.operation->status, .body = neo_rows_text(&rows, 0, 0)};
    return problem;
}

neo_problem *neo_call_test_webhook(neo_call *call, neo_result *result)
{
    return deliver(call, &(neo_idempotent){.write = test}, result);
}

neo_problem *neo_call_retry_delivery(neo_call *call, neo_result *result)
{
    return deliver(call, &(neo_idempotent){.write = retry}, result);
}

neo_problem *neo_call_recover(neo_call *call, neo_result *result)
{
    neo_json *clean;
    neo_problem *problem = neo_validate(&neo_recovery, call->body, call->pool, &clean);
    if (!problem)
        problem = neo_call_find(call);
    return problem ? problem : deliver(call, &(neo_idempotent){.write = recover, .baton = clean}, result);
}
