/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a courier, the exporter of spans and the background jobs in threads (see httpd/dispatcher.h). */
#include "httpd/dispatcher.h"

#include <apr_strings.h>
#include <string.h>

#include "core/thread.h"
#include "httpd/config.h"
#include "httpd/log.h"
#include "httpd/shared_memory.h"

/* What a background thread needs to use the database. It is the first member of the threads' structs. */
typedef struct {
    neo_database *database;
    apr_pool_t *pool; /* the thread's own */
    neo_log_context log_context;
    neo_db_lease lease;
} db_client;

struct neo_dispatcher {
    db_client client;
    neo_courier *courier;
};

typedef struct {
    db_client client;
    neo_jobs *jobs;
    neo_dispatcher *dispatcher; /* NULL if this host does not deliver */
} job_thread;

static neo_pg *acquire_for_thread(void *context)
{
    db_client *client = context;
    return neo_database_acquire(client->database, &client->lease, &client->log_context, client->pool);
}

static void release_for_thread(void *context, neo_pg *pg)
{
    neo_database_release(((db_client *)context)->database, pg);
}

static apr_status_t destroy_pool(void *data)
{
    apr_pool_destroy(data);
    return APR_SUCCESS;
}

/* A thread's own pool. The pre-cleanup is registered before the thread's, so it runs after the thread has ended. */
static apr_pool_t *make_thread_pool(apr_pool_t *pchild)
{
    apr_pool_t *pool;
    apr_pool_create_unmanaged_ex(&pool, NULL, NULL);
    apr_pool_pre_cleanup_register(pchild, pool, destroy_pool);
    return pool;
}

static void *make_client(apr_size_t size, apr_pool_t *pchild, server_rec *server, neo_database *database)
{
    db_client *client = apr_pcalloc(pchild, size);
    client->pool = make_thread_pool(pchild);
    client->database = database;
    client->log_context.server = server;
    client->lease.is_background = 1;
    return client;
}

/* ---------------------------------------------------------------- spans */

static void run_exporter(void *data)
{
    neo_span_exporter_run(data);
}

static void stop_exporter(void *data)
{
    neo_span_exporter_stop(data);
}

neo_span_exporter *neo_span_thread_start(apr_pool_t *pchild, server_rec *server)
{
    const neo_server_config *config = neo_get_server_config(server);
    if (!config->trace_collector)
        return NULL;
    const neo_span_exporter_settings settings = {
        .url = config->trace_collector,
        .share = (int)NEO_CONFIG_NUMBER(config, trace_sampling),
        .host_name = neo_config_host_name(server, pchild),
        .metrics = neo_shared_metrics_get()->metrics,
    };
    neo_span_exporter *exporter = neo_span_exporter_make(&settings, make_thread_pool(pchild));
    if (exporter)
        neo_thread_start(pchild, run_exporter, stop_exporter, exporter);
    return exporter;
}

/* ---------------------------------------------------------------- the courier */

/* Counts with the limiter of credentials, whose names differ from these. */
static neo_ms admit_delivery(void *context, const char *organization, const char *receiver, int per_hour)
{
    const neo_dispatcher *dispatcher = context;
    char name[NEO_LEASE_NAME_SIZE];
    neo_allowance allowance;
    apr_snprintf(name, sizeof name, "%s %s", organization, receiver);
    const neo_site *site = neo_get_server_config(dispatcher->client.log_context.server)->site;
    neo_lease_count(site->leases, site->credentials, &(neo_shared_limit){name, per_hour, 3600, 0}, 1, &allowance);
    return allowance.is_exceeded ? allowance.reset * 1000 : 0;
}

static void run_courier(void *data)
{
    neo_courier_run(((neo_dispatcher *)data)->courier);
}

static void stop_courier(void *data)
{
    neo_courier_stop(((neo_dispatcher *)data)->courier, NEO_COURIER_STOP);
}

neo_dispatcher *neo_dispatcher_start(apr_pool_t *pchild, server_rec *server, neo_database *database,
                                     const neo_courier_settings *settings)
{
    if (settings->concurrency == 0)
        return NULL;
    neo_dispatcher *dispatcher = make_client(sizeof *dispatcher, pchild, server, database);
    dispatcher->client.lease.is_internal = 1;
    const neo_courier_host host = {acquire_for_thread, release_for_thread, admit_delivery, dispatcher};
    const neo_shared_metrics *shared = neo_shared_metrics_get();
    neo_courier_settings counted = *settings;
    counted.metrics =
        (neo_courier_metrics){shared->metrics, shared->receivers, shared->process, neo_get_server_config(server)->site->usage};
    dispatcher->courier = neo_courier_make(&counted, &host, dispatcher->client.pool);
    if (!dispatcher->courier)
        return NULL;
    __atomic_fetch_add(&shared->process->concurrency, settings->concurrency, __ATOMIC_RELAXED);
    neo_thread_start(pchild, run_courier, stop_courier, dispatcher);
    return dispatcher;
}

/* After failures the thread does not use the database for a while. */
static void end_pause(neo_dispatcher *dispatcher)
{
    __atomic_store_n(&dispatcher->client.lease.paused_until, 0, __ATOMIC_RELAXED);
}

/* A write has succeeded, so the database works. */
void neo_dispatcher_wake(neo_dispatcher *dispatcher)
{
    end_pause(dispatcher);
    neo_courier_wake(dispatcher->courier);
}

void neo_dispatcher_set_drained(neo_dispatcher *dispatcher, int is_drained)
{
    neo_courier_set_drained(dispatcher->courier, is_drained);
}

void neo_dispatcher_stop(neo_dispatcher *dispatcher, int graceful)
{
    end_pause(dispatcher); /* the last results are recorded */
    neo_courier_stop(dispatcher->courier, graceful ? NEO_COURIER_STOP_GRACEFULLY : NEO_COURIER_STOP);
}

/* ---------------------------------------------------------------- jobs */

static void wake_dispatcher(void *context)
{
    const job_thread *thread = context;
    if (thread->dispatcher)
        neo_dispatcher_wake(thread->dispatcher);
}

static void run_jobs(void *data)
{
    neo_jobs_run(((job_thread *)data)->jobs);
}

static void stop_jobs(void *data)
{
    neo_jobs_stop(((job_thread *)data)->jobs);
}

void neo_job_thread_start(apr_pool_t *pchild, server_rec *server, neo_database *database, neo_dispatcher *dispatcher)
{
    const neo_server_config *config = neo_get_server_config(server);
    job_thread *thread = make_client(sizeof *thread, pchild, server, database); /* it waits in the queue of the requests */
    const neo_jobs_host host = {acquire_for_thread,
                                release_for_thread,
                                wake_dispatcher,
                                thread,
                                (int)NEO_CONFIG_NUMBER(config, webhook_retention),
                                (int)NEO_CONFIG_NUMBER(config, event_retention)};
    thread->dispatcher = dispatcher;
    thread->jobs = neo_jobs_make(&host, thread->client.pool);
    neo_thread_start(pchild, run_jobs, stop_jobs, thread);
}
