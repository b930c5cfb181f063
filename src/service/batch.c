/* SPDX-License-Identifier: Apache-2.0 */
/* Executes the operations of a batch in one transaction, with the outcome of single requests.
 *
 * First, all rows to be changed are locked in the order of their ids, so that two batches cannot deadlock: the properties that
 * effects may change, as in single writes, before the rows of the batch. Then the operations are executed in their order.
 * Successive operations with the same method on different resources share one statement, except those that may have an effect.
 * If it fails because of a constraint, they are executed one by one, each from a savepoint. */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "core/json.h"
#include "model/references.h"
#include "model/validate.h"
#include "store/batch.h"

/* Of the transaction, after serialization failures. PostgreSQL needs a second to detect a deadlock, so that MAX_SECONDS usually
 * ends them first. */
#define MAX_ATTEMPTS 10
#define MAX_SECONDS  20
#define RETRY_DELAY  APR_TIME_C(10000) /* microseconds */

/* An operation and its outcome. */
typedef struct {
    const neo_batch_operation *operation;
    neo_batch_row row;
    int first;        /* the number of the first operation on the same resource; a create's own number */
    neo_text current; /* of the first: the representation so far; a NULL pointer if the resource does not exist */
    neo_text answer;  /* a NULL pointer until it is written */
    neo_problem *problem;
    int frees_value; /* it changes or clears a unique value, which a later operation may use */
} item;

typedef struct {
    neo_call *call;
    neo_pg *pg;
    neo_batch batch;
    item *items;
    int is_first;     /* attempt; later ones lock the organization, so that batches run one after the other */
    int is_saved;     /* nothing was executed since the savepoint */
    int queued;       /* there are new deliveries */
    neo_rows failure; /* of the statement that failed */
} work;

static const neo_resource *resource_of(const work *w)
{
    return w->call->match.resource;
}

/* ---------------------------------------------------------------- preparing rows */

static int frees_unique_value(const neo_resource *resource, const neo_json *before, const neo_json *after)
{
    for (const neo_field *f = resource->fields; f->name; f++) {
        const neo_json *had = f->flags & NEO_UNIQUE ? neo_json_get(before, f->name) : NULL, *has = neo_json_get(after, f->name);
        if (had && !(has && strcmp(neo_json_string(had), neo_json_string(has)) == 0))
            return 1;
    }
    return 0;
}

/* Checks the rules between resources, which may add to `clean` and to the row. `before` and `clean` as in neo_rule_input. */
static neo_pg_status check_rules(work *w, item *i, const neo_json *before, neo_json *clean)
{
    neo_rule_input input = {.resource = resource_of(w), .id = before ? i->row.id : "", .before = before, .after = clean};
    neo_change change = {0};
    if (!clean)
        return neo_call_check_rules(w->call, w->pg, &input, &i->problem, &w->failure);
    neo_pg_status status = neo_call_check_change(w->call, w->pg, &input, &change, &i->problem, &w->failure);
    i->row.timestamp_field = change.timestamp_field;
    i->row.target = change.target;
    return status;
}

static neo_pg_status prepare_create(work *w, item *i)
{
    neo_json *clean;
    i->problem = neo_validate(resource_of(w), i->operation->data, w->call->pool, &clean);
    i->row.body = clean;
    i->row.now = neo_id_issue(i->row.id, resource_of(w)->prefix);
    return i->problem ? NEO_PG_OK : check_rules(w, i, NULL, clean);
}

static neo_pg_status prepare_change(work *w, item *i)
{
    const char *wrong;
    int is_update = i->operation->method == NEO_METHOD_UPDATE;
    neo_json *clean = NULL, *before = NULL;
    i->row.now = neo_now_ms();
    if (is_update || resource_of(w)->preconditions) {
        before = neo_json_parse(w->items[i->first].current, w->call->pool, &wrong);
        i->problem = before ? NULL : neo_problem_internal(w->call->pool);
    }
    if (is_update && !i->problem)
        i->problem = neo_validate_patch(resource_of(w), before, i->operation->data, w->call->pool, &clean);
    if (i->problem || !before)
        return NEO_PG_OK;
    i->row.body = clean;
    i->frees_value = is_update && frees_unique_value(resource_of(w), before, clean);
    return check_rules(w, i, before, clean);
}

