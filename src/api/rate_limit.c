/* SPDX-License-Identifier: Apache-2.0 */
/* Rate limits: by credential, or by address for requests without a valid one. */
#include <apr_strings.h>
#include <arpa/inet.h>
#include <string.h>

#include "call.h"
#include "core/json.h"
#include "schema/batch.h"

/* Limits of addresses: the first byte of their callers' names. */
#define REQUESTS 'r'
#define NETWORK  'n' /* requests of an IPv6 /48 network */
#define LOOKUPS  'l' /* failed look-ups of credentials */
#define UNSIGNED 'u' /* WhatsApp callbacks without a valid signature */
#define PORTAL   'p' /* posts without the secret of the portal whose id follows the address */

/* An address; of an IPv6 address, the first `bytes`. */
static neo_text caller_key(const neo_call *call, char limit, apr_size_t bytes)
{
    const char *address = call->request->address;
    char *name = apr_palloc(call->pool, 1 + sizeof(struct in6_addr) + strlen(address));
    *name = limit;
    if (inet_pton(AF_INET6, address, name + 1) != 1)
        memcpy(name + 1, address, bytes = strlen(address));
    return (neo_text){name, 1 + bytes};
}

static void count_network(const neo_call *call, char limit, apr_size_t bytes, int cost, int max, neo_allowance *allowance)
{
    neo_limiter_count(call->site->addresses, caller_key(call, limit, bytes), cost, max, NEO_ADDRESS_WINDOW, neo_now_ms() / 1000,
                      allowance);
}

/* Whether a limit of the address allows the cost; counts nothing. */
static neo_allowance check_address(const neo_call *call, char limit, int cost, int max)
{
    neo_allowance allowance;
    neo_limiter_check(call->site->addresses, caller_key(call, limit, 8), cost, max, NEO_ADDRESS_WINDOW, neo_now_ms() / 1000,
                      &allowance);
    return allowance;
}

/* The addresses of an IPv6 /64 network count as one, because one client has that many. A client can have a /48 as well, so a
 * limit applies to that too. If neither allows another request, one passes when both do. */
static void count_address(const neo_call *call, int cost, neo_allowance *allowance)
{
    neo_allowance network, address;
    count_network(call, REQUESTS, 8, cost, NEO_ADDRESS_REQUESTS, allowance);
    if (!strchr(call->request->address, ':'))
        return;
    address = *allowance;
    count_network(call, NETWORK, 6, address.is_exceeded ? 0 : cost, NEO_NETWORK_REQUESTS, &network);
    if (network.is_exceeded || network.remaining < address.remaining)
        *allowance = network;
    if (!network.remaining && !address.remaining)
        allowance->reset = network.reset > address.reset ? network.reset : address.reset;
}

static neo_shared_limit credential_limit(const neo_call *call)
{
    return (neo_shared_limit){call->principal->id, call->principal->requests, call->principal->window_seconds, 0};
}

int neo_allowance_wait(const neo_allowance *allowance)
{
    long long wait = allowance->reset - neo_now_ms() / 1000;
    return wait > 0 ? (int)wait : 1;
}

/* RateLimit-Policy and RateLimit are those of draft-ietf-httpapi-ratelimit-headers-10. */
static void set_limit_headers(neo_call *call)
{
    const neo_allowance *allowance = &call->allowance;
    const char *limit = apr_itoa(call->pool, allowance->limit), *remaining = apr_itoa(call->pool, allowance->remaining);
    const char *policy = call->principal ? "\"plan\"" : "\"address\"";
    int window = call->principal ? call->principal->window_seconds : NEO_ADDRESS_WINDOW;
    neo_call_set_header(call, "X-RateLimit-Limit", limit);
    neo_call_set_header(call, "X-RateLimit-Remaining", remaining);
    neo_call_set_header(call, "X-RateLimit-Reset", apr_ltoa(call->pool, (long)allowance->reset));
    neo_call_set_header(call, "RateLimit-Policy",
                        apr_pstrcat(call->pool, policy, ";q=", limit, ";w=", apr_itoa(call->pool, window), NULL));
    neo_call_set_header(
        call, "RateLimit",
        apr_pstrcat(call->pool, policy, ";r=", remaining, ";t=", apr_itoa(call->pool, neo_allowance_wait(allowance)), NULL));
}

