/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the event log: the oldest transaction that has written and not ended holds it back. Its epoch: positions are valid
 * in the one in which they were issued. */
#ifndef NEO_SQL_EVENT_LOG_H
#define NEO_SQL_EVENT_LOG_H

#include "pg/pg.h"

typedef struct neo_log_holder {
    long long transaction;   /* 0: there is none */
    long long running;       /* milliseconds; -1: not known */
    const char *description; /* process, role, application */
} neo_log_holder;

NEO_MUSTCHECK neo_pg_status neo_log_holder_read(neo_pg *pg, apr_pool_t *pool, neo_log_holder *holder);

/* Sets *is_current if this database, not one that it is a copy of, wrote the log's epoch, and *begun_at to its beginning. */
NEO_MUSTCHECK neo_pg_status neo_log_epoch_read(neo_pg *pg, apr_pool_t *pool, int *is_current, const char **begun_at);

#endif