/* The rows of the items without a problem. */
static neo_batch_row *rows_of(const work *w, const item *first, int count, int *rows)
{
    neo_batch_row *all = apr_palloc(w->call->pool, (apr_size_t)count * sizeof *all);
    *rows = 0;
    for (int n = 0; n < count; n++)
        if (!first[n].problem)
            all[(*rows)++] = first[n].row;
    return all;
}

/* Validates an item: sets its row or its problem. */
static neo_pg_status prepare(work *w, item *i)
{
    if (i->operation->method == NEO_METHOD_CREATE)
        return prepare_create(w, i);
    if (w->items[i->first].current.ptr)
        return prepare_change(w, i);
    i->problem = neo_call_not_found(w->call);
    return NEO_PG_OK;
}

/* ---------------------------------------------------------------- writing */

static neo_pg_status save(work *w)
{
    if (w->is_saved)
        return NEO_PG_OK;
    neo_pg_status status = neo_pg_savepoint(w->pg, 0, w->call->pool, &w->failure);
    w->is_saved = status == NEO_PG_OK;
    return status;
}

static void take_row(work *w, const neo_rows *rows, int row)
{
    item *i = &w->items[atoi(neo_rows_value(rows, row, NEO_WRITTEN_NUMBER))];
    const char *refusal = neo_rows_value(rows, row, NEO_WRITTEN_REFUSAL);
    if (neo_rows_value(rows, row, NEO_WRITTEN_ANSWER)) {
        i->answer = neo_rows_text(rows, row, NEO_WRITTEN_ANSWER);
        w->items[i->first].current = i->operation->method == NEO_METHOD_DELETE ? (neo_text){0} : i->answer;
    } else if (i->operation->method == NEO_METHOD_DELETE)
        i->problem = neo_call_in_use(w->call, refusal);
    else
        neo_call_add_missing(w->call, &i->problem, refusal);
    w->queued |= strcmp(neo_rows_value(rows, row, NEO_WRITTEN_DELIVERIES), "0") != 0;
}

/* Runs one statement. After a violation, rolls back to the savepoint. */
static neo_pg_status write_rows(work *w, neo_method method, int is_strict, const neo_batch_row *rows, int count)
{
    neo_rows written;
    neo_pg_status status = save(w);
    if (status != NEO_PG_OK)
        return status;
    status = neo_batch_write(w->pg, resource_of(w), &w->call->actor, method, is_strict, rows, count, w->call->pool, &written);
    if (status == NEO_PG_OK) {
        w->is_saved = 0;
        for (int r = 0; r < written.count; r++)
            take_row(w, &written, r);
        return status;
    }
    w->failure = written;
    if (status != NEO_PG_UNIQUE_VIOLATION && status != NEO_PG_FK_VIOLATION)
        return status;
    neo_rows ignored;
    neo_pg_status rolled_back = neo_pg_savepoint(w->pg, 1, w->call->pool, &ignored);
    return rolled_back == NEO_PG_OK ? status : rolled_back;
}

/* Writes one item. A foreign key violation is retried, because the next statement sees the reference that another transaction
 * made or deleted. */
static neo_pg_status write_alone(work *w, item *i)
{
    neo_pg_status status = NEO_PG_FK_VIOLATION;
    for (int attempt = 0; attempt < MAX_ATTEMPTS && status == NEO_PG_FK_VIOLATION; attempt++)
        status = write_rows(w, i->operation->method, 1, &i->row, 1);
    if (status == NEO_PG_UNIQUE_VIOLATION || status == NEO_PG_FK_VIOLATION) {
        i->problem = neo_call_failed(w->call, status, &w->failure);
        neo_call_find_duplicate(w->call, w->pg, &w->failure, i->row.id, i->row.body, i->problem);
    } else if (status != NEO_PG_OK)
        return status;
    else if (!i->answer.ptr && !i->problem && i->row.target.id)
        return NEO_PG_RETRY; /* the row referred to another one when the targets were locked, which has changed */
    else if (!i->answer.ptr && !i->problem)
        i->problem = neo_call_not_found(w->call);
    return NEO_PG_OK;
}

