/* Rate limits: by credential, or by address for requests without a valid one. */
#include <apr_strings.h>
#include <arpa/inet.h>
#include <string.h>

#include "call.h"

/* The addresses of a /64 network count as one, because one client has that many. */
static void digest_network(const char *address, unsigned char digest[NEO_SHA256_SIZE])
{
    unsigned char bytes[16];
    if (inet_pton(AF_INET6, address, bytes) == 1)
        neo_sha256(bytes, 8, digest);
    else
        neo_sha256(address, strlen(address), digest);
}

void neo_call_count(neo_call *call, int requests, neo_allowance *allowance)
{
    const neo_credential *principal = call->principal;
    long long now = neo_now_ms() / 1000;
    unsigned char network[NEO_SHA256_SIZE];
    /* If the database is unavailable, no credential can be verified; that is not the address's fault. */
    int is_unverified = call->refusal && neo_problem_status(call->refusal) >= 500;
    if (principal)
        neo_limiter_count(call->site->credentials, principal->digest, requests, principal->requests, principal->window, now,
                          allowance);
    else {
        digest_network(call->request->address, network);
        neo_limiter_count(call->site->addresses, network, is_unverified ? 0 : requests, NEO_ADDRESS_REQUESTS,
                          NEO_ADDRESS_WINDOW, now, allowance);
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

neo_problem *neo_call_limit_rate(neo_call *call)
{
    neo_allowance allowance;
    neo_call_count(call, 1, &allowance);
    if (!allowance.is_exceeded)
        return NULL;
    return exceeded(call, &allowance,
                    apr_psprintf(call->pool, "Rate limit of %d requests per %d s exceeded%s.", allowance.limit,
                                 call->principal ? call->principal->window : NEO_ADDRESS_WINDOW,
                                 call->principal ? "" : " by requests without a valid credential from this address"));
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
                                 "The batch counts as %d requests, and %d of %d per %d s are left. Send fewer operations, or "
                                 "wait. Nothing was changed; this request counted as one.",
                                 requests + 1, allowance.remaining + 1, allowance.limit, call->principal->window));
}
