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
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "batch_item.h"
#include "core/json.h"
#include "schema/references.h"
#include "schema/validate.h"
#include "sql/external_id.h"

/* Of the transaction, after serialization failures. PostgreSQL needs a second to detect a deadlock, so that MAX_SECONDS usually
 * ends them first. */
#define MAX_ATTEMPTS 10
#define MAX_SECONDS  20
#define RETRY_DELAY  APR_TIME_C(10000) /* microseconds */

static const neo_resource *resource_of(const neo_work *w)
{
    return w->call->match.resource;
}

/* Whether the data is a merge patch. */
static int is_patch(const neo_item *i)
{
    return i->operation->method == NEO_METHOD_UPDATE || i->operation->method == NEO_METHOD_MERGE;
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
static neo_pg_status check_rules(neo_work *w, neo_item *i, const neo_json *before, neo_json *clean)
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

/* Reads what the item changes, and sets the body to be validated: of an update, with its changes; of a deletion, none. */
static void read_item(neo_work *w, neo_item *i)
{
    const char *error;
    const neo_resource *resource = resource_of(w);
    neo_text current = w->items[i->first].current;
    int is_create = i->method == NEO_METHOD_CREATE, is_update = i->method == NEO_METHOD_UPDATE;
    i->row.now = is_create ? neo_id_issue(i->row.id, resource->prefix) : neo_now_ms();
    i->body = i->operation->data;
    if (!is_create && !current.ptr)
        i->problem = neo_call_not_found(w->call, i->operation->external_id);
    else if (is_update || (!is_create && resource->preconditions)) {
        i->before = neo_json_parse(current, w->call->pool, &error);
        i->problem = i->before ? NULL : neo_problem_internal(w->call->pool);
    }
    if (!i->problem)
        i->problem = neo_call_check_tag(w->call, i->operation->if_match, current);
    if (is_patch(i) && !i->problem)
        i->body = neo_json_merge_patch(is_update ? i->before : neo_json_make_object(w->call->pool), i->body, w->call->pool);
}

/* Validates an item, and checks the rules: sets its row or its problem. */
static neo_pg_status check_item(neo_work *w, neo_item *i, apr_array_header_t *references)
{
    const neo_resource *resource = resource_of(w);
    neo_json *clean = NULL, *body = i->body ? neo_call_replace_references(w->call, i->body, references) : NULL;
    if (body)
        i->problem = is_patch(i) && i->method == NEO_METHOD_UPDATE
                         ? neo_validate_merged(resource, body, i->operation->data, w->call->pool, &clean)
                         : neo_validate(resource, body, w->call->pool, &clean);
    if (i->problem || !(body || i->before))
        return NEO_PG_OK;
    i->row.body = clean;
    i->frees_value = i->before && clean && frees_unique_value(resource, i->before, clean);
    return check_rules(w, i, i->before, clean);
}

/* Prepares items that share a statement. Their references by external id are found together. */
static neo_pg_status prepare(neo_work *w, neo_item *first, int count)
{
    apr_array_header_t *references = apr_array_make(w->call->pool, 4, sizeof(neo_external_id));
    for (neo_item *i = first; i < first + count; i++) {
        if (!i->problem)
            read_item(w, i);
        if (i->body && !i->problem)
            neo_call_replace_references(w->call, i->body, references);
    }
    neo_pg_status status = neo_call_find_references(w->call, w->pg, references, &w->failure);
    for (neo_item *i = first; i < first + count && status == NEO_PG_OK; i++)
        if (!i->problem)
            status = check_item(w, i, references);
    return status;
}

/* The rows of the items without a problem. */
static neo_batch_row *rows_of(const neo_work *w, const neo_item *first, int count, int *rows)
{
    neo_batch_row *all = apr_palloc(w->call->pool, (apr_size_t)count * sizeof *all);
    *rows = 0;
    for (int n = 0; n < count; n++)
        if (!first[n].problem)
            all[(*rows)++] = first[n].row;
    return all;
}

/* ---------------------------------------------------------------- writing */

static neo_pg_status save(neo_work *w)
{
    if (w->is_saved)
        return NEO_PG_OK;
    neo_pg_status status = neo_pg_savepoint(w->pg, 0, w->call->pool, &w->failure);
    w->is_saved = status == NEO_PG_OK;
    return status;
}

static void take_row(neo_work *w, const neo_rows *rows, int row)
{
    neo_item *i = &w->items[atoi(neo_rows_value(rows, row, NEO_WRITTEN_NUMBER))];
    const char *refusal = neo_rows_value(rows, row, NEO_WRITTEN_REFUSAL);
    if (neo_rows_value(rows, row, NEO_WRITTEN_ANSWER)) {
        i->answer = neo_rows_text(rows, row, NEO_WRITTEN_ANSWER);
        w->items[i->first].current = i->method == NEO_METHOD_DELETE ? (neo_text){0} : i->answer;
    } else if (i->method == NEO_METHOD_DELETE)
        i->problem = neo_call_in_use(w->call, refusal);
    else
        neo_call_add_missing(w->call, &i->problem, refusal);
    w->queued |= strcmp(neo_rows_value(rows, row, NEO_WRITTEN_DELIVERIES), "0") != 0;
}

/* Runs one statement. After a violation, rolls back to the savepoint. */
static neo_pg_status write_rows(neo_work *w, neo_method method, int is_strict, const neo_batch_row *rows, int count)
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

/* Whether another transaction has made the resource that an upsert or merge would create. */
static int is_made_by_another(const neo_work *w, const neo_item *i)
{
    const char *status, *constraint = w->failure.constraint;
    const neo_field *field = constraint ? neo_field_of_unique_index(resource_of(w), constraint, &status) : NULL;
    return neo_batch_may_create(i->operation) && field && strcmp(field->name, "external_id") == 0;
}

/* Writes one item. A foreign key violation is retried, because the next statement sees the reference that another transaction
 * made or deleted. */
static neo_pg_status write_alone(neo_work *w, neo_item *i)
{
    neo_pg_status status = NEO_PG_FK_VIOLATION;
    for (int attempt = 0; attempt < MAX_ATTEMPTS && status == NEO_PG_FK_VIOLATION; attempt++)
        status = write_rows(w, i->method, 1, &i->row, 1);
    if (status == NEO_PG_UNIQUE_VIOLATION && is_made_by_another(w, i))
        return NEO_PG_RETRY;
    if (status == NEO_PG_UNIQUE_VIOLATION || status == NEO_PG_FK_VIOLATION) {
        i->problem = neo_call_failed(w->call, status, &w->failure);
        neo_call_find_duplicate(w->call, w->pg, &w->failure, i->row.id, i->row.body, i->problem);
    } else if (status != NEO_PG_OK)
        return status;
    else if (!i->answer.ptr && !i->problem && i->row.target.id)
        return NEO_PG_RETRY; /* the row referred to another one when the targets were locked, which has changed */
    else if (!i->answer.ptr && !i->problem)
        i->problem = neo_call_not_found(w->call, i->operation->external_id);
    return NEO_PG_OK;
}

/* Writes all items in one statement, then those that it left out one by one. The first statement of creates does not check
 * unique values row by row, which would take a tenth of its time. */
static neo_pg_status write_together(neo_work *w, neo_item *first, int count)
{
    int wanted;
    const neo_batch_row *rows = rows_of(w, first, count, &wanted);
    if (wanted == 0)
        return NEO_PG_OK;
    neo_pg_status status = write_rows(w, first->method, 1, rows, wanted);
    if (status == NEO_PG_UNIQUE_VIOLATION && wanted > 1 && first->method == NEO_METHOD_CREATE)
        status = write_rows(w, NEO_METHOD_CREATE, 0, rows, wanted);
    if (status != NEO_PG_OK && status != NEO_PG_UNIQUE_VIOLATION && status != NEO_PG_FK_VIOLATION)
        return status;
    status = NEO_PG_OK;
    for (neo_item *i = first; i < first + count && status == NEO_PG_OK; i++)
        if (!i->answer.ptr && !i->problem)
            status = write_alone(w, i);
    return status;
}

/* ---------------------------------------------------------------- all operations */

/* Whether the resource that an item finds by an external id can be that which another one finds, makes or renames. */
static int finds(const neo_item *i, const neo_item *other)
{
    const char *wanted = i->operation->external_id, *found = other->operation->external_id;
    const char *sent = neo_json_string_at(other->operation->data, "external_id");
    return wanted && ((found && strcmp(wanted, found) == 0) || (sent && strcmp(wanted, sent) == 0));
}

static int shares_external_id(const neo_item *a, const neo_item *b)
{
    return finds(a, b) || finds(b, a);
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
    if (neo_batch_may_affect(resource_of(w), first->operation))
        return 1;
    for (; next < end && !neo_batch_may_affect(resource_of(w), next->operation); next++) {
        if (neo_reference_by_external_id(resource_of(w), next->operation->data, resource_of(w), w->call->pool))
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

/* Writes prepared items. An item that frees a unique value begins a new statement: within one statement the order of the checks
 * is undefined, and items before it must still find the value taken. */
static neo_pg_status write_all(neo_work *w, neo_item *first, int count)
{
    neo_pg_status status = NEO_PG_OK;
    for (int from = 0, to; from < count && status == NEO_PG_OK; from = to) {
        for (to = from + 1; to < count && !first[to].frees_value;)
            to++;
        status = write_together(w, first + from, to - from);
    }
    return status;
}

static neo_pg_status lock_rows(neo_work *w);

/* Whether the credential was revoked, or lost its rights, in the course of the transaction. Then all of it is rolled back. */
static int is_refused(neo_work *w)
{
    if (!w->refusal)
        w->refusal = neo_call_confirm(w->call);
    return w->refusal != NULL;
}

static neo_pg_status execute_all(neo_work *w)
{
    neo_pg_status status = NEO_PG_OK;
    for (int n = 0, count; n < w->batch.count && status == NEO_PG_OK && !is_refused(w); n += count) {
        count = count_together(w, &w->items[n]);
        status = prepare(w, &w->items[n], count);
        if (status == NEO_PG_OK)
            status = write_all(w, &w->items[n], count);
        int may_clear = w->items[n].operation->method == NEO_METHOD_DELETE && neo_mutual_field(resource_of(w));
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

/* The id that an update sends for the reference of the effects; NULL: none. */
static const char *new_target(const neo_resource *resource, const neo_item *i)
{
    const char *id = neo_json_string_at(i->operation->data, resource->effects->through);
    return id && neo_id_is(id, neo_effect_target(resource)->prefix) ? id : NULL;
}

/* Locks the rows that the effects of updates may change: those that the items refer to now, and will refer to. */
static neo_pg_status lock_targets(neo_work *w)
{
    neo_batch_row *some = apr_palloc(w->call->pool, (apr_size_t)w->batch.count * sizeof *some);
    int wanted = 0;
    for (const neo_item *i = w->items; i < w->items + w->batch.count; i++)
        if (neo_batch_may_affect(resource_of(w), i->operation)) {
            some[wanted] = i->row;
            some[wanted++].target.id = new_target(resource_of(w), i);
        }
    return wanted ? neo_batch_lock_targets(w->pg, resource_of(w), &w->call->actor, some, wanted, w->call->pool, &w->failure)
                  : NEO_PG_OK;
}

/* Finds the resources of operations with an external id. */
static neo_pg_status find_rows(neo_work *w)
{
    neo_external_id *wanted = apr_palloc(w->call->pool, (apr_size_t)w->batch.count * sizeof *wanted);
    int count = 0;
    for (const neo_item *i = w->items; i < w->items + w->batch.count; i++)
        if (i->operation->external_id)
            wanted[count++] = (neo_external_id){.resource = resource_of(w), .external_id = i->operation->external_id};
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
        if (!i->id || !neo_id_is(i->id, resource_of(w)->prefix))
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
    status = neo_batch_lock(w->pg, resource_of(w), &w->call->actor, rows, count, w->call->pool, &found);
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
    status = find_rows(w);
    link_items(w);
    if (status == NEO_PG_OK)
        status = lock_rows(w);
    if (status == NEO_PG_OK)
        status = execute_all(w);
    if (status != NEO_PG_OK || is_refused(w) || (w->batch.is_atomic && neo_batch_first_problem(w)))
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

neo_problem *neo_call_batch(neo_call *call, neo_result *result)
{
    neo_work w = {.call = call};
    int again = 1;
    long long until = neo_steady_seconds() + MAX_SECONDS;
    neo_problem *problem = neo_batch_read(call->match.resource, call->body, call->pool, &w.batch);
    if (!problem)
        problem = neo_call_count_more(call, neo_batch_cost(w.batch.count) - 1);
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