/* Writes all items in one statement, then those that it left out one by one. The first statement of creates does not check
 * unique values row by row, which would take a tenth of its time. */
static neo_pg_status write_together(work *w, item *first, int count)
{
    int wanted;
    const neo_batch_row *rows = rows_of(w, first, count, &wanted);
    if (wanted == 0)
        return NEO_PG_OK;
    neo_pg_status status = write_rows(w, first->operation->method, 1, rows, wanted);
    if (status == NEO_PG_UNIQUE_VIOLATION && wanted > 1 && first->operation->method == NEO_METHOD_CREATE)
        status = write_rows(w, NEO_METHOD_CREATE, 0, rows, wanted);
    if (status != NEO_PG_OK && status != NEO_PG_UNIQUE_VIOLATION && status != NEO_PG_FK_VIOLATION)
        return status;
    status = NEO_PG_OK;
    for (item *i = first; i < first + count && status == NEO_PG_OK; i++)
        if (!i->answer.ptr && !i->problem)
            status = write_alone(w, i);
    return status;
}

/* ---------------------------------------------------------------- all operations */

/* How many items from `first` on can share a statement: with one method and no resource twice, because an operation depends on
 * the earlier ones on its resource. One that may change a related resource is alone: the rules of the next depend on that. */
static int count_together(const work *w, const item *first)
{
    const item *next = first + 1, *end = w->items + w->batch.count;
    if (neo_batch_may_affect(resource_of(w), first->operation))
        return 1;
    for (; next < end && next->operation->method == first->operation->method &&
           !neo_batch_may_affect(resource_of(w), next->operation);
         next++)
        for (const item *i = first; i < next; i++)
            if (i->first == next->first)
                return (int)(next - first);
    return (int)(next - first);
}

/* Writes prepared items. An item that frees a unique value begins a new statement: within one statement the order of the checks
 * is undefined, and items before it must still find the value taken. */
static neo_pg_status write_all(work *w, item *first, int count)
{
    neo_pg_status status = NEO_PG_OK;
    for (int from = 0, to; from < count && status == NEO_PG_OK; from = to) {
        for (to = from + 1; to < count && !first[to].frees_value;)
            to++;
        status = write_together(w, first + from, to - from);
    }
    return status;
}

static const item *first_problem(const work *w)
{
    for (int n = 0; n < w->batch.count; n++)
        if (w->items[n].problem)
            return &w->items[n];
    return NULL;
}

static neo_pg_status lock_rows(work *w);

static neo_pg_status execute_all(work *w)
{
    neo_pg_status status = NEO_PG_OK;
    for (int n = 0, count; n < w->batch.count && status == NEO_PG_OK; n += count) {
        count = count_together(w, &w->items[n]);
        for (int i = 0; i < count && status == NEO_PG_OK; i++)
            status = prepare(w, &w->items[n + i]);
        if (status == NEO_PG_OK)
            status = write_all(w, &w->items[n], count);
        int may_clear = w->items[n].operation->method == NEO_METHOD_DELETE && neo_mutual_field(resource_of(w));
        if (status == NEO_PG_OK && may_clear && n + count < w->batch.count)
            status = lock_rows(w); /* reads again what the deletions cleared in other rows */
    }
    return status;
}

/* ---------------------------------------------------------------- the response */

static void add_result(work *w, neo_buf *out, const item *i, int is_first)
{
    static const int statuses[] = {[NEO_METHOD_CREATE] = 201, [NEO_METHOD_UPDATE] = 200, [NEO_METHOD_DELETE] = 204};
    neo_call *call = w->call;
    neo_problem_frame frame = {call->request->instance, call->request->id, call->site->docs_url};
    int status = i->problem ? neo_problem_status(i->problem) : statuses[i->operation->method];
    neo_text text = i->problem ? neo_problem_json(i->problem, &frame, call->pool) : i->answer;
    neo_buf_printf(out, "%s{\"index\":%d,\"status\":%d", is_first ? "" : ",", i->row.number, status);
    if (i->problem || i->operation->method != NEO_METHOD_DELETE) {
        neo_buf_puts(out, i->problem ? ",\"error\":" : ",\"resource\":");
        neo_buf_add(out, text.ptr, text.len);
    }
    neo_buf_putc(out, '}');
}

