/* Counters, and copies of their sums (see core/figures.h). */
#include "core/figures.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <string.h>
#include <unistd.h>

#define LINE     64       /* bytes that processors pass to one another */
#define SHARDS   16       /* at most; processors beyond share them */
#define MINUTE   60000000 /* microseconds */
#define QUARTER  (15LL * MINUTE)
#define KEPT     64 /* copies of the totals */
#define QUARTERS 8  /* copies of all routes */

const int neo_statuses[NEO_STATUSES] = {
#define LISTED(status) status,
    NEO_EVERY_STATUS(LISTED)};

/* A copy of sums: as they were at the beginning of minute, or quarter, `tag`. 0: none yet. */
typedef struct {
    int64_t tag;
    char rest[LINE - sizeof(int64_t)];
} copy;

/* What follows it in memory: shards (a tally and the routes' tallies each), copies of the tally, copies of the routes, places
 * of processes. Each begins on a cache line. */
struct neo_figures {
    uint64_t is_made;
    int64_t started;
    int routes, processes, shards;
    int64_t minute, quarter; /* the last that was begun */
    struct {
        int64_t last, took;
        uint64_t runs, failures;
    } janitor;
    alignas(LINE) char rest[];
};

/* ---------------------------------------------------------------- where things are */

#define ON_LINES(size) (((size) + LINE - 1) / LINE * LINE)
#define TALLY          ON_LINES(sizeof(neo_tally))
#define ROUTE          ON_LINES(sizeof(neo_route_tally))

_Static_assert(sizeof(neo_process) == LINE && sizeof(copy) == LINE, "they have lines of their own");

static size_t shard_size(int routes)
{
    return TALLY + (size_t)routes * ROUTE;
}

static int shards_wanted(void)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    return processors < 1 ? 1 : processors > SHARDS ? SHARDS : (int)processors;
}

size_t neo_figures_size(int routes, int processes)
{
    return sizeof(neo_figures) + (size_t)shards_wanted() * shard_size(routes) + KEPT * (LINE + TALLY) +
           QUARTERS * (LINE + (size_t)routes * ROUTE) + (size_t)processes * sizeof(neo_process);
}

static char *shard_at(const neo_figures *f, int shard)
{
    return (char *)f->rest + (size_t)shard * shard_size(f->routes);
}

static neo_tally *tally_of(const neo_figures *f, int shard)
{
    return (neo_tally *)(void *)shard_at(f, shard);
}

static neo_route_tally *route_of(const neo_figures *f, int shard, int route)
{
    return (neo_route_tally *)(void *)(shard_at(f, shard) + TALLY + (size_t)route * ROUTE);
}

static copy *minute_at(const neo_figures *f, int64_t minute)
{
    return (copy *)(void *)(shard_at(f, f->shards) + (size_t)(minute % KEPT) * (LINE + TALLY));
}

static copy *quarter_at(const neo_figures *f, int64_t quarter)
{
    size_t one = LINE + (size_t)f->routes * ROUTE;
    return (copy *)(void *)((char *)minute_at(f, 0) + KEPT * (LINE + TALLY) + (size_t)(quarter % QUARTERS) * one);
}

static neo_process *process_at(const neo_figures *f, int place)
{
    size_t quarters = QUARTERS * (LINE + (size_t)f->routes * ROUTE);
    return (neo_process *)(void *)((char *)quarter_at(f, 0) + quarters) + place;
}

neo_figures *neo_figures_use(void *memory, int routes, int processes, long long now)
{
    neo_figures *f = memory;
    if (f->is_made)
        return f;
    f->started = now;
    f->routes = routes;
    f->processes = processes;
    f->shards = shards_wanted();
    f->minute = now / MINUTE;
    f->quarter = now / QUARTER;
    minute_at(f, f->minute)->tag = f->minute; /* copies of nothing: so it was when it began */
    quarter_at(f, f->quarter)->tag = f->quarter;
    f->is_made = 1;
    return f;
}

long long neo_figures_started(const neo_figures *figures)
{
    return figures->started;
}

/* ---------------------------------------------------------------- adding up */

