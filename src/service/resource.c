/* What can be done with one resource: create, read, change, replace, delete. */
#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/json.h"
#include "model/validate.h"
#include "store/idempotency.h"

/* Attempts to change a row that others change at the same time. Each failure is another's success. */
#define MOST_ATTEMPTS 100

static neo_problem *not_found(neo_call *call)
{
    const char *name = call->match.resource->name;
    return neo_problem_about(call->pool, NEO_NOT_FOUND_RESOURCE, name, "The organization has no %s with this id.", name);
}

/* Borrows a connection for an operation on one id. What is no id of the kind is no resource either. */
static neo_problem *borrow_for_id(neo_call *call, neo_pg **pg)
{
    return neo_id_is(call->match.id, call->match.resource->prefix) ? neo_call_borrow(call, pg) : not_found(call);
}

/* ---------------------------------------------------------------- create */

static void respond_created(neo_call *call, const char *id, neo_text answer)
{
    neo_call_set_header(call, "Location",
                        apr_pstrcat(call->pool, call->site->base_url, call->match.resource->collection, "/", id, NULL));
    neo_call_respond_tagged(call, 201, answer);
}

/* Answers again what the first request with the key was answered. */
static void replay(neo_call *call, neo_text answer)
{
    const char *wrong;
    neo_json *first = neo_json_parse(answer, call->pool, &wrong);
    neo_call_set_header(call, "Idempotent-Replayed", "true");
    respond_created(call, first ? neo_json_string(neo_json_get(first, "id")) : "", answer);
}

/* Nothing was created, because the key is there or something else is in the way. The key decides, where there is one: what is
 * in the way may be what the first request made. *done 0: the key is free, try again. */
static neo_problem *settle(neo_call *call, neo_pg *pg, neo_pg_status status, const neo_rows *rows, int *done)
{
    neo_once_state state = NEO_ONCE_FREE;
    neo_text answer;
    int kept;
    *done = 1;
    if (!call->once || (status != NEO_PG_OK && status != NEO_PG_DUPLICATE))
        return neo_call_failed(call, status, rows);
    neo_pg_status looked = neo_once_look(pg, &call->actor, call->once, call->pool, &state, &kept, &answer);
    if (looked != NEO_PG_OK)
        return neo_call_failed(call, looked, rows);
    if (state == NEO_ONCE_OTHER)
        return neo_problem_make(call->pool, NEO_CONFLICT_IDEMPOTENCY_KEY_REUSED,
                                "This Idempotency-Key was used for a different request.");
    if (state == NEO_ONCE_ANSWERED)
        replay(call, answer);
    else if (status == NEO_PG_DUPLICATE && !(rows->constraint && strcmp(rows->constraint, "idempotency_key_pkey") == 0))
        return neo_call_failed(call, status, rows);
    else
        *done = 0;
    return NULL;
}

static neo_problem *create(neo_call *call, neo_pg *pg, const neo_json *body)
{
    char id[NEO_ID_SIZE];
    neo_rows rows;
    neo_problem *problem;
    for (int attempt = 0, done = 0; attempt < MOST_ATTEMPTS; attempt++) {
        neo_pg_status status =
            neo_table_create(pg, call->match.resource, &call->actor, call->once, body, call->pool, id, &rows);
        if (status == NEO_PG_OK && rows.count) {
            respond_created(call, id, neo_rows_text(&rows, 0, 0));
            return NULL;
        }
        problem = settle(call, pg, status, &rows, &done);
        if (done)
            return problem;
    }
    return neo_call_failed(call, NEO_PG_AWAY, &rows);
}

neo_problem *neo_call_create(neo_call *call)
{
    neo_json *clean;
    neo_pg *pg;
    neo_problem *problem = neo_validate(call->match.resource, call->body, call->pool, &clean);
    if (problem || (problem = neo_call_borrow(call, &pg)))
        return problem;
    problem = create(call, pg, clean);
    neo_call_give_back(call, pg);
    return problem;
}

/* ---------------------------------------------------------------- read */

