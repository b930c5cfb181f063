/* SPDX-License-Identifier: Apache-2.0 */
/* The event log as the API lists, follows and shows it, what holds back its end, and its epoch. `types` is a PostgreSQL array
 * of the types that the caller may read; NULL: all. */
#ifndef NEO_SQL_EVENT_LOG_H
#define NEO_SQL_EVENT_LOG_H

#include "sql/idempotency.h"
#include "sql/page.h"

/* A page, newest first (see neo_page_sql). */
NEO_MUSTCHECK neo_pg_status neo_event_list(neo_pg *pg, const neo_actor *actor, const char *types,
                                           const neo_selection *selection, apr_pool_t *pool, neo_rows *rows);

/* The columns of a page that follows the log. There is always a row; without an event its answer is NULL. */
enum {
    NEO_FOLLOWED_ANSWER,
    NEO_FOLLOWED_POSITION,   /* from which the next page continues, if there are no more rows than wanted */
    NEO_FOLLOWED_HAS_MORE,   /* not all events up to the end of the log were examined */
    NEO_FOLLOWED_IS_CURRENT, /* whether this database wrote the current epoch: if not, call neo_event_check_epoch */
    NEO_FOLLOWED_IS_VALID,   /* whether all events after `after` are still there */
};

/* The events after a position, oldest first. `after`: "" is the oldest valid position, "now" the end of the log. Examines at
 * most 101 events, so that a page with few or no matching events costs no more than others. */
NEO_MUSTCHECK neo_pg_status neo_event_follow(neo_pg *pg, const neo_actor *actor, const char *types, const char *after,
                                             const neo_selection *selection, apr_pool_t *pool, neo_rows *rows);

/* One row with the event, or none. */
NEO_MUSTCHECK neo_pg_status neo_event_read(neo_pg *pg, const neo_actor *actor, const char *types, const char *id,
                                           apr_pool_t *pool, neo_rows *rows);

/* Finds positions after which there are events: *organizations and *positions are PostgreSQL arrays without quotes, of the same
 * length, and a row has one of each. Runs the statement at most once, for a connection that must not be replaced. */
NEO_MUSTCHECK neo_pg_status neo_event_find_new(neo_pg *pg, const char *organizations, const char *positions, int seconds,
                                               apr_pool_t *pool, neo_rows *rows);

/* Begins a new epoch if another database wrote the current one. */
NEO_MUSTCHECK neo_pg_status neo_event_check_epoch(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);

/* ---------------------------------------------------------------- the end of the log */

/* The oldest transaction that has written and not ended holds back the end of the log. */
typedef struct neo_log_holder {
    long long transaction;   /* 0 if there is none */
    long long running;       /* milliseconds; -1: not known */
    const char *description; /* process, role, application */
} neo_log_holder;

NEO_MUSTCHECK neo_pg_status neo_log_holder_read(neo_pg *pg, apr_pool_t *pool, neo_log_holder *holder);

/* Reads a database's rank among those that have been the deployment's, within `seconds`. An odd rank is that of a promoted or
 * restored database, which will begin a later epoch when a host has used it for a minute. */
#define NEO_LOG_NO_RANK (-1) /* a standby, or the schema is missing or old */
NEO_MUSTCHECK neo_pg_status neo_log_rank_read(neo_pg *pg, int seconds, apr_pool_t *pool, long long *rank);

/* Whether a database of rank `other` has replaced one of `rank`. An odd one has not: a standby may have been promoted for a
 * rehearsal, without a host that used it. */
int neo_log_has_replaced(long long other, long long rank);

/* Sets *is_current if this database, not one that it is a copy of, wrote the log's epoch, and *begun_at to its beginning. A
 * position is valid in the epoch in which it was issued. */
NEO_MUSTCHECK neo_pg_status neo_log_epoch_read(neo_pg *pg, apr_pool_t *pool, int *is_current, const char **begun_at);

#endif
