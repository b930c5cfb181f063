/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of webhook receivers (see core/receivers.h). */
#include "core/receivers.h"

#include <ctype.h>
#include <string.h>

#define PERIOD   1800000000LL /* microseconds: half an hour */
#define BUCKET   8            /* slots in which a host can be */
#define CLAIMING 1            /* the key of a slot while it is being claimed */

typedef struct {
    uint64_t attempts, failures, sum; /* microseconds */
} counts;

typedef struct {
    uint64_t key;             /* hash of the host; 0 if the slot is free */
    int64_t period;           /* at whose start `last` was taken */
    counts now, last, before; /* totals: current, at the start of this period, at the start of the one before */
    uint64_t longest;         /* in this period and the one before it */
    char host[NEO_HOST_SIZE];
} slot;

struct neo_receivers {
    slot slots[NEO_RECEIVERS];
};

size_t neo_receivers_size(void)
{
    return sizeof(neo_receivers);
}

neo_receivers *neo_receivers_attach(void *memory)
{
    return memory;
}

void neo_receivers_host(const char *url, char host[NEO_HOST_SIZE])
{
    const char *start = strstr(url, "://");
    start = start ? start + 3 : url;
    size_t len = strcspn(start, "/?#\\");
    for (const char *c = start; c < start + len; c++)
        if (*c == '@') {
            len -= (size_t)(c + 1 - start);
            start = c + 1;
        }
    len = len < NEO_HOST_SIZE - 1 ? len : NEO_HOST_SIZE - 1;
    memcpy(host, start, len);
    host[len] = '\0';
}

void neo_receivers_hostname(const char *url, char hostname[NEO_HOST_SIZE])
{
    neo_receivers_host(url, hostname);
    char *port = strrchr(hostname, ':');
    if (port && !strchr(port, ']')) /* "]" ends an IPv6 address */
        *port = '\0';
    char *c = hostname;
    for (; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (c > hostname && c[-1] == '.') /* a trailing dot does not change the name in DNS */
        c[-1] = '\0';
}

/* FNV-1a. A chosen collision would only merge two rows of a report. */
static uint64_t hash_host(const char *host)
{
    uint64_t key = UINT64_C(14695981039346656037);
    for (; *host; host++)
        key = (key ^ (unsigned char)*host) * UINT64_C(1099511628211);
    return key <= CLAIMING ? CLAIMING + 1 : key;
}

/* The host's slot, or else the least recently used one of its bucket. */
static slot *find_slot(neo_receivers *receivers, uint64_t key)
{
    slot *bucket = &receivers->slots[key % (NEO_RECEIVERS / BUCKET) * BUCKET], *best = bucket;
    for (int i = 0; i < BUCKET; i++) {
        uint64_t owner = __atomic_load_n(&bucket[i].key, __ATOMIC_ACQUIRE);
        if (owner == key)
            return &bucket[i];
        if (owner == 0 || (best->key != 0 && bucket[i].period < best->period))
            best = &bucket[i];
    }
    return best;
}

/* Takes over a slot for the host. False if another process was faster. */
static int claim_slot(slot *s, uint64_t key, const char *host, int64_t period)
{
    uint64_t owner = __atomic_load_n(&s->key, __ATOMIC_RELAXED);
    if (owner == CLAIMING || !__atomic_compare_exchange_n(&s->key, &owner, CLAIMING, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return 0;
    s->now = s->last = s->before = (counts){0, 0, 0};
    s->longest = 0;
    s->period = period;
    strncpy(s->host, host, NEO_HOST_SIZE - 1);
    s->host[NEO_HOST_SIZE - 1] = '\0';
    __atomic_store_n(&s->key, key, __ATOMIC_RELEASE);
    return 1;
}

static void begin_period(slot *s, int64_t period)
{
    int64_t seen = __atomic_load_n(&s->period, __ATOMIC_RELAXED);
    if (period <= seen || !__atomic_compare_exchange_n(&s->period, &seen, period, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    s->before = period == seen + 1 ? s->last : s->now;
    s->last = s->now;
    if (period > seen + 1)
        s->longest = 0;
}

int neo_receivers_attempt(neo_receivers *receivers, const char *host, int is_success, long long took, long long now)
{
    uint64_t key = hash_host(host), time = took > 0 ? (uint64_t)took : 0;
    slot *s = find_slot(receivers, key);
    if (__atomic_load_n(&s->key, __ATOMIC_RELAXED) != key && !claim_slot(s, key, host, now / PERIOD))
        return 0;
    begin_period(s, now / PERIOD);
    __atomic_fetch_add(&s->now.attempts, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&s->now.failures, (uint64_t)!is_success, __ATOMIC_RELAXED);
    __atomic_fetch_add(&s->now.sum, time, __ATOMIC_RELAXED);
    if (time > __atomic_load_n(&s->longest, __ATOMIC_RELAXED))
        __atomic_store_n(&s->longest, time, __ATOMIC_RELAXED);
    return 1;
}

/* The counts of this period and the one before. False if there are none. */
static int read_slot(const slot *s, int64_t period, neo_receiver *out)
{
    uint64_t key = __atomic_load_n(&s->key, __ATOMIC_ACQUIRE);
    if (key <= CLAIMING || s->period < period - 1)
        return 0;
    const counts *since = s->period == period ? &s->before : &s->last;
    out->attempts = s->now.attempts - since->attempts;
    out->failures = s->now.failures - since->failures;
    out->mean = out->attempts ? (double)(s->now.sum - since->sum) / (double)out->attempts : 0;
    out->longest = s->longest;
    memcpy(out->host, s->host, NEO_HOST_SIZE);
    return out->attempts > 0 && __atomic_load_n(&s->key, __ATOMIC_ACQUIRE) == key;
}

int neo_receivers_slowest(const neo_receivers *receivers, long long now, neo_receiver *out, int max)
{
    int count = 0;
    for (int i = 0; i < NEO_RECEIVERS; i++) {
        neo_receiver one;
        if (!read_slot(&receivers->slots[i], now / PERIOD, &one))
            continue;
        int at = count < max ? count++ : max;
        for (; at > 0 && out[at - 1].mean < one.mean; at--)
            if (at < max)
                out[at] = out[at - 1];
        if (at < max)
            out[at] = one;
    }
    return count;
}
