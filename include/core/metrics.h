/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of this host, in shared memory of all httpd processes that survives graceful restarts.
 *
 * Counting needs no lock and no system call: each processor has its own counters on its own cache lines, and a reader sums
 * them. Counters only grow. The first count in a new minute stores a snapshot of the sums, from which rates of the last hour
 * are computed. Times are microseconds since 1970, durations microseconds. */
#ifndef NEO_CORE_METRICS_H
#define NEO_CORE_METRICS_H

#include <stddef.h>
#include <sys/types.h>

#include "core/histogram.h"
#include "core/metric_list.h"

/* The statuses that are counted separately. Any other counts as the first of its class (RFC 9110, section 15). */
/* clang-format off */
#define NEO_STATUS_LIST(X)                                                                                                    \
    X(200) X(201) X(202) X(204) X(207) X(300) X(301) X(302) X(304) X(400) X(401) X(403) X(404) X(405) X(408) X(409) X(410)     \
    X(411) X(412) X(413) X(414) X(415) X(417) X(421) X(422) X(429) X(431) X(500) X(501) X(502) X(503) X(505)
/* clang-format on */
#define NEO_STATUSES 32
extern const int neo_statuses[NEO_STATUSES];

/* 2xx, 3xx, 4xx, 5xx */
#define NEO_CLASSES 4

/* NEO_COUNT_RATE_LIMITED and so on; NEO_TIME_CONNECTION_WAIT and so on. The first NEO_CLASSES times are those of requests. */
#define NEO_METRIC_NONE(...)
#define NEO_COUNTER_NAME(id, ...)   NEO_COUNT_##id,
#define NEO_HISTOGRAM_NAME(id, ...) NEO_TIME_##id,
#define NEO_GAUGE_MEMBER(id, ...)   int id;
#define NEO_GAUGE_COUNT(id, ...)    +1
typedef enum neo_counter {
    NEO_METRIC_LIST(NEO_COUNTER_NAME, NEO_METRIC_NONE, NEO_METRIC_NONE, NEO_METRIC_NONE, NEO_METRIC_NONE) NEO_COUNTERS
} neo_counter;
typedef enum neo_timing {
    NEO_METRIC_LIST(NEO_METRIC_NONE, NEO_HISTOGRAM_NAME, NEO_METRIC_NONE, NEO_METRIC_NONE, NEO_METRIC_NONE) NEO_TIMINGS
} neo_timing;
enum { NEO_GAUGES = 0 NEO_METRIC_LIST(NEO_METRIC_NONE, NEO_METRIC_NONE, NEO_GAUGE_COUNT, NEO_METRIC_NONE, NEO_METRIC_NONE) };

/* The counter of an attempt to deliver a webhook with this result: the courier's error word, such as "timeout", or NULL and
 * the HTTP status. */
neo_counter neo_attempt_counter(const char *error, int http_status);

/* Counters of the host. Every member must consist of 64-bit integers: they are summed as an array. */
typedef struct neo_counters {
    neo_histogram times[NEO_TIMINGS];
    uint64_t counts[NEO_COUNTERS];
} neo_counters;

/* Counters of a route; also only 64-bit integers. */
typedef struct neo_route_counters {
    neo_histogram times[NEO_CLASSES];
    uint64_t statuses[NEO_STATUSES]; /* in the order of neo_statuses */
} neo_route_counters;

/* Gauges of one process, which fill a cache line. */
typedef struct neo_process {
    pid_t pid; /* 0 if the slot is free */
    NEO_METRIC_LIST(NEO_METRIC_NONE, NEO_METRIC_NONE, NEO_GAUGE_MEMBER, NEO_METRIC_NONE, NEO_METRIC_NONE)
    char rest[64 - sizeof(pid_t) - NEO_GAUGES * sizeof(int)];
} neo_process;

typedef struct neo_metrics neo_metrics;

/* The size of the shared memory in bytes. neo_metrics_attach initializes memory that is all zeros and reuses any other. */
size_t neo_metrics_size(int routes, int processes);
neo_metrics *neo_metrics_attach(void *memory, int routes, int processes, long long now);

long long neo_metrics_started(const neo_metrics *metrics);

/* The `shared` of neo_clock_start, for all processes of the host. */
long long *neo_metrics_clock_offset(neo_metrics *metrics);

/* ---- writing */

void neo_metrics_request(neo_metrics *metrics, int route, int status, long long took, long long now);
void neo_metrics_count(neo_metrics *metrics, neo_counter counter, int times);
void neo_metrics_time(neo_metrics *metrics, neo_timing timing, long long took);

/* An attempt with the counter of neo_attempt_counter. `is_end`: it was the last one of the delivery. */
void neo_metrics_attempt(neo_metrics *metrics, neo_counter outcome, int is_end, long long took, long long now);

/* The process's slot, which only it writes to. The slot of a process that died without unregistering is reused. Never NULL. */
neo_process *neo_metrics_register(neo_metrics *metrics, pid_t pid);
void neo_metrics_unregister(neo_process *process);

/* ---- reading */

void neo_metrics_total(const neo_metrics *metrics, neo_counters *total);
void neo_metrics_route(const neo_metrics *metrics, int route, neo_route_counters *total);

/* Subtracts an earlier snapshot of `size` bytes of counters. Clamps at 0: counters are read while they are updated. */
void neo_metrics_subtract(void *from, const void *earlier, size_t size);

#define NEO_MINUTES 60
/* The sums at the start of each of the last 60 minutes, oldest first, and in sums[NEO_MINUTES] the current ones. */
void neo_metrics_minutes(neo_metrics *metrics, long long now, neo_counters sums[NEO_MINUTES + 1]);

/* A route's counts since `*since`: 60 to 75 minutes ago, or the start. */
void neo_metrics_route_recent(neo_metrics *metrics, int route, long long now, neo_route_counters *recent, long long *since);

/* The sum over all live processes; `*processes` is their number. */
void neo_metrics_current(const neo_metrics *metrics, neo_process *sum, int *processes);

#endif
