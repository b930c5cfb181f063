/* SPDX-License-Identifier: Apache-2.0 */
/* Leases of limits in shared memory, and their exchange with the other hosts (see api/lease.h).
 *
 * A host that needs less than it has reduces its lease in shared memory first and then in the table; one that needs more adds
 * what no other host has. So the sum of the leases, and of the requests that are counted against them, never exceeds the limit.
 * The leases of a host are valid for five seconds after an exchange; then both it and the others reduce them to its equal part.
 * An entry is removed when no host has used the limit for a window and the lease is again the equal part. */
#include "api/lease.h"

#include <apr_siphash.h>
#include <apr_strings.h>
#include <apr_tables.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/lease.sql.h"
#include "core/clock.h"

#define BUCKET_SLOTS   8
#define INTERVAL_MS    1000
#define VALID_MS       5000  /* also in neoapi.exchange_leases */
#define ABANDONED_MS   5000  /* longer than an exchange: its process has ended, or was stopped */
#define LOWER_AFTER_MS 10000 /* of calls with a lower number of hosts */
#define CALLS_GAP_MS   5000  /* without calls, for example because the database was away */
#define IN_PROGRESS    0     /* instead of a window: the limit is of requests in progress */
#define NO_LEASE       (-1)
#define NO_RECORD      (-1) /* instead of a limit */
#define UNKNOWN        (-1) /* instead of a place: the table has not all leases of this host */

enum { EMPTY, BUSY, READY };

/* What the table has of this host. Only the process that exchanges leases uses it. */
typedef struct {
    int limit, lease, used, demand;
} record;

typedef struct {
    atomic_int limit, window;
    atomic_int lease;
    atomic_int tried; /* requests since the last exchange; of requests in progress, refused ones */
    atomic_int demand;
    atomic_int other_used, other_demand;
    atomic_uint seen; /* the last exchange in which other hosts had the limit */
    record recorded;
    char name[NEO_LEASE_NAME_SIZE];
} entry;

/* After the entries follow their states, which are apart so that an exchange does not read unused entries. */
struct neo_leases {
    apr_size_t buckets;                   /* 0: the memory is new */
    unsigned char key[APR_SIPHASH_KSIZE]; /* so that no name can be chosen to share another's bucket */
    atomic_int hosts;                     /* 0: unknown */
    atomic_int full;
    atomic_int is_failing;
    atomic_int has_others;   /* other hosts have leases, or have used a limit */
    atomic_int is_recorded;  /* an exchange has succeeded since the memory was new */
    atomic_uint generation;  /* the number of the exchange that began last */
    _Atomic neo_ms number;   /* its number for the table: it also grows when the host is restarted */
    _Atomic neo_ms next;     /* exchange, neo_steady_ms, as all times here */
    _Atomic neo_ms valid_at; /* when the last successful exchange began; 0: never */
    _Atomic neo_ms called_at, lower_since;
    entry entries[];
};

static apr_size_t bucket_count(apr_size_t entries)
{
    return (entries + BUCKET_SLOTS - 1) / BUCKET_SLOTS;
}

apr_size_t neo_leases_size(apr_size_t entries)
{
    return sizeof(neo_leases) + bucket_count(entries) * BUCKET_SLOTS * (sizeof(entry) + sizeof(atomic_uchar));
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

/* What is left is divided by demand, except for a quarter that hosts have in equal parts for new clients. If it lasts less than
 * two seconds, all requests are divided by demand, also so that a large batch can pass; of requests in progress, the quarter is
 * always kept. A host that is alone records a quarter as free, so that a host that joins has something at once. */
int neo_lease_target(const neo_lease_need *need)
{
    long long left = (long long)need->limit - need->used - need->other_used,
              total = (long long)need->demand + need->other_demand;
    if (left < 0)
        left = 0;
    if (need->hosts == 1)
        return need->used + (int)(left - left / 4);
    if (need->is_in_progress && need->limit < need->hosts)
        return 1;
    if (need->is_in_progress && left > 0 && left < need->hosts && (!need->used || !need->other_used))
        return need->used ? need->used : 1;
    if (total == 0)
        return need->used + (int)(left / need->hosts);
    long long equal = left / 4 / need->hosts;
    if (need->is_in_progress && equal == 0 && left >= need->hosts)
        equal = 1;
    if (!need->is_in_progress && 2 * total >= left)
        equal = 0;
    return need->used + (int)(equal + ((left - equal * need->hosts) * need->demand + total - 1) / total);
}

static int is_valid(const neo_leases *leases)
{
    return leases->valid_at && neo_steady_ms() - leases->valid_at < VALID_MS;
}

static atomic_uchar *state_at(neo_leases *leases, apr_size_t number)
{
    return (atomic_uchar *)&leases->entries[leases->buckets * BUCKET_SLOTS] + number;
}

static void remove_entry(neo_leases *leases, const entry *e)
{
    *state_at(leases, (apr_size_t)(e - leases->entries)) = EMPTY;
}

static void init_entry(entry *e, const char *name, int limit, int window)
{
    apr_cpystrn(e->name, name, sizeof e->name);
    e->limit = limit;
    e->window = window;
    e->lease = NO_LEASE;
    e->tried = e->demand = e->other_used = e->other_demand = 0;
    e->recorded.limit = NO_RECORD;
}

/* Finds the entry with this name, or creates it. Returns NULL if its bucket is full. Two threads may create it twice; then
 * only the first one is found again, and the next exchange removes the other. */
static entry *find_entry(neo_leases *leases, const char *name, int limit, int window)
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
    atomic_fetch_add(&leases->full, 1);
    return NULL;
}

