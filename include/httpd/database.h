/* Connections lent by mod_dbd. They are borrowed while statements run, not while a client is waited for, so that a slow client
 * keeps none. */
#ifndef NEO_HTTPD_DATABASE_H
#define NEO_HTTPD_DATABASE_H

#include <httpd.h>

#include "store/pg.h"

typedef struct neo_database neo_database;

/* A connection that is lent, and what that came to; it is the borrower's, who begins with zeros. */
typedef struct neo_db_lease {
    void *record; /* mod_dbd's */
    apr_time_t since;
    long long spent; /* microseconds that the borrower waited for connections and had them, all its loans together */
    int is_lasting;  /* it is not for a few statements: how long it is had says nothing of the database */
} neo_db_lease;

/* True if mod_dbd is loaded. */
int neo_database_has_mod_dbd(void);

/* Call it in a child process. */
neo_database *neo_database_make(apr_pool_t *pchild, server_rec *server, int max_connections);

/* Waits until a connection is free. Returns NULL where the database is away. Whoever waits for a connection to be opened while
 * the attempt of another fails is told so at once and does not try in its turn. `log_context` is given to the log with
 * messages. */
neo_pg *neo_database_acquire(neo_database *database, neo_db_lease *lease, void *log_context, apr_pool_t *pool);
void neo_database_release(neo_database *database, neo_pg *pg);

#endif
