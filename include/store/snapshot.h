/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a whole list in one snapshot, in parts, with a position of the event log that continues it. */
#ifndef NEO_STORE_SNAPSHOT_H
#define NEO_STORE_SNAPSHOT_H

#include <apr_tables.h>

#include "store/pg.h"

#define NEO_SNAPSHOT_ROWS 100 /* of a part */

/* Begins the transaction, which neo_pg_roll_back must end, also after a failure. An organization can have two on all hosts
 * together; if it has, *position is NULL, otherwise the position from which the event log has all changes that the snapshot
 * does not show. The server ends the transaction if nothing is read for `seconds`. */
NEO_MUSTCHECK neo_pg_status neo_snapshot_begin(neo_pg *pg, const char *organization, int seconds, apr_pool_t *pool,
                                               const char **position);

/* Opens a cursor for a query with these parameters (const char *). */
NEO_MUSTCHECK neo_pg_status neo_snapshot_open(neo_pg *pg, const char *sql, const apr_array_header_t *parameters,
                                              apr_pool_t *pool, neo_rows *rows);

/* The next NEO_SNAPSHOT_ROWS rows; fewer are the last. */
NEO_MUSTCHECK neo_pg_status neo_snapshot_fetch(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);

#endif
