/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule of the background jobs, and the result of their last runs: one row a job, for all processes and hosts. */
#ifndef NEO_JOBS_JOB_H
#define NEO_JOBS_JOB_H

#include "core/clock.h"
#include "pg/pg.h"

#define NEO_JOB_NAME_SIZE 32
#define NEO_MAX_JOBS      16

/* Call it once in a process, at start-up. */
void neo_job_make_statements(apr_pool_t *pool);

/* Adds jobs that the deployment has not run yet. */
NEO_MUSTCHECK neo_pg_status neo_job_add(neo_pg *pg, const char *const *names, int count, apr_pool_t *pool);

/* Claims one of the jobs that is due. No other process gets it for `lease` seconds, or until neo_job_record. Sets *name to NULL
 * if none is due, and *next to the milliseconds until the next one is; -1: it is not known. */
NEO_MUSTCHECK neo_pg_status neo_job_claim(neo_pg *pg, const char *const *names, int count, int lease, apr_pool_t *pool,
                                          const char **name, neo_ms *next);

/* Records a run of `duration` milliseconds; the job is due again in `interval` seconds. */
NEO_MUSTCHECK neo_pg_status neo_job_record(neo_pg *pg, const char *name, int is_success, neo_ms duration, int interval,
                                           apr_pool_t *pool);

/* The state of a job. Times are in milliseconds since 1970; -1: never. */
typedef struct neo_job_status {
    char name[NEO_JOB_NAME_SIZE];
    long long runs, failures;
    neo_ms succeeded, failed; /* the last time */
    neo_ms duration;          /* of the last run */
} neo_job_status;

/* Sets *count to at most NEO_MAX_JOBS. */
NEO_MUSTCHECK neo_pg_status neo_job_read(neo_pg *pg, apr_pool_t *pool, neo_job_status jobs[NEO_MAX_JOBS], int *count);

#endif
