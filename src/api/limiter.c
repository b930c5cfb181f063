/* SPDX-License-Identifier: Apache-2.0 */
/* Lock-free counters in shared memory (see api/limiter.h).
 *
 * A window slides in PARTS steps. A slot has the caller, the state, and the window's past parts. The state is the current part:
 * it packs the time when the part leaves the window and its count. A past part never changes, so a compare-and-swap of the
 * state makes the sum exact.
 *
 * To take a slot over, a process first replaces the state by a unique mark, then the caller's word, whose generation changes
 * with each owner. Both are compare-and-swap, so one of several processes succeeds and the others read again. A part that has
 * ended counts as empty, so nothing is cleared, and a process killed in between leaves a slot that the next one can take
 * over. */
#include "api/limiter.h"

#include <apr_siphash.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>

#define BUCKET_SLOTS 8  /* a caller can be in any slot of its bucket */
#define CLOCK_SKEW_S 60 /* by which the times of two requests may differ when they are counted */
#define PARTS        6  /* parts of a window: with the two other words, a slot fills a cache line */

/* The caller's word: 48 bits of its number, 16 of the generation; 0: the slot was never used. */
#define NUMBER (~UINT64_C(0) << 16)

/* The state and the past parts: 26 bits of the part's end in seconds, one window after its first request; 7 of the generation,
 * so that two owners' states differ; 31 of the count. A state with a count of 0 is a mark: then the other bits are a number
 * that no other mark has. */
#define COUNT         UINT64_C(0x7FFFFFFF)
#define GENERATION    UINT64_C(0x7F)
#define GENERATION_AT 31
#define END           UINT64_C(0x3FFFFFF)
#define END_AT        38

typedef struct {
    _Atomic uint64_t caller;
    _Atomic uint64_t state;
    _Atomic uint64_t past[PARTS];
} slot;

struct neo_limiter {
    uint64_t buckets;                         /* 0 if the memory is new */
    _Atomic uint64_t marks;                   /* the last one that was used */
    unsigned char keys[2][APR_SIPHASH_KSIZE]; /* for bucket and number, so that no caller can be chosen to share them */
    char rest[64 - 2 * sizeof(uint64_t) - 2 * APR_SIPHASH_KSIZE];
    slot slots[];
};

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "64-bit atomics work across processes");

static uint64_t bucket_count(apr_size_t entries)
{
    return entries < BUCKET_SLOTS ? 1 : entries / BUCKET_SLOTS;
}

apr_size_t neo_limiter_size(apr_size_t entries)
{
    return sizeof(neo_limiter) + bucket_count(entries) * BUCKET_SLOTS * sizeof(slot);
}

neo_limiter *neo_limiter_attach(void *memory, apr_size_t entries)
{
    neo_limiter *limiter = memory;
    if (!limiter->buckets)
        neo_random(limiter->keys, sizeof limiter->keys);
    limiter->buckets = bucket_count(entries);
    return limiter;
}

/* A caller's number and bucket. */
static uint64_t locate_bucket(neo_limiter *limiter, neo_text caller, slot **bucket)
{
    uint64_t hash = apr_siphash24(caller.ptr, caller.len, limiter->keys[0]);
    uint64_t number = apr_siphash24(caller.ptr, caller.len, limiter->keys[1]) & NUMBER;
    *bucket = &limiter->slots[hash % limiter->buckets * BUCKET_SLOTS];
    return number ? number : ~NUMBER + 1;
}

/* A slot, and its words when they were read. */
typedef struct {
    slot *slot;
    uint64_t caller, state;
} slot_view;

/* Whether a slot's current part ends before another's. It does not depend on the time, so that all processes choose the same
 * slot. The ends are compared modulo 2^26 seconds (two years). */
static int ends_sooner(uint64_t state, uint64_t other)
{
    if (!(state & COUNT) || !(other & COUNT))
        return (other & COUNT) != 0;
    return (((state >> END_AT) - (other >> END_AT)) & END) > END / 2;
}

/* Reads the caller's slot, or if it has none, the slot whose part ends first. Returns true if it can be counted in. The state
 * must be read before the caller: if the owner changes in between, the compare-and-swap of the state fails. */
static int find_caller(slot *bucket, uint64_t number, slot_view *seen)
{
    for (int i = 0; i < BUCKET_SLOTS; i++) {
        uint64_t state = atomic_load(&bucket[i].state), caller = atomic_load(&bucket[i].caller);
        int is_mine = (caller & NUMBER) == number;
        if (is_mine || i == 0 || ends_sooner(state, seen->state))
            *seen = (slot_view){&bucket[i], caller, state};
        if (is_mine)
            return (state & COUNT) != 0;
    }
    return 0;
}

/* Takes a slot over, unless it has changed since it was read, and clears the last owner's past parts. Only these: a process
 * that is delayed here must not clear what the next owner has counted since. */
static int replace_oldest(neo_limiter *limiter, uint64_t number, slot_view *seen)
{
    uint64_t mark = (atomic_fetch_add(&limiter->marks, 1) + 1) << GENERATION_AT;
    uint64_t owner = seen->caller, mine = number | ((owner + 1) & ~NUMBER), past[PARTS];
    for (int i = 0; i < PARTS; i++)
        past[i] = atomic_load(&seen->slot->past[i]);
    if (!atomic_compare_exchange_strong(&seen->slot->state, &seen->state, mark) ||
        !atomic_compare_exchange_strong(&seen->slot->caller, &owner, mine))
        return 0;
    for (int i = 0; i < PARTS; i++)
        (void)atomic_compare_exchange_strong(&seen->slot->past[i], &past[i], 0);
    seen->state = mark;
    seen->caller = mine;
    return 1;
}

