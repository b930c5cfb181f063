/* Idempotent writes: the Idempotency-Key, and the replay of its first response (see call.h). */
#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/json.h"
#include "core/secret.h"
#include "store/idempotency.h"

/* Attempts while others use the same key. Each failure is another's success. */
#define MAX_ATTEMPTS 100

/* The answer with the secret at its place in the resource's table. */
static neo_text with_secret(neo_call *call, neo_text answer, const char *secret)
{
    const char *wrong;
    neo_json *all = neo_json_make_object(call->pool), *parsed = neo_json_parse(answer, call->pool, &wrong);
    for (const neo_field *f = call->match.resource->fields; parsed && f->name; f++) {
        neo_json *value = f->flags & NEO_SECRET ? neo_json_make_string(secret, call->pool) : neo_json_get(parsed, f->name);
        if (value)
            neo_json_set(all, f->name, value);
    }
    return neo_json_text(all, call->pool);
}

void neo_call_respond_created(neo_call *call, int status, neo_text answer, const char *secret)
{
    const neo_operation *operation = call->match.operation;
    if (operation->response_headers & NEO_RESPONSE_LOCATION)
        neo_call_set_header(call, "Location",
                            apr_pstrcat(call->pool, call->site->base_url, call->match.resource->collection, "/",
                                        neo_call_id_of(answer, call->pool), NULL));
    if (operation->response_headers & NEO_RESPONSE_ETAG)
        neo_call_set_header(call, "ETag", neo_etag(answer, call->pool));
    neo_call_respond(call, status, secret ? with_secret(call, answer, secret) : answer);
}

/* Answers again what the first request with the key was answered. */
static neo_problem *replay(neo_call *call, const neo_idempotency_answer *first)
{
    const char *secret = NULL;
    if (first->secret &&
        !(secret = neo_secret_open(&call->site->keys, neo_call_id_of(first->body, call->pool), first->secret, call->pool)))
        return neo_problem_internal(call->pool);
    neo_call_set_header(call, "Idempotent-Replayed", "true");
    neo_call_respond_created(call, first->status, first->body, secret);
    return NULL;
}

neo_problem *neo_call_replay(neo_call *call, neo_pg *pg, int *is_free)
{
    neo_idempotency_state state = NEO_IDEMPOTENCY_FREE;
    neo_idempotency_answer answer;
    *is_free = 0;
    neo_pg_status looked = neo_idempotency_lookup(pg, &call->actor, call->idempotency, call->pool, &state, &answer);
    if (looked != NEO_PG_OK) {
        neo_rows none = {0};
        return neo_call_failed(call, looked, &none);
    }
    if (state == NEO_IDEMPOTENCY_MISMATCH)
        return neo_problem_make(call->pool, NEO_CONFLICT_IDEMPOTENCY_KEY_REUSED,
                                "This Idempotency-Key was used for a different request.");
    if (state == NEO_IDEMPOTENCY_ANSWERED)
        return *answer.body.ptr == '{' ? replay(call, &answer) : neo_call_replay_pending(call, pg, &answer);
    *is_free = 1;
    return NULL;
}

/* Nothing was made, because the key is there or something else is in the way. The key decides, where there is one: what is in
 * the way may be what the first request made. *done 0 on the way in: this is the first attempt; on the way out: the key is free
 * now, try again. */
static neo_problem *resolve_conflict(neo_call *call, neo_pg *pg, neo_pg_status status, const neo_rows *rows, int *done)
{
    int is_first = !*done, is_free;
    *done = 1;
    if (status == NEO_PG_UNIQUE_VIOLATION && rows->constraint &&
        strcmp(rows->constraint, "webhook_subscription_id_suffix") == 0) {
        *done = 0; /* the next id ends otherwise */
        return NULL;
    }
    if (status == NEO_PG_FK_VIOLATION) {
        *done = 0; /* what it refers to has just been deleted: now the statement can say where that stands */
        return NULL;
    }
    if (!call->idempotency || (status != NEO_PG_OK && status != NEO_PG_UNIQUE_VIOLATION))
        return status == NEO_PG_OK ? neo_call_not_found(call) : neo_call_failed(call, status, rows);
    neo_problem *problem = neo_call_replay(call, pg, &is_free);
    if (!is_free)
        return problem;
    if (status == NEO_PG_UNIQUE_VIOLATION && !(rows->constraint && strcmp(rows->constraint, "idempotency_key_pkey") == 0))
        return neo_call_failed(call, status, rows);
    if (status == NEO_PG_OK && !is_first)
        return neo_call_not_found(call);
    *done = 0;
    return NULL;
}

neo_problem *neo_call_write_idempotent(neo_call *call, neo_pg *pg, neo_idempotent_write write, void *what, neo_rows *rows,
                                       int *made)
{
    *made = 0;
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        int done = attempt > 0;
        neo_pg_status status = write(call, pg, what, rows);
        *made = status == NEO_PG_OK && rows->count;
        if (*made) {
            neo_call_notify_dispatcher(call, rows);
            return NULL;
        }
        neo_problem *problem = resolve_conflict(call, pg, status, rows, &done);
        if (done)
            return problem;
    }
    return neo_call_failed(call, NEO_PG_UNAVAILABLE, rows);
}
