/* SPDX-License-Identifier: Apache-2.0 */
/* Pools the connections to replicas, and asks the primary for its position before each read (see httpd/read_pool.h). */
#include "httpd/read_pool.h"

#include <apr_strings.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread.h"
#include "httpd/config.h"
#include "httpd/log.h"
#include "sql/replica.h"

#define REPLAY_LIMIT_MS 5    /* that a read waits for a replica */
#define OPEN_LIMIT_MS   1000 /* the same for a new connection */
#define MAX_WAIT_MS     100  /* for a round that another read leads */
#define MIN_PAUSE_MS    100  /* the pause of a connection whose replica lags; doubled each time */
#define MAX_PAUSE_MS    3200 /* after which it is closed, because another replica may be better */
#define RETRY_DELAY_MS  5000 /* after a failure to connect */
#define MAX_IDLE_MS     300000
#define IDLE_CHECK_MS   60000

struct neo_read_connection {
    neo_read_connection *next;
    apr_pool_t *pool; /* has the connection, and is destroyed with it */
    neo_pg *pg;
    neo_ms pause, paused_until, used_at;
    neo_position position; /* the primary's when it was acquired */
};

/* Positions are read in rounds. One that begins after a read has arrived serves all reads that wait then. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    unsigned int last_begun, last_ended;
    int is_known; /* the result of the last one */
    neo_position position;
} rounds;

struct neo_read_pool {
    neo_database *primary;
    const char *dsn;
    neo_log_context log_context;
    rounds rounds;
    pthread_mutex_t mutex; /* protects what follows */
    pthread_cond_t wanted;
    neo_read_connection *idle; /* the last one that was used is the first */
    int open, max;
    int is_wanted, is_stopping;
    int has_failed; /* the first connection failed, which is logged once */
};

/* ---------------------------------------------------------------- the primary's position */

/* The lease is internal, because a request must not wait for a connection twice. */
static int ask_primary(neo_read_pool *reads, neo_position *position, apr_pool_t *pool)
{
    neo_db_lease lease = {.is_internal = 1};
    neo_pg *pg = neo_database_acquire(reads->primary, &lease, &reads->log_context, pool);
    int is_known = pg && neo_position_read(pg, position, pool);
    if (pg)
        neo_database_release(reads->primary, pg);
    return is_known;
}

/* Returns false if the primary does not have a position, or does not report it in time: its connection may be dead while others
 * are not. */
static int read_position(neo_read_pool *reads, neo_position *position, apr_pool_t *pool)
{
    rounds *r = &reads->rounds;
    neo_ms until = neo_steady_ms() + MAX_WAIT_MS;
    int is_late = 0;
    pthread_mutex_lock(&r->mutex);
    unsigned int needed = r->last_begun + 1;
    while (!is_late && (int)(r->last_ended - needed) < 0) {
        if (r->last_begun != r->last_ended) {
            is_late = !neo_cond_wait(&r->ended, &r->mutex, until);
            continue;
        }
        r->last_begun++;
        pthread_mutex_unlock(&r->mutex);
        int is_known = ask_primary(reads, position, pool);
        pthread_mutex_lock(&r->mutex);
        r->last_ended = r->last_begun;
        r->is_known = is_known;
        r->position = *position;
        pthread_cond_broadcast(&r->ended);
    }
    int is_known = !is_late && r->is_known;
    *position = r->position;
    pthread_mutex_unlock(&r->mutex);
    return is_known;
}

/* ---------------------------------------------------------------- connections */

/* Takes an idle connection that is not paused. If there are none, one more is opened for later reads. */
static neo_read_connection *take(neo_read_pool *reads)
{
    neo_ms now = neo_steady_ms();
    pthread_mutex_lock(&reads->mutex);
    neo_read_connection **link = &reads->idle;
    while (*link && (*link)->paused_until > now)
        link = &(*link)->next;
    neo_read_connection *taken = *link;
    if (taken)
        *link = taken->next;
    else if (!reads->idle && !reads->is_wanted && reads->open < reads->max) {
        reads->is_wanted = 1;
        pthread_cond_signal(&reads->wanted);
    }
    pthread_mutex_unlock(&reads->mutex);
    return taken;
}

static void close_all(neo_read_pool *reads, neo_read_connection *first)
{
    int closed = 0;
    for (neo_read_connection *next; first; first = next, closed++) {
        next = first->next;
        apr_pool_destroy(first->pool);
    }
    pthread_mutex_lock(&reads->mutex);
    reads->open -= closed;
    pthread_mutex_unlock(&reads->mutex);
}

/* If the connection is lost, so are the others, mostly; to a server that does not respond, each would delay a read. */
void neo_read_pool_release(neo_read_pool *reads, neo_read_connection *connection)
{
    int is_open = neo_pg_is_idle(connection->pg);
    neo_read_connection *unusable = NULL;
    connection->used_at = neo_steady_ms();
    pthread_mutex_lock(&reads->mutex);
    connection->next = reads->idle;
    reads->idle = connection;
    if (!is_open) {
        unusable = reads->idle;
        reads->idle = NULL;
    } else if (connection->pause > MAX_PAUSE_MS) {
        unusable = connection;
        reads->idle = connection->next;
        connection->next = NULL;
    }
    pthread_mutex_unlock(&reads->mutex);
    close_all(reads, unusable);
}

