/* SPDX-License-Identifier: Apache-2.0 */
/* GET /me: the credential, what it has access to, its limits, and its requests that were refused. */
#include <apr_strings.h>
#include <string.h>

#include "call.h"

static void add_text(neo_buf *out, const char *name, const char *value)
{
    neo_buf_printf(out, "%c\"%s\":", out->len ? ',' : '{', name);
    neo_buf_json(out, value);
}

static neo_problem *describe_principal(neo_call *call, neo_result *result)
{
    const neo_credential *principal = call->principal;
    neo_buf out;
    neo_buf_init(&out, call->pool, 512);
    add_text(&out, "type", principal->is_token ? "personal_access_token" : "api_key");
    add_text(&out, "principal_id", principal->id);
    add_text(&out, "tenant_id", principal->tenant);
    add_text(&out, "organization_id", call->actor.organization);
    if (principal->is_token) {
        add_text(&out, "user_id", principal->user);
        add_text(&out, "email", principal->email);
        neo_buf_puts(&out, ",\"allowed_organization_ids\":[");
        for (int i = 0; i < principal->organization_count; i++) {
            neo_buf_puts(&out, i ? "," : "");
            neo_buf_json(&out, principal->organizations[i]);
        }
        neo_buf_putc(&out, ']');
    } else {
        add_text(&out, "role", principal->role);
        neo_buf_puts(&out, ",\"scopes\":");
        neo_scopes_json(&out, call->scopes);
    }
    if (principal->expires_at) {
        char expires[NEO_MS_TEXT_SIZE];
        neo_ms_format(expires, principal->expires_at);
        add_text(&out, "expires_at", expires);
    }
    neo_buf_putc(&out, '}');
    *result = (neo_result){.status = 200, .body = neo_buf_text(&out)};
    return NULL;
}

/* ---------------------------------------------------------------- limits */

typedef struct {
    const char *name; /* as in `limit` of problems */
    int limit;        /* 0: unlimited */
    long long used;   /* -1: not counted here */
    int window;       /* in seconds; 0: none */
    long long reset;  /* seconds since 1970; 0: none */
} limit_row;

static void add_limit(neo_buf *out, const limit_row *row)
{
    char resets[NEO_MS_TEXT_SIZE];
    neo_buf_printf(out, "%s{\"name\":\"%s\"", out->ptr[out->len - 1] == '[' ? "" : ",", row->name);
    if (row->limit)
        neo_buf_printf(out, ",\"limit\":%d", row->limit);
    if (row->used >= 0)
        neo_buf_printf(out, ",\"used\":%lld", row->used);
    if (row->window)
        neo_buf_printf(out, ",\"window_seconds\":%d", row->window);
    if (row->reset) {
        neo_ms_format(resets, row->reset * 1000);
        neo_buf_printf(out, ",\"resets_at\":\"%s\"", resets);
    }
    neo_buf_putc(out, '}');
}

/* Of the organization's subscriptions and deliveries only the limits: the lists of these show how many there are. */
static neo_problem *list_limits(neo_call *call, neo_result *result)
{
    const neo_credential *principal = call->principal;
    const neo_allowance *requests = &call->allowance;
    const limit_row rows[] = {
        {"requests", requests->limit, requests->limit - requests->remaining, principal->window_seconds, requests->reset},
        {"concurrent_requests", principal->concurrent_requests,
         principal->concurrent_requests ? neo_concurrency_count(call->site->concurrency, call->actor.organization) : -1, 0, 0},
        {"subscriptions", principal->subscriptions, -1, 0, 0},
        {"idempotency_bytes", principal->idempotency_bytes, neo_call_stored_bytes(call), 86400, 0},
        {"deliveries_per_hour", principal->deliveries_per_hour, -1, 3600, 0},
    };
    neo_buf out;
    neo_buf_init(&out, call->pool, 512);
    neo_buf_puts(&out, "{\"items\":[");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add_limit(&out, &rows[i]);
    neo_buf_puts(&out, "]}");
    *result = (neo_result){.status = 200, .body = neo_buf_text(&out)};
    return NULL;
}

/* ---------------------------------------------------------------- refused requests */

static void add_refusal(neo_call *call, neo_buf *out, const neo_refusal *refusal)
{
    char at[NEO_MS_TEXT_SIZE];
    neo_buf item;
    neo_buf_init(&item, call->pool, 512);
    neo_ms_format(at, refusal->at);
    add_text(&item, "request_id", refusal->request_id);
    add_text(&item, "created_at", at);
    add_text(&item, "method", refusal->method);
    add_text(&item, "path", refusal->path);
    neo_buf_printf(&item, ",\"status\":%d", refusal->status);
    add_text(&item, "code", refusal->code);
    add_text(&item, "detail", refusal->detail);
    add_text(&item, "documentation_url", apr_pstrcat(call->pool, call->site->docs_url, "/errors#", refusal->code, NULL));
    neo_buf_printf(out, "%s%s}", out->ptr[out->len - 1] == '[' ? "" : ",", item.ptr);
}

static neo_problem *list_refusals(neo_call *call, neo_result *result)
{
    neo_refusal *found = apr_palloc(call->pool, NEO_MAX_REFUSALS * sizeof *found);
    int count = neo_refusals_read(call->site->refusals, call->principal->id, found);
    neo_buf out;
    neo_buf_init(&out, call->pool, 4096);
    neo_buf_puts(&out, "{\"items\":[");
    for (int i = 0; i < count; i++)
        add_refusal(call, &out, &found[i]);
    neo_buf_puts(&out, "]}");
    *result = (neo_result){.status = 200, .body = neo_buf_text(&out)};
    return NULL;
}

const neo_operation neo_me_operations[] = {
    {.method = "GET",
     .path = "me",
     .run = describe_principal,
     .access = NEO_ACCESS_ANY,
     .status = 200,
     .media_type = "application/json",
     .tag = "Principal",
     .verb = "getPrincipal",
     .summary = "Describe the credential",
     .doc = "Returns the credential's scopes and organizations. A personal access token for several "
            "organizations does not need X-Organization-ID here; the default is the first of "
            "`allowed_organization_ids`.",
     .answer = "The principal."},
    {.method = "GET",
     .path = "me/limits",
     .run = list_limits,
     .access = NEO_ACCESS_ANY,
     .status = 200,
     .media_type = "application/json",
     .tag = "Principal",
     .verb = "listLimits",
     .summary = "List the limits of the plan",
     .doc = "With what is used of them, as far as the server that answers counts it. This request is included.",
     .answer = "The limits."},
    {.method = "GET",
     .path = "me/refusals",
     .run = list_refusals,
     .access = NEO_ACCESS_ANY,
     .status = 200,
     .media_type = "application/json",
     .tag = "Principal",
     .verb = "listRefusals",
     .summary = "List the requests that were refused lately",
     .doc = "The last 100 requests of this credential that got an error, newest first, for all its organizations. The server "
            "that answers has them in memory: other servers of the deployment have their own, and a restart clears them. "
            "Neither bodies nor queries are kept. Beyond 256 credentials with errors, those that got one least recently are "
            "forgotten.",
     .answer = "The refused requests."},
    {0},
};
