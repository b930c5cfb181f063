/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics in shared memory (see core/metrics.h). */
#include "core/metrics.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <string.h>
#include <unistd.h>

#define CACHE_LINE    64       /* bytes */
#define MAX_SHARDS    16       /* with more processors, some share a shard */
#define MINUTE_US     60000000 /* microseconds */
#define QUARTER_US    (15LL * MINUTE_US)
#define KEPT_MINUTES  64 /* snapshots of the host's counters */
#define KEPT_QUARTERS 8  /* snapshots of all routes */

const int neo_statuses[NEO_STATUSES] = {
#define STATUS_VALUE(status) status,
    NEO_STATUS_LIST(STATUS_VALUE)};

/* The header of a snapshot. `tag`: the minute or quarter of an hour at whose start it was taken; 0 if there is none. */
typedef struct {
    int64_t tag;
    char rest[CACHE_LINE - sizeof(int64_t)];
} snapshot;

/* The header of the shared memory. After it follow, each aligned to a cache line: the shards (the host's counters and all
 * routes'), the snapshots of the host's counters, the snapshots of the routes, the slots of processes. */
struct neo_metrics {
    uint64_t is_initialized;
    int64_t started;
    int routes, processes, shards;
    int64_t minute, quarter; /* the current ones */
    long long clock_offset;  /* see neo_clock_start */
    alignas(CACHE_LINE) char rest[];
};

/* ---------------------------------------------------------------- layout */

#define CACHE_ALIGNED(size) (((size) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE)
#define COUNTERS            CACHE_ALIGNED(sizeof(neo_counters))
#define ROUTE               CACHE_ALIGNED(sizeof(neo_route_counters))

_Static_assert(sizeof(neo_process) == CACHE_LINE && sizeof(snapshot) == CACHE_LINE, "each fills a cache line");

static size_t shard_size(int routes)
{
    return COUNTERS + (size_t)routes * ROUTE;
}

static int shards_wanted(void)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    return processors < 1 ? 1 : processors > MAX_SHARDS ? MAX_SHARDS : (int)processors;
}

size_t neo_metrics_size(int routes, int processes)
{
    return sizeof(neo_metrics) + (size_t)shards_wanted() * shard_size(routes) + KEPT_MINUTES * (CACHE_LINE + COUNTERS) +
           KEPT_QUARTERS * (CACHE_LINE + (size_t)routes * ROUTE) + (size_t)processes * sizeof(neo_process);
}

static char *shard_at(const neo_metrics *f, int shard)
{
    return (char *)f->rest + (size_t)shard * shard_size(f->routes);
}

static neo_counters *shard_counters(const neo_metrics *f, int shard)
{
    return (neo_counters *)(void *)shard_at(f, shard);
}

static neo_route_counters *shard_route(const neo_metrics *f, int shard, int route)
{
    return (neo_route_counters *)(void *)(shard_at(f, shard) + COUNTERS + (size_t)route * ROUTE);
}

static snapshot *minute_at(const neo_metrics *f, int64_t minute)
{
    return (snapshot *)(void *)(shard_at(f, f->shards) + (size_t)(minute % KEPT_MINUTES) * (CACHE_LINE + COUNTERS));
}

static snapshot *quarter_at(const neo_metrics *f, int64_t quarter)
{
    size_t one = CACHE_LINE + (size_t)f->routes * ROUTE;
    return (snapshot *)(void *)((char *)minute_at(f, 0) + KEPT_MINUTES * (CACHE_LINE + COUNTERS) +
                                (size_t)(quarter % KEPT_QUARTERS) * one);
}

static neo_process *process_at(const neo_metrics *f, int slot)
{
    size_t quarters = KEPT_QUARTERS * (CACHE_LINE + (size_t)f->routes * ROUTE);
    return (neo_process *)(void *)((char *)quarter_at(f, 0) + quarters) + slot;
}

neo_metrics *neo_metrics_attach(void *memory, int routes, int processes, long long now)
{
    neo_metrics *f = memory;
    if (f->is_initialized)
        return f;
    f->started = now;
    f->routes = routes;
    f->processes = processes;
    f->shards = shards_wanted();
    f->minute = now / MINUTE_US;
    f->quarter = now / QUARTER_US;
    minute_at(f, f->minute)->tag = f->minute; /* snapshots of zeros, at the start */
    quarter_at(f, f->quarter)->tag = f->quarter;
    f->is_initialized = 1;
    return f;
}

long long neo_metrics_started(const neo_metrics *metrics)
{
    return metrics->started;
}

long long *neo_metrics_clock_offset(neo_metrics *metrics)
{
    return &metrics->clock_offset;
}

