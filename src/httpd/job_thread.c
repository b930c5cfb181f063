/* SPDX-License-Identifier: Apache-2.0 */
/* Runs background jobs in a thread (see httpd/job_thread.h). */
#include "httpd/job_thread.h"

#include "httpd/config.h"
#include "httpd/log.h"
#include "httpd/thread.h"

typedef struct {
    neo_jobs *jobs;
    neo_database *database;
    neo_dispatcher *dispatcher;
    apr_pool_t *pool; /* the thread's own */
    neo_log_context log_context;
    neo_db_lease lease;
} job_thread;

/* Waits in the queue of the requests: jobs are less urgent. */
static neo_pg *acquire(void *context)
{
    job_thread *thread = context;
    return neo_database_acquire(thread->database, &thread->lease, &thread->log_context, thread->pool);
}

static void release(void *context, neo_pg *pg)
{
    neo_database_release(((job_thread *)context)->database, pg);
}

static void notify_dispatcher(void *context)
{
    const job_thread *thread = context;
    if (thread->dispatcher)
        neo_dispatcher_wake(thread->dispatcher);
}

static void run(void *data)
{
    neo_jobs_run(((job_thread *)data)->jobs);
}

static void stop(void *data)
{
    neo_jobs_stop(((job_thread *)data)->jobs);
}

static apr_status_t destroy(void *data)
{
    apr_pool_destroy(((job_thread *)data)->pool);
    return APR_SUCCESS;
}

void neo_job_thread_start(apr_pool_t *pchild, server_rec *server, neo_database *database, neo_dispatcher *dispatcher)
{
    job_thread *thread = apr_pcalloc(pchild, sizeof *thread);
    const neo_server_config *config = neo_server_config_of(server);
    neo_jobs_host host = {acquire,
                          release,
                          notify_dispatcher,
                          thread,
                          (int)NEO_CONFIG_NUMBER(config, webhook_retention),
                          (int)NEO_CONFIG_NUMBER(config, event_retention)};
    apr_pool_create_unmanaged_ex(&thread->pool, NULL, NULL);
    thread->database = database;
    thread->dispatcher = dispatcher;
    thread->log_context.server = server;
    thread->lease.is_background = 1;
    thread->jobs = neo_jobs_make(&host, thread->pool);
    /* Registered before the thread's pre-cleanup, so it runs after the thread has ended. */
    apr_pool_pre_cleanup_register(pchild, thread, destroy);
    neo_thread_start(pchild, run, stop, thread);
}
