/* SPDX-License-Identifier: Apache-2.0 */
/* Listens for changes of credentials, wakes requests that wait for events, records the host, and frees the claims of processes
 * that have ended (see httpd/listener.h). */
#include "httpd/listener.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/cache_sync.h"
#include "api/credential.h"
#include "core/thread.h"
#include "httpd/config.h"
#include "httpd/listener.sql.h"
#include "httpd/log.h"
#include "httpd/shared_memory.h"
#include "sql/migrate.h"
#include "sql/usage.h"
#include "webhooks/claim_owner.h"

#define HEARTBEAT_MS        1000 /* without a notification; others then free the claims of a process that has ended */
#define HEARTBEAT_TIMEOUT_S 3
#define RECONNECT_DELAY_MS  1000
#define WRITES_POLL_MS      20 /* while outdated writes are in progress */
#define NO_ERROR            NEO_MESSAGES

_Static_assert(HEARTBEAT_MS / 1000 + HEARTBEAT_TIMEOUT_S < NEO_CREDENTIAL_CACHE_TTL_S,
               "the cache is confirmed before it expires, even if a heartbeat takes its whole timeout");

struct neo_listener {
    int wake[2]; /* a pipe; written to by neo_listener_stop, and when the first request begins to wait for events */
    atomic_int is_stopping;
    neo_database *database;
    neo_credential_cache *credential_cache;
    const neo_keys *keys;
    const neo_site *site;
    neo_dispatcher *dispatcher; /* NULL if this host does not deliver */
    neo_event_waiters *event_waiters;
    neo_log_context log_context;
    neo_ms next_heartbeat;
    const char *host;
    int is_temporary;
    atomic_int is_drained;
    char position[16];      /* is confirmed when no outdated write is in progress; "" if there is none */
    neo_usage_flush *flush; /* what was taken of the usage and is not recorded; NULL: nothing */
    apr_pool_t *flush_pool;
    neo_message last_error; /* an error is not logged again every second */
};

static void wake(void *baton)
{
    (void)!write(((neo_listener *)baton)->wake[1], "", 1);
}

/* Waits to be woken, and for the socket unless it is -1. */
static void wait_for(neo_listener *listener, int socket, int milliseconds)
{
    char bytes[16];
    struct pollfd polled[] = {{listener->wake[0], POLLIN, 0}, {socket, POLLIN, 0}};
    if (poll(polled, socket >= 0 ? 2 : 1, milliseconds) > 0 && polled[0].revents)
        (void)!read(listener->wake[0], bytes, sizeof bytes);
}

/* The message for an old or missing schema, or NO_ERROR. */
static neo_message schema_error(neo_pg *pg, apr_pool_t *pool)
{
    int version;
    if (neo_schema_version(pg, pool, &version) != NEO_PG_OK || version >= neo_schema_needed())
        return NO_ERROR;
    return version ? NEO_LOG_SCHEMA_OLD : NEO_LOG_SCHEMA_MISSING;
}

/* Confirms to the database that the cache is in sync, unless a credential from before is still being used to write. False if
 * the connection is lost. */
static int confirm(neo_listener *listener, neo_pg *pg, apr_pool_t *pool)
{
    if (!*listener->position || neo_credential_cache_has_outdated_writes(listener->credential_cache))
        return 1;
    int is_confirmed = neo_cache_sync_confirm(pg, listener->keys, listener->position, pool);
    *listener->position = '\0';
    return is_confirmed;
}

/* Clears the cache, and lets requests in progress identify their credentials again. False if the connection is lost. */
static int resync(neo_listener *listener, neo_pg *pg, apr_pool_t *pool)
{
    const char *position = neo_cache_sync_position(pg, pool);
    neo_credential_cache_clear(listener->credential_cache);
    neo_event_waiters_wake(listener->event_waiters, neo_credential_cache_generation(listener->credential_cache));
    apr_cpystrn(listener->position, position ? position : "", sizeof listener->position);
    apr_pool_clear(pool);
    return position && confirm(listener, pg, pool);
}

/* Handles all notifications that have arrived. False if the connection is lost. */
static int handle_notifications(neo_listener *listener, neo_pg *pg, apr_pool_t *pool)
{
    int changes;
    while ((changes = neo_pg_notifications(pg)) > 0)
        if (!resync(listener, pg, pool))
            return 0;
    return changes == 0;
}

/* Records the host for neoapictl. On a read-only database this fails and seen_at stays. False if the connection is lost. */
static int record_host(const neo_listener *listener, neo_pg *pg, neo_ms clock_ahead, apr_pool_t *pool)
{
    neo_rows rows;
    neo_process sum;
    int processes;
    neo_metrics_current(neo_shared_metrics_get()->metrics, &sum, &processes);
    neo_pg_status status = neo_pg_run_as(
        pg, NEO_PG_ONCE,
        NEO_BIND(record_host, .host = listener->host, .version = NEO_VERSION,
                 .ahead = apr_psprintf(pool, "%" APR_INT64_T_FMT, (apr_int64_t)clock_ahead),
                 .delivers = sum.concurrency ? "true" : "false", .requests = apr_itoa(pool, sum.serving),
                 .attempts = apr_itoa(pool, sum.in_flight), .temporary = listener->is_temporary ? "true" : "false"),
        pool, &rows);
    return status != NEO_PG_UNAVAILABLE && status != NEO_PG_TIMEOUT;
}