/* ---------------------------------------------------------------- the window */

/* The seconds until a part of this owner's leaves the window; 0 if it has. A part that ends later than one that starts now is
 * from another plan or another clock, and counts as ended. */
static int remaining_requests(const slot_view *seen, uint64_t part, int window, long long now)
{
    long long left = (long long)(((part >> END_AT) - (uint64_t)now) & END);
    int is_owners = ((part >> GENERATION_AT) & GENERATION) == (seen->caller & GENERATION);
    return is_owners && part & COUNT && left <= window + CLOCK_SKEW_S ? (int)left : 0;
}

/* True for the copy that a process makes of the current part before it replaces it. */
static int is_copy(const slot_view *seen, uint64_t part)
{
    return part >> GENERATION_AT == seen->state >> GENERATION_AT;
}

typedef struct {
    int left; /* seconds */
    uint64_t count;
} part;

/* Reads the parts in the window, in the order in which they leave it; returns their number. */
static int read_parts(const slot_view *seen, int window, long long now, part parts[PARTS + 1])
{
    int count = 0;
    for (int i = 0; i <= PARTS; i++) {
        uint64_t word = i < PARTS ? atomic_load(&seen->slot->past[i]) : seen->state;
        int left = remaining_requests(seen, word, window, now), at = count;
        if (!left || (i < PARTS && is_copy(seen, word)))
            continue;
        for (; at > 0 && parts[at - 1].left > left; at--)
            parts[at] = parts[at - 1];
        parts[at] = (part){left, word & COUNT};
        count++;
    }
    return count;
}

/* Whether the limit allows `cost` requests more, and if not, when it will. */
static void decide(const part *parts, int count, int cost, int window, long long now, neo_allowance *allowance)
{
    uint64_t sum = (uint64_t)cost, limit = (uint64_t)allowance->limit;
    int left = count ? parts[0].left : window;
    for (int i = 0; i < count; i++)
        sum += parts[i].count;
    allowance->is_exceeded = cost > 0 && sum > limit;
    allowance->elsewhere = 0;
    uint64_t used = allowance->is_exceeded ? sum - (uint64_t)cost : sum;
    allowance->used = used < INT_MAX ? (int)used : INT_MAX;
    allowance->remaining = used < limit ? (int)(limit - used) : 0;
    for (int i = 0; i < count && sum > limit; i++) {
        sum -= parts[i].count;
        left = parts[i].left;
    }
    allowance->reset = now + left;
}

/* Copies the current part to the past ones, in place of the oldest. Returns false if another process does the same. */
static int keep(const slot_view *seen, int window, long long now)
{
    _Atomic uint64_t *oldest = seen->slot->past;
    uint64_t replaced = atomic_load(oldest);
    for (int i = 1; i < PARTS && !is_copy(seen, replaced); i++) {
        uint64_t word = atomic_load(&seen->slot->past[i]);
        if (is_copy(seen, word) ||
            remaining_requests(seen, word, window, now) < remaining_requests(seen, replaced, window, now)) {
            oldest = &seen->slot->past[i];
            replaced = word;
        }
    }
    return atomic_compare_exchange_strong(oldest, &replaced, seen->state);
}

/* Adds to the current part, or begins a new one. Returns false if the slot has changed since it was read. */
static int add_requests(slot_view *seen, int cost, int window, long long now)
{
    int left = remaining_requests(seen, seen->state, window, now), length = (window + PARTS - 1) / PARTS;
    uint64_t next = seen->state + (uint64_t)cost;
    if (left <= window - length) {
        if (left && !keep(seen, window, now))
            return 0;
        next = ((uint64_t)(now + window) & END) << END_AT | (seen->caller & GENERATION) << GENERATION_AT | (uint64_t)cost;
    }
    return atomic_compare_exchange_strong(&seen->slot->state, &seen->state, next);
}

/* Reads the caller's slot, or one that it can take over, and decides. Returns whether it is the caller's. */
static int read_allowance(slot *bucket, uint64_t number, int cost, int window, long long now, slot_view *seen,
                          neo_allowance *allowance)
{
    part parts[PARTS + 1];
    int is_mine = find_caller(bucket, number, seen);
    decide(parts, is_mine ? read_parts(seen, window, now, parts) : 0, cost, window, now, allowance);
    return is_mine;
}

void neo_limiter_count(neo_limiter *limiter, neo_text caller, int cost, int limit, int window, long long now,
                       neo_allowance *allowance)
{
    slot *bucket;
    uint64_t number = locate_bucket(limiter, caller, &bucket);
    allowance->limit = limit;
    for (;;) {
        slot_view seen;
        int is_mine = read_allowance(bucket, number, cost, window, now, &seen, allowance);
        if (!cost || allowance->is_exceeded)
            return;
        if ((is_mine || replace_oldest(limiter, number, &seen)) && add_requests(&seen, cost, window, now))
            return;
    }
}

void neo_limiter_check(neo_limiter *limiter, neo_text caller, int cost, int limit, int window, long long now,
                       neo_allowance *allowance)
{
    slot *bucket;
    slot_view seen;
    uint64_t number = locate_bucket(limiter, caller, &bucket);
    allowance->limit = limit;
    (void)read_allowance(bucket, number, cost, window, now, &seen, allowance);
}