static uint64_t get(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void add(uint64_t *word, uint64_t more)
{
    __atomic_fetch_add(word, more, __ATOMIC_RELAXED);
}

/* Tallies are numbers of 64 bits and nothing else. */
static void add_words(void *to, const void *from, size_t size)
{
    uint64_t *sum = to;
    const uint64_t *words = from;
    for (size_t i = 0; i < size / sizeof *sum; i++)
        sum[i] += get(&words[i]);
}

void neo_figures_subtract(void *from, const void *earlier, size_t size)
{
    uint64_t *words = from;
    const uint64_t *before = earlier;
    for (size_t i = 0; i < size / sizeof *words; i++)
        words[i] -= words[i] < before[i] ? words[i] : before[i];
}

void neo_figures_total(const neo_figures *figures, neo_tally *total)
{
    memset(total, 0, sizeof *total);
    for (int i = 0; i < figures->shards; i++)
        add_words(total, tally_of(figures, i), sizeof *total);
}

void neo_figures_route(const neo_figures *figures, int route, neo_route_tally *total)
{
    memset(total, 0, sizeof *total);
    for (int i = 0; i < figures->shards; i++)
        add_words(total, route_of(figures, i, route), sizeof *total);
}

/* ---------------------------------------------------------------- copies */

/* Begins period `now` if nobody has. A clock that steps back far begins anew. */
static int begin(int64_t *period, int64_t now)
{
    int64_t seen = __atomic_load_n(period, __ATOMIC_RELAXED);
    if (now == seen || (now < seen && now > seen - 2))
        return 0;
    return __atomic_compare_exchange_n(period, &seen, now, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void keep_minute(neo_figures *f, int64_t minute)
{
    copy *kept = minute_at(f, minute);
    neo_figures_total(f, (neo_tally *)(void *)(kept + 1));
    __atomic_store_n(&kept->tag, minute, __ATOMIC_RELEASE);
}

static void keep_quarter(neo_figures *f, int64_t quarter)
{
    copy *kept = quarter_at(f, quarter);
    for (int i = 0; i < f->routes; i++)
        neo_figures_route(f, i, (neo_route_tally *)(void *)((char *)(kept + 1) + (size_t)i * ROUTE));
    __atomic_store_n(&kept->tag, quarter, __ATOMIC_RELEASE);
}

/* To be called before anything is counted. Minutes in which nothing was need no copy: what came after them is theirs. */
static void turn(neo_figures *f, long long now)
{
    if (begin(&f->minute, now / MINUTE)) {
        keep_minute(f, now / MINUTE);
        if (begin(&f->quarter, now / QUARTER))
            keep_quarter(f, now / QUARTER);
    }
}

/* The copy made at the beginning of `from`, or the first one after it up to `to`. NULL: nothing was counted since. */
static const copy *copy_since(const neo_figures *f, copy *(*at)(const neo_figures *, int64_t), int64_t from, int64_t to)
{
    for (int64_t i = from; i <= to; i++) {
        const copy *kept = at(f, i);
        if (__atomic_load_n(&kept->tag, __ATOMIC_ACQUIRE) == i)
            return kept;
    }
    return NULL;
}

void neo_figures_minutes(neo_figures *figures, long long now, neo_tally sums[NEO_MINUTES + 1])
{
    int64_t last = now / MINUTE;
    turn(figures, now);
    neo_figures_total(figures, &sums[NEO_MINUTES]);
    for (int i = 0; i < NEO_MINUTES; i++) {
        const copy *kept = copy_since(figures, minute_at, last - NEO_MINUTES + 1 + i, last);
        sums[i] = kept ? *(const neo_tally *)(const void *)(kept + 1) : sums[NEO_MINUTES];
    }
}

void neo_figures_route_lately(neo_figures *figures, int route, long long now, neo_route_tally *lately, long long *since)
{
    int64_t last = now / QUARTER, first = last - 4;
    turn(figures, now);
    neo_figures_route(figures, route, lately);
    *since = figures->started > first * QUARTER ? figures->started : first * QUARTER;
    const copy *kept = copy_since(figures, quarter_at, first, last);
    if (!kept)
        return;
    neo_figures_subtract(lately, (const char *)(kept + 1) + (size_t)route * ROUTE, sizeof *lately);
}

/* ---------------------------------------------------------------- counting */

static int shard_here(const neo_figures *f)
{
    int processor = sched_getcpu();
    return processor < 0 ? 0 : processor % f->shards;
}

enum {
#define NUMBERED(status) STATUS_##status,
    NEO_EVERY_STATUS(NUMBERED)
};
_Static_assert(STATUS_505 == NEO_STATUSES - 1, "every status has a place");

/* A status's place, plus one. */
static const unsigned char places[600] = {
#define PLACED(status) [status] = 1 + STATUS_##status,
    NEO_EVERY_STATUS(PLACED)};

static int place_of(int status)
{
    if (status < 200 || status > 599)
        return STATUS_500;
    return (places[status] ? places[status] : places[status / 100 * 100]) - 1;
}

static void count(neo_histogram *histogram, long long microseconds)
{
    add(&histogram->count[neo_histogram_bucket(microseconds)], 1);
    add(&histogram->sum, microseconds > 0 ? (uint64_t)microseconds : 0);
}

void neo_figures_request(neo_figures *figures, int route, int status, long long took, long long now)
{
    int shard = shard_here(figures), place = place_of(status), class = neo_statuses[place] / 100 - 2;
    neo_tally *tally = tally_of(figures, shard);
    neo_route_tally *of_route = route_of(figures, shard, route);
    turn(figures, now);
    count(&tally->requests[class], took);
    count(&of_route->times[class], took);
    add(&of_route->statuses[place], 1);
    if (place == STATUS_429)
        add(&tally->limited, 1);
}

void neo_figures_borrowed(neo_figures *figures, long long waited, int is_connected)
{
    neo_tally *tally = tally_of(figures, shard_here(figures));
    count(&tally->wait, waited);
    if (!is_connected)
        add(&tally->unconnected, 1);
}

void neo_figures_returned(neo_figures *figures, long long lent)
{
    count(&tally_of(figures, shard_here(figures))->lent, lent);
}

const char *neo_attempt_name(neo_attempt kind)
{
    static const char *const names[NEO_ATTEMPT_KINDS] = {"success",          "http_error", "timeout",
                                                         "connection_error", "blocked",    "not_sent"};
    return names[kind];
}

neo_attempt neo_attempt_of(const char *error, int http_status)
{
    if (!error)
        return http_status >= 200 && http_status <= 299 ? NEO_ATTEMPT_OK : NEO_ATTEMPT_STATUS;
    return strcmp(error, "timeout") == 0           ? NEO_ATTEMPT_TIMEOUT
           : strcmp(error, "blocked_address") == 0 ? NEO_ATTEMPT_BLOCKED
           : strcmp(error, "not_sent") == 0        ? NEO_ATTEMPT_NOT_SENT
                                                   : NEO_ATTEMPT_CONNECTION;
}

void neo_figures_attempt(neo_figures *figures, neo_attempt kind, int is_end, long long took, long long now)
{
    neo_tally *tally = tally_of(figures, shard_here(figures));
    turn(figures, now);
    count(&tally->attempts, took);
    add(&tally->outcomes[kind], 1);
    if (is_end)
        add(kind == NEO_ATTEMPT_OK ? &tally->delivered : &tally->failed, 1);
}

/* ---------------------------------------------------------------- the janitor */

void neo_figures_tidied(neo_figures *figures, int is_done, long long took, long long now)
{
    add(is_done ? &figures->janitor.runs : &figures->janitor.failures, 1);
    if (!is_done)
        return;
    __atomic_store_n(&figures->janitor.last, now, __ATOMIC_RELAXED);
    __atomic_store_n(&figures->janitor.took, took, __ATOMIC_RELAXED);
}

void neo_figures_janitor(const neo_figures *figures, neo_janitor *janitor)
{
    *janitor = (neo_janitor){
        .last = __atomic_load_n(&figures->janitor.last, __ATOMIC_RELAXED),
        .took = __atomic_load_n(&figures->janitor.took, __ATOMIC_RELAXED),
        .runs = get(&figures->janitor.runs),
        .failures = get(&figures->janitor.failures),
    };
}

/* ---------------------------------------------------------------- processes */

static int is_alive(pid_t pid)
{
    return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

/* Where all places are taken it gets one that nobody looks at. */
neo_process *neo_figures_enter(neo_figures *figures, pid_t pid)
{
    static neo_process aside;
    for (int i = 0; i < figures->processes; i++) {
        neo_process *place = process_at(figures, i);
        pid_t owner = __atomic_load_n(&place->pid, __ATOMIC_RELAXED);
        if (owner != pid && is_alive(owner))
            continue;
        if (!__atomic_compare_exchange_n(&place->pid, &owner, pid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        memset((char *)place + sizeof place->pid, 0, sizeof *place - sizeof place->pid);
        return place;
    }
    return &aside;
}

void neo_figures_leave(neo_process *process)
{
    __atomic_store_n(&process->pid, 0, __ATOMIC_RELEASE);
}

void neo_figures_now(const neo_figures *figures, neo_process *sum, int *processes)
{
    memset(sum, 0, sizeof *sum);
    *processes = 0;
    for (int i = 0; i < figures->processes; i++) {
        const neo_process *one = process_at(figures, i);
        if (!is_alive(__atomic_load_n(&one->pid, __ATOMIC_RELAXED)))
            continue;
        ++*processes;
        sum->connections += one->connections;
        sum->lent += one->lent;
        sum->waiting += one->waiting;
        sum->in_flight += one->in_flight;
        sum->concurrency += one->concurrency;
        sum->is_delivering += one->is_delivering;
    }
}
