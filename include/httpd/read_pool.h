/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to replicas (NeoAPIReadDSN), for reads that may be executed on one. A thread opens them, so that no request waits
 * for a replica that does not respond. */
#ifndef NEO_HTTPD_READ_POOL_H
#define NEO_HTTPD_READ_POOL_H

#include "httpd/database.h"

typedef struct neo_read_pool neo_read_pool;
typedef struct neo_read_connection neo_read_connection;

/* Call it in a child process, after the virtual host's database is set. At most DBDMax connections are opened. Returns NULL
 * without NeoAPIReadDSN, and `other`, the pool of a virtual host with the same database or NULL, if it has the same
 * NeoAPIReadDSN. */
neo_read_pool *neo_read_pool_start(apr_pool_t *pchild, server_rec *server, neo_read_pool *other);

/* Returns a connection to a replica that has replayed all that the primary had committed when this function was called; NULL if
 * no connection is idle, if the primary does not report its position or the replica does not replay it within milliseconds, or
 * if one of them cannot be reached. *acquired is for neo_read_pool_release. */
neo_pg *neo_read_pool_acquire(neo_read_pool *reads, neo_read_connection **acquired, apr_pool_t *pool);

/* Whether all that was read over the connection is visible on the primary. Otherwise a later read from that would go back. In a
 * transaction, call it after the first statement. */
int neo_read_pool_is_confirmed(neo_read_pool *reads, neo_read_connection *acquired, neo_db_lease *lease, apr_pool_t *pool);
void neo_read_pool_release(neo_read_pool *reads, neo_read_connection *acquired);

#endif