/* Checks the connection and the clock, and whether the host is drained. False if the connection is lost. */
static int check_host(neo_listener *listener, neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    neo_pg_suspect(pg);
    neo_ms started = neo_steady_ms();
    const char *sql = apr_psprintf(pool, heartbeat_sql, neo_pg_literal(pg, listener->host, pool));
    if (neo_pg_exec_once(pg, sql, HEARTBEAT_TIMEOUT_S, pool, &rows) != NEO_PG_OK)
        return 0;
    neo_ms took = neo_steady_ms() - started, time = atoll(neo_rows_value(&rows, 0, 2));
    neo_clock_compare(time, took);
    atomic_store(&listener->is_drained, neo_rows_is_true(&rows, 0, 0));
    int hosts = atoi(neo_rows_value(&rows, 0, 3));
    if (hosts)
        neo_leases_set_hosts(listener->site->leases, hosts);
    if (listener->dispatcher)
        neo_dispatcher_set_drained(listener->dispatcher, listener->is_drained);
    return !neo_rows_is_true(&rows, 0, 1) || record_host(listener, pg, apr_time_now() / 1000 - time - took / 2, pool);
}

/* If it is time, checks the connection, the host and its other processes. False if the connection is lost. */
static int heartbeat(neo_listener *listener, neo_pg *pg, apr_pool_t *pool)
{
    neo_ms now = neo_steady_ms();
    if (now < listener->next_heartbeat || listener->is_stopping)
        return 1;
    listener->next_heartbeat = now + HEARTBEAT_MS;
    int freed = 0, alive = check_host(listener, pg, pool) &&
                           neo_claim_owner_free_ended(pg, HEARTBEAT_TIMEOUT_S, pool, &freed) == NEO_PG_OK;
    if (freed && listener->dispatcher)
        neo_dispatcher_wake(listener->dispatcher);
    return alive;
}

/* Records which credentials were used. Returns false if the connection is lost. */
static int record_use(neo_listener *listener, neo_pg *pg, apr_pool_t *pool)
{
    const char *ids = neo_credential_cache_take_used(listener->credential_cache, pool);
    return !ids || neo_credential_record_use(pg, ids, HEARTBEAT_TIMEOUT_S, pool);
}

/* Records by how many milliseconds the system clock is ahead of the time after a step, for neoapictl doctor. False if the
 * connection is lost. */
static int record_clock_step(const neo_listener *listener, neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    neo_ms ahead = neo_clock_last_step();
    if (!ahead)
        return 1;
    const char *milliseconds = apr_psprintf(pool, "%" APR_INT64_T_FMT, (apr_int64_t)ahead);
    neo_pg_status status =
        neo_pg_run_as(pg, NEO_PG_ONCE, NEO_BIND(record_clock_step, listener->host, milliseconds), pool, &rows);
    if (status == NEO_PG_OK)
        neo_clock_forget_step(ahead);
    return status != NEO_PG_UNAVAILABLE && status != NEO_PG_TIMEOUT;
}

/* Records what the host's credentials have used, in one process each time. What a process that is killed has taken is lost;
 * what was perhaps recorded is recorded again under the same id. Returns false if the connection is lost. */
static int flush_usage(neo_listener *listener, neo_pg *pg, apr_pool_t *pool)
{
    neo_usage *usage = listener->site->usage;
    if (!listener->flush && neo_usage_is_due(usage, neo_steady_ms())) {
        apr_pool_clear(listener->flush_pool);
        listener->flush = neo_usage_flush_make(usage, listener->flush_pool);
    }
    if (!listener->flush)
        return 1;
    neo_pg_status status = neo_usage_flush_record(pg, listener->flush, pool);
    if (status == NEO_PG_OK)
        listener->flush = NULL;
    return status != NEO_PG_UNAVAILABLE && status != NEO_PG_TIMEOUT;
}

/* Exchanges the parts of limits with the other hosts. Returns false if the connection is lost. */
static int exchange_leases(neo_listener *listener, neo_pg *pg, apr_pool_t *pool)
{
    const char *error;
    const neo_site *site = listener->site;
    int alive = neo_lease_exchange(site->leases, site->credentials, site->concurrency, listener->host, pg, HEARTBEAT_TIMEOUT_S,
                                   pool, &error);
    if (error)
        neo_log(NEO_LOG_NO_LEASES, &listener->log_context, "%s", error);
    neo_metrics_count(neo_shared_metrics_get()->metrics, NEO_COUNT_LEASES_FULL, neo_leases_take_full(site->leases));
    return alive;
}

