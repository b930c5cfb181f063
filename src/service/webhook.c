/* What can be done with a webhook subscription beside what every resource has: secrets, deliveries, sending again. */
#include "call.h"
#include "core/json.h"
#include "core/secret.h"
#include "model/validate.h"
#include "store/delivery.h"

/* What is no id of its kind is not there. */
static int are_ids(const neo_call *call)
{
    return neo_id_is(call->match.id, call->match.resource->prefix) &&
           (!call->match.subresource_id || neo_id_is(call->match.subresource_id, call->match.operation->prefix));
}

neo_problem *neo_call_rotate_secret(neo_call *call)
{
    neo_pg *pg;
    neo_rows rows;
    const char *secret = neo_webhook_secret_make(call->pool);
    neo_problem *problem = are_ids(call) ? neo_call_acquire(call, &pg) : neo_call_not_found(call);
    if (problem)
        return problem;
    const char *sealed = neo_secret_seal(&call->site->keys, call->match.id, secret, call->pool);
    neo_pg_status status = neo_delivery_rotate(pg, &call->actor, call->match.id, sealed, call->pool, &rows);
    neo_call_release(call, pg);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, &rows);
    if (rows.count == 0)
        return neo_call_not_found(call);
    neo_call_respond_created(call, 200, neo_rows_text(&rows, 0, 0), secret);
    return NULL;
}

neo_problem *neo_call_read_delivery(neo_call *call)
{
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = are_ids(call) ? neo_call_acquire(call, &pg) : neo_call_not_found(call);
    if (problem)
        return problem;
    neo_pg_status status = neo_delivery_read(pg, &call->actor, call->match.id, call->match.subresource_id, call->pool, &rows);
    neo_call_release(call, pg);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, &rows);
    if (rows.count == 0)
        return neo_call_not_found(call);
    neo_call_respond(call, 200, neo_rows_text(&rows, 0, 0));
    return NULL;
}

/* ---------------------------------------------------------------- new deliveries */

typedef struct {
    neo_delivery_kind kind;
    const char *of;
} wanted;

static neo_pg_status make(neo_call *call, neo_pg *pg, void *what, neo_rows *rows)
{
    const wanted *w = what;
    return neo_delivery_make(pg, w->kind, &call->actor, call->idempotency, call->match.id, w->of, call->pool, rows);
}

static neo_problem *deliver(neo_call *call, neo_delivery_kind kind, const char *of)
{
    neo_pg *pg;
    neo_rows rows;
    int made;
    wanted what = {kind, of};
    neo_problem *problem = are_ids(call) ? neo_call_acquire(call, &pg) : neo_call_not_found(call);
    if (problem)
        return problem;
    problem = neo_call_write_idempotent(call, pg, make, &what, &rows, &made);
    neo_call_release(call, pg);
    if (!problem && made)
        neo_call_respond_created(call, call->match.operation->status, neo_rows_text(&rows, 0, 0), NULL);
    return problem;
}

neo_problem *neo_call_test_webhook(neo_call *call)
{
    return deliver(call, NEO_DELIVERY_TEST, NULL);
}

neo_problem *neo_call_retry_delivery(neo_call *call)
{
    return deliver(call, NEO_DELIVERY_RETRY, call->match.subresource_id);
}

neo_problem *neo_call_recover(neo_call *call)
{
    neo_json *clean;
    neo_problem *problem = neo_validate(&neo_recovery, call->body, call->pool, &clean);
    if (!problem)
        problem = neo_call_find(call);
    return problem ? problem : deliver(call, NEO_DELIVERY_RECOVER, neo_json_string(neo_json_get(clean, "since")));
}
