/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a courier in a thread (see httpd/dispatcher.h). */
#include "httpd/dispatcher.h"

#include <apr_strings.h>
#include <string.h>

#include "httpd/config.h"
#include "httpd/log.h"
#include "httpd/shared_metrics.h"
#include "httpd/thread.h"

struct neo_dispatcher {
    neo_courier *courier;
    neo_database *database;
    apr_pool_t *pool; /* the thread's own */
    neo_log_context log_context;
    neo_db_lease lease;
};

static neo_pg *acquire(void *context)
{
    neo_dispatcher *dispatcher = context;
    return neo_database_acquire(dispatcher->database, &dispatcher->lease, &dispatcher->log_context, dispatcher->pool);
}

static void release(void *context, neo_pg *pg)
{
    neo_database_release(((neo_dispatcher *)context)->database, pg);
}

/* Counts with the limiter of credentials, whose names differ from these. */
static neo_ms admit(void *context, const char *organization, const char *receiver, int per_hour)
{
    const neo_dispatcher *dispatcher = context;
    char name[NEO_ID_SIZE + NEO_HOST_SIZE];
    neo_allowance allowance;
    apr_snprintf(name, sizeof name, "%s %s", organization, receiver);
    neo_limiter_count(neo_server_config_of(dispatcher->log_context.server)->site->credentials, (neo_text){name, strlen(name)},
                      1, per_hour, 3600, neo_now_ms() / 1000, &allowance);
    return allowance.is_exceeded ? allowance.reset * 1000 : 0;
}

static void run(void *data)
{
    neo_courier_run(((neo_dispatcher *)data)->courier);
}

static void stop(void *data)
{
    neo_courier_stop(((neo_dispatcher *)data)->courier, NEO_COURIER_STOP);
}

static apr_status_t destroy(void *data)
{
    apr_pool_destroy(((neo_dispatcher *)data)->pool);
    return APR_SUCCESS;
}

neo_dispatcher *neo_dispatcher_start(apr_pool_t *pchild, server_rec *server, neo_database *database,
                                     const neo_courier_settings *settings)
{
    if (settings->concurrency == 0)
        return NULL;
    neo_dispatcher *dispatcher = apr_pcalloc(pchild, sizeof *dispatcher);
    apr_pool_create_unmanaged_ex(&dispatcher->pool, NULL, NULL);
    dispatcher->database = database;
    dispatcher->log_context.server = server;
    dispatcher->lease.is_internal = dispatcher->lease.is_background = 1;
    neo_courier_host host = {acquire, release, admit, dispatcher};
    const neo_shared_metrics *shared = neo_shared_metrics_get();
    neo_courier_settings counted = *settings;
    counted.metrics = (neo_courier_metrics){shared->metrics, shared->receivers, shared->process};
    dispatcher->courier = neo_courier_make(&counted, &host, dispatcher->pool);
    /* Registered before the thread's pre-cleanup, so it runs after the thread has ended. */
    apr_pool_pre_cleanup_register(pchild, dispatcher, destroy);
    if (!dispatcher->courier)
        return NULL;
    neo_courier_metrics_begin(&counted.metrics, settings->concurrency);
    neo_thread_start(pchild, run, stop, dispatcher);
    return dispatcher;
}

void neo_dispatcher_wake(neo_dispatcher *dispatcher)
{
    __atomic_store_n(&dispatcher->lease.paused_until, 0, __ATOMIC_RELAXED); /* a write has succeeded */
    neo_courier_wake(dispatcher->courier);
}

void neo_dispatcher_stop(neo_dispatcher *dispatcher, int graceful)
{
    neo_courier_stop(dispatcher->courier, graceful ? NEO_COURIER_STOP_GRACEFULLY : NEO_COURIER_STOP);
}
