/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the event log: the oldest transaction that has written and not ended holds it back. */
#ifndef NEO_STORE_EVENT_LOG_H
#define NEO_STORE_EVENT_LOG_H

#include "store/pg.h"

typedef struct neo_log_holder {
    long long transaction;   /* 0: there is none */
    long long running;       /* milliseconds; -1: not known */
    const char *description; /* process, role, application */
} neo_log_holder;

NEO_MUSTCHECK neo_pg_status neo_log_holder_read(neo_pg *pg, apr_pool_t *pool, neo_log_holder *holder);

/* Sets *is_after if new events get higher ids than all others. *epoch: with this epoch of the cluster's transaction ids they
 * do. */
NEO_MUSTCHECK neo_pg_status neo_log_order_read(neo_pg *pg, apr_pool_t *pool, int *is_after, int *epoch);

#endif
