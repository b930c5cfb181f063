/* How changes of credentials reach every process at once. The schema's triggers notify; processes listen. Each listener also
 * holds a shared advisory lock whose number says up to which transaction it has heard, so that whoever changes something can
 * wait until all have. */
#ifndef NEO_STORE_CACHE_SYNC_H
#define NEO_STORE_CACHE_SYNC_H

#include "store/pg.h"

/* A change is known to every listener after so many seconds, also where the listener cannot be reached. */
#define NEO_CACHE_SYNC_MAX_DELAY_S 15

/* Begins to listen (see neo_pg_listen), and gives the connection back to other uses. */
NEO_MUSTCHECK neo_pg_status neo_cache_sync_begin(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);
void neo_cache_sync_end(neo_pg *pg, apr_pool_t *pool);

/* Where a listener stands: it asks for the moment, forgets what it knew, and then says that it has heard of everything before
 * that moment. NULL, and false, if the connection is of no more use. */
const char *neo_cache_sync_position(neo_pg *pg, apr_pool_t *pool);
NEO_MUSTCHECK int neo_cache_sync_confirm(neo_pg *pg, const char *position, apr_pool_t *pool);

/* How many listeners there are, and on how many hosts, as far as the role may see where they are. */
NEO_MUSTCHECK neo_pg_status neo_cache_sync_count_listeners(neo_pg *pg, apr_pool_t *pool, int *listeners, int *hosts);

/* Waits until every listener has heard of what was committed before, three seconds at most. False if one has not. */
int neo_cache_sync_await(neo_pg *pg, apr_pool_t *pool);

#endif
