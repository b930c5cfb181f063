/* Borrowing from mod_dbd (see httpd/database.h). */
#include "httpd/database.h"

#include <apr_dbd.h>
#include <mod_dbd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "httpd/config.h"
#include "httpd/shared_metrics.h"

/* Microseconds between a failed connection and the next attempt. mod_dbd's list is locked while it connects: without a breath
 * those who give a connection back might find the lock taken again and again. */
#define BREATH 50000

struct neo_database {
    server_rec *server;
    pthread_mutex_t gate; /* one at a time asks mod_dbd, which would let all try to connect, one after the other */
    atomic_uint failures;
    apr_time_t failed_at; /* the last of them */
};

static APR_OPTIONAL_FN_TYPE(ap_dbd_open) * dbd_open;
static APR_OPTIONAL_FN_TYPE(ap_dbd_close) * dbd_close;

int neo_database_has_mod_dbd(void)
{
    dbd_open = APR_RETRIEVE_OPTIONAL_FN(ap_dbd_open);
    dbd_close = APR_RETRIEVE_OPTIONAL_FN(ap_dbd_close);
    return dbd_open && dbd_close;
}

static apr_status_t destroy(void *data)
{
    pthread_mutex_destroy(&((neo_database *)data)->gate);
    return APR_SUCCESS;
}

/* Mostly it is passed in less time than it takes to fall asleep. */
static void make_gate(pthread_mutex_t *gate)
{
    pthread_mutexattr_t spinning;
    if (pthread_mutexattr_init(&spinning) != 0 || pthread_mutexattr_settype(&spinning, PTHREAD_MUTEX_ADAPTIVE_NP) != 0 ||
        pthread_mutex_init(gate, &spinning) != 0)
        abort();
    pthread_mutexattr_destroy(&spinning);
}

neo_database *neo_database_make(apr_pool_t *pchild, server_rec *server)
{
    neo_database *database = apr_pcalloc(pchild, sizeof *database);
    database->server = server;
    __atomic_fetch_add(&neo_shared_metrics_get()->process->connections, neo_config_connections(), __ATOMIC_RELAXED);
    make_gate(&database->gate);
    apr_pool_cleanup_register(pchild, database, destroy, apr_pool_cleanup_null);
    return database;
}

static void take_breath(const neo_database *database)
{
    apr_time_t since = apr_time_now() - database->failed_at;
    if (since >= 0 && since < BREATH)
        apr_sleep(BREATH - since);
}

static ap_dbd_t *open_one(neo_database *database, apr_pool_t *pool)
{
    unsigned int before = atomic_load(&database->failures);
    ap_dbd_t *record = NULL;
    pthread_mutex_lock(&database->gate);
    if (before == atomic_load(&database->failures)) {
        take_breath(database);
        record = dbd_open(pool, database->server);
        if (!record) {
            atomic_fetch_add(&database->failures, 1);
            database->failed_at = apr_time_now();
        }
    }
    pthread_mutex_unlock(&database->gate);
    return record;
}

/* open_one, counted. */
static ap_dbd_t *open_counted(neo_database *database, neo_loan *loan, apr_pool_t *pool)
{
    const neo_shared_metrics *here = neo_shared_metrics_get();
    apr_time_t begun = apr_time_now();
    __atomic_fetch_add(&here->process->waiting, 1, __ATOMIC_RELAXED);
    ap_dbd_t *record = open_one(database, pool);
    loan->since = apr_time_now();
    loan->spent += loan->since - begun;
    __atomic_fetch_sub(&here->process->waiting, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&here->process->in_use, record != NULL, __ATOMIC_RELAXED);
    neo_metrics_connection_acquired(here->metrics, loan->since - begun, record != NULL);
    return record;
}

static void close_counted(neo_database *database, neo_loan *loan)
{
    const neo_shared_metrics *here = neo_shared_metrics_get();
    long long held = apr_time_now() - loan->since;
    loan->spent += held;
    __atomic_fetch_sub(&here->process->in_use, 1, __ATOMIC_RELAXED);
    if (!loan->is_lasting)
        neo_metrics_connection_released(here->metrics, held);
    dbd_close(database->server, loan->record);
}

neo_pg *neo_database_borrow(neo_database *database, neo_loan *loan, void *about, apr_pool_t *pool)
{
    ap_dbd_t *record = open_counted(database, loan, pool);
    loan->record = record;
    if (!record)
        return NULL;
    neo_pg *pg = neo_pg_of(apr_dbd_native_handle(record->driver, record->handle));
    if (!pg) {
        close_counted(database, loan);
        return NULL;
    }
    neo_pg_log_about(pg, about);
    neo_pg_set_note(pg, loan);
    return pg;
}

void neo_database_give_back(neo_database *database, neo_pg *pg)
{
    neo_pg_log_about(pg, NULL);
    close_counted(database, neo_pg_note(pg));
}