void neo_call_count(neo_call *call, int requests)
{
    neo_shared_limit limit;
    if (call->principal) {
        limit = credential_limit(call);
        neo_lease_count(call->site->leases, call->site->credentials, &limit, requests, &call->allowance);
    } else
        count_address(call, requests, &call->allowance);
    set_limit_headers(call);
}

neo_allowance neo_call_check_unsigned(const neo_call *call, int cost)
{
    return check_address(call, UNSIGNED, cost, NEO_UNSIGNED_COST);
}

/* A cost above what is left uses all of it, since a body without Content-Length is charged after it was read. */
void neo_call_count_unsigned(const neo_call *call, int cost)
{
    neo_allowance allowance;
    count_network(call, UNSIGNED, 8, cost, NEO_UNSIGNED_COST, &allowance);
    if (allowance.is_exceeded && allowance.remaining)
        count_network(call, UNSIGNED, 8, allowance.remaining, NEO_UNSIGNED_COST, &allowance);
}

/* A portal posts for many organizations from few addresses, so a wrong secret of one counts only for that one. The address of
 * IPv6 is a /48 network, so that a sender with many addresses has no more guesses. */
static neo_text portal_key(const neo_call *call, const char *portal)
{
    neo_text address = caller_key(call, PORTAL, 6);
    apr_size_t len = strlen(portal);
    char *key = apr_palloc(call->pool, address.len + len);
    memcpy(key, address.ptr, address.len);
    memcpy(key + address.len, portal, len);
    return (neo_text){key, address.len + len};
}

neo_allowance neo_call_check_portal(const neo_call *call, const char *portal)
{
    neo_allowance allowance;
    neo_limiter_check(call->site->addresses, portal_key(call, portal), 1, NEO_PORTAL_FAILURES, NEO_ADDRESS_WINDOW,
                      neo_now_ms() / 1000, &allowance);
    return allowance;
}

void neo_call_count_portal(const neo_call *call, const char *portal)
{
    neo_allowance allowance;
    neo_limiter_count(call->site->addresses, portal_key(call, portal), 1, NEO_PORTAL_FAILURES, NEO_ADDRESS_WINDOW,
                      neo_now_ms() / 1000, &allowance);
}

neo_plain_reply neo_call_limited_reply(neo_call *call, const neo_allowance *allowance)
{
    return neo_call_later_reply(call, 429, neo_allowance_wait(allowance), "too many requests\n");
}

neo_plain_reply neo_call_admit_read(neo_call *call)
{
    const char *method = call->request->method;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        neo_call_set_header(call, "Allow", "GET, HEAD");
        return (neo_plain_reply){405, "method not allowed\n"};
    }
    neo_call_count(call, 1);
    return call->allowance.is_exceeded ? neo_call_limited_reply(call, &call->allowance) : (neo_plain_reply){200, NULL};
}

static neo_problem *exceeded(neo_call *call, const neo_allowance *allowance, const char *detail)
{
    return neo_call_try_later(call, NEO_RATE_LIMIT_EXCEEDED, neo_allowance_wait(allowance), detail);
}

/* How many requests a refused one counts as. The body of a batch is read to know it, but not more often than the plan allows
 * requests: beyond that, the cost is the greatest one. A body that cannot be read costs one. */
static int refusal_cost(const neo_call *call)
{
    neo_text body;
    neo_allowance reads;
    const neo_request *request = call->request;
    const neo_credential *principal = call->principal;
    const char *error, *reader = apr_pstrcat(call->pool, principal->id, " reads", NULL);
    if (!call->match.operation || !(call->match.operation->accepts & NEO_ACCEPTS_BATCH))
        return 1;
    neo_limiter_count(call->site->credentials, (neo_text){reader, strlen(reader)}, 1, principal->requests,
                      principal->window_seconds, neo_now_ms() / 1000, &reads);
    if (reads.is_exceeded)
        return neo_batch_cost(NEO_BATCH_MAX_OPERATIONS);
    if (request->host->body(request->context, call->site->max_body, &body) || neo_json_is_costly(body))
        return 1;
    const neo_json *parsed = neo_json_parse(body, call->pool, &error);
    const neo_json *operations = parsed ? neo_json_get(parsed, "operations") : NULL;
    apr_size_t count = operations ? neo_json_size(operations) : 0;
    return count && count <= NEO_BATCH_MAX_OPERATIONS ? neo_batch_cost((int)count) : 1;
}

