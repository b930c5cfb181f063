/* SPDX-License-Identifier: Apache-2.0 */
/* Invalidates the credential caches of all processes. The schema's triggers notify; processes listen. Each listener also holds
 * a shared advisory lock whose number is the transaction up to which its cache is current, so that a change can be awaited, one
 * for each key of its key file, and the lock of its process's claims (see webhooks/claim_owner.h). */
#ifndef NEO_API_CACHE_SYNC_H
#define NEO_API_CACHE_SYNC_H

#include "core/crypto.h"
#include "pg/pg.h"

/* Seconds after which every listener knows a change, even if it cannot be reached. */
#define NEO_CACHE_SYNC_MAX_DELAY_S 15

/* Starts and stops listening (see neo_pg_listen). */
NEO_MUSTCHECK neo_pg_status neo_cache_sync_begin(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);
void neo_cache_sync_end(neo_pg *pg, apr_pool_t *pool);

/* A listener reads the current position, empties its cache, then confirms the position. NULL, and false, if the connection is
 * lost. */
const char *neo_cache_sync_position(neo_pg *pg, apr_pool_t *pool);
NEO_MUSTCHECK int neo_cache_sync_confirm(neo_pg *pg, const neo_keys *keys, const char *position, apr_pool_t *pool);

typedef struct neo_listeners {
    int listeners;
    int hosts;    /* as far as the role may see client addresses */
    int sessions; /* the runtime role's; without listeners they are a connection pooler's, which passes on no notifications */
} neo_listeners;

/* Counts the listeners. `runtime` is the runtime role's name. */
NEO_MUSTCHECK neo_pg_status neo_cache_sync_count_listeners(neo_pg *pg, const char *runtime, apr_pool_t *pool,
                                                           neo_listeners *found);

/* The number of listeners whose key file does not have the first of `keys`; -1 if they cannot be read. */
int neo_cache_sync_count_without_key(neo_pg *pg, const neo_keys *keys, apr_pool_t *pool);

/* Waits up to three seconds until every listener has confirmed what was committed before. False if one has not. */
int neo_cache_sync_await(neo_pg *pg, apr_pool_t *pool);

#endif
