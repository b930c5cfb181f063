/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses a database server that has been replaced, such as a former primary that is writable again. The processes of a host
 * share the highest rank (see sql/event_log.h) that they have seen behind the same DBDParams. A connection is checked when it
 * is opened, and again when a higher rank was seen, or when a connection that was accepted before has led to a replaced server,
 * which happens behind a pooler. So requests need no statement of their own for it. When a host has just been started, its
 * first connection asks all servers of DBDParams, and others wait for that; then a listener asks one every five seconds. */
#ifndef NEO_HTTPD_REPLACED_H
#define NEO_HTTPD_REPLACED_H

#include "httpd/shared_memory.h"
#include "pg/pg.h"

/* The host's entry for DBDParams; NULL if it has too many databases. Call it in a child process. */
neo_seen_rank *neo_seen_rank_find(const char *params);

/* A neo_pg_verifier; the baton is a neo_seen_rank. */
int neo_replaced_verify(neo_pg *pg, void *baton, unsigned int *verified);

#endif
