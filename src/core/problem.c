/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the catalogue of error codes and makes problems from it (see core/problem.h). */
#include "core/problem.h"

#include <apr_strings.h>
#include <stdarg.h>
#include <string.h>

#include "core/clock.h"

/* A body of a megabyte can have a hundred thousand invalid fields. */
#define MAX_ITEMS 100

static const neo_code_info catalogue[] = {
    [NEO_VALIDATION_FAILED] = {"validation.failed", 400, "validation", "Several fields or parameters are invalid.",
                               "See `errors`: it lists each of them with its own code."},
    [NEO_VALIDATION_FIELD_REQUIRED] = {"validation.{resource}.{field}_required", 400, "validation",
                                       "A required field is missing or null.", "Send the field."},
    [NEO_VALIDATION_FIELD_INVALID] = {"validation.{resource}.{field}_invalid", 400, "validation",
                                      "A field has a value of the wrong type, format or range.",
                                      "Send a value that the message in `errors` allows."},
    [NEO_VALIDATION_FIELD_NOT_FOUND] = {"validation.{resource}.{field}_not_found", 400, "validation",
                                        "A field refers to a resource that does not exist in the organization.",
                                        "Send the id of an existing resource of the organization."},
    [NEO_VALIDATION_REQUIRED] = {"validation.required", 400, "validation", "A required value is missing.",
                                 "Send the value that `errors` names."},
    [NEO_VALIDATION_UNKNOWN_FIELD] = {"validation.unknown_field", 400, "validation",
                                      "The body has a field that the resource does not have.",
                                      "Remove the field, or check its spelling in the reference."},
    [NEO_VALIDATION_MALFORMED_JSON] = {"validation.malformed_json", 400, "validation",
                                       "The body is not valid JSON in UTF-8, or an object repeats a key.",
                                       "Correct the body at the line and column in the message."},
    [NEO_VALIDATION_MALFORMED_REQUEST] =
        {"validation.malformed_request", 400, "validation",
         "The HTTP request is malformed: a header, the encoding of the path, or the framing of the body.",
         "Check the HTTP client."},
    [NEO_VALIDATION_BODY_REQUIRED] = {"validation.body_required", 400, "validation", "The request has no body.",
                                      "Send a JSON object."},
    [NEO_VALIDATION_LIMIT_OUT_OF_RANGE] = {"validation.limit_out_of_range", 400, "validation",
                                           "`limit` is not an integer from 1 to 100.",
                                           "Send an integer from 1 to 100. The default is 25."},
    [NEO_VALIDATION_CURSOR_INVALID] =
        {"validation.cursor_invalid", 400, "validation",
         "The cursor does not belong to this list, these filters, this order and this organization.",
         "Send `page_info.end_cursor` unchanged, with the filters and the `sort` of the first page."},
    [NEO_VALIDATION_CURSOR_EXPIRED] = {"validation.cursor_expired", 400, "validation", "The cursor has expired.",
                                       "Start again from the first page."},
    [NEO_VALIDATION_POSITION_EXPIRED] =
        {"validation.position_expired", 400, "validation",
         "Events after the position are no longer stored, or the database was restored since the position was issued.",
         "Export the collections again, replace your copy by them, and follow from the new X-Events-Position."},
    [NEO_VALIDATION_UNKNOWN_PARAMETER] = {"validation.unknown_parameter", 400, "validation",
                                          "The operation does not have this query parameter.",
                                          "Remove the parameter, or check its spelling in the reference."},
    [NEO_VALIDATION_PARAMETER_INVALID] = {"validation.parameter_invalid", 400, "validation",
                                          "A query parameter or header is repeated, or has an invalid value.",
                                          "Send it once, with a value that the message in `errors` allows."},
    [NEO_VALIDATION_ORGANIZATION_REQUIRED] = {"validation.organization_required", 400, "validation",
                                              "The token has access to several organizations and the request names none.",
                                              "Send X-Organization-ID with one of the organizations that GET /me lists."},
    [NEO_VALIDATION_IDEMPOTENCY_KEY_INVALID] =
        {"validation.idempotency_key_invalid", 400, "validation",
         "Idempotency-Key is not a UUID of version 4, or the operation stores no responses.",
         "Send a new random UUID for each POST that creates. Leave the header out of PUT, "
         "PATCH and DELETE."},
    [NEO_VALIDATION_BATCH_TOO_LARGE] = {"validation.batch_too_large", 400, "validation",
                                        "The batch has more than 100 operations.",
                                        "Split it into requests of at most 100 operations."},
    [NEO_VALIDATION_TEMPLATE_REJECTED] =
        {"validation.whatsapp.template_rejected", 400, "validation",
         "The message template does not exist, does not have these parameters, or was rejected by WhatsApp. Nothing was sent.",
         "Compare the template's name, language, status and parameters with `GET /whatsapp/templates`. The message names the "
         "parameter, or has WhatsApp's reason."},
    [NEO_VALIDATION_METHOD_NOT_ALLOWED] = {"validation.method_not_allowed", 405, "validation",
                                           "The path does not support this method.", "Use a method from the header Allow."},
    [NEO_VALIDATION_REQUEST_TIMEOUT] = {"validation.request_timeout", 408, "validation", "The request did not arrive in time.",
                                        "Send it again; check the connection."},
    [NEO_VALIDATION_BODY_TOO_LARGE] = {"validation.body_too_large", 413, "validation",
                                       "The body is larger than the server accepts, or has too many JSON values.",
                                       "Send a smaller body; split batches."},
    [NEO_VALIDATION_UNSUPPORTED_MEDIA_TYPE] = {"validation.unsupported_media_type", 415, "validation",
                                               "The Content-Type of the body is not JSON, or the body is compressed.",
                                               "Send Content-Type: application/json, without Content-Encoding."},
    [NEO_UNAUTHORIZED_AUTH_REQUIRED] = {"unauthorized.auth_required", 401, "unauthorized",
                                        "The request has neither an X-API-Key header nor a bearer token.",
                                        "Send an API key or a personal access token in X-API-Key."},
    [NEO_UNAUTHORIZED_INVALID_CREDENTIAL] = {"unauthorized.invalid_credential", 401, "unauthorized",
                                             "X-API-Key or the bearer token is not valid.",
                                             "Check that the whole key was copied and that it belongs to this service."},
    [NEO_UNAUTHORIZED_REVOKED_CREDENTIAL] = {"unauthorized.revoked_credential", 401, "unauthorized",
                                             "The credential has been revoked.", "Ask the administrator for a new one."},
    [NEO_UNAUTHORIZED_EXPIRED_CREDENTIAL] =
        {"unauthorized.expired_credential", 401, "unauthorized", "The credential or the access token has expired.",
         "Request another access token. If the credential has expired, ask the administrator for a new one."},
    [NEO_FORBIDDEN_PERMISSIONS] = {"forbidden.insufficient_permissions", 403, "forbidden",
                                   "The credential lacks the scope or the role that the operation requires.",
                                   "Use a credential with the scope or the role that the message names."},
    [NEO_FORBIDDEN_ORGANIZATION] = {"forbidden.organization", 403, "forbidden",
                                    "The credential has no access to the organization in X-Organization-ID.",
                                    "Send one of the organizations that GET /me lists."},
    [NEO_FORBIDDEN_NETWORK] =
        {"forbidden.network", 403, "forbidden", "The credential must not be used from the client's address.",
         "Send the request from a network that the credential is restricted to, or ask the administrator."},
    [NEO_FORBIDDEN_BY_SERVER] = {"forbidden.by_server", 403, "forbidden", "The web server's configuration denies this request.",
                                 "Ask the administrator."},
    [NEO_NOT_FOUND_RESOURCE] = {"not_found.{resource}", 404, "not_found", "The organization has no resource with this id.",
                                "Check the id; the resource may have been deleted."},
    [NEO_NOT_FOUND_ROUTE] = {"not_found.route", 404, "not_found", "The API does not have this path.",
                             "Check the path in the reference."},
    [NEO_CONFLICT_DUPLICATE] = {"conflict.duplicate", 409, "conflict",
                                "Another resource already has a value that must be unique.",
                                "Change the value of `field`, or use the resource that `existing_id` names."},
    [NEO_CONFLICT_IN_USE] =
        {"conflict.in_use", 409, "conflict", "The resource cannot be deleted while others refer to it.",
         "Remove the references first; the message names the first of each kind that the credential may read."},
    [NEO_CONFLICT_INVALID_TRANSITION] = {"conflict.invalid_transition", 409, "conflict",
                                         "The status cannot change from its current value to the requested one.",
                                         "Send one of the statuses that the message lists."},
    [NEO_CONFLICT_TRANSACTION_TYPE] = {"conflict.transaction_type", 409, "conflict",
                                       "The kind of the proposal does not match the property's transaction type.",
                                       "Use the other kind, or a property that is for sale or for rent as the message says."},
    [NEO_CONFLICT_PROPERTY_UNAVAILABLE] =
        {"conflict.property_unavailable", 409, "conflict",
         "The property has a status in which the change is not possible, or an accepted proposal reserves it.",
         "Read the property that the message names. Change its status, end the other deal, or choose another property."},
    [NEO_CONFLICT_PROPOSAL_EXPIRED] = {"conflict.proposal_expired", 409, "conflict",
                                       "The proposal can no longer be accepted, because `valid_until` has passed.",
                                       "Make a new proposal. The day is that of São Paulo."},
    [NEO_CONFLICT_PROPOSAL_NOT_ACCEPTED] = {"conflict.proposal_not_accepted", 409, "conflict",
                                            "The proposal of the contract is not accepted.",
                                            "Accept the proposal first, or make the contract without `proposal_id`."},
    [NEO_CONFLICT_PROPOSAL_MISMATCH] = {"conflict.proposal_mismatch", 409, "conflict",
                                        "The contract and its proposal differ in property or kind.",
                                        "Send the property of the proposal, and the kind that matches it."},
    [NEO_CONFLICT_PARTIES_MISSING] = {"conflict.parties_missing", 409, "conflict",
                                      "The contract lacks a party that its kind requires.",
                                      "Add a party with the role that the message names."},
    [NEO_CONFLICT_SIGNATURES_MISSING] = {"conflict.signatures_missing", 409, "conflict",
                                         "The contract cannot become active before all parties have signed.",
                                         "Set `signed_at` of the party that the message names."},
    [NEO_CONFLICT_REASON_REQUIRED] = {"conflict.reason_required", 409, "conflict",
                                      "The contract cannot be cancelled or terminated without a reason.",
                                      "Send `termination_reason` together with the status."},
    [NEO_CONFLICT_FIELD_LOCKED] = {"conflict.field_locked", 409, "conflict",
                                   "The field can no longer change in the status of the resource.",
                                   "Change only `notes`, `metadata` and `external_id`, or the status."},
    [NEO_CONFLICT_NOT_DELETABLE] = {"conflict.not_deletable", 409, "conflict",
                                    "The contract or proposal cannot be deleted in its status, or because of its deal.",
                                    "Cancel or terminate the contract instead. Accepted proposals are kept."},
    [NEO_CONFLICT_CONTRACT_ACTIVE] = {"conflict.contract_active", 409, "conflict",
                                      "The status of the property contradicts an active contract.",
                                      "Complete or terminate the contract that the message names first."},
    [NEO_CONFLICT_PROPERTY_RESERVED] =
        {"conflict.property_reserved", 409, "conflict",
         "The status of the property contradicts an accepted proposal, which reserves it until its contract ends.",
         "Send the other fields without `status`, in a PATCH. To free the property, cancel the contract of the "
         "proposal. If there is none, create one with its `proposal_id` and cancel it."},
    [NEO_CONFLICT_IDEMPOTENCY_KEY_REUSED] =
        {"conflict.idempotency_key_reused", 409, "conflict", "The Idempotency-Key was already used for a different request.",
         "Use a new key for each operation. Repeat a key only with the same path and body."},
    [NEO_CONFLICT_OPTED_OUT] = {"conflict.opted_out", 409, "conflict",
                                "The contact has opted out of messages from this number. Nothing was sent or changed.",
                                "Do not retry. Sending is possible again after the contact has sent RESUME or VOLTAR."},
    [NEO_CONFLICT_WINDOW_CLOSED] =
        {"conflict.window_closed", 409, "conflict",
         "The contact has not written within 24 hours, so that WhatsApp delivers only templates. Nothing was sent.",
         "Send a message of the type `template`. When the contact answers, the window is open for 24 hours."},
    [NEO_CONFLICT_LIMIT_REACHED] = {"conflict.limit_reached", 409, "conflict",
                                    "A limit of the organization's plan is reached; `limit` names it.",
                                    "`subscriptions`: delete one. `idempotency_bytes`: wait, or send the request without an "
                                    "Idempotency-Key. Or ask for a plan with a higher limit."},
    [NEO_CONFLICT_PRECONDITION_FAILED] = {"conflict.precondition_failed", 412, "conflict",
                                          "The resource has changed since the version in If-Match, or does not exist.",
                                          "Read the resource again, repeat the change and send the new ETag. If it does not "
                                          "exist, leave If-Match out to create it by its external id."},
    [NEO_RATE_LIMIT_EXCEEDED] = {"rate_limit.exceeded", 429, "rate_limit", "The rate limit is exceeded.",
                                 "Wait for `retry_after` seconds. X-RateLimit-Remaining shows how many requests are left."},
    [NEO_RATE_LIMIT_EXPORTS] = {"rate_limit.exports", 429, "rate_limit",
                                "The organization has two exports in progress, or its tenant three.",
                                "Wait until one of them has ended."},
    [NEO_RATE_LIMIT_CONCURRENT_REQUESTS] =
        {"rate_limit.concurrent_requests", 429, "rate_limit",
         "The organization has as many requests in progress as its plan allows.",
         "Send fewer requests at a time, and retry after the seconds in Retry-After. Requests that wait for events count."},
    [NEO_INTERNAL_UNEXPECTED] = {"internal.unexpected", 500, "internal", "An internal error occurred.",
                                 "Try again later. If the error persists, report `request_id`."},
    [NEO_INTERNAL_UNAVAILABLE] = {"internal.unavailable", 503, "internal", "The service is temporarily unavailable.",
                                  "Retry after the seconds in Retry-After, with the same Idempotency-Key if you sent one."},
    [NEO_INTERNAL_QUERY_TIMEOUT] =
        {"internal.query_timeout", 503, "internal", "The query took too long and was cancelled.",
         "Narrow the query: add filters, use a longer `q`, sort by `created_at`, or leave out `count`."},
    [NEO_INTERNAL_STATEMENT_TIMEOUT] =
        {"internal.statement_timeout", 503, "internal",
         "The request took too long in the database, which cancelled it. Nothing was changed.",
         "Retry after the seconds in Retry-After. If it happens again, send less in one request."},
    [NEO_INTERNAL_PROVIDER_UNAVAILABLE] =
        {"internal.provider_unavailable", 503, "internal",
         "WhatsApp is temporarily unavailable or does not let the organization's number send. Nothing was sent.",
         "Retry after the seconds in Retry-After, with the same Idempotency-Key if you sent one. If the message says that the "
         "number cannot send, ask the administrator: its error log has the cause."},
};
_Static_assert(sizeof catalogue / sizeof *catalogue == NEO_CODES, "every code has its row");

