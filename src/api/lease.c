/* SPDX-License-Identifier: Apache-2.0 */
/* Leases of limits in shared memory, against which requests are counted (see api/lease.h). */
#include "api/lease.h"

#include <apr_strings.h>
#include <string.h>

#include "core/clock.h"
#include "lease_entry.h"

#define BUCKET_SLOTS   8
#define VALID_MS       5000  /* the same as in neoapi.exchange_leases */
#define LOWER_AFTER_MS 10000 /* after calls with a lower number of hosts for so long, it applies */
#define CALLS_GAP_MS   5000  /* without calls, for example because the database was away */

enum { EMPTY, BUSY, READY };

static apr_size_t bucket_count(apr_size_t entries)
{
    return (entries + BUCKET_SLOTS - 1) / BUCKET_SLOTS;
}

apr_size_t neo_leases_size(apr_size_t entries)
{
    return sizeof(neo_leases) + bucket_count(entries) * BUCKET_SLOTS * (sizeof(neo_lease_entry) + sizeof(atomic_uchar));
}

neo_leases *neo_leases_attach(void *memory, apr_size_t entries)
{
    neo_leases *leases = memory;
    if (!leases->buckets) {
        neo_random(leases->key, sizeof leases->key);
        leases->buckets = bucket_count(entries);
    }
    return leases;
}

void neo_leases_set_hosts(neo_leases *leases, int hosts)
{
    neo_ms now = neo_steady_ms(), last = atomic_exchange(&leases->called_at, now);
    if (hosts >= leases->hosts) {
        leases->lower_since = 0;
        leases->hosts = hosts;
    } else if (!leases->lower_since || now - last > CALLS_GAP_MS)
        leases->lower_since = now;
    else if (now - leases->lower_since >= LOWER_AFTER_MS) {
        leases->lower_since = 0;
        leases->hosts = hosts;
    }
}

int neo_leases_take_full(neo_leases *leases)
{
    return leases ? atomic_exchange(&leases->full, 0) : 0;
}

/* ---------------------------------------------------------------- the host's part */

static int equal_part(int limit, int hosts)
{
    return limit / hosts > 0 ? limit / hosts : 1;
}

static atomic_uchar *state_at(neo_leases *leases, apr_size_t number)
{
    return (atomic_uchar *)&leases->entries[leases->buckets * BUCKET_SLOTS] + number;
}

void neo_lease_remove(neo_leases *leases, const neo_lease_entry *e)
{
    *state_at(leases, (apr_size_t)(e - leases->entries)) = EMPTY;
}

neo_lease_entry *neo_lease_next(neo_leases *leases, apr_size_t *at)
{
    while (*at < leases->buckets * BUCKET_SLOTS)
        if (*state_at(leases, (*at)++) == READY)
            return &leases->entries[*at - 1];
    return NULL;
}

static void init_entry(neo_lease_entry *e, const char *name, int limit, int window)
{
    apr_cpystrn(e->name, name, sizeof e->name);
    e->limit = limit;
    e->window = window;
    e->lease = NEO_NO_LEASE;
    e->tried = e->demand = e->wanted = e->other_used = e->other_demand = e->other_wanted = 0;
    e->recorded = (neo_lease_record){.limit = NEO_NO_LEASE_RECORD};
}

neo_lease_entry *neo_lease_find(neo_leases *leases, const char *name, int limit, int window)
{
    apr_size_t first = apr_siphash24(name, strlen(name), leases->key) % leases->buckets * BUCKET_SLOTS;
    for (apr_size_t i = first; i < first + BUCKET_SLOTS; i++)
        if (*state_at(leases, i) == READY && strcmp(leases->entries[i].name, name) == 0)
            return &leases->entries[i];
    for (apr_size_t i = first; i < first + BUCKET_SLOTS; i++) {
        unsigned char state = EMPTY;
        if (!atomic_compare_exchange_strong(state_at(leases, i), &state, BUSY))
            continue;
        init_entry(&leases->entries[i], name, limit, window);
        *state_at(leases, i) = READY;
        return &leases->entries[i];
    }
    return NULL;
}

int neo_leases_are_valid(const neo_leases *leases)
{
    return leases->valid_at && neo_steady_ms() - leases->valid_at < VALID_MS;
}