/* ---------------------------------------------------------------- sums */

static void increase(uint64_t *word, uint64_t more)
{
    __atomic_fetch_add(word, more, __ATOMIC_RELAXED);
}

static void add_words(void *to, const void *from, size_t size)
{
    uint64_t *sum = to;
    const uint64_t *words = from;
    for (size_t i = 0; i < size / sizeof *sum; i++)
        sum[i] += __atomic_load_n(&words[i], __ATOMIC_RELAXED);
}

void neo_metrics_subtract(void *from, const void *earlier, size_t size)
{
    uint64_t *words = from;
    const uint64_t *before = earlier;
    for (size_t i = 0; i < size / sizeof *words; i++)
        words[i] -= words[i] < before[i] ? words[i] : before[i];
}

void neo_metrics_total(const neo_metrics *metrics, neo_counters *total)
{
    memset(total, 0, sizeof *total);
    for (int i = 0; i < metrics->shards; i++)
        add_words(total, shard_counters(metrics, i), sizeof *total);
}

void neo_metrics_route(const neo_metrics *metrics, int route, neo_route_counters *total)
{
    memset(total, 0, sizeof *total);
    for (int i = 0; i < metrics->shards; i++)
        add_words(total, shard_route(metrics, i, route), sizeof *total);
}

/* ---------------------------------------------------------------- snapshots */