/* The host's part if there are others. */
static int part_held(const neo_leases *leases, const entry *e, int limit, int hosts)
{
    int lease = e ? e->lease : NO_LEASE, equal = equal_part(limit, hosts);
    if (lease == NO_LEASE || (lease > equal && !is_valid(leases)))
        return equal;
    return lease < limit ? lease : limit;
}

/* What this host may use of a limit. *found is set to the entry or NULL. */
static int host_limit(neo_leases *leases, const neo_shared_limit *limit, entry **found)
{
    *found = NULL;
    if (!leases)
        return limit->count;
    entry *e = *found = find_entry(leases, limit->name, limit->count, limit->window);
    if (e && (e->limit != limit->count || e->window != limit->window)) {
        e->limit = limit->count;
        e->window = limit->window;
    }
    if (limit->window == IN_PROGRESS && limit->count < leases->hosts)
        return 1; /* a lease of 0 could not change while another host is idle */
    if (leases->hosts > 1)
        return part_held(leases, e, limit->count, leases->hosts);
    return e && e->other_used < limit->count ? limit->count - e->other_used : e ? 0 : limit->count;
}

/* Sets what the host knows of the deployment's limit. */
static void set_allowance(const entry *e, int cost, int limit, neo_allowance *allowance)
{
    long long left = (long long)limit - allowance->used - (e ? e->other_used : 0);
    allowance->limit = limit;
    if (!allowance->is_exceeded && left > allowance->remaining)
        allowance->remaining = (int)left;
    if (allowance->is_exceeded && left >= cost)
        allowance->reset = neo_now_ms() / 1000 + 1;
}

void neo_lease_count(neo_leases *leases, neo_limiter *limiter, const neo_shared_limit *limit, int cost,
                     neo_allowance *allowance)
{
    entry *e;
    int part = host_limit(leases, limit, &e);
    if (e)
        atomic_fetch_add(&e->tried, cost);
    if (limit->reserve)
        part -= part / limit->reserve;
    neo_limiter_count(limiter, (neo_text){limit->name, strlen(limit->name)}, cost, part, limit->window, neo_now_ms() / 1000,
                      allowance);
    if (part != limit->count)
        set_allowance(e, cost, limit->count, allowance);
}

void neo_lease_check(neo_leases *leases, neo_limiter *limiter, const neo_shared_limit *limit, int cost,
                     neo_allowance *allowance)
{
    entry *e;
    int part = host_limit(leases, limit, &e);
    neo_limiter_check(limiter, (neo_text){limit->name, strlen(limit->name)}, cost, part, limit->window, neo_now_ms() / 1000,
                      allowance);
    if (part != limit->count)
        set_allowance(e, cost, limit->count, allowance);
}

int neo_lease_enter(neo_leases *leases, const neo_concurrency *concurrency, const char *organization, int limit,
                    neo_concurrency_place *place)
{
    entry *e;
    int part = host_limit(leases, &(neo_shared_limit){organization, limit, IN_PROGRESS, 0}, &e);
    int is_admitted = neo_concurrency_enter(concurrency, organization, part, place);
    if (e && !is_admitted)
        atomic_fetch_add(&e->tried, 1);
    return is_admitted;
}

/* ---------------------------------------------------------------- the exchange */

enum { NAMES, LIMITS, WINDOWS, LEASES, TARGETS, USED, DEMANDS, COLUMNS };

typedef struct {
    neo_leases *leases;
    neo_limiter *limiter;
    const neo_concurrency *concurrency;
    apr_pool_t *pool;
    int hosts;
    int is_complete; /* all entries are sent, because others may have taken over what this host had */
    unsigned int generation;
    neo_ms number;
    apr_array_header_t *sent;
    neo_buf columns[COLUMNS]; /* arrays */
} exchange;

typedef struct {
    entry *e;
    record record;
    int is_removed;
} sent_entry;

