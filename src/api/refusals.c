/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps refused requests in shared memory without locks (see api/refusals.h).
 *
 * A credential has a ring of records, in any of the rings of its bucket. A ring has an owner only so that a credential does not
 * replace the records of others: each record has its credential, and is read only for that one. A record is a sequence lock
 * whose number becomes odd by compare-and-swap, so that it has one writer. A writer that finds it odd uses the next record, so
 * a record whose writer was killed is lost. */
#include "api/refusals.h"

#include <apr_siphash.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "core/crypto.h"
#include "core/thread.h"

#define BUCKETS      32
#define BUCKET_RINGS 8
#define MAX_TRIES    4 /* to find a ring, or a record without a writer */

typedef struct {
    uint64_t number; /* counts the ring's refusals; 0: the record was never written */
    neo_refusal refusal;
} content;

typedef struct {
    neo_seqlock lock; /* odd while it is written */
    content content;
} record;

typedef struct {
    _Atomic uint64_t owner; /* a hash of the credential; 0: the ring was never used */
    _Atomic uint64_t count; /* all refusals, also those of former owners */
    _Atomic int64_t used_at;
    record records[NEO_MAX_REFUSALS];
} ring;

struct neo_refusals {
    int is_ready;
    unsigned char key[APR_SIPHASH_KSIZE]; /* so that no credential can be chosen to share a bucket */
    ring rings[BUCKETS * BUCKET_RINGS];
};

apr_size_t neo_refusals_size(void)
{
    return sizeof(neo_refusals);
}

neo_refusals *neo_refusals_attach(void *memory)
{
    neo_refusals *refusals = memory;
    if (!refusals->is_ready)
        neo_random(refusals->key, sizeof refusals->key);
    refusals->is_ready = 1;
    return refusals;
}

void neo_refusal_set(char *member, apr_size_t size, const char *text)
{
    apr_size_t len = text ? strlen(text) : 0;
    if (len >= size)
        for (len = size - 1; len && ((unsigned char)text[len] & 0xC0) == 0x80;)
            len--;
    if (len)
        memcpy(member, text, len);
    memset(member + len, 0, size - len);
}

/* ---------------------------------------------------------------- rings */

static ring *find_bucket(neo_refusals *refusals, const char *principal, uint64_t *owner)
{
    uint64_t hash = apr_siphash24(principal, strlen(principal), refusals->key);
    *owner = hash ? hash : 1;
    return &refusals->rings[hash % BUCKETS * BUCKET_RINGS];
}

/* The owner's ring; if it has none, *oldest is the ring that was used least recently. */
static ring *find_ring(ring *bucket, uint64_t owner, ring **oldest)
{
    *oldest = bucket;
    for (int i = 0; i < BUCKET_RINGS; i++) {
        if (atomic_load(&bucket[i].owner) == owner)
            return &bucket[i];
        if (atomic_load(&bucket[i].used_at) < atomic_load(&(*oldest)->used_at))
            *oldest = &bucket[i];
    }
    return NULL;
}

/* Returns NULL if other credentials take the rings at the same time. */
static ring *take_ring(neo_refusals *refusals, const char *principal)
{
    uint64_t owner;
    ring *oldest, *bucket = find_bucket(refusals, principal, &owner);
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        ring *found = find_ring(bucket, owner, &oldest);
        uint64_t former = atomic_load(&oldest->owner);
        if (found)
            return found;
        if (atomic_compare_exchange_strong(&oldest->owner, &former, owner))
            return oldest;
    }
    return NULL;
}

/* ---------------------------------------------------------------- records */

void neo_refusals_add(neo_refusals *refusals, const neo_refusal *refusal)
{
    ring *found = take_ring(refusals, refusal->principal);
    for (int tries = 0; found && tries < MAX_TRIES; tries++) {
        uint64_t number = atomic_fetch_add(&found->count, 1) + 1;
        record *r = &found->records[number % NEO_MAX_REFUSALS];
        neo_seqlock before = __atomic_load_n(&r->lock, __ATOMIC_RELAXED);
        if (before % 2 || !__atomic_compare_exchange_n(&r->lock, &before, before + 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        __atomic_thread_fence(__ATOMIC_RELEASE);
        r->content.number = number;
        r->content.refusal = *refusal;
        __atomic_store_n(&r->lock, before + 2, __ATOMIC_RELEASE);
        atomic_store(&found->used_at, refusal->at);
        return;
    }
}

int neo_refusals_read(neo_refusals *refusals, const char *principal, neo_refusal found[NEO_MAX_REFUSALS])
{
    uint64_t owner;
    ring *oldest, *bucket = find_bucket(refusals, principal, &owner), *own = find_ring(bucket, owner, &oldest);
    uint64_t last = own ? atomic_load(&own->count) : 0;
    int count = 0;
    for (uint64_t number = last; number > 0 && last - number < NEO_MAX_REFUSALS; number--) {
        const record *r = &own->records[number % NEO_MAX_REFUSALS];
        content copy;
        if (neo_seqlock_read(&r->lock, &r->content, &copy, sizeof copy) && copy.number == number &&
            strcmp(copy.refusal.principal, principal) == 0)
            found[count++] = copy.refusal;
    }
    return count;
}
