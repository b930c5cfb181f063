/* SPDX-License-Identifier: Apache-2.0 */
/* Connections from mod_dbd. They are held only while statements run, so that slow clients hold none; exports can hold a limited
 * number longer. */
#ifndef NEO_HTTPD_DATABASE_H
#define NEO_HTTPD_DATABASE_H

#include <httpd.h>

#include "core/clock.h"
#include "pg/error.h"

typedef struct neo_database neo_database;

/* A connection in use. The caller provides it, initialized with zeros. */
typedef struct neo_db_lease {
    void *record; /* mod_dbd's */
    apr_time_t since;
    long long spent;   /* microseconds of waiting for connections and holding them, the sum of all uses */
    int is_long_held;  /* held for long by design, so not part of the histogram; limited for requests */
    int is_internal;   /* a thread of the module: it does not wait in the queue of the requests, and rarely tries during an
                        * outage */
    int is_background; /* errors of its statements are logged once, and it tries rarely while they fail */
    neo_pg_watch watch;
    neo_ms paused_until; /* neo_steady_ms */
    int was_full;        /* no connection, because too many are held for long */
    int was_busy;        /* no connection, because the queue was full or too slow */
} neo_db_lease;

/* Returns true if mod_dbd is loaded. */
int neo_database_has_mod_dbd(void);

/* Call it in a child process. Of `max_connections`, two are kept for the listener and the dispatcher, and with NeoAPIReadDSN
 * one for the primary's position. Of the others, requests may hold `max_long_held` for long, but at most half of them, if the
 * process serves several requests at a time. `params` is DBDParams; NULL if the virtual host has none. */
neo_database *neo_database_make(apr_pool_t *pchild, server_rec *server, const char *params, int max_connections,
                                int max_long_held);

/* Counts a connection to a replica among those that requests hold for long. Returns false if there are too many. */
int neo_database_enter_long_held(neo_database *database);
void neo_database_leave_long_held(neo_database *database);

/* Waits until a connection is free. Returns NULL if the database is unavailable; then all threads that wait for a connection to
 * be opened fail at once, instead of one timeout after the other. Also returns NULL after two seconds in the queue, and at once
 * if the queue is full; then it sets lease->was_busy. */
neo_pg *neo_database_acquire(neo_database *database, neo_db_lease *lease, void *log_context, apr_pool_t *pool);
void neo_database_release(neo_database *database, neo_pg *pg);

/* Why the last attempt to connect failed, as far as it is known; after neo_database_acquire has returned NULL. */
const neo_pg_error *neo_database_error(const neo_database *database);

#endif
