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

#define RETRY_SECONDS   "5"
#define MAX_SECRET      900 /* bytes, as neoapictl accepts it */
#define MAX_IN_PROGRESS 4   /* leads of one portal, in one process */
#define PLACES          256 /* counters of them; portals can share one */

typedef struct {
    int status;
    const char *text;
} reply;

static reply failure(neo_call *call, neo_pg_status status)
{
    if (status == NEO_PG_FAILED || status == NEO_PG_UNIQUE_VIOLATION || status == NEO_PG_FK_VIOLATION)
        return (reply){500, "failed\n"};
    neo_call_set_header(call, "Retry-After", RETRY_SECONDS);
    return (reply){503, "unavailable\n"};
}

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

/* Counts the request against the address. */
static reply refuse_sender(neo_call *call, const neo_portal *portal)
{
    static atomic_llong last;
    neo_call_count(call, 1);
    neo_call_set_header(call, "WWW-Authenticate", "Basic realm=\"leads\"");
    if (portal && neo_call_may_log(&last))
        neo_log(NEO_LOG_PORTAL_SECRET, call->request->log_context, "lead for %s refused: it was not sent with its secret",
                portal->id);
    return (reply){401, "unauthorized\n"};
}

/* ---------------------------------------------------------------- the lead */

static neo_pg_status store(neo_call *call, neo_pg *pg, const neo_portal *portal)
{
    static atomic_llong last;
    neo_portal_result result;
    neo_pg_status status = neo_portal_receive(pg, portal, call->raw, call->request->id, call->pool, &result);
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

static reply receive_lead(neo_call *call, const neo_portal *portal)
{
    const neo_request *request = call->request;
    neo_problem *problem = request->host->body(request->context, NEO_PORTAL_MAX_BYTES, &call->raw);
    if (problem)
        return (reply){neo_problem_status(problem), "cannot read the body\n"};
    neo_pg *pg = request->host->acquire(request->context);
    neo_pg_status status = pg ? store(call, pg, portal) : NEO_PG_UNAVAILABLE;
    if (pg)
        neo_call_release_unconfirmed(call, pg);
    return status == NEO_PG_OK ? (reply){200, "ok\n"} : failure(call, status);
}

/* A portal with many leads at the same time must not use all threads and connections. */
static reply receive_in_turn(neo_call *call, const neo_portal *portal)
{
    static atomic_int in_progress[PLACES];
    atomic_int *place = &in_progress[neo_crc32(portal->id, strlen(portal->id)) % PLACES];
    reply answer =
        atomic_fetch_add(place, 1) < MAX_IN_PROGRESS ? receive_lead(call, portal) : failure(call, NEO_PG_UNAVAILABLE);
    atomic_fetch_sub(place, 1);
    return answer;
}

/* ---------------------------------------------------------------- the request */

/* The last segment of the path is the portal's id. */
static reply identify_portal(neo_call *call)
{
    neo_portal *portal = NULL;
    const char *path = call->request->path, *slash = strrchr(path, '/'), *id = slash ? slash + 1 : path;
    const char *secret = sent_secret(call);
    if (!secret || !neo_id_is(id, NEO_PORTAL_PREFIX))
        return refuse_sender(call, NULL);
    neo_pg *pg = call->request->host->acquire(call->request->context);
    neo_pg_status status = pg ? neo_portal_find(pg, id, call->pool, &portal) : NEO_PG_UNAVAILABLE;
    if (pg)
        neo_call_release_unconfirmed(call, pg);
    if (status != NEO_PG_OK)
        return failure(call, status);
    return portal && has_secret(portal, secret) ? receive_in_turn(call, portal) : refuse_sender(call, portal);
}

static reply answer_request(neo_call *call)
{
    if (strcmp(call->request->method, "POST") != 0) {
        neo_call_set_header(call, "Allow", "POST");
        return (reply){405, "method not allowed\n"};
    }
    neo_call_count(call, 0);
    if (call->allowance.remaining == 0) { /* too many refused requests from the address */
        neo_call_set_header(call, "Retry-After", apr_itoa(call->pool, neo_allowance_wait(&call->allowance)));
        return (reply){429, "too many requests\n"};
    }
    return identify_portal(call);
}

void neo_service_answer_lead(const neo_site *site, const neo_request *request, neo_response *response)
{
    neo_call call;
    neo_call_begin(&call, site, request, response);
    reply answer = answer_request(&call);
    neo_call_set_header(&call, "Cache-Control", "no-store");
    response->route = neo_leads_route_number();
    response->status = answer.status;
    response->media_type = "text/plain; charset=utf-8";
    response->body = (neo_text){answer.text, strlen(answer.text)};
}
