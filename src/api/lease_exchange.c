/* SPDX-License-Identifier: Apache-2.0 */
/* The exchange of leases with the other hosts (see api/lease.h).
 *
 * A host that needs less than it has reduces its lease in shared memory first and then in the table; one that needs more adds
 * what no other host has. So the sum of the leases, and of the requests that are counted against them, never exceeds the limit.
 * The leases of a host are valid for five seconds after an exchange; then both it and the others reduce them to its equal part.
 * An entry is removed when no host has used the limit for a window and the lease is again the equal part. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <stdlib.h>
#include <string.h>

#include "api/lease.h"
#include "api/lease_exchange.sql.h"
#include "lease_entry.h"

#define INTERVAL_MS  1000
#define ABANDONED_MS 5000  /* longer than an exchange: its process has ended, or was stopped */
#define WANTED_MS    30000 /* after a batch was refused: its client may send the next ones to other hosts */
#define UNKNOWN      (-1)  /* instead of a place: the table has not all leases of this host */

/* What is left is divided by demand, except for a quarter that hosts have in equal parts for new clients. If it lasts less than
 * two seconds, all requests are divided by demand, also so that a large batch can pass; of requests in progress, the quarter is
 * always kept. A host that is alone records a quarter as free, so that a host that joins has something at once. */
