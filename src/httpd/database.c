/* SPDX-License-Identifier: Apache-2.0 */
/* Gets connections from mod_dbd, and counts them (see httpd/database.h). */
#include "httpd/database.h"

#include <ap_mpm.h>
#include <apr_dbd.h>
#include <mod_dbd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/thread.h"
#include "httpd/config.h"
#include "httpd/replaced.h"
#include "httpd/shared_memory.h"

/* The delay after a failed attempt to connect. mod_dbd holds its lock while it connects; without a delay, threads that return
 * connections could wait for the lock repeatedly. */
#define RETRY_DELAY_US 50000

/* Finding the reason takes a second attempt to connect. It is made at most once in this interval, and only if the server
 * answered the first one at once. */
#define ERROR_INTERVAL_MS 5000
#define ANSWERED_US       500000

#define QUEUE_MS  2000 /* the time limit of a request that waits for a connection */
#define MIN_QUEUE 64   /* requests that may wait; with many connections, two for each */

/* The queue of the requests. mod_dbd's own has no limits. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t freed;
    int free; /* connections that requests may take */
    int waiting, max_waiting;
    int long_held, max_long_held; /* connections that requests hold for long */
} queue;

/* Background threads wait longer after each failure to connect, because mod_dbd logs all of them. Requests try at once; if one
 * gets a connection, the background threads try again too. They also wait when statements fail repeatedly, for example on a
 * standby. */
#define MIN_BACKOFF_MS 3000
#define MAX_BACKOFF_MS 15000

struct neo_database {
    server_rec *server;
    queue queue;
    pthread_mutex_t mutex; /* one thread calls mod_dbd; the others fail with it instead of trying to connect themselves */
    atomic_uint failures;
    apr_time_t failed_at;                /* the time of the last failure */
    atomic_llong failed_after;           /* microseconds that the last failed attempt took */
    const char *params;                  /* DBDParams */
    pthread_mutex_t lookup;              /* a thread that failed to connect waits for the reason; others do not */
    long long next_lookup;               /* neo_steady_ms from which on the reason is looked up again */
    _Atomic(const neo_pg_error *) error; /* the cause of the last failure */
    atomic_llong backoff;                /* milliseconds; 0 after a success */
    atomic_llong paused_until;           /* neo_steady_ms: a step of the clock must not lengthen it */
};

static APR_OPTIONAL_FN_TYPE(ap_dbd_open) * dbd_open;
static APR_OPTIONAL_FN_TYPE(ap_dbd_close) * dbd_close;

int neo_database_has_mod_dbd(void)
{
    dbd_open = APR_RETRIEVE_OPTIONAL_FN(ap_dbd_open);
    dbd_close = APR_RETRIEVE_OPTIONAL_FN(ap_dbd_close);
    return dbd_open && dbd_close;
}

static void init_queue(queue *q, int max_connections, int max_long_held)
{
    int threads = 0, reserved = neo_config_reserved_connections();
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads);
    q->free = max_connections > reserved ? max_connections - reserved : 1;
    int half = threads > 1 ? q->free / 2 : 1;
    q->max_long_held = max_long_held < half ? max_long_held : half;
    q->max_waiting = 2 * q->free > MIN_QUEUE ? 2 * q->free : MIN_QUEUE;
    neo_cond_init(&q->freed);
    neo_mutex_init(&q->mutex);
}

/* Waits for a connection of the requests. Returns false after QUEUE_MS, and at once if the queue is full. */
static int enter_queue(queue *q)
{
    neo_ms until = neo_steady_ms() + QUEUE_MS;
    pthread_mutex_lock(&q->mutex);
    int may_wait = q->waiting < q->max_waiting;
    q->waiting++;
    while (!q->free && may_wait)
        may_wait = neo_cond_wait(&q->freed, &q->mutex, until);
    q->waiting--;
    int is_entered = q->free > 0;
    q->free -= is_entered;
    pthread_mutex_unlock(&q->mutex);
    return is_entered;
}

