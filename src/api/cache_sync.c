/* SPDX-License-Identifier: Apache-2.0 */
/* Invalidation of credential caches (see api/cache_sync.h).
 *
 * A position is the lowest 31 bits of a transaction id: a listener's is a snapshot's xmax, so that transactions with a lower id
 * started before it. */
#include "api/cache_sync.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "webhooks/claim_owner.h"

#define CHANNEL          "neoapi_credentials"
#define LOCK_CLASS       "hashtext('" CHANNEL "')"
#define BITS(id)         "(" id "::text::bigint & x'7fffffff'::bigint)::int"
#define QUERY_TIMEOUT_S  11
#define AWAIT_LIMIT_MS   3000
#define POLL_INTERVAL_US 2000

neo_pg_status neo_cache_sync_begin(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_listen(pg, CHANNEL, pool, rows);
}

void neo_cache_sync_end(neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    (void)!neo_pg_exec_once(pg, "unlisten *; select pg_advisory_unlock_all()", 3, pool,
                            &rows); /* if the connection is lost, the locks are as well */
}

int neo_cache_sync_heartbeat(neo_pg *pg, int seconds, apr_pool_t *pool)
{
    neo_rows rows;
    neo_ms started = neo_steady_ms();
    const char *sql = "select (extract(epoch from clock_timestamp()) * 1000)::bigint";
    if (neo_pg_exec_once(pg, sql, seconds, pool, &rows) != NEO_PG_OK)
        return 0;
    neo_ms took = neo_steady_ms() - started;
    neo_clock_compare(atoll(neo_rows_value(&rows, 0, 0)), took);
    return 1;
}

const char *neo_cache_sync_position(neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    const char *sql = "select " BITS("pg_snapshot_xmax(pg_current_snapshot())");
    return neo_pg_exec_once(pg, sql, QUERY_TIMEOUT_S, pool, &rows) == NEO_PG_OK ? neo_rows_value(&rows, 0, 0) : NULL;
}

int neo_cache_sync_confirm(neo_pg *pg, const char *position, apr_pool_t *pool)
{
    neo_rows rows;
    const char *sql = apr_psprintf(pool,
                                   "select pg_advisory_unlock_all(), pg_advisory_lock_shared(" NEO_CLAIM_OWNER_LOCK
                                   ", %d), pg_advisory_lock_shared(" LOCK_CLASS ", %s)",
                                   neo_claim_owner(), position);
    return neo_pg_exec_once(pg, sql, QUERY_TIMEOUT_S, pool, &rows) == NEO_PG_OK;
}

#define LISTENERS                                                                                                              \
    "l.locktype = 'advisory' and l.objsubid = 2"                                                                               \
    " and l.database = (select oid from pg_database where datname = current_database())"                                       \
    " and l.classid = (" LOCK_CLASS "::bigint & x'ffffffff'::bigint)::oid"

neo_pg_status neo_cache_sync_count_listeners(neo_pg *pg, const char *runtime, apr_pool_t *pool, neo_listeners *found)
{
    neo_rows rows;
    const char *values[] = {runtime};
    const char *sql = "select count(distinct l.pid), count(distinct coalesce(host(a.client_addr), '')),"
                      " (select count(*) from pg_stat_activity s where s.datname = current_database() and s.usename = $1"
                      " and s.pid <> pg_backend_pid())"
                      " from pg_locks l left join pg_stat_activity a using (pid) where " LISTENERS;
    neo_pg_status status = neo_pg_exec(pg, sql, 1, values, pool, &rows);
    memset(found, 0, sizeof *found);
    if (status == NEO_PG_OK)
        *found = (neo_listeners){atoi(neo_rows_value(&rows, 0, 0)), atoi(neo_rows_value(&rows, 0, 1)),
                                 atoi(neo_rows_value(&rows, 0, 2))};
    return status;
}

/* This transaction starts after the change was committed. It notifies the listeners again, so that each takes a position after
 * it. */
int neo_cache_sync_await(neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    neo_ms until = neo_steady_ms() + AWAIT_LIMIT_MS;
    if (neo_pg_exec_once(pg, "select " BITS("pg_current_xact_id()") ", pg_notify('" CHANNEL "', '')", QUERY_TIMEOUT_S, pool,
                         &rows) != NEO_PG_OK)
        return 0;
    const char *sql = apr_psprintf(pool,
                                   "select count(*) = 0 from pg_locks l where " LISTENERS
                                   " and (l.objid::bigint - %s) & x'7fffffff'::bigint not between 1 and x'3fffffff'::bigint",
                                   neo_rows_value(&rows, 0, 0));
    for (; neo_steady_ms() < until; usleep(POLL_INTERVAL_US))
        if (neo_pg_exec_once(pg, sql, QUERY_TIMEOUT_S, pool, &rows) != NEO_PG_OK || neo_rows_is_true(&rows, 0, 0))
            return rows.count == 1;
    return 0;
}
