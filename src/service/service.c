/* The way of a request, step by step (see service/service.h). */
#include "service/service.h"

#include <apr_strings.h>
#include <arpa/inet.h>
#include <string.h>

#include "call.h"
#include "core/clock.h"
#include "model/route.h"
#include "store/batch.h"
#include "store/delivery.h"
#include "store/whatsapp.h"

#define RETRY_SECONDS 5 /* what a client is told to wait while the database is away */

void neo_service_make_statements(apr_pool_t *pool)
{
    neo_credential_make_statements(pool);
    neo_idempotency_make_statements(pool);
    neo_table_make_statements(pool);
    neo_batch_make_statements(pool);
    neo_delivery_make_statements(pool);
    neo_routes_make(pool);
    neo_whatsapp_make_statements(pool);
}

void neo_service_prepare(neo_site *site, apr_pool_t *pool)
{
    neo_docs_prepare(site, pool);
}

/* ---------------------------------------------------------------- what steps share */

const char *neo_call_header(const neo_call *call, const char *name)
{
    return call->request->host->header(call->request->context, name);
}

void neo_call_set_header(neo_call *call, const char *name, const char *value)
{
    apr_table_setn(call->response->headers, name, value);
}

void neo_call_respond(neo_call *call, int status, neo_text body)
{
    call->response->status = status;
    call->response->body = body;
    call->response->media_type = call->match.operation->media_type;
}

static neo_problem *unavailable(neo_call *call, const char *detail)
{
    neo_problem *problem = neo_problem_make(call->pool, NEO_INTERNAL_UNAVAILABLE, "%s", detail);
    problem->retry_after = RETRY_SECONDS;
    return problem;
}

static neo_problem *not_done(neo_call *call)
{
    return unavailable(call, "The service cannot reach its database at the moment; nothing was done, so try again.");
}

static neo_problem *not_answered(neo_call *call)
{
    const neo_operation *operation = call->match.operation;
    if (!operation || operation->access != NEO_ACCESS_WRITE)
        return not_done(call);
    return unavailable(call,
                       "The database did not answer, so whether the request was carried out is not known; repeat it with the "
                       "same Idempotency-Key, or read first.");
}

neo_problem *neo_call_acquire(neo_call *call, neo_pg **pg)
{
    *pg = call->request->host->acquire(call->request->context);
    return *pg ? NULL : not_done(call);
}

void neo_call_release(neo_call *call, neo_pg *pg)
{
    call->request->host->release(call->request->context, pg);
}

/* Unique indexes are named <table>_<field>_key, or <table>_<status>_<field>_key where they hold those in one status alone. */
static neo_problem *duplicate(neo_call *call, const char *constraint)
{
    const neo_resource *resource = call->match.resource;
    const neo_field *status = neo_field_named(resource->fields, "status");
    for (const neo_field *f = resource->fields; constraint && f->name; f++) {
        if (strcmp(constraint, apr_pstrcat(call->pool, resource->name, "_", f->name, "_key", NULL)) == 0)
            return neo_problem_make(call->pool, NEO_CONFLICT_DUPLICATE, "Another %s of the organization has this %s.",
                                    resource->name, f->name);
        for (const char *const *v = status ? status->values : NULL; v && *v; v++)
            if (strcmp(constraint, apr_pstrcat(call->pool, resource->name, "_", *v, "_", f->name, "_key", NULL)) == 0)
                return neo_problem_make(call->pool, NEO_CONFLICT_DUPLICATE,
                                        "Another %s with this %s is %s, and only one can be.", resource->name, f->name, *v);
    }
    return neo_problem_make(call->pool, NEO_CONFLICT_DUPLICATE,
                            "Another %s of the organization has a value that must be unique.", resource->name);
}

const char *neo_call_id_of(neo_text answer, apr_pool_t *pool)
{
    static const char start[] = "{\"id\":\"";
    size_t len = sizeof start - 1;
    return answer.len > len + NEO_ID_LEN ? apr_pstrmemdup(pool, answer.ptr + len, NEO_ID_LEN) : "";
}

void neo_call_notify_dispatcher(neo_call *call, const neo_rows *rows)
{
    const char *count = neo_rows_value(rows, 0, 1);
    if (count && *count != '0')
        call->request->host->notify_dispatcher(call->request->context);
}

