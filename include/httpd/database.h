/* Connections lent by mod_dbd. They are borrowed while statements run, not while a client is waited for, so that a slow client
 * keeps none. */
#ifndef NEO_HTTPD_DATABASE_H
#define NEO_HTTPD_DATABASE_H

#include <httpd.h>

#include "store/pg.h"

typedef struct neo_database neo_database;

/* True if mod_dbd is loaded. */
int neo_database_has_mod_dbd(void);

/* In a child process. */
neo_database *neo_database_make(apr_pool_t *pchild, server_rec *server);

/* Waits until a connection is free. Returns NULL where the database is away. Whoever waits for a connection to be opened while
 * the attempt of another fails is told so at once and does not try in its turn. `about` is given to the log with messages. */
neo_pg *neo_database_borrow(neo_database *database, void *about, apr_pool_t *pool);
void neo_database_give_back(neo_database *database, neo_pg *pg);

#endif
