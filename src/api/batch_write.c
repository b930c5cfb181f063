/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares and writes the operations of a batch that share a statement. */
#include <stdlib.h>
#include <string.h>

#include "batch_item.h"
#include "core/json.h"
#include "schema/references.h"
#include "schema/validate.h"
#include "sql/reference.h"

#define MAX_ATTEMPTS 10 /* for a statement, after foreign key violations */

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

/* Checks the rules between resources, which may add to `clean` (NULL: a deletion) and to the row. */
static neo_pg_status check_rules(neo_work *w, neo_item *i, neo_json *clean)
{
    neo_rule_input input = {.resource = w->resource, .id = i->before ? i->row.id : "", .before = i->before, .after = clean};
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
    neo_text current = w->items[i->first].current;
    int is_create = i->method == NEO_METHOD_CREATE, is_update = i->method == NEO_METHOD_UPDATE;
    i->row.now = is_create ? neo_id_issue(i->row.id, w->resource->prefix) : neo_now_ms();
    i->body = i->operation->data;
    if (!is_create && !current.ptr)
        i->problem = neo_call_not_found(w->call, i->operation->external_id);
    else if (is_update || (!is_create && w->resource->preconditions)) {
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
    neo_json *clean = NULL, *body = i->body ? neo_call_replace_references(w->call, i->body, references) : NULL;
    if (body)
        i->problem = is_patch(i) && i->method == NEO_METHOD_UPDATE
                         ? neo_validate_merged(w->resource, body, i->operation->data, w->call->pool, &clean)
                         : neo_validate(w->resource, body, w->call->pool, &clean);
    if (i->problem || !(body || i->before))
        return NEO_PG_OK;
    i->row.body = clean;
    i->frees_value = i->before && clean && frees_unique_value(w->resource, i->before, clean);
    return check_rules(w, i, clean);
}

/* Prepares items that share a statement. Their references by external id are found together. */
neo_pg_status neo_batch_prepare(neo_work *w, neo_item *first, int count)
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

/* ---------------------------------------------------------------- writing */

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
    neo_pg_status status = w->is_saved ? NEO_PG_OK : neo_pg_savepoint(w->pg, 0, w->call->pool, &w->failure);
    w->is_saved = status == NEO_PG_OK;
    if (!w->is_saved)
        return status;
    status = neo_batch_write(w->pg, w->resource, &w->call->actor, method, is_strict, rows, count, w->call->pool, &written);
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
    const neo_field *field = constraint ? neo_unique_field(w->resource, constraint, &status) : NULL;
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

/* Writes all items without a problem in one statement, then those that it left out one by one. The first statement of creates
 * does not check unique values row by row, which would take a tenth of its time. */
static neo_pg_status write_together(neo_work *w, neo_item *first, int count)
{
    int wanted = 0;
    neo_batch_row *rows = apr_palloc(w->call->pool, (apr_size_t)count * sizeof *rows);
    for (int n = 0; n < count; n++)
        if (!first[n].problem)
            rows[wanted++] = first[n].row;
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

/* Writes prepared items. An item that frees a unique value begins a new statement: within one statement the order of the checks
 * is undefined, and items before it must still find the value taken. */
neo_pg_status neo_batch_write_items(neo_work *w, neo_item *first, int count)
{
    neo_pg_status status = NEO_PG_OK;
    for (int from = 0, to; from < count && status == NEO_PG_OK; from = to) {
        for (to = from + 1; to < count && !first[to].frees_value;)
            to++;
        status = write_together(w, first + from, to - from);
    }
    return status;
}
