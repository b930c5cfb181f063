/* SPDX-License-Identifier: Apache-2.0 */
/* Rate limits: counts each caller's requests in a sliding window, exactly across all processes that share the memory.
 *
 * The window slides in steps of a sixth: requests leave it together with the first of their step. So no more than the limit
 * pass in five sixths of a window, wherever it begins. Counters are lock-free: a killed process cannot leave one locked. If
 * there are more callers than entries, the one whose requests leave the window first is dropped. */
#ifndef NEO_API_LIMITER_H
#define NEO_API_LIMITER_H

#include <apr_pools.h>

#include "core/buf.h"
#include "core/crypto.h"

typedef struct neo_limiter neo_limiter;

typedef struct neo_allowance {
    int limit;
    int remaining;
    int used;        /* requests in the window, without refused ones */
    long long reset; /* in seconds since 1970: when the first of the counted requests leave the window; if the limit is
                      * exceeded, when enough have left it for these to pass */
    int is_exceeded; /* the requests were not counted */
    int elsewhere;   /* if it is exceeded: more requests that are left of a limit of several hosts, but not on this one */
} neo_allowance;

/* The size for `entries` callers in bytes. New memory must be zeroed. */
apr_size_t neo_limiter_size(apr_size_t entries);
neo_limiter *neo_limiter_attach(void *memory, apr_size_t entries);

/* Counts `cost` requests of `caller` at `now` (seconds since 1970) against `limit` per `window` seconds: all, or none if they
 * exceed it. A cost of 0 only reads. The caller is any bytes; they are hashed with a random key, so that a client cannot choose
 * names that share another's counter or displace it. */
void neo_limiter_count(neo_limiter *limiter, neo_text caller, int cost, int limit, int window, long long now,
                       neo_allowance *allowance);

/* The same without counting: whether the requests would pass, and if not, when. */
void neo_limiter_check(neo_limiter *limiter, neo_text caller, int cost, int limit, int window, long long now,
                       neo_allowance *allowance);

#endif
