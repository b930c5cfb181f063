/* Lock-free counters in shared memory (see service/limiter.h).
 *
 * A slot is two words: the caller, and the state, which packs the window's end and the count. They cannot be changed in one
 * step. To take a slot over, a process first replaces the state by a unique mark, then the caller's word, whose generation
 * changes with each owner. Both are compare-and-swap, so one of several processes succeeds and the others read again. A window
 * that has ended counts as empty, so nothing is cleared, and a process killed in between leaves a slot that the next one can
 * take over. */
#include "service/limiter.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#define BUCKET_SLOTS 8  /* a caller can be in any slot of its bucket: two cache lines */
#define CLOCK_SKEW_S 60 /* by which the times of two requests may differ when they are counted */

/* The caller's word: 48 bits of its number, 16 of the generation; 0: the slot was never used. */
#define NUMBER (~UINT64_C(0) << 16)

/* The state: 26 bits of the window's end in seconds, 7 of the generation, so that two owners' states differ, and 31 of the
 * count. With a count of 0 it is a mark: then the other bits are a number that no other mark has. */
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
    _Atomic uint64_t marks; /* the last one that was used */
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

/* A slot and its words as they were read. */
typedef struct {
    slot *slot;
    uint64_t caller, state;
} slot_view;

/* Whether a slot's window ends before another's. It does not depend on the time, so that all processes choose the same slot.
 * The ends are compared modulo 2^26 seconds (two years), where they wrap around. */
static int ends_sooner(uint64_t state, uint64_t other)
{
    if (!(state & COUNT) || !(other & COUNT))
        return (other & COUNT) != 0;
    return (((state >> END_AT) - (other >> END_AT)) & END) > END / 2;
}

/* Reads the caller's slot, or if it has none, the slot whose window ends first. Returns true if it can be counted in. The state
 * must be read before the caller: if the owner changes in between, the compare-and-swap of the state fails. */
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

/* Takes a slot over, unless it has changed since it was read. */
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

/* The state with `cost` requests more, if the limit allows them. A window that ends later than one that starts now is from
 * another plan or another clock, and counts as ended. */
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