/* Starts a period. Returns true to the one caller that did. A clock that stepped back by more than a period starts it too. */
static int start_period(int64_t *period, int64_t now)
{
    int64_t seen = __atomic_load_n(period, __ATOMIC_RELAXED);
    if (now == seen || (now < seen && now > seen - 2))
        return 0;
    return __atomic_compare_exchange_n(period, &seen, now, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Must be called before counting. Minutes without requests need no snapshot: the next one is the same. */
static void roll_over(neo_metrics *f, long long now)
{
    int64_t minute = now / MINUTE_US, quarter = now / QUARTER_US;
    if (!start_period(&f->minute, minute))
        return;
    snapshot *stored = minute_at(f, minute);
    neo_metrics_total(f, (neo_counters *)(void *)(stored + 1));
    __atomic_store_n(&stored->tag, minute, __ATOMIC_RELEASE);
    if (!start_period(&f->quarter, quarter))
        return;
    stored = quarter_at(f, quarter);
    for (int i = 0; i < f->routes; i++)
        neo_metrics_route(f, i, (neo_route_counters *)(void *)((char *)(stored + 1) + (size_t)i * ROUTE));
    __atomic_store_n(&stored->tag, quarter, __ATOMIC_RELEASE);
}

/* The first snapshot of the periods `from` to `to`. Returns NULL if nothing was counted since then. */
static const snapshot *snapshot_since(const neo_metrics *f, snapshot *(*at)(const neo_metrics *, int64_t), int64_t from,
                                      int64_t to)
{
    for (int64_t i = from; i <= to; i++) {
        const snapshot *stored = at(f, i);
        if (__atomic_load_n(&stored->tag, __ATOMIC_ACQUIRE) == i)
            return stored;
    }
    return NULL;
}

void neo_metrics_minutes(neo_metrics *metrics, long long now, neo_counters sums[NEO_MINUTES + 1])
{
    int64_t last = now / MINUTE_US;
    roll_over(metrics, now);
    neo_metrics_total(metrics, &sums[NEO_MINUTES]);
    for (int i = 0; i < NEO_MINUTES; i++) {
        const snapshot *stored = snapshot_since(metrics, minute_at, last - NEO_MINUTES + 1 + i, last);
        sums[i] = stored ? *(const neo_counters *)(const void *)(stored + 1) : sums[NEO_MINUTES];
    }
}

void neo_metrics_route_recent(neo_metrics *metrics, int route, long long now, neo_route_counters *recent, long long *since)
{
    int64_t last = now / QUARTER_US, first = last - 4;
    roll_over(metrics, now);
    neo_metrics_route(metrics, route, recent);
    *since = metrics->started > first * QUARTER_US ? metrics->started : first * QUARTER_US;
    const snapshot *stored = snapshot_since(metrics, quarter_at, first, last);
    if (!stored)
        return;
    neo_metrics_subtract(recent, (const char *)(stored + 1) + (size_t)route * ROUTE, sizeof *recent);
}

/* ---------------------------------------------------------------- writing */

static int shard_here(const neo_metrics *f)
{
    int processor = sched_getcpu();
    return processor < 0 ? 0 : processor % f->shards;
}

enum {
#define STATUS_INDEX(status) STATUS_##status,
    NEO_STATUS_LIST(STATUS_INDEX)
};
_Static_assert(STATUS_505 == NEO_STATUSES - 1, "every status has an index");
_Static_assert(NEO_TIME_REQUESTS_5XX == NEO_CLASSES - 1, "the first times are those of requests");

/* The index of a status plus one. */
static const unsigned char indexes[600] = {
#define SLOTS(status) [status] = 1 + STATUS_##status,
    NEO_STATUS_LIST(SLOTS)};

static int status_index(int status)
{
    if (status < 200 || status > 599)
        return STATUS_500;
    return (indexes[status] ? indexes[status] : indexes[status / 100 * 100]) - 1;
}

static void count(neo_histogram *histogram, long long microseconds)
{
    increase(&histogram->count[neo_histogram_bucket(microseconds)], 1);
    increase(&histogram->sum, microseconds > 0 ? (uint64_t)microseconds : 0);
}

void neo_metrics_request(neo_metrics *metrics, int route, int status, long long took, long long now)
{
    int shard = shard_here(metrics), slot = status_index(status), class = neo_statuses[slot] / 100 - 2;
    neo_counters *counters = shard_counters(metrics, shard);
    neo_route_counters *route_counters = shard_route(metrics, shard, route);
    roll_over(metrics, now);
    count(&counters->times[class], took);
    count(&route_counters->times[class], took);
    increase(&route_counters->statuses[slot], 1);
    if (slot == STATUS_429)
        increase(&counters->counts[NEO_COUNT_RATE_LIMITED], 1);
}

void neo_metrics_count(neo_metrics *metrics, neo_counter counter, int times)
{
    if (times)
        increase(&shard_counters(metrics, shard_here(metrics))->counts[counter], (uint64_t)times);
}

void neo_metrics_time(neo_metrics *metrics, neo_timing timing, long long took)
{
    count(&shard_counters(metrics, shard_here(metrics))->times[timing], took);
}

neo_counter neo_attempt_counter(const char *error, int http_status)
{
    if (!error)
        return http_status >= 200 && http_status <= 299 ? NEO_COUNT_ATTEMPT_OK : NEO_COUNT_ATTEMPT_STATUS;
    return strcmp(error, "timeout") == 0           ? NEO_COUNT_ATTEMPT_TIMEOUT
           : strcmp(error, "blocked_address") == 0 ? NEO_COUNT_ATTEMPT_BLOCKED
           : strcmp(error, "not_sent") == 0        ? NEO_COUNT_ATTEMPT_NOT_SENT
                                                   : NEO_COUNT_ATTEMPT_CONNECTION;
}

void neo_metrics_attempt(neo_metrics *metrics, neo_counter outcome, int is_end, long long took, long long now)
{
    roll_over(metrics, now);
    neo_metrics_time(metrics, NEO_TIME_ATTEMPTS, took);
    neo_metrics_count(metrics, outcome, 1);
    if (is_end)
        neo_metrics_count(metrics, outcome == NEO_COUNT_ATTEMPT_OK ? NEO_COUNT_DELIVERED : NEO_COUNT_FAILED, 1);
}

/* ---------------------------------------------------------------- processes */

static int is_alive(pid_t pid)
{
    return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

/* If all slots are in use, the process gets one that is not reported. */
neo_process *neo_metrics_register(neo_metrics *metrics, pid_t pid)
{
    static neo_process unreported;
    for (int i = 0; i < metrics->processes; i++) {
        neo_process *slot = process_at(metrics, i);
        pid_t owner = __atomic_load_n(&slot->pid, __ATOMIC_RELAXED);
        if (owner != pid && is_alive(owner))
            continue;
        if (!__atomic_compare_exchange_n(&slot->pid, &owner, pid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        memset((char *)slot + sizeof slot->pid, 0, sizeof *slot - sizeof slot->pid);
        return slot;
    }
    return &unreported;
}

void neo_metrics_unregister(neo_process *process)
{
    __atomic_store_n(&process->pid, 0, __ATOMIC_RELEASE);
}

void neo_metrics_current(const neo_metrics *metrics, neo_process *sum, int *processes)
{
    memset(sum, 0, sizeof *sum);
    *processes = 0;
    for (int i = 0; i < metrics->processes; i++) {
        const neo_process *one = process_at(metrics, i);
        if (!is_alive(__atomic_load_n(&one->pid, __ATOMIC_RELAXED)))
            continue;
        ++*processes;
#define ADD_GAUGE(id, ...) sum->id += one->id;
        NEO_METRIC_LIST(NEO_METRIC_NONE, NEO_METRIC_NONE, ADD_GAUGE, NEO_METRIC_NONE, NEO_METRIC_NONE)
    }
}
