/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the positions of the primary and of replicas (see sql/replica.h). */
#include "sql/replica.h"

#include <apr_strings.h>

#include "sql/replica.sql.h"

int neo_position_read(neo_pg *pg, neo_position *position, apr_pool_t *pool)
{
    neo_rows rows;
    if (neo_pg_run_as(pg, NEO_PG_PROBE, &position_sql, NULL, pool, &rows) != NEO_PG_OK || !rows.count)
        return 0;
    apr_cpystrn(position->lsn, neo_rows_value(&rows, 0, 0), sizeof position->lsn);
    apr_cpystrn(position->identity, neo_rows_value(&rows, 0, 1), sizeof position->identity);
    neo_text snapshot = neo_rows_text(&rows, 0, 2);
    apr_cpystrn(position->snapshot, snapshot.ptr, sizeof position->snapshot);
    return snapshot.len < sizeof position->snapshot;
}

const char *neo_position_find_newer(neo_pg *replica, const neo_position *position, apr_pool_t *pool)
{
    neo_rows rows;
    neo_pg_status status =
        neo_pg_run_as(replica, NEO_PG_PROBE, NEO_BIND(find_newer, .snapshot = position->snapshot), pool, &rows);
    return status == NEO_PG_OK ? neo_rows_value(&rows, 0, 0) : NULL;
}

int neo_transactions_are_visible(neo_pg *primary, const char *transactions, apr_pool_t *pool)
{
    neo_rows rows;
    return neo_pg_run_as(primary, NEO_PG_PROBE, NEO_BIND(are_visible, .transactions = transactions), pool, &rows) ==
               NEO_PG_OK &&
           neo_rows_is_true(&rows, 0, 0);
}

int neo_position_await(neo_pg *replica, const neo_position *position, int limit, apr_pool_t *pool)
{
    neo_rows rows;
    return neo_pg_run_as(
               replica, NEO_PG_PROBE,
               NEO_BIND(await_replay, .limit = apr_itoa(pool, limit), .lsn = position->lsn, .identity = position->identity),
               pool, &rows) == NEO_PG_OK &&
           rows.count;
}

const char *neo_replica_find_fault(neo_pg *replica, const neo_position *position, apr_pool_t *pool)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run_as(
        replica, NEO_PG_PROBE, NEO_BIND(find_fault, .identity = position->identity, .lsn = position->lsn), pool, &rows);
    return status == NEO_PG_OK ? neo_rows_value(&rows, 0, 0) : rows.message;
}