static void leave_queue(queue *q)
{
    pthread_mutex_lock(&q->mutex);
    q->free++;
    pthread_cond_signal(&q->freed);
    pthread_mutex_unlock(&q->mutex);
}

/* Whether a request may hold one connection more for long. */
static int enter_long_held(queue *q)
{
    pthread_mutex_lock(&q->mutex);
    int is_entered = q->long_held < q->max_long_held;
    q->long_held += is_entered;
    pthread_mutex_unlock(&q->mutex);
    return is_entered;
}

static void leave_long_held(queue *q)
{
    pthread_mutex_lock(&q->mutex);
    q->long_held--;
    pthread_mutex_unlock(&q->mutex);
}

neo_database *neo_database_make(apr_pool_t *pchild, server_rec *server, const char *params, int max_connections,
                                int max_long_held)
{
    neo_database *database = apr_pcalloc(pchild, sizeof *database);
    database->server = server;
    database->params = params ? params : ""; /* as mod_dbd has it: libpq's environment variables and defaults apply */
    atomic_store(&database->error, neo_pg_error_find(""));
    __atomic_fetch_add(&neo_shared_metrics_get()->process->connections, max_connections, __ATOMIC_RELAXED);
    neo_mutex_init(&database->mutex);
    neo_mutex_init(&database->lookup);
    init_queue(&database->queue, max_connections, max_long_held);
    return database;
}

int neo_database_enter_long_held(neo_database *database)
{
    return enter_long_held(&database->queue);
}

void neo_database_leave_long_held(neo_database *database)
{
    leave_long_held(&database->queue);
}

/* Connects once more with libpq, because apr_dbd does not report SQLSTATE. */
static void look_up_error(neo_database *database)
{
    pthread_mutex_lock(&database->lookup);
    long long now = neo_steady_ms();
    if (atomic_load(&database->failed_after) > ANSWERED_US) {
        atomic_store(&database->error, neo_pg_error_find(""));
    } else if (now >= database->next_lookup) {
        const neo_pg_error *error = neo_pg_connect_error(database->params);
        atomic_store(&database->error, error ? error : neo_pg_error_find(""));
        database->next_lookup = neo_steady_ms() + ERROR_INTERVAL_MS;
    }
    pthread_mutex_unlock(&database->lookup);
}

const neo_pg_error *neo_database_error(const neo_database *database)
{
    return atomic_load(&database->error);
}

static ap_dbd_t *open_free_connection(neo_database *database, apr_pool_t *pool)
{
    unsigned int before = atomic_load(&database->failures);
    ap_dbd_t *record = NULL;
    pthread_mutex_lock(&database->mutex);
    if (before == atomic_load(&database->failures)) {
        apr_time_t since = apr_time_now() - database->failed_at;
        if (since >= 0 && since < RETRY_DELAY_US)
            apr_sleep(RETRY_DELAY_US - since);
        apr_time_t began = apr_time_now();
        record = dbd_open(pool, database->server);
        if (!record) {
            database->failed_at = apr_time_now();
            atomic_store(&database->failed_after, database->failed_at - began);
            atomic_fetch_add(&database->failures, 1);
        }
    }
    pthread_mutex_unlock(&database->mutex);
    if (!record)
        look_up_error(database);
    return record;
}

static int is_paused(const neo_database *database, const neo_db_lease *lease)
{
    if (neo_steady_ms() < __atomic_load_n(&lease->paused_until, __ATOMIC_RELAXED))
        return 1;
    return lease->is_internal && atomic_load(&database->backoff) && neo_steady_ms() < atomic_load(&database->paused_until);
}

static void update_backoff(neo_database *database, const neo_db_lease *lease, int is_open)
{
    long long backoff = atomic_load(&database->backoff);
    if (is_open || !lease->is_internal) {
        if (is_open && backoff)
            atomic_store(&database->backoff, 0);
        return;
    }
    backoff = !backoff ? MIN_BACKOFF_MS : backoff * 4 > MAX_BACKOFF_MS ? MAX_BACKOFF_MS : backoff * 4;
    atomic_store(&database->paused_until, neo_steady_ms() + backoff);
    atomic_store(&database->backoff, backoff);
}

