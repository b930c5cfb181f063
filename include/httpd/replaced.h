/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses a database server that has been replaced, such as a former primary that is writable again. The processes of a host
 * share the highest rank (see sql/event_log.h) that they have seen behind the same servers and database of a DBDParams. A
 * connection is checked when it is opened, and again when a higher rank was seen, or when a connection that was accepted before
 * has led to a replaced server, which happens behind a pooler. So requests need no statement of their own for it. When a host
 * has just been started, its first connection asks all servers of DBDParams, and others wait for that; then a listener asks one
 * every five seconds. */
#ifndef NEO_HTTPD_REPLACED_H
#define NEO_HTTPD_REPLACED_H

#include "httpd/shared_memory.h"
#include "pg/pg.h"

/* A neo_pg_verifier without a baton. */
int neo_replaced_verify(neo_pg *pg, void *baton, unsigned int *verified);

#endif
