/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of a request share: headers, connections, and the problems of failed statements. */
#include "call.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "pg/error.h"
#include "resources/mask.h"

#define LOG_INTERVAL_S 60

const char *neo_call_origin(const neo_call *call)
{
    const neo_request *request = call->request;
    return request->trace ? apr_pstrcat(call->pool, request->id, ";", request->trace, NULL) : request->id;
}

void neo_call_begin(neo_call *call, const neo_site *site, const neo_request *request, neo_response *response)
{
    *response = (neo_response){.headers = response->headers};
    *call = (neo_call){.site = site, .request = request, .response = response, .pool = request->pool};
    neo_call_set_header(call, "X-Request-ID", request->id);
    neo_call_set_header(call, "X-Content-Type-Options", "nosniff");
}

const char *neo_call_header(const neo_call *call, const char *name)
{
    return call->request->host->header(call->request->context, name);
}

int neo_call_may_log(atomic_llong *last)
{
    long long now = neo_steady_seconds() + LOG_INTERVAL_S, before = atomic_load(last);
    return now - before >= LOG_INTERVAL_S && atomic_compare_exchange_strong(last, &before, now);
}

void neo_call_set_header(neo_call *call, const char *name, const char *value)
{
    apr_table_setn(call->response->headers, name, value);
}

/* ---------------------------------------------------------------- problems */

neo_problem *neo_call_try_later(neo_call *call, neo_code code, int seconds, const char *detail)
{
    neo_problem *problem = neo_problem_make(call->pool, code, "%s", detail);
    problem->retry_after = seconds;
    return problem;
}

static neo_problem *not_executed(neo_call *call)
{
    return neo_call_try_later(call, NEO_INTERNAL_UNAVAILABLE, NEO_CALL_RETRY_SECONDS,
                              "The database is unavailable; nothing was changed. Try again.");
}

/* A refused or aborted write was not executed; only if the answer is missing, it may have been. */
static neo_problem *database_unavailable(neo_call *call, const neo_rows *rows)
{
    const neo_operation *operation = call->match.operation;
    int is_undone = !operation || operation->access != NEO_ACCESS_WRITE || (rows && rows->is_undone);
    const char *detail = call->idempotency
                             ? "The database did not answer; the request may have been executed. Repeat it with the same "
                               "Idempotency-Key, or read the resource first."
                             : "The database did not answer; the request may have been executed. Read the resource before "
                               "you repeat it.";
    neo_problem *problem =
        is_undone ? not_executed(call) : neo_call_try_later(call, NEO_INTERNAL_UNAVAILABLE, NEO_CALL_RETRY_SECONDS, detail);
    if (rows && rows->error && rows->error->retry_after)
        problem->retry_after = rows->error->retry_after;
    return problem;
}

static neo_problem *duplicate(neo_call *call, const char *constraint)
{
    const neo_resource *resource = call->match.resource;
    const char *status;
    const neo_field *field = constraint ? neo_unique_field(resource, constraint, &status) : NULL;
    if (!field)
        return neo_problem_make(call->pool, NEO_CONFLICT_DUPLICATE,
                                "Another %s of the organization has the same value in a unique field.", resource->name);
    neo_problem *problem =
        status ? neo_problem_make(call->pool, NEO_CONFLICT_DUPLICATE, "Another %s with this %s is %s; only one can be.",
                                  resource->name, field->name, status)
               : neo_problem_make(call->pool, NEO_CONFLICT_DUPLICATE, "Another %s of the organization has this %s.",
                                  resource->name, field->name);
    problem->field = field->name;
    return problem;
}

void neo_call_find_duplicate(neo_call *call, neo_pg *pg, const neo_rows *failed, const char *id, const neo_json *body,
                             neo_problem *problem)
{
    const char *status;
    neo_rows rows;
    if (problem->kind != NEO_CONFLICT_DUPLICATE || !problem->field ||
        neo_scopes_mask_field(call->scopes, call->match.resource, problem->field))
        return;
    const neo_field *field = neo_unique_field(call->match.resource, failed->constraint, &status);
    neo_unique_value value = {field, neo_json_string(neo_json_get(body, field->name)), status};
    if (value.value && neo_table_find(pg, call->match.resource, &call->actor, &value, id, call->pool, &rows) == NEO_PG_OK &&
        rows.count)
        problem->existing_id = neo_rows_value(&rows, 0, 0);
}

neo_problem *neo_call_limit_reached(neo_call *call, neo_code code, const char *limit, int value)
{
    neo_problem *problem = neo_problem_make(call->pool, code, "The plan's limit of %s of an organization is %d.", limit, value);
    problem->limit = limit;
    problem->limit_value = value;
    return problem;
}

