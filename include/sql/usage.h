/* SPDX-License-Identifier: Apache-2.0 */
/* What credentials have used, by day (see sql/0008_usage.sql). */
#ifndef NEO_SQL_USAGE_H
#define NEO_SQL_USAGE_H

#include "core/usage.h"
#include "sql/idempotency.h"

#define NEO_USAGE_DAYS "92" /* up to the last one, of a list */

/* What one process has taken and not yet recorded. */
typedef struct neo_usage_flush neo_usage_flush;

/* Takes the counters. Returns NULL if there are none. Belongs to the pool. */
neo_usage_flush *neo_usage_flush_make(neo_usage *usage, apr_pool_t *pool);

/* Records them. After a failure it can be called again: they are not added twice. */
NEO_MUSTCHECK neo_pg_status neo_usage_flush_record(neo_pg *pg, const neo_usage_flush *flush, apr_pool_t *pool);

/* One row: {"items": […]}, newest day first. `from` and `to` are dates; NULL: the last 31 days, and today. `credentials`: an
 * array literal; NULL: all. */
NEO_MUSTCHECK neo_pg_status neo_usage_read(neo_pg *pg, const neo_actor *actor, const char *from, const char *to,
                                           const char *credentials, apr_pool_t *pool, neo_rows *rows);

/* Removes what is older than two years. A day's rows are few, so that it is one statement. */
NEO_MUSTCHECK neo_pg_status neo_usage_expire(neo_pg *pg, apr_pool_t *pool);

#endif