/* Listens until the connection is lost or the listener is stopped. Clears the cache first, because changes may have been
 * missed. */
static void listen_on(neo_listener *listener, neo_pg *pg, apr_pool_t *pool)
{
    for (int alive = resync(listener, pg, pool); alive && !listener->is_stopping;) {
        int interval = *listener->position                              ? WRITES_POLL_MS
                       : neo_event_waiters_any(listener->event_waiters) ? NEO_EVENT_POLL_MS
                                                                        : HEARTBEAT_MS;
        neo_credential_cache_mark_fresh(listener->credential_cache);
        wait_for(listener, neo_pg_socket(pg), interval);
        apr_pool_clear(pool);
        alive = confirm(listener, pg, pool) && heartbeat(listener, pg, pool) && record_use(listener, pg, pool) &&
                record_clock_step(listener, pg, pool) && exchange_leases(listener, pg, pool) &&
                flush_usage(listener, pg, pool) && neo_event_waiters_poll(listener->event_waiters, pg, pool);
        alive = handle_notifications(listener, pg, pool) && alive; /* also those that arrived with a response */
    }
    neo_credential_cache_distrust(listener->credential_cache);
}

/* Connects, listens and disconnects. Behind a pooler, which does not let it listen, it only checks the host and exchanges
 * leases. */
static void run_connection(neo_listener *listener, apr_pool_t *pool)
{
    neo_rows rows;
    neo_db_lease lease = {.is_long_held = 1, .is_internal = 1};
    neo_pg *pg = neo_database_acquire(listener->database, &lease, &listener->log_context, pool);
    if (!pg)
        return;
    neo_message error = schema_error(pg, pool);
    neo_pg_status status = error == NO_ERROR ? neo_claim_owner_register(pg, pool) : NEO_PG_SCHEMA;
    apr_pool_t *scratch; /* `pool` cannot be cleared: it may hold the connection */
    apr_pool_create(&scratch, pool);
    if (status == NEO_PG_OK && heartbeat(listener, pg, scratch) && exchange_leases(listener, pg, scratch) &&
        flush_usage(listener, pg, scratch))
        status = neo_cache_sync_begin(pg, pool, &rows);
    if (error == NO_ERROR && status == NEO_PG_FAILED)
        error = NEO_LOG_NOT_LISTENING;
    if (error != NO_ERROR && error != listener->last_error)
        neo_log(error, &listener->log_context, "%s", neo_messages[error].meaning);
    listener->last_error = error;
    if (status == NEO_PG_OK)
        listen_on(listener, pg, scratch);
    neo_cache_sync_end(pg, pool);
    neo_database_release(listener->database, pg);
}

static void run_listener(void *data)
{
    neo_listener *listener = data;
    apr_pool_t *pool;
    apr_pool_create_unmanaged_ex(&pool, NULL, NULL);
    while (!listener->is_stopping) {
        run_connection(listener, pool);
        apr_pool_clear(pool);
        if (!listener->is_stopping)
            wait_for(listener, -1, RECONNECT_DELAY_MS);
    }
    neo_event_waiters_stop(listener->event_waiters);
    apr_pool_destroy(pool);
}

void neo_listener_stop(neo_listener *listener)
{
    atomic_store(&listener->is_stopping, 1);
    wake(listener);
}

static void stop_listener(void *data)
{
    neo_listener_stop(data);
}

static apr_status_t close_pipe(void *data)
{
    neo_listener *listener = data;
    close(listener->wake[0]);
    close(listener->wake[1]);
    return APR_SUCCESS;
}

neo_listener *neo_listener_start(apr_pool_t *pchild, server_rec *server, neo_database *database,
                                 neo_credential_cache *credential_cache, const neo_keys *keys, neo_dispatcher *dispatcher,
                                 int event_waiters)
{
    neo_listener *listener = apr_pcalloc(pchild, sizeof *listener);
    listener->database = database;
    listener->credential_cache = credential_cache;
    listener->keys = keys;
    listener->site = neo_get_server_config(server)->site;
    listener->dispatcher = dispatcher;
    listener->host = neo_config_host_name(server, pchild);
    listener->is_temporary = NEO_CONFIG_NUMBER(neo_get_server_config(server), is_temporary_host) == 1;
    listener->log_context.server = server;
    listener->last_error = NO_ERROR;
    apr_pool_create(&listener->flush_pool, pchild);
    if (pipe2(listener->wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        neo_log(NEO_LOG_NO_THREAD, &listener->log_context, "cannot make a pipe: %s", strerror(errno));
        abort();
    }
    apr_pool_cleanup_register(pchild, listener, close_pipe, apr_pool_cleanup_null);
    listener->event_waiters = neo_event_waiters_make(pchild, event_waiters, wake, listener);
    neo_thread_start(pchild, run_listener, stop_listener, listener);
    return listener;
}

neo_event_waiters *neo_listener_event_waiters(const neo_listener *listener)
{
    return listener->event_waiters;
}

int neo_listener_is_drained(const neo_listener *listener)
{
    return listener->is_drained;
}
