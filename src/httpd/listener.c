/* The listening thread (see httpd/listener.h). */
#include "httpd/listener.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "httpd/log.h"
#include "httpd/thread.h"
#include "store/hearing.h"
#include "store/migrate.h"

#define HEARTBEAT       10000 /* milliseconds without a message after which the connection is tried */
#define HEARTBEAT_LIMIT 3     /* seconds that it may take to answer */
#define PAUSE           1000  /* milliseconds before a lost connection is opened anew */
#define NO_TROUBLE      -1

_Static_assert(HEARTBEAT / 1000 + HEARTBEAT_LIMIT < NEO_PRINCIPALS_BELIEVED,
               "a heartbeat that is late by its own limit is still in time");

struct neo_listener {
    int wake[2]; /* a pipe: written to when it is time to end */
    atomic_int is_stopping;
    neo_database *database;
    neo_principals *principals;
    neo_about about;
    int last_trouble; /* so that each is logged once, not once a second */
};

/* Waits for the socket, if there is one, and for the call to end. Returns what poll does. */
static int wait_for(neo_listener *listener, int socket, int milliseconds)
{
    struct pollfd look[] = {{listener->wake[0], POLLIN, 0}, {socket, POLLIN, 0}};
    return poll(look, socket >= 0 ? 2 : 1, milliseconds);
}

static void report(neo_listener *listener, int trouble)
{
    if (trouble != NO_TROUBLE && trouble != listener->last_trouble)
        neo_log((neo_message)trouble, &listener->about, "%s", neo_message_row_of((neo_message)trouble)->meaning);
    listener->last_trouble = trouble;
}

/* What is wrong with the schema, as the message that says so. */
static int schema_trouble(neo_pg *pg, apr_pool_t *pool)
{
    int version;
    if (neo_schema_version(pg, pool, &version) != NEO_PG_OK || version >= neo_schema_needed())
        return NO_TROUBLE;
    return version ? NEO_LOG_SCHEMA_OLD : NEO_LOG_SCHEMA_MISSING;
}

/* Forgets everything, and says up to when it has heard. False if the connection is of no more use. */
static int start_anew(neo_listener *listener, neo_pg *pg, apr_pool_t *pool)
{
    const char *moment = neo_hearing_moment(pg, pool);
    neo_principals_forget(listener->principals);
    int is_known = moment && neo_hearing_confirm(pg, moment, pool);
    apr_pool_clear(pool);
    return is_known;
}

/* Acts on what has arrived, until there is nothing more. False if the connection is lost. */
static int hear(neo_listener *listener, neo_pg *pg, apr_pool_t *pool)
{
    int changes;
    while ((changes = neo_pg_notifications(pg)) > 0)
        if (!start_anew(listener, pg, pool))
            return 0;
    return changes == 0;
}

static int is_there(neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_once(pg, "select", HEARTBEAT_LIMIT, pool, &rows);
    apr_pool_clear(pool);
    return status == NEO_PG_OK;
}

/* Listens until the connection is lost or it is time to end. What was kept before is forgotten first: a change may have been
 * missed. */
static void listen_on(neo_listener *listener, neo_pg *pg, apr_pool_t *pool)
{
    for (int alive = start_anew(listener, pg, pool); alive && !listener->is_stopping;) {
        neo_principals_heard(listener->principals);
        alive = wait_for(listener, neo_pg_socket(pg), HEARTBEAT) != 0 || is_there(pg, pool);
        alive = hear(listener, pg, pool) && alive; /* also what came with the answer to the heartbeat */
    }
    neo_principals_doubt(listener->principals);
}

/* One connection's time. */
static void attend(neo_listener *listener, apr_pool_t *pool)
{
    neo_rows rows;
    neo_loan loan = {.is_lasting = 1};
    neo_pg *pg = neo_database_borrow(listener->database, &loan, &listener->about, pool);
    if (!pg)
        return;
    int trouble = schema_trouble(pg, pool);
    neo_pg_status status = neo_hearing_begin(pg, pool, &rows);
    if (trouble == NO_TROUBLE && status == NEO_PG_FAILED)
        trouble = NEO_LOG_NOT_LISTENING;
    report(listener, trouble);
    if (status == NEO_PG_OK) {
        apr_pool_t *scratch; /* to be cleared: the other holds the connection, where mod_dbd does not keep it itself */
        apr_pool_create(&scratch, pool);
        listen_on(listener, pg, scratch);
    }
    neo_hearing_end(pg, pool);
    neo_database_give_back(listener->database, pg);
}

static void run(void *data)
{
    neo_listener *listener = data;
    apr_pool_t *pool;
    apr_pool_create_unmanaged_ex(&pool, NULL, NULL);
    while (!listener->is_stopping) {
        attend(listener, pool);
        apr_pool_clear(pool);
        wait_for(listener, -1, PAUSE);
    }
    apr_pool_destroy(pool);
}

void neo_listener_stop(neo_listener *listener)
{
    atomic_store(&listener->is_stopping, 1);
    (void)!write(listener->wake[1], "", 1);
}

static void stop(void *data)
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

neo_listener *neo_listener_start(apr_pool_t *pchild, server_rec *server, neo_database *database, neo_principals *principals)
{
    neo_listener *listener = apr_pcalloc(pchild, sizeof *listener);
    listener->database = database;
    listener->principals = principals;
    listener->about.server = server;
    listener->last_trouble = NO_TROUBLE;
    if (pipe2(listener->wake, O_CLOEXEC | O_NONBLOCK) != 0)
        abort();
    apr_pool_cleanup_register(pchild, listener, close_pipe, apr_pool_cleanup_null);
    neo_thread_start(pchild, run, stop, listener);
    return listener;
}
