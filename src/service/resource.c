/* What can be done with one resource: create, read, change, replace, delete. */
#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/json.h"
#include "core/secret.h"
#include "model/references.h"
#include "model/transition.h"
#include "model/validate.h"

/* Attempts to change a row that others change at the same time. Each failure is another's success. */
#define MAX_ATTEMPTS 100

neo_problem *neo_call_not_found(neo_call *call)
{
    const char *name = call->match.subresource_id ? "delivery" : call->match.resource->name;
    return neo_problem_for_resource(call->pool, NEO_NOT_FOUND_RESOURCE, name, "The organization has no %s with this id.", name);
}

/* Borrows a connection for an operation on one id. What is no id of the kind is no resource either. */
static neo_problem *acquire_for_id(neo_call *call, neo_pg **pg)
{
    return neo_id_is(call->match.id, call->match.resource->prefix) ? neo_call_acquire(call, pg) : neo_call_not_found(call);
}

/* ---------------------------------------------------------------- what is in the way */

static int is_refused(const neo_rows *rows)
{
    return rows->count > 0 && !neo_rows_value(rows, 0, NEO_WRITTEN_ANSWER);
}

void neo_call_add_missing(neo_call *call, neo_problem **problem, const char *path)
{
    neo_problem_field(problem, call->pool, NEO_VALIDATION_FIELD_NOT_FOUND, call->match.resource->name, path,
                      "names nothing that exists in the organization");
}

/* References to what there is not: NULL where there are none. */
static neo_problem *check_references(neo_call *call, const neo_rows *rows)
{
    neo_problem *problem = NULL;
    for (int i = 0; is_refused(rows) && i < rows->count; i++)
        neo_call_add_missing(call, &problem, neo_rows_value(rows, i, NEO_WRITTEN_REFUSAL));
    return problem;
}

/* "property,contract" as "a property and a contract". */
static const char *list_kinds(const char *kinds, apr_pool_t *pool)
{
    const char *list = "";
    char *rest = apr_pstrdup(pool, kinds), *kind;
    while ((kind = strsep(&rest, ",")))
        list = apr_pstrcat(pool, list, !*list ? "" : rest ? ", " : " and ", strchr("aeiou", *kind) ? "an " : "a ", kind, NULL);
    return list;
}

neo_problem *neo_call_in_use(neo_call *call, const char *kinds)
{
    return neo_problem_make(call->pool, NEO_CONFLICT_IN_USE, "The %s cannot be deleted while %s %s to it.",
                            call->match.resource->name, list_kinds(kinds, call->pool), strchr(kinds, ',') ? "refer" : "refers");
}

/* What refers to the one that was to be deleted: NULL where nothing does. */
static neo_problem *check_use(neo_call *call, const neo_rows *rows)
{
    return is_refused(rows) ? neo_call_in_use(call, neo_rows_value(rows, 0, NEO_WRITTEN_REFUSAL)) : NULL;
}

/* ---------------------------------------------------------------- create */

/* A secret for what is to be created, NULL where its kind has none. */
static const char *new_secret(const neo_call *call)
{
    for (const neo_field *f = call->match.resource->fields; f->name; f++)
        if (f->flags & NEO_SECRET)
            return neo_webhook_secret_make(call->pool);
    return NULL;
}

static neo_pg_status make(neo_call *call, neo_pg *pg, void *what, neo_rows *rows)
{
    neo_new *row = what;
    const char *shown = row->secret;
    row->created_at = neo_id_issue(row->id, call->match.resource->prefix);
    row->secret = shown ? neo_secret_seal(&call->site->keys, row->id, shown, call->pool) : NULL;
    neo_pg_status status = neo_table_create(pg, call->match.resource, &call->actor, call->idempotency, row, call->pool, rows);
    row->secret = shown;
    return status;
}