static neo_text response_of(work *w)
{
    int failed = 0;
    neo_buf out;
    neo_buf_init(&out, w->call->pool, (apr_size_t)w->batch.count * 1024 + 64);
    for (int n = 0; n < w->batch.count; n++)
        failed += w->items[n].problem != NULL;
    neo_buf_printf(&out, "{\"succeeded\":%d,\"failed\":%d,\"results\":[", w->batch.count - failed, failed);
    for (int n = 0; n < w->batch.count; n++)
        add_result(w, &out, &w->items[n], n == 0);
    neo_buf_puts(&out, "]}");
    return neo_buf_text(&out);
}

/* What the batch has created itself is rolled back, so its ids mean nothing. */
static void forget_created(const work *w, const item *i)
{
    for (const item *earlier = w->items; earlier < i; earlier++)
        if (i->problem->existing_id && earlier->operation->method == NEO_METHOD_CREATE &&
            strcmp(earlier->row.id, i->problem->existing_id) == 0)
            i->problem->existing_id = NULL;
}

/* The problem of an atomic batch: that of its first failed operation, with the results of all failed operations. */
static neo_problem *problem_of_whole(work *w)
{
    apr_pool_t *pool = w->call->pool;
    const item *first = first_problem(w);
    neo_buf failures;
    neo_buf_init(&failures, pool, 1024);
    for (const item *i = first; i < w->items + w->batch.count; i++)
        if (i->problem) {
            forget_created(w, i);
            add_result(w, &failures, i, i == first);
        }
    const char *part = apr_psprintf(pool, "operations[%d]", first->row.number);
    neo_problem *whole = neo_problem_within(pool, first->problem, part, apr_pstrcat(pool, part, ".data", NULL));
    whole->failures = apr_pstrcat(pool, "[", failures.ptr, "]", NULL);
    return whole;
}

/* ---------------------------------------------------------------- the transaction */

/* Resets the items for an attempt. */
static void reset(work *w)
{
    memset(w->items, 0, (apr_size_t)w->batch.count * sizeof *w->items);
    for (int n = 0; n < w->batch.count; n++) {
        item *i = &w->items[n];
        i->operation = &w->batch.operations[n];
        i->row.number = n;
        while (i->first < n && !(i->operation->id && w->items[i->first].operation->id &&
                                 strcmp(i->operation->id, w->items[i->first].operation->id) == 0))
            i->first++;
    }
    w->is_saved = 1; /* the begin of the transaction is a savepoint */
    w->queued = 0;
}

/* The id that an update sends for the reference of the effects; NULL: none. */
static const char *new_target(const neo_resource *resource, const item *i)
{
    const neo_field *through = neo_field_named(resource->fields, resource->effects->through);
    const char *id = neo_json_string_at(i->operation->data, through->name);
    return id && neo_id_is(id, through->refers->prefix) ? id : NULL;
}

/* Locks what the effects of updates may change: what the rows refer to now, and what they shall refer to. */
static neo_pg_status lock_targets(work *w)
{
    neo_batch_row *some = apr_palloc(w->call->pool, (apr_size_t)w->batch.count * sizeof *some);
    int wanted = 0;
    for (const item *i = w->items; i < w->items + w->batch.count; i++)
        if (neo_batch_may_affect(resource_of(w), i->operation)) {
            some[wanted] = i->row;
            some[wanted++].target.id = new_target(resource_of(w), i);
        }
    return wanted ? neo_batch_lock_targets(w->pg, resource_of(w), &w->call->actor, some, wanted, w->call->pool, &w->failure)
                  : NEO_PG_OK;
}