static int is_limited(const neo_db_lease *lease)
{
    return lease->is_long_held && !lease->is_internal;
}

/* Only the listener's own connection is held for long and internal. */
static int *connection_gauge(neo_process *process, const neo_db_lease *lease)
{
    return lease->is_long_held && lease->is_internal ? &process->listening : &process->in_use;
}

static ap_dbd_t *open_connection(neo_database *database, neo_db_lease *lease, apr_pool_t *pool)
{
    const neo_shared_metrics *shared = neo_shared_metrics_get();
    apr_time_t started = apr_time_now();
    __atomic_fetch_add(&shared->process->waiting, 1, __ATOMIC_RELAXED);
    lease->was_busy = !lease->is_internal && !enter_queue(&database->queue);
    ap_dbd_t *record = lease->was_busy ? NULL : open_free_connection(database, pool);
    if (!record && !lease->is_internal && !lease->was_busy)
        leave_queue(&database->queue);
    lease->since = apr_time_now();
    lease->spent += lease->since - started;
    __atomic_fetch_sub(&shared->process->waiting, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(connection_gauge(shared->process, lease), record != NULL, __ATOMIC_RELAXED);
    neo_metrics_time(shared->metrics, NEO_TIME_CONNECTION_WAIT, lease->since - started);
    neo_metrics_count(shared->metrics, NEO_COUNT_NO_CONNECTION, record == NULL);
    update_backoff(database, lease, record != NULL);
    return record;
}

static void close_connection(neo_database *database, neo_db_lease *lease)
{
    const neo_shared_metrics *shared = neo_shared_metrics_get();
    long long held = apr_time_now() - lease->since;
    lease->spent += held;
    __atomic_fetch_sub(connection_gauge(shared->process, lease), 1, __ATOMIC_RELAXED);
    if (!lease->is_long_held)
        neo_metrics_time(shared->metrics, NEO_TIME_CONNECTION_USE, held);
    dbd_close(database->server, lease->record);
    if (!lease->is_internal)
        leave_queue(&database->queue);
    if (is_limited(lease))
        leave_long_held(&database->queue);
}

neo_pg *neo_database_acquire(neo_database *database, neo_db_lease *lease, void *log_context, apr_pool_t *pool)
{
    lease->was_full = is_limited(lease) && !enter_long_held(&database->queue);
    if (lease->was_full)
        return NULL;
    ap_dbd_t *record = is_paused(database, lease) ? NULL : open_connection(database, lease, pool);
    lease->record = record;
    if (!record) {
        if (is_limited(lease))
            leave_long_held(&database->queue);
        return NULL;
    }
    neo_pg *pg = neo_pg_attach(apr_dbd_native_handle(record->driver, record->handle));
    if (!pg) {
        close_connection(database, lease);
        return NULL;
    }
    neo_pg_set_log_context(pg, log_context);
    neo_pg_set_watch(pg, lease->is_background ? &lease->watch : NULL);
    neo_pg_set_user_data(pg, lease);
    neo_pg_set_verifier(pg, neo_replaced_verify, NULL);
    if (neo_pg_verify(pg))
        return pg;
    atomic_store(&database->error, neo_pg_refusal(pg));
    neo_database_release(database, pg);
    update_backoff(database, lease, 0);
    return NULL;
}

void neo_database_release(neo_database *database, neo_pg *pg)
{
    neo_db_lease *lease = neo_pg_user_data(pg);
    long long pause = lease->watch.failures > 1 ? lease->watch.failures * MIN_BACKOFF_MS / 2 : 0;
    __atomic_store_n(&lease->paused_until, pause ? neo_steady_ms() + (pause < MAX_BACKOFF_MS ? pause : MAX_BACKOFF_MS) : 0,
                     __ATOMIC_RELAXED);
    neo_pg_set_log_context(pg, NULL);
    neo_pg_set_watch(pg, NULL);
    close_connection(database, lease);
}
