/* Rate limits: counts each caller's requests in a fixed window, exactly across all processes that share the memory.
 *
 * A window starts with the caller's first request, and anew if its plan's window becomes shorter. Counters are lock-free: a
 * killed process cannot leave one locked. If there are more callers than entries, the one whose window ends first is dropped.
 */
#ifndef NEO_SERVICE_LIMITER_H
#define NEO_SERVICE_LIMITER_H

#include <apr_pools.h>

#include "core/buf.h"
#include "core/crypto.h"

typedef struct neo_limiter neo_limiter;

typedef struct neo_allowance {
    int limit;
    int remaining;
    long long reset; /* the end of the window, in seconds since 1970 */
    int is_exceeded; /* the requests were not counted */
} neo_allowance;

/* The size for `entries` callers in bytes. The memory must be zeroed. */
apr_size_t neo_limiter_size(apr_size_t entries);
neo_limiter *neo_limiter_attach(void *memory, apr_size_t entries);

/* Counts `cost` requests of `caller` at `now` (seconds since 1970) against `limit` per `window` seconds: all, or none if they
 * exceed it. A cost of 0 only reads, and starts no window. A caller is a SHA-256 of its name, so that no name can be chosen
 * that shares another's counter. */
void neo_limiter_count(neo_limiter *limiter, const unsigned char caller[NEO_SHA256_SIZE], int cost, int limit, int window,
                       long long now, neo_allowance *allowance);

#endif
