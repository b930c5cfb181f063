/* SPDX-License-Identifier: Apache-2.0 */
/* The length of the deployment's webhook queue, the lag of the event log, the background jobs, and the deployment's hosts and
 * servers. The cost does not depend on the length. */
#ifndef NEO_STATUS_BACKLOG_H
#define NEO_STATUS_BACKLOG_H

#include "jobs/jobs.h"

#define NEO_BACKLOG_MAX_COUNTED       10000 /* rows; beyond that PostgreSQL's estimate is used */
#define NEO_BACKLOG_MAX_SUBSCRIPTIONS 1000  /* subscriptions whose deliveries `due` and `oldest` take into account */
#define NEO_BACKLOG_MAX_BYTES         5000  /* bytes of each array of the deployment */

typedef struct neo_backlog {
    long long pending;      /* deliveries in flight, due or waiting for a retry */
    long long is_estimated; /* `pending` is an estimate */
    long long due;          /* deliveries of active subscriptions that could be sent now */
    long long is_more;      /* `due` is a lower bound */
    long long overdue;      /* milliseconds since the earliest due_at; 0: none is due */
    neo_ms oldest;          /* creation of the oldest pending delivery; 0 if there is none */
    long long log_holder;   /* the transaction that holds back the event log; 0 if there is none */
    long long log_lag; /* milliseconds for which it has been running; since it was first seen, if its start is not visible */
    long long failing, disabled; /* subscriptions */
    long long messages_stalled;  /* WhatsApp messages that have been pending for over ten minutes */
    neo_job_status jobs[NEO_MAX_JOBS];
    int job_count;
    char deployment[3 * NEO_BACKLOG_MAX_BYTES + 1000]; /* JSON (see status/deployment.h) */
} neo_backlog;

/* Failures are logged, and leave *backlog unchanged: the last result, or zeros. `elapsed`: milliseconds since then. */
NEO_MUSTCHECK neo_pg_status neo_backlog_read(neo_pg *pg, apr_pool_t *pool, long long elapsed, neo_backlog *backlog);

#endif