neo_pg *neo_read_pool_acquire(neo_read_pool *reads, neo_read_connection **acquired, apr_pool_t *pool)
{
    neo_read_connection *connection = take(reads);
    if (!connection)
        return NULL;
    int is_known = read_position(reads, &connection->position, pool);
    if (is_known && neo_position_await(connection->pg, &connection->position, REPLAY_LIMIT_MS, pool)) {
        connection->pause = 0;
        *acquired = connection;
        return connection->pg;
    }
    if (is_known)
        connection->pause = connection->pause ? 2 * connection->pause : MIN_PAUSE_MS;
    connection->paused_until = neo_steady_ms() + (is_known ? connection->pause : MIN_PAUSE_MS);
    neo_read_pool_release(reads, connection);
    return NULL;
}

int neo_read_pool_is_confirmed(neo_read_pool *reads, neo_read_connection *acquired, neo_db_lease *lease, apr_pool_t *pool)
{
    const char *newer = neo_position_find_newer(acquired->pg, &acquired->position, pool);
    if (!newer || strcmp(newer, "{}") == 0)
        return newer != NULL;
    neo_pg *pg = neo_database_acquire(reads->primary, lease, &reads->log_context, pool);
    int is_visible = pg && neo_transactions_are_visible(pg, newer, pool);
    if (pg)
        neo_database_release(reads->primary, pg);
    return is_visible;
}

/* ---------------------------------------------------------------- the thread */

/* Why the replica cannot be used, or NULL. "": the primary does not report its position, which is logged by requests. */
static const char *find_fault(neo_read_pool *reads, neo_read_connection *connection)
{
    neo_position *position = &connection->position;
    const char *error = NULL;
    connection->pg = neo_pg_connect_replica(reads->dsn, connection->pool, &error);
    if (!connection->pg)
        return error;
    if (!read_position(reads, position, connection->pool))
        return "";
    (void)neo_position_await(connection->pg, position, OPEN_LIMIT_MS, connection->pool);
    return neo_replica_find_fault(connection->pg, position, connection->pool);
}

static neo_read_connection *open_connection(neo_read_pool *reads, int is_only)
{
    apr_pool_t *pool;
    apr_pool_create_unmanaged_ex(&pool, NULL, NULL);
    neo_read_connection *connection = apr_pcalloc(pool, sizeof *connection);
    connection->pool = pool;
    const char *fault = find_fault(reads, connection);
    if (fault && *fault && !reads->has_failed && is_only)
        neo_log(NEO_LOG_READ_REPLICA, &reads->log_context, "NeoAPIReadDSN: %s", fault);
    reads->has_failed = fault && ((*fault && is_only) || reads->has_failed);
    connection->used_at = neo_steady_ms();
    if (!fault)
        return connection;
    apr_pool_destroy(pool);
    return NULL;
}

/* Called with the mutex. The list begins with the connection that was used last. */
static void close_expired(neo_read_pool *reads)
{
    neo_read_connection **link = &reads->idle;
    while (*link && neo_steady_ms() - (*link)->used_at < MAX_IDLE_MS)
        link = &(*link)->next;
    neo_read_connection *expired = *link;
    *link = NULL;
    pthread_mutex_unlock(&reads->mutex);
    close_all(reads, expired);
    pthread_mutex_lock(&reads->mutex);
}

static void open_wanted(void *data)
{
    neo_read_pool *reads = data;
    pthread_mutex_lock(&reads->mutex);
    while (!reads->is_stopping) {
        if (!reads->is_wanted) {
            (void)neo_cond_wait(&reads->wanted, &reads->mutex, neo_steady_ms() + IDLE_CHECK_MS);
            close_expired(reads);
            continue;
        }
        int is_only = !reads->open;
        pthread_mutex_unlock(&reads->mutex);
        neo_read_connection *connection = open_connection(reads, is_only);
        pthread_mutex_lock(&reads->mutex);
        neo_ms until = neo_steady_ms() + RETRY_DELAY_MS;
        while (!connection && !reads->is_stopping && neo_cond_wait(&reads->wanted, &reads->mutex, until))
            continue;
        reads->is_wanted = 0;
        if (connection) {
            reads->open++;
            connection->next = reads->idle;
            reads->idle = connection;
        }
    }
    pthread_mutex_unlock(&reads->mutex);
}

static void stop(void *data)
{
    neo_read_pool *reads = data;
    pthread_mutex_lock(&reads->mutex);
    reads->is_stopping = 1;
    pthread_cond_signal(&reads->wanted);
    pthread_mutex_unlock(&reads->mutex);
}

static apr_status_t close_idle(void *data)
{
    neo_read_pool *reads = data;
    close_all(reads, reads->idle);
    return APR_SUCCESS;
}

neo_read_pool *neo_read_pool_start(apr_pool_t *pchild, server_rec *server, neo_read_pool *other)
{
    const neo_server_config *config = neo_get_server_config(server);
    if (!config->read_dsn || (other && strcmp(config->read_dsn, other->dsn) == 0))
        return config->read_dsn ? other : NULL;
    neo_read_pool *reads = apr_pcalloc(pchild, sizeof *reads);
    reads->primary = config->database;
    reads->dsn = config->read_dsn;
    reads->log_context.server = server;
    reads->max = neo_config_max_connections(server);
    neo_mutex_init(&reads->mutex);
    neo_cond_init(&reads->wanted);
    neo_mutex_init(&reads->rounds.mutex);
    neo_cond_init(&reads->rounds.ended);
    apr_pool_cleanup_register(pchild, reads, close_idle, apr_pool_cleanup_null);
    neo_thread_start(pchild, open_wanted, stop, reads);
    return reads;
}
