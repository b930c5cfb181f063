/* SPDX-License-Identifier: Apache-2.0 */
/* Background jobs: what is done from time to time for the whole deployment, by one process at a time. */
#ifndef NEO_JOBS_JOBS_H
#define NEO_JOBS_JOBS_H

#include "pg/pg.h"

/* What the host provides. */
typedef struct neo_jobs_host {
    neo_pg *(*acquire)(void *context); /* NULL: the database is unavailable */
    void (*release)(void *context, neo_pg *pg);
    void (*notify_dispatcher)(void *context); /* deliveries may have been queued */
    void *context;
    int retention;       /* days that old deliveries are kept */
    int event_retention; /* days that events are kept */
} neo_jobs_host;

/* What the job does, in a few words; "" if this version does not have it. */
const char *neo_job_description(const char *name);

typedef struct neo_jobs neo_jobs;

/* Call it once in a process, before the first jobs run. */
void neo_jobs_make_statements(apr_pool_t *pool);

/* The pool belongs to the jobs from now on. */
neo_jobs *neo_jobs_make(const neo_jobs_host *host, apr_pool_t *pool);

/* Runs the jobs when they are due, until neo_jobs_stop, which may be called from any thread. A run ends after its current step,
 * which is one statement or a few. */
void neo_jobs_run(neo_jobs *jobs);
void neo_jobs_stop(neo_jobs *jobs);

#endif
