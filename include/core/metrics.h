/* What this host has done, counted in memory that all processes of an httpd share and that outlives graceful restarts.
 *
 * Counting takes no lock and no system call: each processor has counters of its own, on cache lines of their own, and whoever
 * asks adds them up. Counters only ever grow. What was a minute, or an hour, ago is known from copies of the sums, which the
 * first one to count in a new minute makes. Moments are microseconds since 1970, durations microseconds. */
#ifndef NEO_CORE_METRICS_H
#define NEO_CORE_METRICS_H

#include <stddef.h>
#include <sys/types.h>

#include "core/histogram.h"

/* Statuses that are told apart; another one counts as its class's first (RFC 9110, section 15). */
/* clang-format off */
#define NEO_STATUS_LIST(X)                                                                                                    \
    X(200) X(201) X(202) X(204) X(207) X(300) X(301) X(302) X(304) X(400) X(401) X(403) X(404) X(405) X(408) X(409) X(410)     \
    X(411) X(412) X(413) X(414) X(415) X(417) X(421) X(422) X(429) X(431) X(500) X(501) X(502) X(503) X(505)
/* clang-format on */
#define NEO_STATUSES 32
extern const int neo_statuses[NEO_STATUSES];

/* 2xx, 3xx, 4xx, 5xx */
#define NEO_CLASSES 4

/* How an attempt to deliver a webhook ended. */
typedef enum neo_attempt {
    NEO_ATTEMPT_OK,     /* 2xx */
    NEO_ATTEMPT_STATUS, /* another status */
    NEO_ATTEMPT_TIMEOUT,
    NEO_ATTEMPT_CONNECTION, /* no name, no connection, no TLS, or it broke */
    NEO_ATTEMPT_BLOCKED,    /* by the guard of addresses */
    NEO_ATTEMPT_NOT_SENT,
    NEO_ATTEMPT_KINDS
} neo_attempt;
/* "success", "http_error" and so on. */
const char *neo_attempt_name(neo_attempt kind);
/* What a courier's word for what went wrong means; NULL: a status came. */
neo_attempt neo_attempt_of(const char *error, int http_status);

/* Of the whole host. Numbers of 64 bits and nothing else. */
typedef struct neo_counters {
    neo_histogram requests[NEO_CLASSES];
    neo_histogram wait;     /* for a connection to the database */
    neo_histogram held;     /* a connection: statements ran on it */
    neo_histogram attempts; /* to deliver a webhook */
    uint64_t limited;       /* requests answered with 429 */
    uint64_t no_connection; /* requests that found no connection */
    uint64_t outcomes[NEO_ATTEMPT_KINDS];
    uint64_t delivered, failed; /* webhooks that came to their end */
} neo_counters;

/* Of a route; likewise. */
typedef struct neo_route_counters {
    neo_histogram times[NEO_CLASSES];
    uint64_t statuses[NEO_STATUSES]; /* in the order of neo_statuses */
} neo_route_counters;

/* What one process does at the moment. */
typedef struct neo_process {
    pid_t pid;       /* 0: nobody's */
    int connections; /* to the database, at most */
    int in_use;      /* connections, its listener's included */
    int waiting;     /* for one */
    int in_flight;   /* attempts to deliver */
    int concurrency; /* at most so many of these */
    int is_delivering;
    char rest[64 - 7 * sizeof(int)];
} neo_process;

typedef struct neo_metrics neo_metrics;

/* The bytes that are needed for so many routes and processes, and figures in so many bytes of zeros, or in those that were in
 * use before. */
size_t neo_metrics_size(int routes, int processes);
neo_metrics *neo_metrics_attach(void *memory, int routes, int processes, long long now);

long long neo_metrics_started(const neo_metrics *metrics);

/* ---- counting */

void neo_metrics_request(neo_metrics *metrics, int route, int status, long long took, long long now);
void neo_metrics_connection_acquired(neo_metrics *metrics, long long waited, int is_connected);
void neo_metrics_connection_released(neo_metrics *metrics, long long held);

/* `is_end`: no further attempt at this delivery follows. */
void neo_metrics_attempt(neo_metrics *metrics, neo_attempt kind, int is_end, long long took, long long now);

/* The janitor has been through, or could not. */
void neo_metrics_cleanup(neo_metrics *metrics, int is_done, long long took, long long now);

/* A place for the process, to write to as it likes, until it leaves. One that died without leaving is followed by another.
 * Never NULL. */
neo_process *neo_metrics_register(neo_metrics *metrics, pid_t pid);
void neo_metrics_unregister(neo_process *process);

/* ---- asking */

void neo_metrics_total(const neo_metrics *metrics, neo_counters *total);
void neo_metrics_route(const neo_metrics *metrics, int route, neo_route_counters *total);

/* Takes earlier sums from later ones, which are tallies or a part of one. Sums are read while others count, so that one may be
 * ahead of what was read after it: that is nothing then, and not less. */
void neo_metrics_subtract(void *from, const void *earlier, size_t size);

#define NEO_MINUTES 60
/* The sums as they were at the beginning of each of the last minutes, this one's last, and after them as they are now. */
void neo_metrics_minutes(neo_metrics *metrics, long long now, neo_counters sums[NEO_MINUTES + 1]);

/* A route's counts since `*since`, which is between an hour and five quarters ago, or the start. */
void neo_metrics_route_recent(neo_metrics *metrics, int route, long long now, neo_route_counters *recent, long long *since);

/* All processes that live, added up; `processes` is how many. */
void neo_metrics_current(const neo_metrics *metrics, neo_process *sum, int *processes);

typedef struct neo_cleanup_stats {
    long long last; /* when it was through last; 0: not yet */
    long long took;
    uint64_t runs, failures;
} neo_cleanup_stats;
void neo_metrics_cleanup_stats(const neo_metrics *metrics, neo_cleanup_stats *cleanup);

#endif