neo_problem *neo_call_failed(neo_call *call, neo_pg_status status, const neo_rows *rows)
{
    switch (status) {
    case NEO_PG_UNIQUE_VIOLATION: return duplicate(call, rows->constraint);
    case NEO_PG_FK_VIOLATION:
        return neo_problem_make(call->pool, NEO_CONFLICT_IN_USE,
                                "Another resource refers to this %s; remove the reference first.", call->match.resource->name);
    case NEO_PG_LIMIT_REACHED:
        if (!rows || !rows->constraint || !rows->detail) /* both are optional in PostgreSQL's protocol */
            return neo_problem_internal(call->pool);
        return neo_call_limit_reached(call, NEO_CONFLICT_LIMIT_REACHED, rows->constraint, atoi(rows->detail));
    case NEO_PG_UNAVAILABLE: return database_unavailable(call, rows);
    case NEO_PG_TIME_LIMIT:
        return neo_call_try_later(call, NEO_INTERNAL_QUERY_TIMEOUT, NEO_CALL_RETRY_SECONDS,
                                  "The query took too long. Narrow it: add filters, or use a longer q.");
    case NEO_PG_TIMEOUT:
        return neo_call_try_later(call, NEO_INTERNAL_STATEMENT_TIMEOUT, NEO_CALL_RETRY_SECONDS,
                                  "The request took too long in the database and was cancelled; nothing was changed.");
    case NEO_PG_RETRY:
    case NEO_PG_SCHEMA: return not_executed(call);
    default: return neo_problem_internal(call->pool);
    }
}

neo_problem *neo_call_not_found(neo_call *call, const char *external_id)
{
    const neo_match *match = &call->match;
    const char *name = match->resource->name, *id = match->id, *prefix = match->resource->prefix, *hint = "";
    if (match->subresource_id) {
        name = match->operation->subresource;
        id = match->subresource_id;
        prefix = match->operation->prefix;
    }
    if (!external_id && id && !neo_id_is(id, prefix))
        hint = apr_psprintf(call->pool, " Its ids look like %s01kga4vrzrd2v6x8t1q5m9k7b4.", prefix);
    return neo_problem_for_resource(call->pool, NEO_NOT_FOUND_RESOURCE, name, "The organization has no %s with this %s.%s",
                                    name, external_id ? "external id" : "id", hint);
}

neo_problem *neo_call_check_external_id(neo_call *call, neo_text current)
{
    const char *malformed;
    if (!call->external_id)
        return NULL;
    const char *has = neo_json_string_at(neo_json_parse(current, call->pool, &malformed), "external_id");
    return has && strcmp(has, call->external_id) == 0 ? NULL : neo_call_not_found(call, call->external_id);
}

neo_problem *neo_call_check_found(neo_call *call, neo_pg_status status, const neo_rows *rows)
{
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, rows);
    return rows->count ? NULL : neo_call_not_found(call, call->external_id);
}

neo_problem *neo_call_return_row(neo_call *call, neo_pg_status status, const neo_rows *rows, neo_result *result)
{
    neo_problem *problem = neo_call_check_found(call, status, rows);
    if (!problem)
        *result = (neo_result){.status = call->match.operation->status, .body = neo_rows_text(rows, 0, 0)};
    return problem;
}

/* ---------------------------------------------------------------- replies */

neo_plain_reply neo_call_later_reply(neo_call *call, int status, int seconds, const char *text)
{
    neo_call_set_header(call, "Retry-After", apr_itoa(call->pool, seconds));
    return (neo_plain_reply){status, text};
}

neo_plain_reply neo_call_failed_reply(neo_call *call, neo_pg_status status)
{
    if (status == NEO_PG_FAILED || status == NEO_PG_UNIQUE_VIOLATION || status == NEO_PG_FK_VIOLATION)
        return (neo_plain_reply){500, "failed\n"};
    return neo_call_later_reply(call, 503, NEO_CALL_RETRY_SECONDS, "unavailable\n");
}

void neo_call_set_reply(neo_call *call, int route, neo_plain_reply reply)
{
    neo_response *response = call->response;
    neo_call_set_header(call, "Cache-Control", "no-store");
    response->route = route;
    response->status = reply.status;
    response->media_type = "text/plain; charset=utf-8";
    response->body = (neo_text){reply.text, strlen(reply.text)};
}

/* ---------------------------------------------------------------- the database */

neo_problem *neo_call_acquire_unconfirmed(neo_call *call, neo_pg **pg)
{
    *pg = call->pg = call->request->host->acquire(call->request->context);
    return *pg ? NULL : not_executed(call);
}

void neo_call_leave_write(neo_call *call)
{
    if (call->write)
        neo_credential_cache_leave_write(call->site->credential_cache, call->write);
    call->write = NULL;
}

void neo_call_release_unconfirmed(neo_call *call, neo_pg *pg)
{
    call->pg = NULL;
    call->request->host->release(call->request->context, pg);
}

void neo_call_release(neo_call *call, neo_pg *pg)
{
    neo_call_leave_write(call);
    neo_call_release_unconfirmed(call, pg);
}

void neo_call_notify_dispatcher(neo_call *call, const neo_rows *rows)
{
    const char *count = neo_rows_value(rows, 0, 1);
    if (count && *count != '0')
        call->request->host->notify_dispatcher(call->request->context);
}

const char *neo_call_representation_id(neo_text representation, apr_pool_t *pool)
{
    static const char start[] = "{\"id\":\"";
    size_t len = sizeof start - 1;
    return representation.len > len + NEO_ID_LEN ? apr_pstrmemdup(pool, representation.ptr + len, NEO_ID_LEN) : "";
}
