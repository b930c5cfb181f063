/* SPDX-License-Identifier: Apache-2.0 */
/* Idempotent writes: executes an operation once per Idempotency-Key, and replays the first response. */
#include "sql/idempotency.h"

#include <string.h>

#include "call.h"
#include "core/secret.h"

/* Responses are stored for a day. The limiter lets no more than the limit pass in five sixths of its window. */
#define STORED_WINDOW    (86400 * 6 / 5)
#define STORED_ROW_BYTES 300 /* the size of a key's row without the response */

/* The ids of organizations differ from those of credentials, which have the same limiter. */
static void count_stored(const neo_call *call, int bytes, neo_allowance *allowance)
{
    neo_limiter_count(call->site->credentials, (neo_text){call->actor.organization, NEO_ID_LEN}, bytes,
                      call->principal->idempotency_bytes, STORED_WINDOW, neo_now_ms() / 1000, allowance);
}

long long neo_call_stored_bytes(const neo_call *call)
{
    neo_allowance allowance;
    if (!call->principal->idempotency_bytes)
        return -1;
    count_stored(call, 0, &allowance);
    return allowance.limit - allowance.remaining;
}

/* The last response may exceed the limit, since its size is known after the write. */
void neo_call_count_stored(const neo_call *call)
{
    neo_allowance allowance;
    if (!call->principal->idempotency_bytes)
        return;
    count_stored(call, STORED_ROW_BYTES + (int)call->result.body.len, &allowance);
    if (allowance.is_exceeded && allowance.remaining)
        count_stored(call, allowance.remaining, &allowance);
}

/* At the limit a repeated request still gets the stored response: its client must learn that it was executed. */
neo_problem *neo_call_limit_stored(neo_call *call)
{
    neo_allowance allowance;
    neo_idempotency_state state;
    neo_idempotency_answer stored;
    neo_pg *pg;
    if (!call->idempotency || !call->principal->idempotency_bytes)
        return NULL;
    count_stored(call, 0, &allowance);
    if (allowance.remaining)
        return NULL;
    neo_problem *problem = neo_call_acquire(call, &pg);
    if (problem)
        return problem;
    neo_pg_status status = neo_idempotency_lookup(pg, &call->actor, call->idempotency, call->pool, &state, &stored);
    neo_call_release(call, pg);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, NULL);
    return state != NEO_IDEMPOTENCY_FREE ? NULL
                                         : neo_call_limit_reached(call, NEO_CONFLICT_LIMIT_REACHED, "idempotency_bytes",
                                                                  call->principal->idempotency_bytes);
}

neo_problem *neo_call_replay(neo_call *call, neo_pg *pg, neo_completer complete, neo_result *result, int *is_free)
{
    neo_idempotency_state state = NEO_IDEMPOTENCY_FREE;
    neo_idempotency_answer stored;
    neo_pg_status status = neo_idempotency_lookup(pg, &call->actor, call->idempotency, call->pool, &state, &stored);
    *is_free = status == NEO_PG_OK && state == NEO_IDEMPOTENCY_FREE;
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, NULL);
    if (state == NEO_IDEMPOTENCY_MISMATCH)
        return neo_problem_make(call->pool, NEO_CONFLICT_IDEMPOTENCY_KEY_REUSED,
                                "This Idempotency-Key was used for a different request.");
    if (*is_free)
        return NULL;
    *result = (neo_result){.status = stored.status, .body = stored.body, .is_replayed = 1};
    if (stored.secret) {
        const char *id = neo_call_representation_id(stored.body, call->pool);
        result->secret = neo_secret_open(&call->site->keys, id, stored.secret, call->pool);
        if (!result->secret)
            return neo_problem_internal(call->pool);
    }
    return complete ? complete(call, pg, &result->body) : NULL;
}

/* Decides what follows from an attempt that returned no rows. If the key exists, its response is replayed, even on a unique
 * violation or at a limit: what the first request created may be the cause. */
static neo_problem *resolve_conflict(neo_call *call, neo_pg *pg, const neo_idempotent *operation, neo_pg_status status,
                                     const neo_rows *rows, neo_result *result, int *again)
{
    int is_free = 1, is_first = !*again;
    int is_unique_violation = status == NEO_PG_UNIQUE_VIOLATION;
    /* after a foreign key violation, the next attempt's rows name the references that are missing */
    *again = status == NEO_PG_RETRY || status == NEO_PG_FK_VIOLATION;
    if (*again)
        return NULL;
    if (status != NEO_PG_OK && !is_unique_violation && status != NEO_PG_LIMIT_REACHED)
        return neo_call_failed(call, status, rows);
    neo_problem *problem = call->idempotency ? neo_call_replay(call, pg, operation->complete, result, &is_free) : NULL;
    if (!is_free)
        return problem;
    int is_same_key = is_unique_violation && rows->constraint && strcmp(rows->constraint, "idempotency_key_pkey") == 0;
    if (status != NEO_PG_OK && !is_same_key)
        return neo_call_failed(call, status, rows);
    if (!is_unique_violation && (!call->idempotency || !is_first))
        return neo_call_not_found(call, call->external_id);
    *again = 1; /* the key existed, and has expired since */
    return NULL;
}

neo_problem *neo_call_write_idempotent(neo_call *call, neo_pg *pg, const neo_idempotent *operation, neo_rows *rows,
                                       neo_result *result)
{
    int again = 0;
    for (int attempt = 0; attempt < NEO_CALL_MAX_ATTEMPTS; attempt++) {
        neo_pg_status status = operation->write(call, pg, operation->baton, rows);
        if (status == NEO_PG_OK && rows->count) {
            neo_call_notify_dispatcher(call, rows);
            return NULL;
        }
        neo_problem *problem = resolve_conflict(call, pg, operation, status, rows, result, &again);
        if (!again)
            return problem;
    }
    return neo_call_failed(call, NEO_PG_RETRY, NULL);
}
