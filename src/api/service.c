/* SPDX-License-Identifier: Apache-2.0 */
/* The request pipeline: its steps in their order, and the one responder (see api/service.h). */
#include "api/service.h"

#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/json.h"
#include "core/log.h"
#include "sql/reference.h"
#include "sql/statements.h"
#include "sql/table.h"

void neo_service_make_statements(apr_pool_t *pool)
{
    neo_sql_make_all(pool);
    neo_external_id_make_statement(pool);
    neo_rule_input_make_statements(pool);
    neo_routes_make(pool);
}

/* ---------------------------------------------------------------- steps */

static neo_problem *match_operation(neo_call *call)
{
    neo_operation_match(call->request->path, call->request->method, call->pool, &call->match);
    return NULL;
}

/* Refuses unknown paths and methods, once the client is known. */
static neo_problem *check_operation(neo_call *call)
{
    const neo_match *match = &call->match;
    if (!match->is_found)
        return neo_problem_make(call->pool, NEO_NOT_FOUND_ROUTE, "The API has no such path. %s/reference lists all.",
                                call->site->docs_url);
    if (match->operation)
        return NULL;
    neo_call_set_header(call, "Allow", match->allow);
    if (strcmp(call->request->method, "OPTIONS") == 0) {
        call->result.status = 204;
        return NULL;
    }
    return neo_problem_make(call->pool, NEO_VALIDATION_METHOD_NOT_ALLOWED, "Method not allowed. Allowed: %s.", match->allow);
}

/* Without keys neither cursors nor secrets can be made or read. */
static neo_problem *check_keys(neo_call *call)
{
    if (call->site->keys.count || call->match.is_public)
        return NULL;
    neo_log(NEO_LOG_NO_KEYS, call->request->log_context, "no encryption key");
    return neo_call_try_later(call, NEO_INTERNAL_UNAVAILABLE, NEO_CALL_RETRY_SECONDS,
                              neo_code_row(NEO_INTERNAL_UNAVAILABLE)->meaning);
}

static neo_problem *dispatch(neo_call *call)
{
    return call->match.operation->run(call, &call->result);
}

/* The first step that returns a problem or sets the result's status is the last. */
static const neo_step pipeline[] = {
    match_operation,
    neo_call_identify,
    check_operation,
    check_keys,
    neo_call_choose_organization,
    neo_call_limit_concurrency,
    neo_call_check_scope,
    neo_call_read_query,
    neo_call_read_if_match,
    neo_call_read_body,
    neo_call_read_idempotency_key,
    neo_call_limit_stored,
    neo_call_check_subscription,
    dispatch,
};

/* ---------------------------------------------------------------- 404 before 400 */

/* Such an operation is not executed only to find out whether its resource exists: it would read from Meta. */
static int is_stream(const neo_operation *operation)
{
    return operation->media_type && strcmp(operation->media_type, "*/*") == 0;
}

/* Sets the match to the operation that reads what the path of the request names: the resource of "webhooks/{id}/recover".
 * Returns false if the path has no such operation. */
static int match_reading(const neo_call *call, neo_match *match)
{
    char *path = apr_pstrdup(call->pool, call->request->path), *last;
    for (;;) {
        neo_operation_match(path, "GET", call->pool, match);
        if (match->operation && !(match->operation->accepts & NEO_ACCEPTS_PAGE) && !is_stream(match->operation))
            return match->id || match->subresource_id;
        if (!(last = strrchr(path, '/')))
            return 0;
        *last = '\0';
    }
}

/* A resource that the organization does not have is a 404, whatever other errors the request has. The resource is read here,
 * after the other error, so that requests without an error need no additional query. */
static neo_problem *prefer_not_found(neo_call *call, neo_problem *problem)
{
    neo_call reading = *call;
    neo_result ignored = {0};
    int status = neo_problem_status(problem);
    if ((status != 400 && status != 415) || !call->actor.organization || call->match.operation->status_existing ||
        !match_reading(call, &reading.match))
        return problem;
    reading.query = apr_table_make(call->pool, 1);
    reading.query_problem = NULL;
    neo_problem *other = reading.match.operation->run(&reading, &ignored);
    return other && other->kind == NEO_NOT_FOUND_RESOURCE ? other : problem;
}

/* ---------------------------------------------------------------- the responder */

/* The representation with the secret at its field's position. */
static neo_text add_secret(neo_call *call, neo_text body, const char *secret)
{
    const char *error;
    neo_json *all = neo_json_make_object(call->pool), *parsed = neo_json_parse(body, call->pool, &error);
    for (const neo_field *f = call->match.resource->fields; parsed && f->name; f++) {
        neo_json *value = f->flags & NEO_SECRET ? neo_json_make_string(secret, call->pool) : neo_json_get(parsed, f->name);
        if (value)
            neo_json_set(all, f->name, value);
    }
    return neo_json_text(all, call->pool);
}

