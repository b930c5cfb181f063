/* SPDX-License-Identifier: Apache-2.0 */
/* Leases of limits in shared memory, and their exchange with the other hosts (see api/lease.h).
 *
 * A host that needs less than it has reduces its lease in shared memory first and then in the table; one that needs more adds
 * what no other host has. So the sum of the leases, and of the requests that are counted against them, never exceeds the limit.
 * An entry is removed when no host has used the limit for a window and the lease is again the equal part. */
#include "api/lease.h"

#include <apr_siphash.h>
#include <apr_strings.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/lease.sql.h"
#include "core/clock.h"

#define BUCKETS      1024
#define BUCKET_SLOTS 4
#define ENTRIES      (BUCKETS * BUCKET_SLOTS)
#define INTERVAL_MS  900   /* less than the listener's second, so that each of its rounds exchanges */
#define ABANDONED_MS 30000 /* longer than an exchange: its process has died */
#define IN_PROGRESS  0     /* instead of a window: the limit is of requests in progress */

/* A lease that was not renewed for its window ends, but after 5 to 60 seconds. Also in neoapi.exchange_leases. */
#define MIN_VALID_S 5
#define MAX_VALID_S 60

enum { EMPTY, BUSY, READY };

typedef struct {
    atomic_int state;
    atomic_int limit, window;
    atomic_int lease;
    atomic_int tried; /* requests since the last exchange */
    atomic_int demand;
    atomic_int other_used, other_demand;
    _Atomic neo_ms renewed_at; /* neo_steady_ms; 0: never */
    char name[NEO_LEASE_NAME_SIZE];
} entry;

struct neo_leases {
    atomic_int hosts;                     /* 0: the memory is new */
    _Atomic neo_ms next;                  /* exchange, neo_steady_ms */
    unsigned char key[APR_SIPHASH_KSIZE]; /* so that no name can be chosen to share another's bucket */
    entry entries[ENTRIES];
};

apr_size_t neo_leases_size(void)
{
    return sizeof(neo_leases);
}

neo_leases *neo_leases_attach(void *memory)
{
    neo_leases *leases = memory;
    if (!leases->hosts) {
        neo_random(leases->key, sizeof leases->key);
        leases->hosts = 1;
    }
    return leases;
}

void neo_leases_set_hosts(neo_leases *leases, int hosts)
{
    atomic_store(&leases->hosts, hosts);
}

/* ---------------------------------------------------------------- the host's part */

static int equal_part(int limit, int hosts)
{
    return limit / hosts > 0 ? limit / hosts : 1;
}

/* The requests that are left are divided by demand, except for a quarter that hosts have in equal parts for new clients. When
 * they are nearly used up, all of them are divided by demand. */
int neo_lease_target(const neo_lease_need *need)
{
    long long left = (long long)need->limit - need->used - need->other_used,
              total = (long long)need->demand + need->other_demand;
    if (left < 0)
        left = 0;
    if (total == 0)
        return need->used + (int)(left / need->hosts);
    long long equal = 2 * total >= left ? 0 : left / 4 / need->hosts;
    return need->used + (int)(equal + ((left - equal * need->hosts) * need->demand + total - 1) / total);
}

static int valid_seconds(int window)
{
    return window == IN_PROGRESS || window > MAX_VALID_S ? MAX_VALID_S : window < MIN_VALID_S ? MIN_VALID_S : window;
}

static int is_valid(const entry *e)
{
    return e->renewed_at && neo_steady_ms() - e->renewed_at < valid_seconds(e->window) * 1000;
}

/* Finds the entry with this name, or creates it. Returns NULL if its bucket is full. Two threads may create it twice; then
 * only the first one is found again, and the next exchange removes the other. */