/* Checks a new body. Sets *clean and *moment: what the row will hold, and the server's field that its status sets. */
static neo_problem *check_new(neo_call *call, neo_json **clean, const char **timestamp_field)
{
    const neo_resource *resource = call->match.resource;
    neo_problem *problem = neo_validate(resource, call->body, call->pool, clean);
    return problem ? problem
                   : neo_transition_check(resource, NULL, neo_json_string(neo_json_get(*clean, "status")), call->pool,
                                          timestamp_field);
}

neo_problem *neo_call_create(neo_call *call)
{
    neo_json *clean;
    neo_pg *pg;
    neo_rows rows;
    int made;
    neo_new row = {.secret = new_secret(call)};
    neo_problem *problem = check_new(call, &clean, &row.timestamp_field);
    if (problem || (problem = neo_call_acquire(call, &pg)))
        return problem;
    row.body = clean;
    problem = neo_call_write_idempotent(call, pg, make, &row, &rows, &made);
    neo_call_release(call, pg);
    if (!problem && made)
        problem = check_references(call, &rows);
    if (!problem && made)
        neo_call_respond_created(call, 201, neo_rows_text(&rows, 0, NEO_WRITTEN_ANSWER), row.secret);
    return problem;
}

/* ---------------------------------------------------------------- read */

neo_problem *neo_call_read(neo_call *call)
{
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = acquire_for_id(call, &pg);
    if (problem)
        return problem;
    neo_pg_status status = neo_table_read(pg, call->match.resource, &call->actor, call->match.id, call->pool, &rows);
    neo_call_release(call, pg);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, &rows);
    if (rows.count == 0)
        return neo_call_not_found(call);
    neo_call_respond_with_etag(call, 200, neo_rows_text(&rows, 0, 0));
    return NULL;
}

neo_problem *neo_call_find(neo_call *call)
{
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = acquire_for_id(call, &pg);
    if (problem)
        return problem;
    neo_pg_status status = neo_table_read(pg, call->match.resource, &call->actor, call->match.id, call->pool, &rows);
    neo_call_release(call, pg);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, &rows);
    return rows.count ? NULL : neo_call_not_found(call);
}

/* ---------------------------------------------------------------- change, replace, delete */

typedef enum {
    NOT_THERE, /* no such row, or not in this version */
    WRITTEN,
    CONCURRENT_CHANGE, /* others have made or broken a reference between the statement's look at it and its end: do it again */
} outcome;

/* Does the one statement of a write. `version` is the row's as it was read, NULL where it doesn't matter; `current` its answer.
 */
typedef neo_problem *(*writer)(neo_call *call, neo_pg *pg, const char *version, neo_text current, outcome *done);

/* Repeats until nobody else changed the row between reading and writing. */
static neo_problem *write_version(neo_call *call, neo_pg *pg, writer write)
{
    neo_rows rows;
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        outcome done = NOT_THERE;
        neo_pg_status status =
            neo_table_read_version(pg, call->match.resource, &call->actor, call->match.id, call->pool, &rows);
        if (status != NEO_PG_OK)
            return neo_call_failed(call, status, &rows);
        if (rows.count == 0)
            return neo_call_not_found(call);
        neo_problem *problem = neo_call_check_if_match(call, neo_rows_text(&rows, 0, 0));
        if (!problem)
            problem = write(call, pg, neo_rows_value(&rows, 0, 1), neo_rows_text(&rows, 0, 0), &done);
        if (problem || done == WRITTEN)
            return problem;
    }
    return neo_call_failed(call, NEO_PG_UNAVAILABLE, &rows);
}

/* A write that depends on what the row is now needs its version; one that doesn't is one statement. */
static neo_problem *write_row(neo_call *call, writer write, int depends)
{
    neo_pg *pg;
    outcome done = CONCURRENT_CHANGE;
    neo_problem *problem = acquire_for_id(call, &pg);
    if (problem)
        return problem;
    if (!depends && !neo_call_header(call, "If-Match"))
        problem = write(call, pg, NULL, (neo_text){"", 0}, &done);
    if (!problem && done == CONCURRENT_CHANGE)
        problem = write_version(call, pg, write);
    else if (!problem && done == NOT_THERE)
        problem = neo_call_not_found(call);
    neo_call_release(call, pg);
    return problem;
}