/* Reads and locks the rows to be updated or deleted. */
static neo_pg_status lock_rows(work *w)
{
    neo_rows found;
    neo_batch_row *rows = apr_palloc(w->call->pool, (apr_size_t)w->batch.count * sizeof *rows);
    int count = 0;
    for (item *i = w->items; i < w->items + w->batch.count; i++) {
        if (!i->operation->id || !neo_id_is(i->operation->id, resource_of(w)->prefix))
            continue;
        memcpy(i->row.id, i->operation->id, NEO_ID_SIZE);
        if (i->first == i->row.number)
            rows[count++] = i->row;
    }
    if (count == 0)
        return NEO_PG_OK;
    neo_pg_status status = lock_targets(w);
    if (status != NEO_PG_OK)
        return status;
    status = neo_batch_lock(w->pg, resource_of(w), &w->call->actor, rows, count, w->call->pool, &found);
    w->is_saved = 0; /* see run_transaction */
    w->failure = found;
    for (int r = 0; status == NEO_PG_OK && r < found.count; r++)
        if (neo_rows_value(&found, r, NEO_LOCKED_NUMBER))
            w->items[atoi(neo_rows_value(&found, r, NEO_LOCKED_NUMBER))].current = neo_rows_text(&found, r, NEO_LOCKED_ANSWER);
    return status;
}

/* Runs the transaction up to its commit. *is_taken: the idempotency key exists, and nothing was executed. */
static neo_pg_status run_transaction(work *w, neo_text *answer, int *is_taken)
{
    neo_call *call = w->call;
    neo_pg_status status = neo_pg_begin(w->pg, call->pool, &w->failure);
    if (status == NEO_PG_OK && !w->is_first) {
        status = neo_batch_lock_organization(w->pg, resource_of(w), &call->actor, call->pool, &w->failure);
        w->is_saved = 0; /* rolling back to an earlier savepoint would release the lock */
    }
    if (status == NEO_PG_OK && call->idempotency) {
        status = neo_idempotency_reserve(w->pg, &call->actor, call->idempotency, call->pool, &w->failure);
        *is_taken = status == NEO_PG_OK && w->failure.count == 0;
        w->is_saved = 0;
    }
    if (status != NEO_PG_OK || *is_taken)
        return status;
    status = lock_rows(w);
    if (status == NEO_PG_OK)
        status = execute_all(w);
    if (status != NEO_PG_OK || (w->batch.is_atomic && first_problem(w)))
        return status;
    *answer = response_of(w);
    if (call->idempotency)
        status = neo_idempotency_store(w->pg, &call->actor, call->idempotency, answer->ptr, call->pool, &w->failure);
    return status;
}

/* *again: the transaction was rolled back because of another one, or the idempotency key has expired. Before the commit, a
 * database that does not answer has changed nothing, so NEO_PG_UNAVAILABLE is reported as NEO_PG_RETRY. */
static neo_problem *attempt(work *w, neo_result *result, int *again)
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
        return problem_of_whole(w);
    if (w->queued)
        w->call->request->host->notify_dispatcher(w->call->request->context);
    *result = (neo_result){.status = w->call->match.operation->status, .body = answer};
    return NULL;
}

neo_problem *neo_call_batch(neo_call *call, neo_result *result)
{
    work w = {.call = call};
    int again = 1;
    long long until = neo_steady_seconds() + MAX_SECONDS;
    neo_problem *problem = neo_batch_read(call->match.resource, call->body, call->pool, &w.batch);
    if (!problem)
        problem = neo_call_count_more(call, neo_batch_cost(&w.batch) - 1);
    if (problem || (problem = neo_call_acquire(call, &w.pg)))
        return problem;
    w.items = apr_palloc(call->pool, (apr_size_t)w.batch.count * sizeof *w.items);
    for (int n = 0; n < MAX_ATTEMPTS && again && neo_steady_seconds() < until; n++) {
        w.is_first = n == 0;
        apr_sleep(n * RETRY_DELAY);
        problem = attempt(&w, result, &again);
    }
    neo_call_release(call, w.pg);
    return problem || !again ? problem : neo_call_failed(call, NEO_PG_RETRY, &w.failure);
}
