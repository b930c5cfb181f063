/* SPDX-License-Identifier: Apache-2.0 */
/* Executes the operations of a batch in one transaction, with the outcome of single requests.
 *
 * First, all rows to be changed are locked in the order of their ids, so that two batches cannot deadlock: the rows that
 * effects may change, as in single writes, before the rows of the batch. Then the operations are executed in their order.
 * Successive operations with the same method on different resources share one statement, except those that may have an effect.
 * If it fails because of a constraint, they are executed one by one, each from a savepoint.
 *
 * An operation with an external id finds its resource when its turn comes; so does an upsert or merge, which otherwise creates
 * it. If another transaction creates the resource at the same time, the batch begins again. */
#include <stdlib.h>
#include <string.h>

#include "api/batch_queue.h"
#include "batch_item.h"
#include "core/json.h"
#include "schema/references.h"
#include "sql/reference.h"

/* Of the transaction, after serialization failures. PostgreSQL needs a second to detect a deadlock, so that MAX_SECONDS usually
 * ends them first. */
#define MAX_ATTEMPTS 10
#define MAX_SECONDS  20
#define RETRY_DELAY  APR_TIME_C(10000) /* microseconds */
#define MAX_WAIT_MS  250               /* for its turn, before a connection is acquired */

/* ---------------------------------------------------------------- all operations */

/* Whether an item that finds its resource by an external id may have the same resource as another item, which finds it by that
 * id, creates it or gives it that id. */
static int may_be_same(const neo_item *i, const neo_item *other)
{
    const char *wanted = i->operation->external_id, *found = other->operation->external_id;
    if (!wanted || (found && strcmp(wanted, found) == 0))
        return wanted != NULL;
    const char *sent = neo_json_string_at(other->operation->data, "external_id");
    return sent && strcmp(wanted, sent) == 0;
}

static int shares_external_id(const neo_item *a, const neo_item *b)
{
    return may_be_same(a, b) || may_be_same(b, a);
}

static int has_external_id(const neo_work *w, neo_text current, const char *external_id)
{
    const char *error, *text;
    const neo_json *parsed = current.ptr ? neo_json_parse(current, w->call->pool, &error) : NULL;
    return (text = neo_json_string_at(parsed, "external_id")) && strcmp(text, external_id) == 0;
}

/* Finds the resource that has the operation's external id after the earlier operations. If there is none, an upsert or
 * merge creates it. */
static void choose_method(neo_work *w, neo_item *i)
{
    const char *external_id = i->operation->external_id;
    if (!external_id)
        return;
    int own = i->first;
    if (neo_batch_may_create(i->operation))
        i->method = NEO_METHOD_CREATE;
    i->first = i->row.number;
    for (const neo_item *e = i; e >= w->items; e--) {
        int first = e == i ? own : e->first;
        if ((first == own || shares_external_id(e, i)) && has_external_id(w, w->items[first].current, external_id)) {
            if (neo_batch_may_create(i->operation))
                i->method = NEO_METHOD_UPDATE;
            i->first = first;
            memmove(i->row.id, w->items[first].row.id, NEO_ID_SIZE);
            return;
        }
    }
    i->id = NULL; /* what had the external_id when the batch began has lost it */
    if (!neo_batch_may_create(i->operation))
        i->problem = neo_call_not_found(w->call, i->operation->external_id);
}

/* How many items from `first` on can share a statement: with one method and no resource twice, because an operation depends on
 * the earlier ones on its resource. One that may change a related resource is alone: the rules of the next depend on that. One
 * that refers to its own kind by an external id is the first, because an earlier one may give that to a resource. */
static int count_together(neo_work *w, neo_item *first)
{
    neo_item *next = first + 1, *end = w->items + w->batch.count;
    choose_method(w, first);
    if (neo_batch_may_affect(w->resource, first->operation))
        return 1;
    for (; next < end && !neo_batch_may_affect(w->resource, next->operation); next++) {
        if (neo_reference_by_external_id(w->resource, next->operation->data, w->resource, w->call->pool))
            break;
        for (const neo_item *i = first; i < next; i++)
            if (i->first == next->first || shares_external_id(i, next))
                return (int)(next - first);
        choose_method(w, next);
        if (next->method != first->method)
            break;
    }
    return (int)(next - first);
}

static neo_pg_status lock_rows(neo_work *w);

/* Whether the credential was revoked, or lost its rights, in the course of the transaction. Then all of it is rolled back. */
static int has_lost_access(neo_work *w)
{
    if (!w->refusal)
        w->refusal = neo_call_confirm(w->call);
    return w->refusal != NULL;
}

