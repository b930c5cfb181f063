/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a replica has replayed what the primary has committed. */
#ifndef NEO_SQL_REPLICA_H
#define NEO_SQL_REPLICA_H

#include "pg/pg.h"

/* A position of the primary's write-ahead log. All commits that were visible when it was read are before it. */
typedef struct neo_position {
    char lsn[24];
    char identity[64];   /* the primary's, with its timeline, as in neoapi.event_epoch */
    char snapshot[4096]; /* what is visible on the primary */
} neo_position;

/* Reads the primary's position. Returns false if it is not available, for example because the connection is to a standby. */
int neo_position_read(neo_pg *pg, neo_position *position, apr_pool_t *pool);

/* Waits for at most `limit` milliseconds until the replica has replayed the position. Statements that are executed on this
 * connection afterwards see all that the position covers. */
int neo_position_await(neo_pg *replica, const neo_position *position, int limit, apr_pool_t *pool);

/* A replica shows a commit when it has replayed it, the primary only later, if it waits for a synchronous standby. Call it
 * after a read. Returns the transactions that the read may have shown although they are not visible at the position, as an
 * array that is empty ("{}") if there are none; NULL: not known. */
const char *neo_position_find_newer(neo_pg *replica, const neo_position *position, apr_pool_t *pool);

/* Whether these transactions are visible on the primary now. */
int neo_transactions_are_visible(neo_pg *primary, const char *transactions, apr_pool_t *pool);

/* Why the server cannot be used as a replica, or NULL. */
const char *neo_replica_find_fault(neo_pg *replica, const neo_position *position, apr_pool_t *pool);

#endif