neo_problem *neo_call_read(neo_call *call)
{
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = borrow_for_id(call, &pg);
    if (problem)
        return problem;
    neo_pg_status status = neo_table_read(pg, call->match.resource, &call->actor, call->match.id, call->pool, &rows);
    neo_call_give_back(call, pg);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, &rows);
    if (rows.count == 0)
        return not_found(call);
    neo_call_respond_tagged(call, 200, neo_rows_text(&rows, 0, 0));
    return NULL;
}

/* ---------------------------------------------------------------- change, replace, delete */

/* Does the one statement of a write. `version` is the row's as it was read, NULL where it doesn't matter; `current` its answer.
 */
typedef neo_problem *(*writer)(neo_call *call, neo_pg *pg, const char *version, neo_text current, int *done);

/* Repeats until nobody else changed the row between reading and writing. */
static neo_problem *write_version(neo_call *call, neo_pg *pg, writer write)
{
    neo_rows rows;
    for (int attempt = 0, done = 0; attempt < MOST_ATTEMPTS; attempt++) {
        neo_pg_status status =
            neo_table_read_version(pg, call->match.resource, &call->actor, call->match.id, call->pool, &rows);
        if (status != NEO_PG_OK)
            return neo_call_failed(call, status, &rows);
        if (rows.count == 0)
            return not_found(call);
        neo_problem *problem = neo_call_check_if_match(call, neo_rows_text(&rows, 0, 0));
        if (!problem)
            problem = write(call, pg, neo_rows_value(&rows, 0, 1), neo_rows_text(&rows, 0, 0), &done);
        if (problem || done)
            return problem;
    }
    return neo_call_failed(call, NEO_PG_AWAY, &rows);
}

/* A write that depends on what the row is now needs its version; one that doesn't is one statement. */
static neo_problem *write_row(neo_call *call, writer write, int depends)
{
    neo_pg *pg;
    int done = 0;
    neo_problem *problem = borrow_for_id(call, &pg);
    if (problem)
        return problem;
    if (depends || neo_call_header(call, "If-Match"))
        problem = write_version(call, pg, write);
    else if (!(problem = write(call, pg, NULL, (neo_text){"", 0}, &done)) && !done)
        problem = not_found(call);
    neo_call_give_back(call, pg);
    return problem;
}

static neo_problem *update(neo_call *call, neo_pg *pg, const char *version, neo_json *clean, int *done)
{
    neo_rows rows;
    neo_pg_status status =
        neo_table_update(pg, call->match.resource, &call->actor, call->match.id, version, clean, call->pool, &rows);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, &rows);
    *done = rows.count > 0;
    if (*done)
        neo_call_respond_tagged(call, 200, neo_rows_text(&rows, 0, 0));
    return NULL;
}

static neo_problem *patch(neo_call *call, neo_pg *pg, const char *version, neo_text current, int *done)
{
    const char *wrong;
    neo_json *clean, *before = neo_json_parse(current, call->pool, &wrong);
    if (!before)
        return neo_problem_internal(call->pool);
    neo_problem *problem = neo_validate_patch(call->match.resource, before, call->body, call->pool, &clean);
    return problem ? problem : update(call, pg, version, clean, done);
}

static neo_problem *replace(neo_call *call, neo_pg *pg, const char *version, neo_text current, int *done)
{
    neo_json *clean;
    (void)current;
    neo_problem *problem = neo_validate(call->match.resource, call->body, call->pool, &clean);
    return problem ? problem : update(call, pg, version, clean, done);
}

static neo_problem *remove_row(neo_call *call, neo_pg *pg, const char *version, neo_text current, int *done)
{
    neo_rows rows;
    (void)current;
    neo_pg_status status = neo_table_delete(pg, call->match.resource, &call->actor, call->match.id, version, call->pool, &rows);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, &rows);
    *done = rows.count > 0;
    if (*done)
        call->response->status = 204;
    return NULL;
}

neo_problem *neo_call_patch(neo_call *call)
{
    return write_row(call, patch, 1);
}

neo_problem *neo_call_replace(neo_call *call)
{
    return write_row(call, replace, 0);
}

neo_problem *neo_call_delete(neo_call *call)
{
    return write_row(call, remove_row, 0);
}