static neo_pg_status execute_all(neo_work *w)
{
    neo_pg_status status = NEO_PG_OK;
    for (int n = 0, count; n < w->batch.count && status == NEO_PG_OK && !has_lost_access(w); n += count) {
        count = count_together(w, &w->items[n]);
        status = neo_batch_prepare(w, &w->items[n], count);
        if (status == NEO_PG_OK)
            status = neo_batch_write_items(w, &w->items[n], count);
        int may_clear = w->items[n].operation->method == NEO_METHOD_DELETE && neo_mutual_field(w->resource);
        if (status == NEO_PG_OK && may_clear && n + count < w->batch.count)
            status = lock_rows(w); /* reads again what the deletions cleared in other rows */
    }
    return status;
}

/* ---------------------------------------------------------------- the transaction */

/* Resets the items for an attempt. */
static void reset(neo_work *w)
{
    memset(w->items, 0, (apr_size_t)w->batch.count * sizeof *w->items);
    for (int n = 0; n < w->batch.count; n++) {
        neo_item *i = &w->items[n];
        i->operation = &w->batch.operations[n];
        i->method = i->operation->method;
        i->id = i->operation->id;
        i->problem = i->operation->problem;
        i->row.number = n;
    }
    w->is_saved = 1; /* the begin of the transaction is a savepoint */
    w->queued = 0;
    w->refusal = NULL;
}

/* Locks the rows that the effects of updates may change: those that the items refer to now, and will refer to. */
static neo_pg_status lock_targets(neo_work *w)
{
    neo_batch_row *some = apr_palloc(w->call->pool, (apr_size_t)w->batch.count * sizeof *some);
    int wanted = 0;
    for (const neo_item *i = w->items; i < w->items + w->batch.count; i++)
        if (neo_batch_may_affect(w->resource, i->operation)) {
            const char *sent = neo_json_string_at(i->operation->data, w->resource->effects->through);
            some[wanted] = i->row;
            some[wanted++].target.id = sent && neo_id_is(sent, neo_effect_target(w->resource)->prefix) ? sent : NULL;
        }
    return wanted ? neo_batch_lock(w->pg, NEO_SQL_LOCK_TARGETS, w->resource, &w->call->actor, some, wanted, w->call->pool,
                                   &w->failure)
                  : NEO_PG_OK;
}

/* Finds the resources of operations with an external id. */
static neo_pg_status find_rows(neo_work *w)
{
    neo_external_id *wanted = apr_palloc(w->call->pool, (apr_size_t)w->batch.count * sizeof *wanted);
    int count = 0;
    for (const neo_item *i = w->items; i < w->items + w->batch.count; i++)
        if (i->operation->external_id)
            wanted[count++] = (neo_external_id){.resource = w->resource, .external_id = i->operation->external_id};
    if (!count)
        return NEO_PG_OK;
    neo_pg_status status = neo_external_id_find(w->pg, &w->call->actor, wanted, count, w->call->pool, &w->failure);
    for (neo_item *i = w->items + w->batch.count; i-- > w->items;)
        if (i->operation->external_id)
            i->id = wanted[--count].id;
    return status;
}

/* Sets the first item on the same resource, of each item. */
static void link_items(neo_work *w)
{
    for (neo_item *i = w->items; i < w->items + w->batch.count; i++)
        for (i->first = 0; i->first < i->row.number; i->first++)
            if (i->id && w->items[i->first].id && strcmp(i->id, w->items[i->first].id) == 0)
                break;
}

/* Reads and locks the rows to be updated or deleted. */
static neo_pg_status lock_rows(neo_work *w)
{
    neo_rows found;
    neo_batch_row *rows = apr_palloc(w->call->pool, (apr_size_t)w->batch.count * sizeof *rows);
    int count = 0;
    for (neo_item *i = w->items; i < w->items + w->batch.count; i++) {
        if (!i->id || !neo_id_is(i->id, w->resource->prefix))
            continue;
        memcpy(i->row.id, i->id, NEO_ID_SIZE);
        if (i->first == i->row.number)
            rows[count++] = i->row;
    }
    if (count == 0)
        return NEO_PG_OK;
    neo_pg_status status = lock_targets(w);
    if (status != NEO_PG_OK)
        return status;
    status = neo_batch_lock(w->pg, NEO_SQL_LOCK_ROWS, w->resource, &w->call->actor, rows, count, w->call->pool, &found);
    w->is_saved = 0; /* see run_transaction */
    w->failure = found;
    for (int r = 0; status == NEO_PG_OK && r < found.count; r++)
        if (neo_rows_value(&found, r, NEO_LOCKED_NUMBER))
            w->items[atoi(neo_rows_value(&found, r, NEO_LOCKED_NUMBER))].current = neo_rows_text(&found, r, NEO_LOCKED_ANSWER);
    return status;
}