static void respond_with_body(neo_call *call, const neo_result *result)
{
    const neo_operation *operation = call->match.operation;
    neo_response *response = call->response;
    if (result->is_replayed)
        neo_call_set_header(call, "Idempotent-Replayed", "true");
    if (operation->response_headers & NEO_RESPONSE_LOCATION && result->status == 201)
        neo_call_set_header(call, "Location",
                            apr_pstrcat(call->pool, call->site->base_url, call->match.resource->collection, "/",
                                        neo_call_representation_id(result->body, call->pool), NULL));
    response->gzip = result->gzip;
    if (operation->response_headers & NEO_RESPONSE_ETAG) {
        const char *etag = result->etag ? result->etag : neo_etag(result->body, call->pool);
        neo_call_set_header(call, "ETag", etag);
        if (neo_call_is_not_modified(call, etag)) {
            response->status = 304;
            return;
        }
    }
    response->body = result->secret ? add_secret(call, result->body, result->secret) : result->body;
    response->media_type = result->media_type ? result->media_type : operation->media_type;
    if (operation->page)
        neo_call_show_page(call);
}

/* The query and the body are not kept: they can have personal data. */
static void keep_refusal(const neo_call *call, const neo_problem *problem)
{
    neo_refusal refusal = {.status = neo_problem_status(problem), .at = neo_now_ms()};
    neo_refusal_set(refusal.principal, sizeof refusal.principal, call->principal->id);
    neo_refusal_set(refusal.request_id, sizeof refusal.request_id, call->request->id);
    neo_refusal_set(refusal.method, sizeof refusal.method, call->request->method);
    neo_refusal_set(refusal.path, sizeof refusal.path, call->request->instance);
    neo_refusal_set(refusal.code, sizeof refusal.code, problem->code);
    neo_refusal_set(refusal.detail, sizeof refusal.detail, problem->detail);
    neo_refusals_add(call->site->refusals, &refusal);
}

#define CHALLENGES "ApiKey header=\"X-API-Key\", Bearer realm=\"API\""

static void respond_problem(neo_call *call, const neo_problem *problem)
{
    neo_response *response = call->response;
    neo_problem_frame frame = {call->request->instance, call->request->id, call->site->docs_url};
    neo_problem shown = *problem;
    /* No request passes before the rate limit allows one. */
    if (problem->retry_after && !call->allowance.remaining)
        shown.retry_after = (int)neo_later(problem->retry_after, neo_allowance_wait(&call->allowance));
    if (call->principal)
        keep_refusal(call, problem);
    response->status = neo_problem_status(problem);
    response->media_type = "application/problem+json";
    response->body = neo_problem_json(&shown, &frame, call->pool);
    /* RFC 9110, section 15.5.2 requires a challenge; if the host's own access rules refuse, the host sets it. */
    if (response->status == 401 && problem->kind != NEO_FORBIDDEN_BY_SERVER)
        neo_call_set_header(call, "WWW-Authenticate",
                            problem->kind == NEO_UNAUTHORIZED_AUTH_REQUIRED ? CHALLENGES
                                                                            : CHALLENGES ", error=\"invalid_token\"");
    if (shown.retry_after)
        neo_call_set_header(call, "Retry-After", apr_itoa(call->pool, shown.retry_after));
}

/* Makes the response of the problem, or of the result if there is none. A response with an ETag may be cached but must be
 * revalidated; all others are no-store, unless the action has decided. */
static void respond(neo_call *call, const neo_problem *problem)
{
    neo_response *response = call->response;
    if (!problem && call->result.body.ptr && !neo_call_mask(call, &call->result.body, call->pool))
        problem = neo_problem_internal(call->pool);
    if (problem)
        respond_problem(call, problem);
    else {
        response->status = call->result.status;
        response->stream = call->result.stream;
        if (response->stream)
            response->media_type = call->result.media_type ? call->result.media_type : call->match.operation->media_type;
        else if (call->result.body.ptr)
            respond_with_body(call, &call->result);
    }
    if (!apr_table_get(response->headers, "Cache-Control"))
        neo_call_set_header(call, "Cache-Control", apr_table_get(response->headers, "ETag") ? "private, no-cache" : "no-store");
    neo_call_show_deprecation(call);
    response->route = neo_route_number(&call->match);
    if (call->principal) {
        response->principal = call->principal->id;
        response->is_token = call->principal->is_token;
        neo_call_count_usage(
            call, &(neo_usage_counts){1, response->status >= 400, problem ? 0 : call->rows, (int64_t)response->body.len});
    }
}

void neo_service_answer(const neo_site *site, const neo_request *request, neo_response *response)
{
    neo_call call;
    neo_problem *problem = NULL;
    neo_call_begin(&call, site, request, response);
    for (apr_size_t i = 0; i < sizeof pipeline / sizeof *pipeline && !problem && !call.result.status; i++)
        problem = pipeline[i](&call);
    if (problem)
        problem = prefer_not_found(&call, problem);
    else if (call.idempotency && !call.result.is_replayed)
        neo_call_count_stored(&call);
    respond(&call, problem);
}

void neo_service_refuse(const neo_site *site, const neo_request *request, const neo_credential *principal,
                        const neo_problem *problem, neo_response *response)
{
    neo_call call;
    neo_call_begin(&call, site, request, response);
    call.principal = principal;
    neo_call_count(&call, principal ? 0 : 1);
    respond(&call, problem);
}
