/* Lock-free counters (see service/limiter.h).
 *
 * A slot is two words: whose it is, and its window's end and count packed into one. The two cannot change together. So whoever
 * takes a slot over first puts a mark of its own in the place of the state, and then its number into the caller's word, whose
 * turn differs after each change of hands. Of several who want a slot, one finds both words as it saw them; the others look
 * again. Nothing has to be cleared, since a window that is over counts as empty; and whoever dies in the middle leaves a slot
 * that the next one takes. */
#include "service/limiter.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#define BUCKET_SLOTS 8  /* slots that a caller may be in: two cache lines */
#define CLOCK_SKEW_S 60 /* seconds by which the times of two requests may differ when they are counted */

/* A caller's word: 48 bits of its number, 16 of the turn; 0: nobody's yet. */
#define NUMBER (~UINT64_C(0) << 16)

/* A state: 26 bits of the window's end in seconds, 7 of the turn, so that no two callers' are the same, and 31 of the count. A
 * count of 0 makes it a mark: then the other bits are a number that no other mark has. */
#define COUNT         UINT64_C(0x7FFFFFFF)
#define GENERATION    UINT64_C(0x7F)
#define GENERATION_AT 31
#define END           UINT64_C(0x3FFFFFF)
#define END_AT        38

typedef struct {
    _Atomic uint64_t caller;
    _Atomic uint64_t state;
} slot;

struct neo_limiter {
    uint64_t buckets;
    _Atomic uint64_t marks; /* the last one that was given out */
    char rest[64 - 2 * sizeof(uint64_t)];
    slot slots[];
};

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "64-bit atomics work across processes");

static uint64_t buckets_of(apr_size_t entries)
{
    return entries < BUCKET_SLOTS ? 1 : entries / BUCKET_SLOTS;
}

apr_size_t neo_limiter_size(apr_size_t entries)
{
    return sizeof(neo_limiter) + buckets_of(entries) * BUCKET_SLOTS * sizeof(slot);
}

neo_limiter *neo_limiter_attach(void *memory, apr_size_t entries)
{
    neo_limiter *limiter = memory;
    limiter->buckets = buckets_of(entries);
    return limiter;
}

/* A caller's number and bucket. */
static uint64_t number_of(neo_limiter *limiter, const unsigned char *caller, slot **bucket)
{
    uint64_t words[2];
    memcpy(words, caller, sizeof words);
    *bucket = &limiter->slots[words[0] % limiter->buckets * BUCKET_SLOTS];
    return words[1] & NUMBER ? words[1] & NUMBER : ~NUMBER + 1;
}

/* A slot as it was seen. */
typedef struct {
    slot *slot;
    uint64_t caller, state;
} slot_view;

/* Whether a slot's window ends before another's. It depends on the states alone, not on the time, so that all who look at once
 * choose alike. Ends are compared as numbers that start again at 0 every two years are. */
static int ends_sooner(uint64_t state, uint64_t other)
{
    if (!(state & COUNT) || !(other & COUNT))
        return (other & COUNT) != 0;
    return (((state >> END_AT) - (other >> END_AT)) & END) > END / 2;
}

/* Sees the caller's slot; where it has none, the one whose window ends first. True if it can be counted in. The state is read
 * first: then a caller that is read after it is the one that it belongs to, or the state has changed since. */
static int find_slot(slot *bucket, uint64_t number, slot_view *seen)
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

/* Takes a slot over if it still is as it was seen. */
static int take_over(neo_limiter *limiter, uint64_t number, slot_view *seen)
{
    uint64_t mark = (atomic_fetch_add(&limiter->marks, 1) + 1) << GENERATION_AT;
    uint64_t owner = seen->caller, mine = number | ((owner + 1) & ~NUMBER);
    if (!atomic_compare_exchange_strong(&seen->slot->state, &seen->state, mark) ||
        !atomic_compare_exchange_strong(&seen->slot->caller, &owner, mine))
        return 0;
    seen->state = mark;
    seen->caller = mine;
    return 1;
}

/* The state with `cost` requests more, where the limit allows them. A window that ends later than one that begins now was begun
 * under another plan or by another clock, and is over. */
static uint64_t add(const slot_view *seen, int cost, int window, long long now, neo_allowance *allowance)
{
    uint64_t count = seen->state & COUNT, limit = (uint64_t)allowance->limit;
    long long left = (long long)(((seen->state >> END_AT) - (uint64_t)now) & END);
    if (count == 0 || left == 0 || left > window + CLOCK_SKEW_S) {
        left = window;
        count = 0;
    }
    allowance->is_exceeded = cost > 0 && count + (uint64_t)cost > limit;
    count += allowance->is_exceeded ? 0 : (uint64_t)cost;
    allowance->remaining = count < limit ? (int)(limit - count) : 0;
    allowance->reset = now + left;
    return ((uint64_t)allowance->reset & END) << END_AT | (seen->caller & GENERATION) << GENERATION_AT | count;
}

void neo_limiter_count(neo_limiter *limiter, const unsigned char caller[NEO_SHA256_SIZE], int cost, int limit, int window,
                       long long now, neo_allowance *allowance)
{
    slot *bucket;
    uint64_t number = number_of(limiter, caller, &bucket);
    allowance->limit = limit;
    for (;;) {
        slot_view seen;
        int is_mine = find_slot(bucket, number, &seen);
        if (cost && !is_mine && !take_over(limiter, number, &seen))
            continue;
        if (!cost && !is_mine)
            seen.state = 0;
        uint64_t next = add(&seen, cost, window, now, allowance);
        if (!cost || atomic_compare_exchange_strong(&seen.slot->state, &seen.state, next))
            return;
    }
}