neo_problem *neo_call_failed(neo_call *call, neo_pg_status status, const neo_rows *rows)
{
    switch (status) {
    case NEO_PG_UNIQUE_VIOLATION: return duplicate(call, rows->constraint);
    case NEO_PG_FK_VIOLATION:
        return neo_problem_make(call->pool, NEO_CONFLICT_IN_USE,
                                "Another resource refers to this %s; remove the reference first.", call->match.resource->name);
    case NEO_PG_UNAVAILABLE: return not_answered(call);
    case NEO_PG_RETRY:
    case NEO_PG_SCHEMA: return not_done(call);
    default: return neo_problem_internal(call->pool);
    }
}

/* ---------------------------------------------------------------- steps */

/* Whoever shares a /64 network counts as one, since one client has that many addresses. */
static void digest_network(const char *address, unsigned char digest[NEO_SHA256_SIZE])
{
    unsigned char bytes[16];
    if (inet_pton(AF_INET6, address, bytes) == 1)
        neo_sha256(bytes, 8, digest);
    else
        neo_sha256(address, strlen(address), digest);
}

/* A credential that could not be looked up for want of a database is no guess, and costs its address nothing. */
void neo_call_count(neo_call *call, int requests, neo_allowance *allowance)
{
    const neo_credential *who = call->principal;
    int is_unknown = call->refusal && neo_problem_status(call->refusal) >= 500;
    long long now = neo_now_ms() / 1000;
    unsigned char network[NEO_SHA256_SIZE];
    if (who)
        neo_limiter_count(call->site->credentials, who->digest, requests, who->requests, who->window, now, allowance);
    else {
        digest_network(call->request->address, network);
        neo_limiter_count(call->site->addresses, network, is_unknown ? 0 : requests, NEO_ADDRESS_REQUESTS, NEO_ADDRESS_WINDOW,
                          now, allowance);
    }
    neo_call_set_header(call, "X-RateLimit-Limit", apr_itoa(call->pool, allowance->limit));
    neo_call_set_header(call, "X-RateLimit-Remaining", apr_itoa(call->pool, allowance->remaining));
    neo_call_set_header(call, "X-RateLimit-Reset", apr_ltoa(call->pool, (long)allowance->reset));
}

static neo_problem *exceeded(neo_call *call, const neo_allowance *allowance, const char *detail)
{
    long long wait = allowance->reset - neo_now_ms() / 1000;
    neo_problem *problem = neo_problem_make(call->pool, NEO_RATE_LIMIT_EXCEEDED, "%s", detail);
    problem->retry_after = wait > 0 ? (int)wait : 1;
    return problem;
}

static neo_problem *limit_rate(neo_call *call)
{
    neo_allowance allowance;
    neo_call_count(call, 1, &allowance);
    if (!allowance.is_exceeded)
        return NULL;
    return exceeded(call, &allowance,
                    apr_psprintf(call->pool, "%s may send %d requests in its window, and they are used up.",
                                 call->principal ? "This credential" : "An address without a valid credential",
                                 allowance.limit));
}

neo_problem *neo_call_count_more(neo_call *call, int requests)
{
    neo_allowance allowance;
    if (requests == 0)
        return NULL;
    neo_call_count(call, requests, &allowance);
    if (!allowance.is_exceeded)
        return NULL;
    return exceeded(call, &allowance,
                    apr_psprintf(call->pool,
                                 "This request counts as %d, and the credential has %d of its %d left: send less in one, or "
                                 "wait. Nothing was done; it has been counted as one.",
                                 requests + 1, allowance.remaining + 1, allowance.limit));
}

static neo_problem *find_operation(neo_call *call)
{
    const neo_request *request = call->request;
    int found = neo_operation_match(request->path, request->method, call->pool, &call->match);
    if (!call->principal && !(found && call->match.is_public))
        return call->refusal;
    if (!found)
        return neo_problem_make(call->pool, NEO_NOT_FOUND_ROUTE, "The API has no such path.");
    if (call->match.operation)
        return NULL;
    neo_call_set_header(call, "Allow", call->match.allow);
    if (strcmp(request->method, "OPTIONS") == 0) {
        call->response->status = 204;
        return NULL;
    }
    return neo_problem_make(call->pool, NEO_VALIDATION_METHOD_NOT_ALLOWED, "This path has %s.", call->match.allow);
}

static neo_problem *check_scope(neo_call *call)
{
    const neo_operation *operation = call->match.operation;
    if (operation->access < NEO_ACCESS_READ)
        return NULL;
    neo_area area = call->match.resource->area;
    neo_scopes needed = operation->access == NEO_ACCESS_READ ? NEO_SCOPE_READ(area) : NEO_SCOPE_WRITE(area);
    if (call->principal->scopes & needed)
        return NULL;
    return neo_problem_make(call->pool, NEO_FORBIDDEN_PERMISSIONS, "The credential lacks the scope %s.",
                            neo_scope_text(needed, call->pool));
}