static entry *find_entry(neo_leases *leases, const char *name, int limit, int window)
{
    entry *bucket = &leases->entries[apr_siphash24(name, strlen(name), leases->key) % BUCKETS * BUCKET_SLOTS];
    for (int i = 0; i < BUCKET_SLOTS; i++)
        if (bucket[i].state == READY && strcmp(bucket[i].name, name) == 0)
            return &bucket[i];
    for (int i = 0; i < BUCKET_SLOTS; i++) {
        entry *e = &bucket[i];
        int state = EMPTY;
        if (!atomic_compare_exchange_strong(&e->state, &state, BUSY))
            continue;
        apr_cpystrn(e->name, name, sizeof e->name);
        e->limit = limit;
        e->window = window;
        e->lease = e->tried = e->demand = e->other_used = e->other_demand = 0;
        e->renewed_at = 0;
        e->state = READY;
        return e;
    }
    return NULL;
}

/* What a host may use of a limit, for a request of `cost`. *found is set to the entry or NULL. */
static int host_limit(neo_leases *leases, const char *name, int cost, int limit, int window, entry **found)
{
    int hosts = leases ? atomic_load(&leases->hosts) : 1;
    *found = NULL;
    if (hosts == 1)
        return limit;
    entry *e = *found = find_entry(leases, name, limit, window);
    if (!e)
        return equal_part(limit, hosts);
    atomic_fetch_add(&e->tried, cost);
    if (e->limit != limit || e->window != window) {
        e->limit = limit;
        e->window = window;
    }
    int lease = is_valid(e) ? e->lease : equal_part(limit, hosts);
    return lease < limit ? lease : limit;
}

/* Sets what the host knows of the deployment's limit. */
static void set_allowance(const entry *e, int cost, int limit, neo_allowance *allowance)
{
    long long left = (long long)limit - allowance->used - (e && is_valid(e) ? e->other_used : 0);
    allowance->limit = limit;
    if (!allowance->is_exceeded && left > allowance->remaining)
        allowance->remaining = (int)left;
    if (allowance->is_exceeded && left >= cost)
        allowance->reset = neo_now_ms() / 1000 + 1;
}

void neo_lease_count(neo_leases *leases, neo_limiter *limiter, const char *name, int cost, int limit, int window,
                     neo_allowance *allowance)
{
    entry *e;
    int part = host_limit(leases, name, cost, limit, window, &e);
    neo_limiter_count(limiter, (neo_text){name, strlen(name)}, cost, part, window, neo_now_ms() / 1000, allowance);
    if (part != limit)
        set_allowance(e, cost, limit, allowance);
}

void neo_lease_check(neo_leases *leases, neo_limiter *limiter, const char *name, int cost, int limit, int window,
                     neo_allowance *allowance)
{
    entry *e;
    int part = host_limit(leases, name, 0, limit, window, &e);
    neo_limiter_check(limiter, (neo_text){name, strlen(name)}, cost, part, window, neo_now_ms() / 1000, allowance);
    if (part != limit)
        set_allowance(e, cost, limit, allowance);
}

int neo_lease_enter(neo_leases *leases, const neo_concurrency *concurrency, const char *organization, int limit,
                    neo_concurrency_place *place)
{
    entry *e;
    return neo_concurrency_enter(concurrency, organization, host_limit(leases, organization, 1, limit, IN_PROGRESS, &e), place);
}

/* ---------------------------------------------------------------- the exchange */

typedef struct {
    neo_leases *leases;
    neo_limiter *limiter;
    const neo_concurrency *concurrency;
    int hosts;
    neo_ms started;
    neo_buf names, limits, windows, held, targets, used, demands;
} exchange;

static int count_used(const exchange *x, const entry *e)
{
    neo_allowance allowance;
    if (e->window == IN_PROGRESS)
        return neo_concurrency_count(x->concurrency, e->name);
    neo_limiter_count(x->limiter, (neo_text){e->name, strlen(e->name)}, 0, e->limit, e->window, neo_now_ms() / 1000,
                      &allowance);
    return allowance.used;
}

/* Adds an entry to the statement, or removes it if no host uses it. Requests that were counted while the lease was reduced
 * count against the old one. */