const neo_code_info *neo_code_row(neo_code code)
{
    return &catalogue[code];
}

const char *neo_type_title(const char *type)
{
    static const struct {
        const char *type, *title;
    } titles[] = {
        {"validation", "Validation Failed"},   {"unauthorized", "Authentication Required"},
        {"forbidden", "Access Denied"},        {"not_found", "Resource Not Found"},
        {"conflict", "Resource Conflict"},     {"rate_limit", "Rate Limit Exceeded"},
        {"internal", "Internal Server Error"},
    };
    for (apr_size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (strcmp(titles[i].type, type) == 0)
            return titles[i].title;
    return type;
}

/* The titles of statuses that are not named by their type. */
static const struct {
    int status;
    const char *title;
} own_titles[] = {
    {405, "Method Not Allowed"}, {408, "Request Timeout"},        {412, "Precondition Failed"},
    {413, "Content Too Large"},  {415, "Unsupported Media Type"}, {503, "Service Unavailable"},
};

const char *neo_problem_title(const char *type, int status)
{
    for (apr_size_t i = 0; i < sizeof own_titles / sizeof *own_titles; i++)
        if (own_titles[i].status == status)
            return own_titles[i].title;
    return neo_type_title(type);
}

/* In codes, the field "parties[2].role" is named parties_role. */
static void add_field_name(neo_buf *out, const char *path)
{
    for (int inside = 0; *path; path++) {
        if (*path == '[')
            inside = 1;
        else if (*path == ']')
            inside = 0;
        else if (!inside)
            neo_buf_putc(out, *path == '.' ? '_' : *path);
    }
}

static const char *fill_code(apr_pool_t *pool, neo_code kind, const char *resource, const char *field)
{
    const char *from = catalogue[kind].code;
    if (!strchr(from, '{'))
        return from;
    neo_buf out;
    neo_buf_init(&out, pool, 64);
    for (const char *open; (open = strchr(from, '{')); from = strchr(open, '}') + 1) {
        neo_buf_add(&out, from, (apr_size_t)(open - from));
        if (strncmp(open, "{resource}", 10) == 0)
            neo_buf_puts(&out, resource);
        else
            add_field_name(&out, field);
    }
    neo_buf_puts(&out, from);
    return out.ptr;
}

static neo_problem *new_problem(apr_pool_t *pool, neo_code kind, const char *resource, const char *detail)
{
    neo_problem *problem = apr_pcalloc(pool, sizeof *problem);
    problem->kind = kind;
    problem->status = catalogue[kind].status;
    problem->code = fill_code(pool, kind, resource, "");
    problem->detail = detail;
    return problem;
}

neo_problem *neo_problem_make(apr_pool_t *pool, neo_code kind, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *detail = apr_pvsprintf(pool, fmt, args);
    va_end(args);
    return new_problem(pool, kind, "", detail);
}

neo_problem *neo_problem_for_resource(apr_pool_t *pool, neo_code kind, const char *resource, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *detail = apr_pvsprintf(pool, fmt, args);
    va_end(args);
    return new_problem(pool, kind, resource, detail);
}

/* With the second item, the problem's code changes from that of the first to validation.failed. */
static void add_problem_item(neo_problem *p, apr_pool_t *pool, neo_problem_item item)
{
    if (p->items->nelts == MAX_ITEMS) {
        p->detail = "More than " APR_STRINGIFY(
            MAX_ITEMS) " fields or parameters are invalid; errors lists the first " APR_STRINGIFY(MAX_ITEMS) ".";
        return;
    }
    APR_ARRAY_PUSH(p->items, neo_problem_item) = item;
    if (p->items->nelts > 1) {
        p->kind = NEO_VALIDATION_FAILED;
        p->code = catalogue[NEO_VALIDATION_FAILED].code;
        p->detail = apr_psprintf(pool, "%d fields or parameters are invalid; errors lists each of them.", p->items->nelts);
    }
}

static void add_field(neo_problem **problem, apr_pool_t *pool, neo_code kind, const char *resource, neo_problem_item item)
{
    if (!*problem) {
        *problem = new_problem(pool, kind, resource, apr_pstrcat(pool, item.field, ": ", item.message, NULL));
        (*problem)->code = item.code;
        (*problem)->items = apr_array_make(pool, 4, sizeof item);
    }
    add_problem_item(*problem, pool, item);
}

void neo_problem_field(neo_problem **problem, apr_pool_t *pool, neo_code kind, const char *resource, const char *field,
                       const char *fmt, ...)
{
    neo_problem_item item;
    va_list args;
    va_start(args, fmt);
    item.message = apr_pvsprintf(pool, fmt, args);
    va_end(args);
    item.field = apr_pstrdup(pool, field);
    item.code = fill_code(pool, kind, resource, field);
    add_field(problem, pool, kind, resource, item);
}

void neo_problem_member(neo_problem **problem, apr_pool_t *pool, neo_code kind, const char *resource, const char *field,
                        const char *member, const char *message)
{
    const neo_problem_item item = {.field = apr_pstrcat(pool, field, ".", member, NULL),
                                   .message = message,
                                   .code = fill_code(pool, kind, resource, field)};
    add_field(problem, pool, kind, resource, item);
}

neo_problem *neo_problem_within(apr_pool_t *pool, const neo_problem *problem, const char *part, const char *path)
{
    neo_problem *whole = apr_pmemdup(pool, problem, sizeof *problem);
    if (problem->field)
        whole->field = apr_pstrcat(pool, path, ".", problem->field, NULL);
    if (!problem->items) {
        whole->detail = apr_pstrcat(pool, part, ": ", problem->detail, NULL);
        return whole;
    }
    whole->items = apr_array_copy(pool, problem->items);
    for (int i = 0; i < whole->items->nelts; i++) {
        neo_problem_item *item = &APR_ARRAY_IDX(whole->items, i, neo_problem_item);
        item->field = apr_pstrcat(pool, path, ".", item->field, NULL);
    }
    if (whole->items->nelts == 1)
        whole->detail = apr_pstrcat(pool, path, ".", problem->detail, NULL);
    return whole;
}

neo_problem *neo_problem_internal(apr_pool_t *pool)
{
    return neo_problem_make(pool, NEO_INTERNAL_UNEXPECTED, "An internal error occurred. Report the request_id if it persists.");
}

int neo_problem_status(const neo_problem *problem)
{
    return problem->status;
}

static void put_member(neo_buf *out, const char *name, const char *value)
{
    neo_buf_printf(out, ",\"%s\":", name);
    neo_buf_json(out, value);
}

static void put_items(neo_buf *out, const apr_array_header_t *items)
{
    neo_buf_puts(out, ",\"errors\":[");
    for (int i = 0; i < items->nelts; i++) {
        const neo_problem_item *item = &APR_ARRAY_IDX(items, i, neo_problem_item);
        neo_buf_puts(out, i ? ",{\"field\":" : "{\"field\":");
        neo_buf_json(out, item->field);
        put_member(out, "message", item->message);
        put_member(out, "code", item->code);
        neo_buf_putc(out, '}');
    }
    neo_buf_putc(out, ']');
}

neo_text neo_problem_json(const neo_problem *problem, const neo_problem_frame *frame, apr_pool_t *pool)
{
    const neo_code_info *row = &catalogue[problem->kind];
    char now[NEO_MS_TEXT_SIZE];
    neo_buf out;
    neo_buf_init(&out, pool, 768);
    neo_ms_format(now, neo_now_ms());
    neo_buf_puts(&out, "{\"type\":");
    neo_buf_json(&out, row->type);
    put_member(&out, "title", neo_problem_title(row->type, problem->status));
    neo_buf_printf(&out, ",\"status\":%d", problem->status);
    put_member(&out, "detail", problem->detail);
    put_member(&out, "code", problem->code);
    if (frame->instance)
        put_member(&out, "instance", frame->instance);
    put_member(&out, "request_id", frame->request_id);
    put_member(&out, "timestamp", now);
    put_member(&out, "documentation_url", apr_pstrcat(pool, frame->docs_url, "/errors#", problem->code, NULL));
    if (problem->items)
        put_items(&out, problem->items);
    if (problem->field)
        put_member(&out, "field", problem->field);
    if (problem->existing_id)
        put_member(&out, "existing_id", problem->existing_id);
    if (problem->window_expires_at)
        put_member(&out, "window_expires_at", problem->window_expires_at);
    if (problem->limit) {
        put_member(&out, "limit", problem->limit);
        neo_buf_printf(&out, ",\"limit_value\":%d", problem->limit_value);
    }
    if (problem->failures)
        neo_buf_puts(&out, apr_pstrcat(pool, ",\"failures\":", problem->failures, NULL));
    if (problem->retry_after && problem->status == 429)
        neo_buf_printf(&out, ",\"retry_after\":%d", problem->retry_after);
    neo_buf_putc(&out, '}');
    return neo_buf_text(&out);
}
