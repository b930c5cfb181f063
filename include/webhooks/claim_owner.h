/* SPDX-License-Identifier: Apache-2.0 */
/* Ties claims to the processes that made them. A claim's number begins with the number of its process. While the process is
 * connected, its listener holds an advisory lock on that number, and no other process takes over its claims. When it has ended
 * and the lock is free, other processes on the same host free its claims at once. Processes on other hosts wait until the lease
 * expires, because they cannot distinguish a process that has ended from one whose connection is interrupted. */
#ifndef NEO_WEBHOOKS_CLAIM_OWNER_H
#define NEO_WEBHOOKS_CLAIM_OWNER_H

#include "pg/pg.h"

/* The class of the advisory locks, in SQL. */
#define NEO_CLAIM_OWNER_LOCK "hashtext('neoapi.claim_owner')"

/* Call it once when a process starts. */
void neo_claim_owner_start(void);

/* The number of this process: positive, random. */
int neo_claim_owner(void);

/* A new, even number for a claim of this process. */
long long neo_claim_owner_new_claim(void);

/* Registers this process in the database, so that others can free its claims. */
NEO_MUSTCHECK neo_pg_status neo_claim_owner_register(neo_pg *pg, apr_pool_t *pool);

/* Frees the claims of processes of this host that have ended. *freed is their number. */
NEO_MUSTCHECK neo_pg_status neo_claim_owner_free_ended(neo_pg *pg, int seconds, apr_pool_t *pool, int *freed);

#endif