static int divide(const neo_lease_need *need, long long left)
{
    long long total = (long long)need->demand + need->other_demand;
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

/* A batch cannot be divided: the host that has refused the largest one gets enough for it, and the others divide the rest. */
int neo_lease_target(const neo_lease_need *need)
{
    long long left = (long long)need->limit - need->used - need->other_used;
    if (left < 0)
        left = 0;
    if (need->other_wanted > 0 && need->other_wanted >= need->wanted && need->other_wanted <= left)
        return divide(need, left - need->other_wanted);
    int target = divide(need, left);
    return need->wanted <= left && need->hosts > 1 && target < need->used + need->wanted ? need->used + need->wanted : target;
}

enum { NAMES, LIMITS, WINDOWS, LEASES, TARGETS, USED, DEMANDS, WANTED, COLUMNS };

typedef struct {
    neo_leases *leases;
    neo_limiter *limiter;
    const neo_concurrency *concurrency;
    apr_pool_t *pool;
    int hosts;
    neo_ms started, number;
    long long known;     /* 0: all entries are sent, because others may have taken over what this host had */
    long long confirmed; /* what it knows after the response */
    int is_all;          /* the response has the limits of all others */
    apr_array_header_t *sent;
    neo_buf columns[COLUMNS]; /* arrays */
} exchange;

typedef struct {
    neo_lease_entry *e;
    neo_lease_record record;
    int is_removed;
} sent_entry;

static int count_used(const exchange *x, const neo_lease_entry *e)
{
    neo_allowance allowance;
    if (e->window == NEO_LEASE_IN_PROGRESS)
        return neo_concurrency_count(x->concurrency, e->name);
    neo_limiter_count(x->limiter, (neo_text){e->name, strlen(e->name)}, 0, e->limit, e->window, neo_now_ms() / 1000,
                      &allowance);
    return allowance.used;
}

static neo_lease_need measure(const exchange *x, neo_lease_entry *e)
{
    int tried = atomic_exchange(&e->tried, 0), used = count_used(x, e), decayed = (int)(e->demand * 3LL / 4), limit = e->limit;
    if (e->window == NEO_LEASE_IN_PROGRESS)
        tried = used + (tried < limit ? tried : limit);
    e->demand = tried > decayed ? tried : decayed;
    if (e->wanted && x->started - e->wanted_at >= WANTED_MS)
        e->wanted = 0;
    return (neo_lease_need){.limit = limit,
                            .hosts = x->hosts,
                            .used = used,
                            .other_used = e->other_used,
                            .demand = e->demand,
                            .other_demand = e->other_demand,
                            .is_in_progress = e->window == NEO_LEASE_IN_PROGRESS,
                            .wanted = e->wanted,
                            .other_wanted = e->other_wanted};
}

/* Requests that are counted while the lease is reduced count against the old one. */
static void reduce_lease(const exchange *x, neo_lease_entry *e, int target, int held, int *used)
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

/* Until the response, it is not known what the table has. */
static void send_entry(exchange *x, neo_lease_entry *e, const neo_lease_record *now, int target, int is_removed)
{
    e->recorded.limit = NEO_NO_LEASE_RECORD;
    *(sent_entry *)apr_array_push(x->sent) = (sent_entry){e, *now, is_removed};
    neo_array_add(&x->columns[NAMES], e->name);
    add_number(x, LIMITS, 0, now->limit);
    add_number(x, WINDOWS, 0, e->window);
    add_number(x, LEASES, now->lease == NEO_NO_LEASE, now->lease);
    add_number(x, TARGETS, is_removed, target);
    add_number(x, USED, 0, now->used);
    add_number(x, DEMANDS, 0, now->demand);
    add_number(x, WANTED, 0, now->wanted);
}

/* Whether no host uses the limit, and the others know that this one does not. */
static int is_unused(const neo_lease_need *need, const neo_lease_record *recorded)
{
    return !need->used && !need->demand && !need->wanted && !need->other_used && !need->other_demand &&
           recorded->limit != NEO_NO_LEASE_RECORD && !recorded->used && !recorded->demand && !recorded->wanted;
}

/* Sends an entry if it has changed, or removes it if it is not used. */
static void add_entry(exchange *x, neo_lease_entry *e)
{
    if (neo_lease_find(x->leases, e->name, e->limit, e->window) != e) {
        neo_lease_remove(x->leases, e);
        return;
    }
    neo_lease_need need = measure(x, e);
    int target = neo_lease_target(&need), held = neo_lease_part(x->leases, e, need.limit, x->hosts);
    int is_removed = is_unused(&need, &e->recorded) && (x->hosts == 1 || e->lease == NEO_NO_LEASE || e->lease == target);
    if (target < held)
        reduce_lease(x, e, target, held, &need.used);
    neo_lease_record now = {need.limit, e->lease == NEO_NO_LEASE || e->lease < held ? e->lease : held, need.used, need.demand,
                            need.wanted};
    if (is_removed || target > held || !x->known || memcmp(&now, &e->recorded, sizeof now) != 0)
        send_entry(x, e, &now, target, is_removed);
}

/* Begins an exchange: the responses of all others are outdated. */
static neo_ms take_number(neo_leases *leases)
{
    neo_ms now = neo_now_ms(), last = leases->number, next;
    do
        next = now > last ? now : last + 1;
    while (!atomic_compare_exchange_weak(&leases->number, &last, next));
    return next;
}

/* A host that is alone does not exchange leases while nothing changes; the table still has all of them. */
static int must_be_complete(const neo_leases *leases, int hosts)
{
    return !leases->valid_at || (!neo_leases_are_valid(leases) && (hosts > 1 || leases->has_others));
}

static int is_unknown(const neo_rows *rows)
{
    const char *place = rows->count ? neo_rows_value(rows, 0, 0) : NULL;
    return place && atoi(place) == UNKNOWN;
}

/* Sets what a row of the response says. The entry is created if only other hosts have used it; then this host has less than an
 * equal part if there is not so much. */
static void apply_row(exchange *x, const neo_rows *rows, int row)
{
    enum { PLACE, NAME, LIMIT, WINDOW, LEASE, OTHER_USED, OTHER_DEMAND, OTHER_WANTED };
    const char *place = neo_rows_value(rows, row, PLACE), *name = neo_rows_value(rows, row, NAME),
               *limit = neo_rows_value(rows, row, LIMIT), *lease = neo_rows_value(rows, row, LEASE);
    int other_used = atoi(neo_rows_value(rows, row, OTHER_USED));
    if (place && atoi(place) == 0) {
        x->confirmed = atoll(name);
        x->is_all = other_used;
        return;
    }
    sent_entry *sent = place ? &APR_ARRAY_IDX(x->sent, atoi(place) - 1, sent_entry) : NULL;
    neo_lease_entry *e = sent ? sent->e : neo_lease_find(x->leases, name, atoi(limit), atoi(neo_rows_value(rows, row, WINDOW)));
    if (!e)
        return;
    if (lease && (sent || e->lease == NEO_NO_LEASE))
        e->lease = atoi(lease);
    if (sent) {
        sent->record.lease = atoi(lease);
        e->recorded = sent->record;
    }
    e->other_used = other_used;
    e->other_demand = atoi(neo_rows_value(rows, row, OTHER_DEMAND));
    e->other_wanted = atoi(neo_rows_value(rows, row, OTHER_WANTED));
    if (limit && e->other_demand > e->demand) /* the plan was changed; of two idle hosts neither takes the other's */
        e->limit = atoi(limit);
    e->seen = x->number;
}

/* A process that was stopped meanwhile must not apply its response, because another one has exchanged leases since. What the
 * host knows is set last: if the process is killed before, the next response has the same limits. */
static void apply_response(exchange *x, const neo_rows *rows)
{
    neo_leases *leases = x->leases;
    for (int i = 0; i < x->sent->nelts; i++)
        if (APR_ARRAY_IDX(x->sent, i, sent_entry).is_removed)
            neo_lease_remove(leases, APR_ARRAY_IDX(x->sent, i, sent_entry).e);
    for (int i = 0; i < rows->count && leases->number == x->number; i++)
        apply_row(x, rows, i);
    int has_others = 0;
    neo_lease_entry *e;
    for (apr_size_t at = 0; leases->number == x->number && (e = neo_lease_next(leases, &at));) {
        if (x->is_all && e->seen != x->number)
            e->other_used = e->other_demand = e->other_wanted = 0;
        has_others |= e->other_used > 0;
    }
    if (leases->number != x->number)
        return;
    leases->has_others = has_others;
    leases->known = x->confirmed;
    leases->valid_at = x->started;
    leases->is_recorded = 1;
}

static neo_pg_status run_exchange(exchange *x, const char *host, neo_pg *pg, int seconds, neo_rows *rows)
{
    const char *c[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        c[i] = neo_pg_literal(pg, neo_array_end(&x->columns[i]), x->pool);
    const char *sql =
        apr_psprintf(x->pool, exchange_leases_sql, neo_pg_literal(pg, host, x->pool), apr_ltoa(x->pool, (long)x->number),
                     apr_ltoa(x->pool, (long)x->known), x->hosts, x->leases->is_recorded ? "false" : "true", c[NAMES],
                     c[LIMITS], c[WINDOWS], c[LEASES], c[TARGETS], c[USED], c[DEMANDS], c[WANTED]);
    return neo_pg_exec_once(pg, sql, seconds, x->pool, rows);
}

static void collect_entries(exchange *x)
{
    x->sent = apr_array_make(x->pool, 16, sizeof(sent_entry));
    for (int i = 0; i < COLUMNS; i++)
        neo_buf_init(&x->columns[i], x->pool, 256);
    neo_lease_entry *e;
    for (apr_size_t at = 0; (e = neo_lease_next(x->leases, &at));)
        add_entry(x, e);
}

/* The reason is NULL unless this is the first failure. A busy lock is not a failure while leases are valid. */
static const char *failure_reason(neo_leases *leases, neo_pg_status status, const neo_rows *rows)
{
    const char *reason = status == NEO_PG_OK && rows->count ? NULL
                         : status != NEO_PG_OK              ? rows->message
                         : neo_leases_are_valid(leases)     ? NULL
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
                  .started = started,
                  .hosts = leases->hosts,
                  .number = take_number(leases),
                  .known = must_be_complete(leases, leases->hosts) ? 0 : leases->known};
    collect_entries(&x);
    if (x.hosts == 1 && !x.sent->nelts && !leases->has_others) {
        leases->next = started + INTERVAL_MS;
        return 1;
    }
    neo_pg_status status = run_exchange(&x, host, pg, seconds, &rows);
    if (leases->number != x.number)
        return neo_pg_is_idle(pg);
    leases->next = started + INTERVAL_MS;
    if (status == NEO_PG_OK && is_unknown(&rows))
        leases->valid_at = leases->next = 0;
    else if (status == NEO_PG_OK && rows.count)
        apply_response(&x, &rows);
    if (status != NEO_PG_OK && !neo_pg_is_idle(pg))
        return 0;
    *error = failure_reason(leases, status, &rows);
    return 1;
}