/* Runs the transaction up to its commit. *is_taken: the idempotency key exists, and nothing was executed. */
static neo_pg_status run_transaction(neo_work *w, neo_text *answer, int *is_taken)
{
    neo_call *call = w->call;
    neo_pg_status status = neo_pg_begin(w->pg, call->pool, &w->failure);
    if (status == NEO_PG_OK && !w->is_first) {
        status = neo_batch_lock_organization(w->pg, w->resource, &call->actor, call->pool, &w->failure);
        w->is_saved = 0; /* rolling back to an earlier savepoint would release the lock */
    }
    if (status == NEO_PG_OK && call->idempotency) {
        status = neo_idempotency_reserve(w->pg, &call->actor, call->idempotency, call->pool, &w->failure);
        *is_taken = status == NEO_PG_OK && w->failure.count == 0;
        w->is_saved = 0;
    }
    if (status != NEO_PG_OK || *is_taken)
        return status;
    status = find_rows(w);
    link_items(w);
    if (status == NEO_PG_OK)
        status = lock_rows(w);
    if (status == NEO_PG_OK)
        status = execute_all(w);
    if (status != NEO_PG_OK || has_lost_access(w) || (w->batch.is_atomic && neo_batch_first_problem(w)))
        return status;
    *answer = neo_batch_response(w);
    if (call->idempotency)
        status = neo_idempotency_store(w->pg, &call->actor, call->idempotency, answer->ptr, call->pool, &w->failure);
    return status;
}

/* *again: the transaction was rolled back because of another one, or the idempotency key has expired. Before the commit, a
 * database that does not answer has changed nothing, so NEO_PG_UNAVAILABLE is reported as NEO_PG_RETRY. */
static neo_problem *attempt(neo_work *w, neo_result *result, int *again)
{
    neo_text answer = {0};
    int is_taken = 0;
    reset(w);
    neo_pg_status status = run_transaction(w, &answer, &is_taken);
    int is_complete = status == NEO_PG_OK && answer.ptr;
    if (is_complete)
        status = neo_pg_commit(w->pg, w->call->pool, &w->failure);
    else
        neo_pg_roll_back(w->pg);
    *again = status == NEO_PG_RETRY;
    if (is_taken)
        return neo_call_replay(w->call, w->pg, NULL, result, again);
    if (status != NEO_PG_OK)
        return neo_call_failed(w->call, !is_complete && status == NEO_PG_UNAVAILABLE ? NEO_PG_RETRY : status, &w->failure);
    if (!is_complete)
        return w->refusal ? w->refusal : neo_batch_problem(w);
    if (w->queued)
        w->call->request->host->notify_dispatcher(w->call->request->context);
    *result = (neo_result){.status = w->call->match.operation->status, .body = answer};
    return NULL;
}

static neo_problem *execute(neo_work *w, neo_result *result)
{
    int again = 1;
    long long until = neo_steady_seconds() + MAX_SECONDS;
    neo_problem *problem = NULL;
    w->items = apr_palloc(w->call->pool, (apr_size_t)w->batch.count * sizeof *w->items);
    for (int n = 0; n < MAX_ATTEMPTS && again && neo_steady_seconds() < until; n++) {
        w->is_first = n == 0;
        apr_sleep(n * RETRY_DELAY);
        problem = attempt(w, result, &again);
    }
    return problem || !again ? problem : neo_call_failed(w->call, NEO_PG_RETRY, &w->failure);
}

neo_problem *neo_call_batch(neo_call *call, neo_result *result)
{
    neo_work w = {.call = call, .resource = call->match.resource};
    neo_batch_place place;
    neo_problem *problem = neo_batch_read(call->match.resource, call->body, call->pool, &w.batch);
    if (!problem)
        problem = neo_call_count_more(call, neo_batch_cost(w.batch.count) - 1);
    if (problem)
        return problem;
    neo_batch_queue_enter(&place, call->actor.organization, MAX_WAIT_MS);
    problem = neo_call_acquire(call, &w.pg);
    if (!problem) {
        problem = execute(&w, result);
        neo_call_release(call, w.pg);
    }
    neo_batch_queue_leave(&place);
    return problem;
}
