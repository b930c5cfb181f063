/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions of several statements (see pg/pg.h). */
#include <string.h>

#include "core/log.h"
#include "libpq.h"

neo_pg_status neo_pg_finished_in_transaction(neo_pg *pg, const neo_statement *statement, PGresult *result, apr_pool_t *pool,
                                             neo_rows *rows)
{
    const char *state = neo_result_state(result);
    int is_known = neo_state_is_class(state, "42P05"), is_unknown = neo_state_is_class(state, "26000");
    int is_other = neo_state_is_class(state, "25006") || neo_state_is_class(state, "0A000") || neo_state_is_class(state, "57P");
    int is_retryable =
        is_other || is_known || is_unknown || neo_state_is_class(state, "40") || PQstatus(pg->conn) != CONNECTION_OK;
    if (neo_result_is_success(result) || pg->timed_out || !is_retryable)
        return neo_pg_finished(pg, result, pool, rows);
    if (statement && (is_known || is_unknown))
        pg->prepared[statement->slot] = (unsigned char)is_known;
    (void)neo_pg_read_result(pg, result, pool, rows);
    neo_log(NEO_LOG_TRANSACTION_RETRIED, pg->log_context, "transaction rolled back%s, starting it again: %s",
            neo_state_note(result, pool), rows->message);
    if (is_other)
        PQreset(pg->conn);
    return NEO_PG_RETRY;
}

neo_pg_status neo_pg_begin(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    PGresult *result = neo_pg_exec_reconnecting(pg, "begin isolation level read committed; savepoint s", 0, NULL);
    pg->in_transaction = neo_result_is_success(result);
    return neo_pg_finished(pg, result, pool, rows);
}

neo_pg_status neo_pg_savepoint(neo_pg *pg, int is_rollback, apr_pool_t *pool, neo_rows *rows)
{
    const char *sql = is_rollback ? "rollback to savepoint s" : "savepoint s";
    return neo_pg_finished_in_transaction(pg, NULL, neo_pg_execute_text(pg, sql, 0, NULL, NEO_PG_TIMEOUT_S), pool, rows);
}

/* Resets a connection that is still in a transaction. */
static void end(neo_pg *pg)
{
    pg->in_transaction = 0;
    if (PQstatus(pg->conn) == CONNECTION_OK && PQtransactionStatus(pg->conn) != PQTRANS_IDLE)
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
    neo_pg_status status = is_undone ? neo_pg_read_result(pg, result, pool, rows) : neo_pg_finished(pg, result, pool, rows);
    end(pg);
    return is_undone ? NEO_PG_RETRY : status;
}

void neo_pg_roll_back(neo_pg *pg)
{
    if (pg->in_transaction && PQstatus(pg->conn) == CONNECTION_OK && PQtransactionStatus(pg->conn) != PQTRANS_IDLE)
        PQclear(neo_pg_execute_text(pg, "rollback", 0, NULL, NEO_PG_TIMEOUT_S));
    end(pg);
}
