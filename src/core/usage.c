/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what credentials use (see core/usage.h).
 *
 * A slot that was not used for IDLE_FLUSHES flushes is retired: requests take another one from then on. The next flush takes
 * what a request has still added to it, and frees it. */
#include "core/usage.h"

#include <apr_siphash.h>
#include <apr_strings.h>
#include <stdatomic.h>
#include <string.h>

#include "core/crypto.h"

#define MAX_PROBES   32
#define IDLE_FLUSHES 30
#define CACHE_LINE   64

enum { FREE, CLAIMED, USED, RETIRED };

typedef struct {
    _Atomic int state;
    _Atomic int idle; /* flushes without counts */
    _Atomic uint64_t hash;
    char organization[NEO_ID_SIZE], credential[NEO_ID_SIZE], operation[NEO_USAGE_OPERATION];
#define ATOMIC_COUNT(name) _Atomic int64_t name;
    NEO_USAGE_COUNTS(ATOMIC_COUNT)
} slot;

struct neo_usage {
    _Atomic int64_t due_at;
    int is_ready;
    unsigned char key[APR_SIPHASH_KSIZE];
    slot slots[NEO_USAGE_SLOTS];
};

size_t neo_usage_size(void)
{
    return sizeof(neo_usage);
}

neo_usage *neo_usage_attach(void *memory)
{
    neo_usage *usage = memory;
    if (!usage->is_ready)
        neo_random(usage->key, sizeof usage->key);
    usage->is_ready = 1;
    return usage;
}

/* ---------------------------------------------------------------- counting */

/* The texts of a slot, in the form in which they are hashed and compared. */
typedef struct {
    char organization[NEO_ID_SIZE], credential[NEO_ID_SIZE], operation[NEO_USAGE_OPERATION];
} texts;

static void set_texts(texts *t, const neo_usage_key *key)
{
    memset(t, 0, sizeof *t);
    apr_cpystrn(t->organization, key->organization, sizeof t->organization);
    apr_cpystrn(t->credential, key->credential, sizeof t->credential);
    char *end = apr_cpystrn(t->operation, key->method, sizeof t->operation);
    if (key->path && end + 1 < t->operation + sizeof t->operation) {
        *end++ = ' ';
        apr_cpystrn(end, key->path, (apr_size_t)(t->operation + sizeof t->operation - end));
    }
}

static int has_texts(slot *s, uint64_t hash, const texts *t)
{
    return atomic_load_explicit(&s->state, memory_order_acquire) == USED && atomic_load(&s->hash) == hash &&
           memcmp(s->organization, t->organization, sizeof t->organization) == 0 &&
           memcmp(s->credential, t->credential, sizeof t->credential) == 0 &&
           memcmp(s->operation, t->operation, sizeof t->operation) == 0;
}

static int claim(slot *s, uint64_t hash, const texts *t)
{
    int expected = FREE;
    if (!atomic_compare_exchange_strong(&s->state, &expected, CLAIMED))
        return 0;
    memcpy(s->organization, t->organization, sizeof t->organization);
    memcpy(s->credential, t->credential, sizeof t->credential);
    memcpy(s->operation, t->operation, sizeof t->operation);
    atomic_store(&s->hash, hash);
    atomic_store(&s->idle, 0);
    atomic_store_explicit(&s->state, USED, memory_order_release);
    return 1;
}

/* Two requests can claim a slot for the same key at once. Both slots are then counted, and their sum is right. */
static slot *find_slot(neo_usage *usage, const neo_usage_key *key)
{
    texts t;
    set_texts(&t, key);
    uint64_t hash = apr_siphash24(&t, sizeof t, usage->key);
    for (unsigned int i = 0; i < MAX_PROBES; i++) {
        slot *s = &usage->slots[(hash + i) % NEO_USAGE_SLOTS];
        if (has_texts(s, hash, &t))
            return s;
    }
    for (unsigned int i = 0; i < MAX_PROBES; i++) {
        slot *s = &usage->slots[(hash + i) % NEO_USAGE_SLOTS];
        if (claim(s, hash, &t))
            return s;
    }
    return NULL;
}

void neo_usage_add(neo_usage *usage, const neo_usage_key *key, const neo_usage_counts *counts)
{
    slot *s = find_slot(usage, key);
    if (!s)
        return;
#define ADD(name)                                                                                                              \
    if (counts->name)                                                                                                          \
        atomic_fetch_add_explicit(&s->name, counts->name, memory_order_relaxed);
    NEO_USAGE_COUNTS(ADD)
}

/* ---------------------------------------------------------------- flushing */

int neo_usage_is_due(neo_usage *usage, int64_t now)
{
    int64_t due = atomic_load(&usage->due_at);
    /* After a reboot of a host whose memory was kept, the clock is before the time. */
    int is_due = now >= due || due - now > NEO_USAGE_INTERVAL_MS;
    return is_due && atomic_compare_exchange_strong(&usage->due_at, &due, now + NEO_USAGE_INTERVAL_MS);
}

/* Returns false if all counts are 0. */
static int take_counts(slot *s, neo_usage_counts *counts)
{
    int any = 0;
#define TAKE(name) any |= (counts->name = atomic_exchange(&s->name, 0)) != 0;
    NEO_USAGE_COUNTS(TAKE)
    return any;
}

static void age(slot *s, int state, int has_counts)
{
    if (state == RETIRED)
        (void)atomic_compare_exchange_strong(&s->state, &state, FREE);
    else if (has_counts)
        atomic_store(&s->idle, 0);
    else if (atomic_fetch_add(&s->idle, 1) >= IDLE_FLUSHES)
        atomic_store(&s->state, RETIRED);
}

void neo_usage_take(neo_usage *usage, void (*each)(void *data, const neo_usage_record *record), void *data)
{
    for (int i = 0; i < NEO_USAGE_SLOTS; i++) {
        slot *s = &usage->slots[i];
        neo_usage_record record;
        int state = atomic_load_explicit(&s->state, memory_order_acquire);
        if (state != USED && state != RETIRED)
            continue;
        int has_counts = take_counts(s, &record.counts);
        if (has_counts) {
            memcpy(record.organization, s->organization, sizeof record.organization);
            memcpy(record.credential, s->credential, sizeof record.credential);
            memcpy(record.operation, s->operation, sizeof record.operation);
            each(data, &record);
        }
        age(s, state, has_counts);
    }
}