static int count_used(const exchange *x, const entry *e)
{
    neo_allowance allowance;
    if (e->window == IN_PROGRESS)
        return neo_concurrency_count(x->concurrency, e->name);
    neo_limiter_count(x->limiter, (neo_text){e->name, strlen(e->name)}, 0, e->limit, e->window, neo_now_ms() / 1000,
                      &allowance);
    return allowance.used;
}

static neo_lease_need measure(const exchange *x, entry *e)
{
    int tried = atomic_exchange(&e->tried, 0), used = count_used(x, e), decayed = (int)(e->demand * 3LL / 4), limit = e->limit;
    if (e->window == IN_PROGRESS)
        tried = used + (tried < limit ? tried : limit);
    e->demand = tried > decayed ? tried : decayed;
    return (neo_lease_need){limit, x->hosts, used, e->other_used, e->demand, e->other_demand, e->window == IN_PROGRESS};
}

/* Requests that are counted while the lease is reduced count against the old one. */
static void reduce_lease(const exchange *x, entry *e, int target, int held, int *used)
{
    e->lease = target;
    *used = count_used(x, e);
    if (*used > target)
        e->lease = *used < held ? *used : held;
}

static void add_number(exchange *x, int column, int is_null, int number)
{
    if (is_null)
        neo_array_add(&x->columns[column], NULL);
    else
        neo_array_add_number(&x->columns[column], number);
}

static void send_entry(exchange *x, entry *e, const record *now, int target, int is_removed)
{
    *(sent_entry *)apr_array_push(x->sent) = (sent_entry){e, *now, is_removed};
    neo_array_add(&x->columns[NAMES], e->name);
    add_number(x, LIMITS, 0, now->limit);
    add_number(x, WINDOWS, 0, e->window);
    add_number(x, LEASES, now->lease == NO_LEASE, now->lease);
    add_number(x, TARGETS, is_removed, target);
    add_number(x, USED, 0, now->used);
    add_number(x, DEMANDS, 0, now->demand);
}

/* Sends an entry if it has changed, or removes it if no host uses it. */
static void add_entry(exchange *x, entry *e)
{
    if (find_entry(x->leases, e->name, e->limit, e->window) != e) {
        remove_entry(x->leases, e);
        return;
    }
    neo_lease_need need = measure(x, e);
    int target = neo_lease_target(&need), held = part_held(x->leases, e, need.limit, x->hosts);
    int is_removed = !need.used && !need.demand && !need.other_used && !need.other_demand &&
                     (x->hosts == 1 || e->lease == NO_LEASE || e->lease == target);
    if (target < held)
        reduce_lease(x, e, target, held, &need.used);
    record now = {need.limit, e->lease == NO_LEASE || e->lease < held ? e->lease : held, need.used, need.demand};
    if (is_removed || target > held || x->is_complete || memcmp(&now, &e->recorded, sizeof now) != 0)
        send_entry(x, e, &now, target, is_removed);
}

static neo_ms next_number(neo_leases *leases)
{
    neo_ms now = neo_now_ms(), last = leases->number;
    leases->number = now > last ? now : last + 1;
    return leases->number;
}

/* A host that is alone does not exchange leases while nothing changes; the table still has all of them. */
static int must_be_complete(const neo_leases *leases, int hosts)
{
    return !leases->valid_at || (!is_valid(leases) && (hosts > 1 || leases->has_others));
}

static int is_unknown(const neo_rows *rows)
{
    const char *place = rows->count ? neo_rows_value(rows, 0, 0) : NULL;
    return place && atoi(place) == UNKNOWN;
}

/* Sets what a row of the response says. The entry is created if only other hosts have used it; then this host has less than an
 * equal part if there is not so much. */
static void apply_row(const exchange *x, const neo_rows *rows, int row)
{
    enum { PLACE, NAME, LIMIT, WINDOW, LEASE, OTHER_USED, OTHER_DEMAND };
    const char *place = neo_rows_value(rows, row, PLACE), *limit = neo_rows_value(rows, row, LIMIT),
               *lease = neo_rows_value(rows, row, LEASE);
    if (place && atoi(place) == 0) /* says that the exchange took place */
        return;
    sent_entry *sent = place ? &APR_ARRAY_IDX(x->sent, atoi(place) - 1, sent_entry) : NULL;
    entry *e =
        sent ? sent->e
             : find_entry(x->leases, neo_rows_value(rows, row, NAME), atoi(limit), atoi(neo_rows_value(rows, row, WINDOW)));
    if (!e)
        return;
    if (lease && (sent || e->lease == NO_LEASE))
        e->lease = atoi(lease);
    if (sent) {
        sent->record.lease = atoi(lease);
        e->recorded = sent->record;
    }
    e->other_used = atoi(neo_rows_value(rows, row, OTHER_USED));
    e->other_demand = atoi(neo_rows_value(rows, row, OTHER_DEMAND));
    if (limit && e->other_demand > e->demand) /* of a plan that was changed; two idle hosts must not exchange theirs */
        e->limit = atoi(limit);
    e->seen = x->generation;
}

