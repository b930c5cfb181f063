/* SPDX-License-Identifier: Apache-2.0 */
/* The table of background jobs, and the loop that runs them (see jobs/jobs.h).
 *
 * A row of neoapi.job says when a job is due. A process that claims it sets that to the end of a lease, and when it has run the
 * job, to the time of the next run. If the process ends in between, another one claims the job after the lease. */
#include "jobs/jobs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/wait.h"
#include "jobs/job.h"
#include "sql/expiry.h"
#include "webhooks/outbox.h"

#define MAX_RUN_MS 20000 /* then the job is due again at once, so that others get their turn */
#define LEASE_S    120
/* A run cannot outlast its lease, so that it is never renewed: the last statements of a step begin before MAX_RUN_MS, are at
 * most three with that of neo_job_record, and each ends in twice NEO_PG_TIMEOUT_S (11 s), also if it is executed again over a
 * new connection, for which mod_dbd waits connect_timeout. */
#define STEP_DELAY_MS 50 /* between the steps of a run, in which others use the database */
#define MAX_SLEEP_MS  5000
#define SPREAD_MS     200 /* so that not all processes ask for the same job at once */

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

static step_result expire(const neo_jobs *jobs, neo_pg *pg)
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

static step_result cleanup(const neo_jobs *jobs, neo_pg *pg)
{
    int more = 0;
    neo_pg_status status = neo_outbox_cleanup(pg, jobs->host.retention, jobs->host.event_retention, jobs->pool, &more);
    return (step_result){status, more, 0};
}

/* ---------------------------------------------------------------- the table */

static const struct {
    const char *name;
    int interval; /* seconds */
    step_result (*step)(const neo_jobs *jobs, neo_pg *pg);
    const char *description;
} table[] = {
    {"expire", 30, expire, "expires proposals and contracts after their last day"},
    {"fail_deleted", 2, fail_deleted, "fails the pending deliveries of deleted subscriptions"},
    {"announce_failing", 5, announce_failing, "adds webhook.failing for subscriptions that have failed for ten minutes"},
    {"cleanup", 60, cleanup, "removes old deliveries, events and idempotency keys; adds the partitions of the next days"},
};
enum { COUNT = sizeof table / sizeof *table };
_Static_assert(COUNT <= NEO_MAX_JOBS, "a report has room for all jobs");

static const char *const *job_names(void)
{
    static const char *names[COUNT];
    for (int i = 0; i < COUNT; i++)
        names[i] = table[i].name;
    return names;
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

static void run_job(neo_jobs *jobs, int job)
{
    neo_ms begun = neo_steady_ms();
    jobs->run_end = begun + MAX_RUN_MS;
    const step_result result = run_steps(jobs, job);
    neo_pg *pg = jobs->host.acquire(jobs->host.context);
    int is_success = result.status == NEO_PG_OK, interval = is_success && result.has_more ? 0 : table[job].interval;
    /* If this fails, the job is due at the end of the lease. */
    if (pg) {
        (void)!neo_job_record(pg, table[job].name, is_success, neo_steady_ms() - begun, interval, jobs->pool);
        jobs->host.release(jobs->host.context, pg);
    }
    if (result.is_queued)
        jobs->host.notify_dispatcher(jobs->host.context);
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

/* Claims a job. Returns COUNT if none is due, and sets *next to the time until one may be. */
static int claim_job(neo_jobs *jobs, neo_ms *next)
{
    const char *name = NULL;
    neo_pg *pg = jobs->host.acquire(jobs->host.context);
    *next = -1;
    if (!pg)
        return COUNT;
    if (!jobs->are_added)
        jobs->are_added = neo_job_add(pg, job_names(), COUNT, jobs->pool) == NEO_PG_OK;
    neo_pg_status status = neo_job_claim(pg, job_names(), COUNT, LEASE_S, jobs->pool, &name, next);
    int job = status == NEO_PG_OK && name ? job_named(name) : COUNT;
    if (status == NEO_PG_OK && !name && *next < 0) /* there is no row, for example after a restore */
        jobs->are_added = 0;
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

void neo_jobs_make_statements(apr_pool_t *pool)
{
    neo_expiry_make_statements(pool);
    neo_job_make_statements(pool);
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
