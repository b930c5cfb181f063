/* SPDX-License-Identifier: Apache-2.0 */
/* Background jobs: what is done from time to time for the whole deployment, by one process at a time. */
#ifndef NEO_JOBS_JOBS_H
#define NEO_JOBS_JOBS_H

#include "core/clock.h"
#include "pg/pg.h"

#define NEO_JOB_NAME_SIZE 32
#define NEO_MAX_JOBS      16

/* What the host provides. */
typedef struct neo_jobs_host {
    neo_pg *(*acquire)(void *context); /* NULL: the database is unavailable */
    void (*release)(void *context, neo_pg *pg);
    void (*notify_dispatcher)(void *context); /* deliveries may have been queued */
    void *context;
    int retention;       /* days that old deliveries are kept */
    int event_retention; /* days that events are kept */
} neo_jobs_host;

/* The state of a job. Times are in milliseconds since 1970; -1: never. */
typedef struct neo_job_status {
    char name[NEO_JOB_NAME_SIZE];
    long long runs, failures;
    neo_ms succeeded, failed; /* the last time */
    neo_ms duration;          /* the last run's */
} neo_job_status;

/* The jobs of the deployment; sets *count to at most NEO_MAX_JOBS. */
NEO_MUSTCHECK neo_pg_status neo_jobs_read(neo_pg *pg, apr_pool_t *pool, neo_job_status jobs[NEO_MAX_JOBS], int *count);

/* What the job does, in a few words; "" if this version does not have it. */
const char *neo_job_description(const char *name);

typedef struct neo_jobs neo_jobs;

/* The pool belongs to the jobs from now on. */
neo_jobs *neo_jobs_make(const neo_jobs_host *host, apr_pool_t *pool);

/* Runs the jobs when they are due, until neo_jobs_stop, which may be called from any thread. A run ends after its current step,
 * which is one statement or a few. */
void neo_jobs_run(neo_jobs *jobs);
void neo_jobs_stop(neo_jobs *jobs);

#endif