/* A process that was stopped meanwhile must not apply its response,
 * because another one has exchanged leases since. */
static void apply_response(const exchange *x, const neo_rows *rows)
{
    neo_leases *leases = x->leases;
    for (int i = 0; i < x->sent->nelts; i++)
        if (APR_ARRAY_IDX(x->sent, i, sent_entry).is_removed)
            remove_entry(leases, APR_ARRAY_IDX(x->sent, i, sent_entry).e);
    for (int i = 0; i < rows->count && leases->generation == x->generation; i++)
        apply_row(x, rows, i);
    int has_others = 0;
    for (apr_size_t i = 0; i < leases->buckets * BUCKET_SLOTS && leases->generation == x->generation; i++) {
        entry *e = &leases->entries[i];
        if (*state_at(leases, i) != READY)
            continue;
        if (e->seen != x->generation)
            e->other_used = e->other_demand = 0;
        has_others |= e->other_used > 0;
    }
    leases->has_others = has_others;
}

static neo_pg_status run_exchange(exchange *x, const char *host, neo_pg *pg, int seconds, neo_rows *rows)
{
    const char *c[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        c[i] = neo_pg_literal(pg, neo_array_end(&x->columns[i]), x->pool);
    const char *sql =
        apr_psprintf(x->pool, exchange_leases_sql, neo_pg_literal(pg, host, x->pool), apr_ltoa(x->pool, (long)x->number),
                     x->hosts, x->leases->is_recorded ? "false" : "true", x->is_complete ? "true" : "false", c[NAMES],
                     c[LIMITS], c[WINDOWS], c[LEASES], c[TARGETS], c[USED], c[DEMANDS]);
    return neo_pg_exec_once(pg, sql, seconds, x->pool, rows);
}

static void collect_entries(exchange *x)
{
    x->sent = apr_array_make(x->pool, 16, sizeof(sent_entry));
    for (int i = 0; i < COLUMNS; i++)
        neo_buf_init(&x->columns[i], x->pool, 256);
    for (apr_size_t i = 0; i < x->leases->buckets * BUCKET_SLOTS; i++)
        if (*state_at(x->leases, i) == READY)
            add_entry(x, &x->leases->entries[i]);
}

/* The reason is NULL unless this is the first failure. A busy lock is not a failure while leases are valid. */
static const char *failure_reason(neo_leases *leases, neo_pg_status status, const neo_rows *rows)
{
    const char *reason = status == NEO_PG_OK && rows->count ? NULL
                         : status != NEO_PG_OK              ? rows->message
                         : is_valid(leases)                 ? NULL
                                                            : "another session holds the lock neoapi.limit_lease";
    return atomic_exchange(&leases->is_failing, reason != NULL) ? NULL : reason;
}

int neo_lease_exchange(neo_leases *leases, neo_limiter *limiter, const neo_concurrency *concurrency, const char *host,
                       neo_pg *pg, int seconds, apr_pool_t *pool, const char **error)
{
    neo_rows rows;
    neo_ms started = neo_steady_ms(), next = leases ? leases->next : 0;
    *error = NULL;
    if (!leases || !leases->hosts || started < next ||
        !atomic_compare_exchange_strong(&leases->next, &next, started + ABANDONED_MS))
        return 1;
    exchange x = {.leases = leases,
                  .limiter = limiter,
                  .concurrency = concurrency,
                  .pool = pool,
                  .hosts = leases->hosts,
                  .is_complete = must_be_complete(leases, leases->hosts),
                  .generation = atomic_fetch_add(&leases->generation, 1) + 1,
                  .number = next_number(leases)};
    collect_entries(&x);
    leases->next = started + INTERVAL_MS;
    if (x.hosts == 1 && !x.sent->nelts && !leases->has_others)
        return 1;
    leases->next = started + ABANDONED_MS;
    neo_pg_status status = run_exchange(&x, host, pg, seconds, &rows);
    if (leases->generation != x.generation)
        return neo_pg_is_idle(pg);
    leases->next = started + INTERVAL_MS;
    if (status == NEO_PG_OK && is_unknown(&rows))
        leases->valid_at = leases->next = 0;
    else if (status == NEO_PG_OK && rows.count) {
        apply_response(&x, &rows);
        leases->valid_at = started;
        leases->is_recorded = 1;
    }
    if (status != NEO_PG_OK && !neo_pg_is_idle(pg))
        return 0;
    *error = failure_reason(leases, status, &rows);
    return 1;
}
