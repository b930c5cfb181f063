/* Several statements in one transaction (see store/pg.h). */
#include <string.h>

#include "core/log.h"
#include "libpq.h"

neo_pg_status neo_pg_finished_between(neo_pg *pg, const neo_statement *statement, PGresult *result, apr_pool_t *pool,
                                      neo_rows *rows)
{
    const char *state = neo_result_state(result);
    int is_known = neo_state_is_class(state, "42P05"), is_unknown = neo_state_is_class(state, "26000");
    int is_other = neo_state_is_class(state, "25006") || neo_state_is_class(state, "0A000") || neo_state_is_class(state, "57P");
    int is_again = is_other || is_known || is_unknown || neo_state_is_class(state, "40") || PQstatus(pg->conn) != CONNECTION_OK;
    if (neo_result_is_success(result) || pg->gave_up || !is_again)
        return neo_pg_finished(pg, result, pool, rows);
    if (statement && (is_known || is_unknown))
        pg->prepared[statement->slot] = (unsigned char)is_known;
    (void)neo_pg_take(pg, result, pool, rows);
    neo_log(NEO_LOG_BEGUN_AGAIN, pg->about, "a transaction has to begin again (%s): %s", state, rows->message);
    if (is_other)
        PQreset(pg->conn);
    return NEO_PG_AGAIN;
}

neo_pg_status neo_pg_begin(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    PGresult *result = neo_pg_ask(pg, "begin isolation level read committed; savepoint s", 0, NULL);
    pg->is_in_between = neo_result_is_success(result);
    return neo_pg_finished(pg, result, pool, rows);
}

neo_pg_status neo_pg_mark(neo_pg *pg, int back, apr_pool_t *pool, neo_rows *rows)
{
    const char *sql = back ? "rollback to savepoint s" : "savepoint s";
    return neo_pg_finished_between(pg, NULL, neo_pg_execute_text(pg, sql, 0, NULL, NEO_PG_PATIENCE), pool, rows);
}

/* A connection that is not out of the transaction by now is opened anew. */
static void end(neo_pg *pg)
{
    pg->is_in_between = 0;
    if (PQstatus(pg->conn) == CONNECTION_OK && PQtransactionStatus(pg->conn) != PQTRANS_IDLE)
        PQreset(pg->conn);
}

/* A transaction that cannot be committed is rolled back, and that is a success to the server. */
neo_pg_status neo_pg_commit(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    int completed;
    PGresult *result = neo_pg_await(pg, PQsendQuery(pg->conn, "commit"), NEO_PG_PATIENCE, &completed);
    const char *state = neo_result_state(result);
    int is_undone = neo_result_is_success(result)
                        ? strcmp(PQcmdStatus(result), "COMMIT") != 0
                        : neo_state_is_class(state, "40") || (neo_state_is_class(state, "57P") && !completed && !pg->gave_up);
    neo_pg_status status = is_undone ? neo_pg_take(pg, result, pool, rows) : neo_pg_finished(pg, result, pool, rows);
    end(pg);
    return is_undone ? NEO_PG_AGAIN : status;
}

void neo_pg_roll_back(neo_pg *pg)
{
    if (pg->is_in_between && PQstatus(pg->conn) == CONNECTION_OK && PQtransactionStatus(pg->conn) != PQTRANS_IDLE)
        PQclear(neo_pg_execute_text(pg, "rollback", 0, NULL, NEO_PG_PATIENCE));
    end(pg);
}
