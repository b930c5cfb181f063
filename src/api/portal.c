/* SPDX-License-Identifier: Apache-2.0 */
/* Leads that portals post: SetHandler neoapi-leads.
 *
 * A portal repeats a lead until the response is 2xx, so that is sent only after the commit, also for a lead that is kept
 * because it cannot be read or matched. The responses reveal nothing to other senders. */
#include <apr_strings.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>

#include "api/routing.h"
#include "call.h"
#include "core/encode.h"
#include "core/log.h"
#include "resources/portal.h"
#include "sql/portal.h"

#define MAX_SECRET      900 /* bytes, as neoapictl accepts it */
#define MAX_IN_PROGRESS 8   /* leads of one portal, on one host */

/* ---------------------------------------------------------------- the secret */

/* The secret in the header Authorization: the password of Basic, whatever the user's name is, or the token of Bearer. NULL if
 * there is none. */
static const char *sent_secret(const neo_call *call)
{
    const char *header = neo_call_header(call, "Authorization");
    unsigned char decoded[MAX_SECRET + 1];
    if (header && strncasecmp(header, "Bearer ", 7) == 0)
        return header + 7;
    if (!header || strncasecmp(header, "Basic ", 6) != 0)
        return NULL;
    int len = neo_base64_decode(header + 6, strlen(header + 6), decoded, MAX_SECRET);
    if (len <= 0 || memchr(decoded, '\0', (size_t)len))
        return NULL;
    decoded[len] = '\0';
    const char *colon = strchr((char *)decoded, ':');
    return colon ? apr_pstrdup(call->pool, colon + 1) : NULL;
}

static int has_secret(const neo_portal *portal, const char *secret)
{
    unsigned char hash[NEO_SHA256_SIZE];
    char hex[2 * NEO_SHA256_SIZE + 1];
    neo_sha256(secret, strlen(secret), hash);
    neo_hex(hash, sizeof hash, hex);
    return neo_equal_constant_time(hex, portal->secret_hash, sizeof hex - 1);
}

static neo_plain_reply refuse_sender(neo_call *call, const neo_portal *portal)
{
    static atomic_llong last;
    neo_call_set_header(call, "WWW-Authenticate", "Basic realm=\"leads\"");
    if (portal && neo_call_may_log(&last))
        neo_log(NEO_LOG_PORTAL_SECRET, call->request->log_context, "lead for %s refused: it was not sent with its secret",
                portal->id);
    return (neo_plain_reply){401, "unauthorized\n"};
}

/* ---------------------------------------------------------------- the lead */

static neo_pg_status store(neo_call *call, neo_pg *pg, const neo_portal *portal)
{
    static atomic_llong last;
    neo_portal_result result;
    neo_pg_status status = neo_portal_receive(pg, portal, call->raw, neo_call_origin(call), call->pool, &result);
    if (status != NEO_PG_OK)
        return status;
    if (result.rows.count)
        neo_call_notify_dispatcher(call, &result.rows);
    if (!result.reason)
        return NEO_PG_OK;
    status = neo_portal_reject(pg, portal, call->raw, result.reason, call->pool);
    if (status == NEO_PG_OK && neo_call_may_log(&last))
        neo_log(NEO_LOG_LEAD_REJECTED, call->request->log_context, "a lead of %s was kept, but not created", portal->id);
    return status;
}

static neo_plain_reply receive_lead(neo_call *call, const neo_portal *portal)
{
    const neo_request *request = call->request;
    neo_problem *problem = request->host->body(request->context, NEO_PORTAL_MAX_BYTES, &call->raw);
    if (problem)
        return (neo_plain_reply){neo_problem_status(problem), "cannot read the body\n"};
    neo_pg *pg = request->host->acquire(request->context);
    neo_pg_status status = pg ? store(call, pg, portal) : NEO_PG_UNAVAILABLE;
    if (pg)
        neo_call_release_unconfirmed(call, pg);
    return status == NEO_PG_OK ? (neo_plain_reply){200, "ok\n"} : neo_call_failed_reply(call, status);
}

/* A portal with many leads at the same time, or with slow ones, must not use all threads and connections. */
static neo_plain_reply receive_within_limit(neo_call *call, const neo_portal *portal)
{
    return neo_concurrency_enter(call->site->concurrency, portal->id, MAX_IN_PROGRESS, &call->response->place)
               ? receive_lead(call, portal)
               : neo_call_failed_reply(call, NEO_PG_UNAVAILABLE);
}

/* ---------------------------------------------------------------- the request */

/* A post without the portal's secret counts for that portal and, if there is no such portal, for the address as well, because
 * it has read from the database. */
static neo_plain_reply authenticate_portal(neo_call *call, const char *id)
{
    neo_portal *portal = NULL;
    neo_pg_status status = NEO_PG_OK;
    const char *secret = sent_secret(call);
    neo_allowance allowance = neo_call_check_portal(call, id);
    if (allowance.is_exceeded)
        return neo_call_limited_reply(call, &allowance);
    if (secret) {
        neo_pg *pg = call->request->host->acquire(call->request->context);
        status = pg ? neo_portal_find(pg, id, call->pool, &portal) : NEO_PG_UNAVAILABLE;
        if (pg)
            neo_call_release_unconfirmed(call, pg);
    }
    if (status != NEO_PG_OK)
        return neo_call_failed_reply(call, status);
    if (portal && has_secret(portal, secret))
        return receive_within_limit(call, portal);
    neo_call_count_portal(call, id);
    neo_call_count(call, secret && !portal);
    return refuse_sender(call, portal);
}

static neo_plain_reply answer_request(neo_call *call)
{
    const char *path = call->request->path, *slash = strrchr(path, '/'), *id = slash ? slash + 1 : path;
    if (strcmp(call->request->method, "POST") != 0) {
        neo_call_set_header(call, "Allow", "POST");
        return (neo_plain_reply){405, "method not allowed\n"};
    }
    neo_call_count(call, 0);
    if (call->allowance.remaining == 0) /* too many requests without a valid credential from the address */
        return neo_call_limited_reply(call, &call->allowance);
    if (neo_id_is(id, NEO_PORTAL_PREFIX))
        return authenticate_portal(call, id);
    neo_call_count(call, 1);
    return refuse_sender(call, NULL);
}

void neo_service_answer_lead(const neo_site *site, const neo_request *request, neo_response *response)
{
    neo_call call;
    neo_call_begin(&call, site, request, response);
    neo_call_set_reply(&call, neo_leads_route_number(), answer_request(&call));
}