/* What became of a statement. */
static neo_problem *outcome_of(neo_call *call, neo_pg_status status, const neo_rows *rows, outcome *done)
{
    *done = status == NEO_PG_FK_VIOLATION ? CONCURRENT_CHANGE : status == NEO_PG_OK && rows->count ? WRITTEN : NOT_THERE;
    if (status != NEO_PG_OK && *done != CONCURRENT_CHANGE)
        return neo_call_failed(call, status, rows);
    if (*done == WRITTEN)
        neo_call_notify_dispatcher(call, rows);
    return NULL;
}

/* `before` is the resource as it is, NULL where that doesn't matter. */
static neo_problem *update(neo_call *call, neo_pg *pg, const char *version, const neo_json *before, neo_json *clean,
                           outcome *done)
{
    const neo_resource *resource = call->match.resource;
    neo_rows rows;
    neo_change row = {.id = call->match.id, .version = version, .body = clean};
    if (resource->transitions) {
        const char *from = neo_json_string(neo_json_get(before, "status")),
                   *to = neo_json_string(neo_json_get(clean, "status"));
        neo_problem *refusal = neo_transition_check(resource, from, to, call->pool, &row.timestamp_field);
        if (refusal)
            return refusal;
        row.status = neo_transition_start(resource, before, clean);
    }
    neo_pg_status status = neo_table_update(pg, resource, &call->actor, &row, call->pool, &rows);
    neo_problem *problem = outcome_of(call, status, &rows, done);
    if (!problem && *done == WRITTEN && !(problem = check_references(call, &rows)))
        neo_call_respond_with_etag(call, 200, neo_rows_text(&rows, 0, NEO_WRITTEN_ANSWER));
    return problem;
}

static neo_problem *patch(neo_call *call, neo_pg *pg, const char *version, neo_text current, outcome *done)
{
    const char *wrong;
    neo_json *clean, *before = neo_json_parse(current, call->pool, &wrong);
    if (!before)
        return neo_problem_internal(call->pool);
    neo_problem *problem = neo_validate_patch(call->match.resource, before, call->body, call->pool, &clean);
    return problem ? problem : update(call, pg, version, before, clean, done);
}

static neo_problem *replace(neo_call *call, neo_pg *pg, const char *version, neo_text current, outcome *done)
{
    const char *wrong;
    neo_json *clean, *before = NULL;
    if (call->match.resource->transitions && !(before = neo_json_parse(current, call->pool, &wrong)))
        return neo_problem_internal(call->pool);
    neo_problem *problem = neo_validate(call->match.resource, call->body, call->pool, &clean);
    return problem ? problem : update(call, pg, version, before, clean, done);
}

static neo_problem *remove_row(neo_call *call, neo_pg *pg, const char *version, neo_text current, outcome *done)
{
    neo_rows rows;
    (void)current;
    neo_pg_status status = neo_table_delete(pg, call->match.resource, &call->actor, call->match.id, version, call->pool, &rows);
    neo_problem *problem = outcome_of(call, status, &rows, done);
    if (!problem && *done == WRITTEN && !(problem = check_use(call, &rows)))
        call->response->status = 204;
    return problem;
}

neo_problem *neo_call_patch(neo_call *call)
{
    return write_row(call, patch, 1);
}

/* What a row refers to is kept in rows of its own, which a statement sees as they were when it began: so it must not find a
 * newer row than it expects. */
neo_problem *neo_call_replace(neo_call *call)
{
    const neo_resource *resource = call->match.resource;
    return write_row(call, replace, resource->transitions || neo_has_references(resource));
}

neo_problem *neo_call_delete(neo_call *call)
{
    return write_row(call, remove_row, neo_has_references(call->match.resource));
}