static neo_problem *dispatch(neo_call *call)
{
    static const neo_handler actions[] = {
        [NEO_ACTION_ME] = neo_call_me,
        [NEO_ACTION_OPENAPI] = neo_call_openapi,
        [NEO_ACTION_ERRORS] = neo_call_docs,
        [NEO_ACTION_LIST] = neo_call_list,
        [NEO_ACTION_CREATE] = neo_call_create,
        [NEO_ACTION_BATCH] = neo_call_batch,
        [NEO_ACTION_READ] = neo_call_read,
        [NEO_ACTION_PATCH] = neo_call_patch,
        [NEO_ACTION_REPLACE] = neo_call_replace,
        [NEO_ACTION_DELETE] = neo_call_delete,
        [NEO_ACTION_ROTATE_SECRET] = neo_call_rotate_secret,
        [NEO_ACTION_TEST_WEBHOOK] = neo_call_test_webhook,
        [NEO_ACTION_RECOVER] = neo_call_recover,
        [NEO_ACTION_LIST_DELIVERIES] = neo_call_list_deliveries,
        [NEO_ACTION_READ_DELIVERY] = neo_call_read_delivery,
        [NEO_ACTION_RETRY_DELIVERY] = neo_call_retry_delivery,
        [NEO_ACTION_START_CONVERSATION] = neo_call_start_conversation,
    };
    _Static_assert(sizeof actions / sizeof *actions == NEO_ACTIONS, "every operation has its action");
    if (call->match.operation == &neo_operation_docs)
        return neo_call_docs(call);
    return actions[call->match.operation - neo_operations](call);
}

/* The way. The first step that has a problem, or that gives the response a status, is the last. */
static const neo_handler pipeline[] = {
    neo_call_identify, limit_rate,          find_operation,     neo_call_choose_organization,
    check_scope,       neo_call_read_query, neo_call_read_body, neo_call_read_idempotency_key,
    dispatch,
};

/* ---------------------------------------------------------------- responses */

static void respond_problem(neo_call *call, const neo_problem *problem)
{
    neo_response *response = call->response;
    neo_problem_frame frame = {call->request->instance, call->request->id, call->site->docs_url};
    response->status = neo_problem_status(problem);
    response->media_type = "application/problem+json";
    response->body = neo_problem_json(problem, &frame, call->pool);
    /* RFC 9110, section 15.5.2 wants a challenge; where the host refuses, by other rules, it is the host's */
    if (response->status == 401 && problem->kind != NEO_FORBIDDEN_BY_SERVER)
        neo_call_set_header(call, "WWW-Authenticate", "ApiKey header=\"X-API-Key\"");
    if (problem->retry_after)
        neo_call_set_header(call, "Retry-After", apr_itoa(call->pool, problem->retry_after));
}

void neo_call_begin(neo_call *call, const neo_site *site, const neo_request *request, neo_response *response)
{
    *response = (neo_response){.headers = response->headers};
    *call = (neo_call){.site = site, .request = request, .response = response, .pool = request->pool};
    neo_call_set_header(call, "X-Request-ID", request->id);
    neo_call_set_header(call, "X-Content-Type-Options", "nosniff");
}

/* What was tagged may be kept to be asked for again with its tag; everything else is not to be kept at all, unless it has said
 * so itself. */
static void finish(neo_call *call)
{
    const apr_table_t *headers = call->response->headers;
    if (!apr_table_get(headers, "Cache-Control"))
        neo_call_set_header(call, "Cache-Control", apr_table_get(headers, "ETag") ? "private, no-cache" : "no-store");
    call->response->route = neo_route_of(call->match.operation, call->match.resource);
    if (call->principal) {
        call->response->principal = call->principal->id;
        call->response->is_token = call->principal->is_token;
    }
}

void neo_service_answer(const neo_site *site, const neo_request *request, neo_response *response)
{
    neo_call call;
    neo_problem *problem = NULL;
    neo_call_begin(&call, site, request, response);
    for (apr_size_t i = 0; i < sizeof pipeline / sizeof *pipeline && !problem && !response->status; i++)
        problem = pipeline[i](&call);
    if (problem)
        respond_problem(&call, problem);
    finish(&call);
}

void neo_service_refuse(const neo_site *site, const neo_request *request, const neo_problem *problem, neo_response *response)
{
    neo_call call;
    neo_allowance allowance;
    neo_call_begin(&call, site, request, response);
    neo_call_count(&call, 1, &allowance);
    respond_problem(&call, problem);
    finish(&call);
}
