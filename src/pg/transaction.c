/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions of several statements, and those that read one snapshot for a long time (see pg/pg.h). */
#include <apr_strings.h>
#include <string.h>

#include "libpq.h"

static neo_pg_status begin_in_mode(neo_pg *pg, neo_pg_mode mode, const char *sql, apr_pool_t *pool, neo_rows *rows)
{
    neo_pg_status status = neo_pg_run_as(pg, NEO_PG_REQUEST, NEO_QUERY(sql, 0), NULL, pool, rows);
    pg->mode = status == NEO_PG_OK ? mode : NEO_PG_REQUEST;
    return status;
}

neo_pg_status neo_pg_begin(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    return begin_in_mode(pg, NEO_PG_TRANSACTION, "begin isolation level read committed; savepoint s", pool, rows);
}

/* The server ends the transaction if its client does not, for example because the host has failed: after it was idle for the
 * time limit of the whole, and from PostgreSQL 17 on after that limit in any case. */
neo_pg_status neo_pg_begin_snapshot(neo_pg *pg, int seconds, apr_pool_t *pool, neo_rows *rows)
{
    const char *sql = apr_psprintf(
        pool,
        "begin isolation level repeatable read read only;"
        " select set_config(name, case name when 'statement_timeout' then '%ds' else '%ds' end, true) from pg_settings"
        " where name in ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')",
        NEO_PG_SNAPSHOT_S, seconds);
    return begin_in_mode(pg, NEO_PG_SNAPSHOT, sql, pool, rows);
}

neo_pg_status neo_pg_savepoint(neo_pg *pg, int is_rollback, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run_as(pg, NEO_PG_TRANSACTION, NEO_QUERY(is_rollback ? "rollback to savepoint s" : "savepoint s", 0), NULL,
                         pool, rows);
}

/* Resets a connection that is still in a transaction; one to a replica is closed by its owner. */
static void leave_transaction(neo_pg *pg)
{
    pg->mode = NEO_PG_REQUEST;
    if (!pg->is_replica && PQstatus(pg->conn) == CONNECTION_OK && PQtransactionStatus(pg->conn) != PQTRANS_IDLE)
        PQreset(pg->conn);
}

/* The server answers the commit of a failed transaction with success, but its command tag is ROLLBACK. */
neo_pg_status neo_pg_commit(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    int completed;
    PGresult *result = neo_pg_await(pg, PQsendQuery(pg->conn, "commit"), NEO_PG_TIMEOUT_S, &completed);
    const char *state = neo_result_state(result);
    int is_undone = neo_result_is_success(result)
                        ? strcmp(PQcmdStatus(result), "COMMIT") != 0
                        : neo_state_is_class(state, "40") || (neo_state_is_class(state, "57P") && !completed && !pg->timed_out);
    neo_pg_status status = neo_result_read(pg, result, pool, rows);
    if (!is_undone)
        neo_rows_report(pg, status, rows, pool);
    leave_transaction(pg);
    return is_undone ? NEO_PG_RETRY : status;
}

void neo_pg_roll_back(neo_pg *pg)
{
    int completed;
    if (pg->mode != NEO_PG_REQUEST && PQstatus(pg->conn) == CONNECTION_OK && PQtransactionStatus(pg->conn) != PQTRANS_IDLE)
        PQclear(neo_pg_await(pg, PQsendQuery(pg->conn, "rollback"), NEO_PG_TIMEOUT_S, &completed));
    leave_transaction(pg);
}