int neo_lease_part(const neo_leases *leases, const neo_lease_entry *e, int limit, int hosts)
{
    int lease = e ? e->lease : NEO_NO_LEASE, equal = equal_part(limit, hosts);
    if (lease == NEO_NO_LEASE || (lease > equal && !neo_leases_are_valid(leases)))
        return equal;
    return lease < limit ? lease : limit;
}

/* What this host may use of a limit. *found is set to the entry or NULL. */
static int host_limit(neo_leases *leases, const neo_shared_limit *limit, neo_lease_entry **found)
{
    *found = NULL;
    if (!leases)
        return limit->count;
    neo_lease_entry *e = *found = neo_lease_find(leases, limit->name, limit->count, limit->window);
    if (!e)
        atomic_fetch_add(&leases->full, 1);
    if (e && (e->limit != limit->count || e->window != limit->window)) {
        e->limit = limit->count;
        e->window = limit->window;
    }
    if (limit->window == NEO_LEASE_IN_PROGRESS && limit->count < leases->hosts)
        return 1; /* a lease of 0 could not change while another host is idle */
    if (leases->hosts > 1)
        return neo_lease_part(leases, e, limit->count, leases->hosts);
    int other_used = e ? e->other_used : 0; /* read once: another process can change it */
    return other_used < limit->count ? limit->count - other_used : 0;
}

/* Sets what the host knows of the deployment's limit. */
static void set_allowance(const neo_lease_entry *e, int cost, int limit, neo_allowance *allowance)
{
    long long left = (long long)limit - allowance->used - (e ? e->other_used : 0);
    allowance->limit = limit;
    if (!allowance->is_exceeded && left > allowance->remaining)
        allowance->remaining = (int)left;
    if (allowance->is_exceeded && left >= cost) {
        allowance->reset = neo_now_ms() / 1000 + 1;
        allowance->elsewhere = (int)left - allowance->remaining;
    }
}

/* Notes what a refused batch needs, until one passes. */
static void set_wanted(neo_lease_entry *e, int cost, int is_counted, const neo_allowance *allowance)
{
    if (is_counted && !allowance->is_exceeded)
        e->wanted = 0;
    if (is_counted || !allowance->is_exceeded)
        return;
    e->wanted_at = neo_steady_ms();
    if (e->wanted < cost)
        e->wanted = cost;
}

static void apply_limit(neo_leases *leases, neo_limiter *limiter, const neo_shared_limit *limit, int cost, int is_counted,
                        neo_allowance *allowance)
{
    neo_lease_entry *e;
    int part = host_limit(leases, limit, &e);
    if (e && is_counted)
        atomic_fetch_add(&e->tried, cost);
    if (limit->reserve)
        part -= part / limit->reserve;
    (is_counted ? neo_limiter_count : neo_limiter_check)(limiter, (neo_text){limit->name, strlen(limit->name)}, cost, part,
                                                         limit->window, neo_now_ms() / 1000, allowance);
    if (part != limit->count)
        set_allowance(e, cost, limit->count, allowance);
    if (e && cost > 1)
        set_wanted(e, cost, is_counted, allowance);
}

void neo_lease_count(neo_leases *leases, neo_limiter *limiter, const neo_shared_limit *limit, int cost,
                     neo_allowance *allowance)
{
    apply_limit(leases, limiter, limit, cost, 1, allowance);
}

void neo_lease_check(neo_leases *leases, neo_limiter *limiter, const neo_shared_limit *limit, int cost,
                     neo_allowance *allowance)
{
    apply_limit(leases, limiter, limit, cost, 0, allowance);
}

int neo_lease_enter(neo_leases *leases, const neo_concurrency *concurrency, const char *organization, int limit,
                    neo_concurrency_place *place)
{
    neo_lease_entry *e;
    int part = host_limit(leases, &(neo_shared_limit){organization, limit, NEO_LEASE_IN_PROGRESS, 0}, &e);
    int is_admitted = neo_concurrency_enter(concurrency, organization, part, place);
    if (e && !is_admitted)
        atomic_fetch_add(&e->tried, 1);
    return is_admitted;
}
