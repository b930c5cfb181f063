/* Counting requests: so many in each window of time, for each caller, exact across all processes that share the memory.
 *
 * A caller's window begins with its first request; with a plan that has a shorter window, a new one. Counters are lock-free: a
 * process that is killed leaves none of them locked.
 * When there are more callers than entries, the one whose window ends soonest is forgotten. */
#ifndef NEO_SERVICE_LIMITER_H
#define NEO_SERVICE_LIMITER_H

#include <apr_pools.h>

#include "core/buf.h"
#include "core/crypto.h"

typedef struct neo_limiter neo_limiter;

/* What a caller may still do. */
typedef struct neo_allowance {
    int limit;
    int remaining;
    long long reset; /* when the window restarts, in seconds since 1970 */
    int is_exceeded; /* this request was one too many */
} neo_allowance;

/* The bytes that `entries` callers need, and a limiter made in so many bytes of zeros. */
apr_size_t neo_limiter_size(apr_size_t entries);
neo_limiter *neo_limiter_attach(void *memory, apr_size_t entries);

/* Counts `cost` requests of `caller` at `now` (seconds since 1970) against `limit` in `window` seconds: all of them, or none
 * where they are too many. A cost of 0 only looks, and begins no window. A caller is the SHA-256 of what tells it from others,
 * so that nobody can choose a name that shares another's counter. */
void neo_limiter_count(neo_limiter *limiter, const unsigned char caller[NEO_SHA256_SIZE], int cost, int limit, int window,
                       long long now, neo_allowance *allowance);

#endif
