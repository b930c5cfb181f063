/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a whole list in one snapshot, in parts, with a position of the event log that continues it. */
#ifndef NEO_SQL_SNAPSHOT_H
#define NEO_SQL_SNAPSHOT_H

#include <apr_tables.h>

#include "sql/idempotency.h"

#define NEO_SNAPSHOT_ROWS 100 /* of a part */

/* Whether a new snapshot may be used. An organization can have two on all hosts together, a tenant three: less than
 * NeoAPIExports allows in a process. */
typedef struct neo_snapshot {
    int is_within_organization, is_within_tenant; /* limit; if not within both, the snapshot must not be used */
    const char *position;                         /* from which the event log has all changes that the snapshot does not show */
} neo_snapshot;

/* Begins the transaction, which neo_pg_roll_back must end, also after a failure. The server ends it if nothing is read for
 * `seconds`. */
NEO_MUSTCHECK neo_pg_status neo_snapshot_begin(neo_pg *pg, const neo_actor *actor, int seconds, apr_pool_t *pool,
                                               neo_snapshot *snapshot);

/* Opens a cursor for a query with these parameters (const char *). */
NEO_MUSTCHECK neo_pg_status neo_snapshot_open(neo_pg *pg, const char *sql, const apr_array_header_t *parameters,
                                              apr_pool_t *pool, neo_rows *rows);

/* The next NEO_SNAPSHOT_ROWS rows; fewer are the last. */
NEO_MUSTCHECK neo_pg_status neo_snapshot_fetch(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);

#endif
