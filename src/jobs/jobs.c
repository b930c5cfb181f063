/* SPDX-License-Identifier: Apache-2.0 */
/* The table of background jobs, and the loop that runs them (see jobs/jobs.h).
 *
 * A row of neoapi.job says when a job is due. A process that claims it sets that to the end of a lease, and when it has run the
 * job, to the time of the next run. If the process ends in between, another one claims the job after the lease. */
#include "jobs/jobs.h"

#include <apr_strings.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread.h"
#include "jobs/jobs.sql.h"
#include "pg/pg.h"
#include "sql/audit.h"
#include "sql/expiry.h"
#include "sql/subject.h"
#include "sql/usage.h"
#include "webhooks/outbox.h"

#define MAX_RUN_MS    20000 /* then the job is due again at once, so that others get their turn */
#define STEP_DELAY_MS 50    /* between the steps of a run, in which others use the database */
#define MAX_SLEEP_MS  5000
#define MAX_EXPIRING  100 /* credentials in a step */
#define SPREAD_MS     200 /* so that not all processes ask for the same job at once */

/* A run cannot outlast its lease, so that it need not be renewed: after MAX_RUN_MS at most three statements follow, with the
 * one that records the run. Each ends in twice NEO_PG_TIMEOUT_S (11 s), also if it is executed again over a new connection, for
 * which mod_dbd waits connect_timeout. */
#define LEASE_S 120

struct neo_jobs {
    neo_jobs_host host;
    apr_pool_t *pool; /* for one step */
    neo_ms run_end;   /* neo_steady_ms from which on the job that is running begins nothing */
    int are_added;
    int is_stopping;
    pthread_mutex_t mutex;
    pthread_cond_t stopped;
};

/* What a step of a job has done. */
typedef struct {
    neo_pg_status status;
    int has_more;  /* there is another step */
    int is_queued; /* deliveries may have been queued */
} step_result;

/* ---------------------------------------------------------------- steps */

static step_result expire_due(const neo_jobs *jobs, neo_pg *pg)
{
    int count = 0;
    neo_pg_status status = neo_expiry_run(pg, jobs->run_end, jobs->pool, &count);
    return (step_result){status, count >= NEO_EXPIRY_BATCH, count > 0};
}

static step_result announce_failing(const neo_jobs *jobs, neo_pg *pg)
{
    int count = 0;
    neo_pg_status status = neo_outbox_announce_failing(pg, jobs->pool, &count);
    return (step_result){status, count >= NEO_OUTBOX_ANNOUNCED, count > 0};
}

static step_result fail_deleted(const neo_jobs *jobs, neo_pg *pg)
{
    int more = 0;
    neo_pg_status status = neo_outbox_fail_deleted(pg, jobs->pool, &more);
    return (step_result){status, more, 0};
}

static step_result wake_parked(const neo_jobs *jobs, neo_pg *pg)
{
    int count = 0;
    neo_pg_status status = neo_outbox_wake_parked(pg, jobs->pool, &count);
    return (step_result){status, 0, count > 0};
}

static step_result announce_expiring(const neo_jobs *jobs, neo_pg *pg)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run(pg, NEO_BIND(announce_expiring, APR_STRINGIFY(MAX_EXPIRING)), jobs->pool, &rows);
    int is_done = status == NEO_PG_OK && rows.count;
    return (step_result){status, is_done && atoi(neo_rows_value(&rows, 0, 0)) == MAX_EXPIRING,
                         is_done && atoi(neo_rows_value(&rows, 0, 1)) > 0};
}

static step_result cleanup(const neo_jobs *jobs, neo_pg *pg)
{
    int more = 0;
    neo_pg_status status = neo_outbox_cleanup(pg, jobs->host.retention, jobs->host.event_retention, jobs->pool, &more);
    return (step_result){status, more, 0};
}

static step_result expire_audit(const neo_jobs *jobs, neo_pg *pg)
{
    int count = 0;
    neo_pg_status status = neo_audit_expire(pg, jobs->pool, &count);
    return (step_result){status, count >= NEO_AUDIT_EXPIRED, 0};
}

static step_result expire_usage(const neo_jobs *jobs, neo_pg *pg)
{
    return (step_result){neo_usage_expire(pg, jobs->pool), 0, 0};
}

