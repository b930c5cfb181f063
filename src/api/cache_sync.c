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
#define KEY_LOCK_CLASS   "hashtext('neoapi_keys')"
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

const char *neo_cache_sync_position(neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    const char *sql = "select " BITS("pg_snapshot_xmax(pg_current_snapshot())");
    return neo_pg_exec_once(pg, sql, QUERY_TIMEOUT_S, pool, &rows) == NEO_PG_OK ? neo_rows_value(&rows, 0, 0) : NULL;
}

/* Keys of whose beginnings the locks have their numbers. They are derived, so that they disclose nothing about the keys. */
static neo_keys key_numbers(const neo_keys *keys)
{
    neo_keys numbers;
    neo_keys_derive(keys, "neoapi key number", &numbers);
    return numbers;
}

static int lock_number(const unsigned char *bytes)
{
    return (bytes[0] & 0x7F) << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

/* The lock of the position comes last: who sees it sees those of the keys. */
int neo_cache_sync_confirm(neo_pg *pg, const neo_keys *keys, const char *position, apr_pool_t *pool)
{
    neo_rows rows;
    neo_buf sql;
    const neo_keys numbers = key_numbers(keys);
    neo_buf_init(&sql, pool, 512);
    neo_buf_printf(&sql, "select pg_advisory_unlock_all(), pg_advisory_lock_shared(" NEO_CLAIM_OWNER_LOCK ", %d)",
                   neo_claim_owner());
    for (int i = 0; i < keys->count; i++)
        neo_buf_printf(&sql, ", pg_advisory_lock_shared(" KEY_LOCK_CLASS ", %d)", lock_number(numbers.key[i]));
    neo_buf_printf(&sql, ", pg_advisory_lock_shared(" LOCK_CLASS ", %s)", position);
    return neo_pg_exec_once(pg, sql.ptr, QUERY_TIMEOUT_S, pool, &rows) == NEO_PG_OK;
}

#define CLASS_OID(class) "(" class "::bigint & x'ffffffff'::bigint)::oid"

#define LISTENERS                                                                                                              \
    "l.locktype = 'advisory' and l.objsubid = 2"                                                                               \
    " and l.database = (select oid from pg_database where datname = current_database())"                                       \
    " and l.classid = " CLASS_OID(LOCK_CLASS)

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

int neo_cache_sync_count_without_key(neo_pg *pg, const neo_keys *keys, apr_pool_t *pool)
{
    neo_rows rows;
    const neo_keys numbers = key_numbers(keys);
    const char *sql =
        apr_psprintf(pool,
                     "with l as materialized (select * from pg_locks) select count(distinct l.pid) from l"
                     " where " LISTENERS " and not exists (select from l k where k.locktype = 'advisory'"
                     " and k.objsubid = 2 and k.pid = l.pid and k.classid = " CLASS_OID(KEY_LOCK_CLASS) " and k.objid = %d)",
                     lock_number(numbers.key[0]));
    return neo_pg_exec(pg, sql, 0, NULL, pool, &rows) == NEO_PG_OK ? atoi(neo_rows_value(&rows, 0, 0)) : -1;
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
