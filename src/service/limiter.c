/* Lock-free counters (see service/limiter.h).
 *
 * A slot is two words: whose it is, and its window's end and count packed into one, so that both change together. A window that
 * is over counts as empty, whoever it belonged to; so nothing has to be cleared when a slot changes hands. */
#include "service/limiter.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "core/crypto.h"

#define BUCKET 8 /* slots that a caller may be in: two cache lines */

typedef struct {
    _Atomic uint64_t caller; /* 0: nobody */
    _Atomic uint64_t state;  /* the window's end in seconds << 32 | requests counted in it */
} slot;

struct neo_limiter {
    uint64_t buckets;
    slot slots[];
};

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "64-bit atomics work across processes");

static uint64_t buckets_of(apr_size_t entries)
{
    return entries < BUCKET ? 1 : entries / BUCKET;
}

apr_size_t neo_limiter_size(apr_size_t entries)
{
    return sizeof(neo_limiter) + buckets_of(entries) * BUCKET * sizeof(slot);
}

neo_limiter *neo_limiter_use(void *memory, apr_size_t entries)
{
    neo_limiter *limiter = memory;
    limiter->buckets = buckets_of(entries);
    return limiter;
}

/* A caller's number. It comes from SHA-256, so that nobody can choose a name that shares another's counter. */
static uint64_t number_of(const char *caller)
{
    unsigned char digest[NEO_SHA256_SIZE];
    uint64_t number;
    neo_sha256(caller, strlen(caller), digest);
    memcpy(&number, digest, sizeof number);
    return number ? number : 1;
}

static slot *find(slot *bucket, uint64_t caller)
{
    for (int i = 0; i < BUCKET; i++)
        if (atomic_load(&bucket[i].caller) == caller)
            return &bucket[i];
    return NULL;
}

/* The slot whose window ends first. It depends on the states alone, not on the time, so that all who look at once choose the
 * same. */
static slot *soonest(slot *bucket)
{
    slot *best = bucket;
    for (int i = 1; i < BUCKET; i++)
        if (atomic_load(&bucket[i].state) >> 32 < atomic_load(&best->state) >> 32)
            best = &bucket[i];
    return best;
}

/* The caller's slot; where it has none, it takes one over. Of several that want the same one, one gets it and the others look
 * again. */
static slot *slot_of(slot *bucket, uint64_t caller)
{
    for (;;) {
        slot *mine = find(bucket, caller);
        if (mine)
            return mine;
        mine = soonest(bucket);
        uint64_t owner = atomic_load(&mine->caller), state = atomic_load(&mine->state);
        if (owner == caller)
            return mine;
        if (atomic_compare_exchange_strong(&mine->state, &state, 0) &&
            atomic_compare_exchange_strong(&mine->caller, &owner, caller))
            return mine;
    }
}

void neo_limiter_count(neo_limiter *limiter, const char *caller, int cost, int limit, int window, long long now,
                       neo_allowance *allowance)
{
    uint64_t number = number_of(caller);
    slot *mine = slot_of(&limiter->slots[number % limiter->buckets * BUCKET], number);
    uint64_t state = atomic_load(&mine->state), next;
    do {
        uint64_t end = state >> 32, count = state & UINT32_MAX;
        if ((long long)end <= now) {
            end = (uint64_t)(now + window);
            count = 0;
        }
        allowance->is_exceeded = cost > 0 && count + (uint64_t)cost > (uint64_t)limit;
        next = end << 32 | (allowance->is_exceeded ? count : count + (uint64_t)cost);
    } while (!atomic_compare_exchange_weak(&mine->state, &state, next));
    uint64_t count = next & UINT32_MAX;
    allowance->limit = limit;
    allowance->remaining = count < (uint64_t)limit ? (int)((uint64_t)limit - count) : 0;
    allowance->reset = (long long)(next >> 32);
}