static step_result erase(const neo_jobs *jobs, neo_pg *pg)
{
    int has_more = 0;
    neo_pg_status status = neo_erasure_step(pg, NULL, NULL, jobs->pool, &has_more);
    return (step_result){status, has_more, has_more};
}

static step_result run_retention(const neo_jobs *jobs, neo_pg *pg)
{
    int has_more = 0;
    neo_pg_status status = neo_retention_run(pg, jobs->pool, &has_more);
    return (step_result){status, has_more, 0};
}

static step_result release_restricted(const neo_jobs *jobs, neo_pg *pg)
{
    return (step_result){neo_restricted_release(pg, jobs->pool), 0, 0};
}

/* ---------------------------------------------------------------- the table */

static const struct {
    const char *name;
    int interval; /* seconds */
    step_result (*step)(const neo_jobs *jobs, neo_pg *pg);
    const char *description;
} table[] = {
    {"expire", 30, expire_due, "expires proposals and contracts after their last day"},
    {"fail_deleted", 2, fail_deleted, "fails the pending deliveries of deleted subscriptions"},
    {"wake_parked", 60, wake_parked, "sends ordered deliveries that wait although none is before them"},
    {"announce_failing", 5, announce_failing, "adds webhook.failing for subscriptions that have failed for ten minutes"},
    {"announce_expiring", 60, announce_expiring, "adds credential.expiring 30 and 7 days before a credential expires"},
    {"retention", 60, run_retention, "begins the erasures of records that the organizations' rules of retention name"},
    {"erase", 5, erase, "continues the erasures of persons that requests have begun"},
    {"release_restricted", 3600, release_restricted, "deletes the data of erased persons that the law no longer keeps"},
    {"cleanup", 60, cleanup, "removes old deliveries, events and idempotency keys; adds the partitions of the next days"},
    {"expire_audit", 86400, expire_audit, "removes entries of the audit log after five years"},
    {"expire_usage", 86400, expire_usage, "removes what credentials have used after two years"},
};
enum { COUNT = sizeof table / sizeof *table };
_Static_assert(COUNT <= NEO_MAX_JOBS, "a report has room for all jobs");

/* ---------------------------------------------------------------- statements */

enum { CLAIMED_NAME, CLAIMED_NEXT };
enum { NAME, RUNS, FAILURES, SUCCEEDED, FAILED, DURATION };

static const char *job_names(apr_pool_t *pool)
{
    neo_buf array;
    neo_buf_init(&array, pool, 128);
    for (int i = 0; i < COUNT; i++)
        neo_array_add_plain(&array, table[i].name);
    return neo_array_end(&array);
}

static long long number_at(const neo_rows *rows, int row, int column)
{
    const char *text = neo_rows_value(rows, row, column);
    return text ? atoll(text) : -1;
}

static int job_named(const char *name)
{
    int job = 0;
    while (job < COUNT && strcmp(table[job].name, name) != 0)
        job++;
    return job;
}

const char *neo_job_description(const char *name)
{
    int job = job_named(name);
    return job < COUNT ? table[job].description : "";
}

neo_pg_status neo_jobs_read(neo_pg *pg, apr_pool_t *pool, neo_job_status jobs[NEO_MAX_JOBS], int *count)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run(pg, NEO_QUERY(read_jobs_sql, 0), NULL, pool, &rows);
    *count = status == NEO_PG_OK ? rows.count : 0;
    if (*count > NEO_MAX_JOBS)
        *count = NEO_MAX_JOBS;
    for (int i = 0; i < *count; i++) {
        jobs[i] = (neo_job_status){.runs = number_at(&rows, i, RUNS),
                                   .failures = number_at(&rows, i, FAILURES),
                                   .succeeded = number_at(&rows, i, SUCCEEDED),
                                   .failed = number_at(&rows, i, FAILED),
                                   .duration = number_at(&rows, i, DURATION)};
        apr_cpystrn(jobs[i].name, neo_rows_value(&rows, i, NAME), sizeof jobs[i].name);
    }
    return status;
}

/* ---------------------------------------------------------------- running */

/* Returns true if the jobs must stop. */
static int sleep_for(neo_jobs *jobs, neo_ms milliseconds)
{
    neo_ms until = neo_steady_ms() + milliseconds;
    pthread_mutex_lock(&jobs->mutex);
    while (!jobs->is_stopping && neo_cond_wait(&jobs->stopped, &jobs->mutex, until))
        continue;
    int is_stopping = jobs->is_stopping;
    pthread_mutex_unlock(&jobs->mutex);
    return is_stopping;
}