static void add_entry(exchange *x, entry *e)
{
    int limit = e->limit, tried = atomic_exchange(&e->tried, 0), decayed = (int)(e->demand * 3LL / 4), used = count_used(x, e);
    if (!is_valid(e)) {
        e->lease = equal_part(limit, x->hosts);
        e->other_used = e->other_demand = 0;
    }
    e->demand = tried > decayed ? tried : decayed;
    neo_lease_need need = {limit, x->hosts, used, e->other_used, e->demand, e->other_demand};
    int target = neo_lease_target(&need), is_idle = !used && !need.demand && !need.other_used && !need.other_demand;
    int is_twice = find_entry(x->leases, e->name, limit, e->window) != e;
    if (is_twice || (is_idle && e->lease == limit / x->hosts)) {
        e->state = EMPTY;
        return;
    }
    int old = e->lease;
    if (target < old) {
        e->lease = target;
        used = count_used(x, e);
        if (used > target)
            e->lease = used < old ? used : old;
    }
    neo_array_add(&x->names, e->name);
    neo_array_add_number(&x->limits, limit);
    neo_array_add_number(&x->windows, e->window);
    neo_array_add_number(&x->held, e->lease);
    neo_array_add_number(&x->targets, target);
    neo_array_add_number(&x->used, used);
    neo_array_add_number(&x->demands, e->demand);
}

/* Sets the entry that a row of the response names. The entry is created if only other hosts have used it. */
static void set_entry(const exchange *x, const neo_rows *rows, int row)
{
    enum { NAME, LIMIT, WINDOW, LEASE, OTHER_USED, OTHER_DEMAND };
    int limit = atoi(neo_rows_value(rows, row, LIMIT));
    const char *lease = neo_rows_value(rows, row, LEASE);
    entry *e = find_entry(x->leases, neo_rows_value(rows, row, NAME), limit, atoi(neo_rows_value(rows, row, WINDOW)));
    if (!e)
        return;
    e->limit = limit;
    e->lease = lease ? atoi(lease) : equal_part(limit, x->hosts);
    e->other_used = atoi(neo_rows_value(rows, row, OTHER_USED));
    e->other_demand = atoi(neo_rows_value(rows, row, OTHER_DEMAND));
    e->renewed_at = x->started;
}

static neo_pg_status run_exchange(exchange *x, const char *host, neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    neo_buf *arrays[] = {&x->names, &x->limits, &x->windows, &x->held, &x->targets, &x->used, &x->demands};
    for (apr_size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        neo_buf_init(arrays[i], pool, 256);
    for (int i = 0; i < ENTRIES; i++)
        if (x->leases->entries[i].state == READY)
            add_entry(x, &x->leases->entries[i]);
    neo_pg_status status = neo_pg_run_as(
        pg, NEO_PG_ONCE,
        NEO_BIND(exchange_leases, .host = host, .hosts = apr_itoa(pool, x->hosts), .names = neo_array_end(&x->names),
                 .limits = neo_array_end(&x->limits), .windows = neo_array_end(&x->windows), .leases = neo_array_end(&x->held),
                 .targets = neo_array_end(&x->targets), .used = neo_array_end(&x->used), .demands = neo_array_end(&x->demands)),
        pool, &rows);
    for (int i = 0; status == NEO_PG_OK && i < rows.count; i++)
        set_entry(x, &rows, i);
    return status;
}

int neo_lease_exchange(neo_leases *leases, neo_limiter *limiter, const neo_concurrency *concurrency, const char *host,
                       neo_pg *pg, apr_pool_t *pool)
{
    int hosts = leases ? atomic_load(&leases->hosts) : 1;
    neo_ms started = neo_steady_ms(), next = leases ? leases->next : 0;
    if (hosts == 1 || started < next || !atomic_compare_exchange_strong(&leases->next, &next, started + ABANDONED_MS))
        return 1;
    exchange x = {.leases = leases, .limiter = limiter, .concurrency = concurrency, .hosts = hosts, .started = started};
    neo_pg_status status = run_exchange(&x, host, pg, pool);
    leases->next = started + INTERVAL_MS;
    return status != NEO_PG_UNAVAILABLE && status != NEO_PG_TIMEOUT;
}