/* Finds when a refused request passes, which again counts as all its requests. */
static void check_again(neo_call *call, int requests)
{
    const neo_shared_limit limit = credential_limit(call);
    neo_lease_check(call->site->leases, call->site->credentials, &limit, requests, &call->allowance);
    set_limit_headers(call);
}

/* The limit of the deployment is not exceeded, only this host's part of it. */
static neo_problem *part_exceeded(neo_call *call, const neo_allowance *allowance)
{
    return exceeded(call, allowance,
                    apr_psprintf(call->pool,
                                 "The server that received the request has used up its part of the limit of %d requests per %d "
                                 "s. %d more are left on other servers. Repeat the request.",
                                 allowance->limit, call->principal->window_seconds, allowance->elsewhere));
}

neo_problem *neo_call_limit_rate(neo_call *call, int requests)
{
    const neo_allowance *allowance = &call->allowance;
    neo_call_count(call, requests);
    if (!allowance->is_exceeded)
        return NULL;
    if (call->principal)
        check_again(call, refusal_cost(call));
    if (allowance->elsewhere)
        return part_exceeded(call, allowance);
    return exceeded(
        call, allowance,
        apr_psprintf(call->pool, "Rate limit of %d requests per %d s exceeded%s.", allowance->limit,
                     call->principal ? call->principal->window_seconds : NEO_ADDRESS_WINDOW,
                     call->principal ? "" : " by requests without a valid credential from this address or its network"));
}

neo_problem *neo_call_limit_concurrency(neo_call *call)
{
    int limit = call->principal ? call->principal->concurrent_requests : 0;
    if (!limit || !call->actor.organization ||
        neo_lease_enter(call->site->leases, call->site->concurrency, call->actor.organization, limit, &call->response->place))
        return NULL;
    neo_problem *problem = neo_call_limit_reached(call, NEO_RATE_LIMIT_CONCURRENT_REQUESTS, "concurrent_requests", limit);
    problem->retry_after = 1;
    return problem;
}

/* A refused batch has been counted as one request, and when it is repeated, it counts as all its requests. */
neo_problem *neo_call_count_more(neo_call *call, int requests)
{
    const neo_allowance *allowance = &call->allowance;
    if (requests == 0)
        return NULL;
    neo_call_count(call, requests);
    if (!allowance->is_exceeded)
        return NULL;
    check_again(call, requests + 1);
    if (requests >= allowance->limit)
        return exceeded(
            call, allowance,
            apr_psprintf(call->pool,
                         "The batch counts as %d requests, more than the plan's limit of %d per %d s, so it is always "
                         "refused. Send fewer operations. Nothing was changed; this request counted as one.",
                         requests + 1, allowance->limit, call->principal->window_seconds));
    if (allowance->elsewhere)
        return exceeded(
            call, allowance,
            apr_psprintf(call->pool,
                         "The batch counts as %d requests. Of %d per %d s, %d are left, but only %d on the server that "
                         "received it. Repeat it, or send fewer operations. Nothing was changed; this request counted "
                         "as one.",
                         requests + 1, allowance->limit, call->principal->window_seconds,
                         allowance->remaining + 1 + allowance->elsewhere, allowance->remaining + 1));
    return exceeded(call, allowance,
                    apr_psprintf(call->pool,
                                 "The batch counts as %d requests, and %d of %d per %d s are left. Send fewer operations, or "
                                 "wait. Nothing was changed; this request counted as one.",
                                 requests + 1, allowance->remaining + 1, allowance->limit, call->principal->window_seconds));
}

int neo_call_count_part(const neo_call *call, int reserved)
{
    neo_allowance allowance;
    neo_shared_limit limit = credential_limit(call);
    limit.reserve = reserved;
    neo_lease_count(call->site->leases, call->site->credentials, &limit, 1, &allowance);
    return !allowance.is_exceeded;
}

neo_problem *neo_call_check_lookups(neo_call *call)
{
    neo_allowance allowance = check_address(call, LOOKUPS, 1, NEO_ADDRESS_LOOKUPS);
    if (!allowance.is_exceeded)
        return NULL;
    return exceeded(call, &allowance,
                    apr_psprintf(call->pool, "Limit of %d unknown credentials per %d s from this address exceeded.",
                                 NEO_ADDRESS_LOOKUPS, NEO_ADDRESS_WINDOW));
}

void neo_call_count_failed_lookup(neo_call *call)
{
    neo_allowance allowance;
    count_network(call, LOOKUPS, 8, 1, NEO_ADDRESS_LOOKUPS, &allowance);
}