/* Runs the steps of a job, with a connection for each. */
static step_result run_steps(neo_jobs *jobs, int job)
{
    step_result result = {.has_more = 1};
    int is_queued = 0;
    do {
        neo_pg *pg = jobs->host.acquire(jobs->host.context);
        result = pg ? table[job].step(jobs, pg) : (step_result){.status = NEO_PG_UNAVAILABLE};
        if (pg)
            jobs->host.release(jobs->host.context, pg);
        apr_pool_clear(jobs->pool);
        is_queued |= result.is_queued;
    } while (result.status == NEO_PG_OK && result.has_more && neo_steady_ms() < jobs->run_end &&
             !sleep_for(jobs, STEP_DELAY_MS));
    result.is_queued = is_queued;
    return result;
}

/* If the job fails, it is due again after the lease. */
static void run_job(neo_jobs *jobs, int job)
{
    neo_ms begun = neo_steady_ms();
    jobs->run_end = begun + MAX_RUN_MS;
    const step_result result = run_steps(jobs, job);
    neo_pg *pg = jobs->host.acquire(jobs->host.context);
    neo_rows rows;
    int is_success = result.status == NEO_PG_OK, interval = is_success && result.has_more ? 0 : table[job].interval;
    if (pg) {
        (void)!neo_pg_run(pg,
                          NEO_BIND(record_job, .name = table[job].name, .is_success = is_success ? "true" : "false",
                                   .duration = apr_itoa(jobs->pool, (int)(neo_steady_ms() - begun)),
                                   .interval = apr_itoa(jobs->pool, interval)),
                          jobs->pool, &rows);
        jobs->host.release(jobs->host.context, pg);
    }
    if (result.is_queued)
        jobs->host.notify_dispatcher(jobs->host.context);
}

/* Adds the jobs that the deployment has not run yet, and claims one that is due, so that no other process gets it for LEASE_S,
 * or until its run is recorded. Returns COUNT if none is due, and sets *next to the milliseconds until the next one is; -1 if
 * it is not known. */
static int claim_job(neo_jobs *jobs, neo_ms *next)
{
    neo_pg *pg = jobs->host.acquire(jobs->host.context);
    neo_rows rows;
    int job = COUNT;
    *next = -1;
    if (!pg)
        return COUNT;
    const char *names = job_names(jobs->pool);
    if (!jobs->are_added)
        jobs->are_added = neo_pg_run(pg, NEO_BIND(add_jobs, names), jobs->pool, &rows) == NEO_PG_OK;
    if (jobs->are_added && neo_pg_run(pg, NEO_BIND(claim_job, names, APR_STRINGIFY(LEASE_S)), jobs->pool, &rows) == NEO_PG_OK) {
        const char *name = neo_rows_value(&rows, 0, CLAIMED_NAME);
        *next = number_at(&rows, 0, CLAIMED_NEXT);
        if (name)
            job = job_named(name);
        else if (*next < 0) /* there is no row, for example after a restore */
            jobs->are_added = 0;
    }
    jobs->host.release(jobs->host.context, pg);
    apr_pool_clear(jobs->pool);
    return job;
}

void neo_jobs_run(neo_jobs *jobs)
{
    unsigned int seed = (unsigned int)neo_steady_ms();
    neo_ms next = 0;
    while (!sleep_for(jobs, next)) {
        int job = claim_job(jobs, &next);
        if (job < COUNT) {
            run_job(jobs, job);
            next = 0;
        } else
            next = (next < 0 || next > MAX_SLEEP_MS ? MAX_SLEEP_MS : next) + rand_r(&seed) % SPREAD_MS;
    }
}

void neo_jobs_stop(neo_jobs *jobs)
{
    pthread_mutex_lock(&jobs->mutex);
    jobs->is_stopping = 1;
    pthread_cond_signal(&jobs->stopped);
    pthread_mutex_unlock(&jobs->mutex);
}

neo_jobs *neo_jobs_make(const neo_jobs_host *host, apr_pool_t *pool)
{
    neo_jobs *jobs = apr_pcalloc(pool, sizeof *jobs);
    jobs->host = *host;
    apr_pool_create(&jobs->pool, pool);
    neo_cond_init(&jobs->stopped);
    neo_mutex_init(&jobs->mutex);
    return jobs;
}
