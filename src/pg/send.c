/* SPDX-License-Identifier: Apache-2.0 */
/* Statements whose result is received later (see pg/pg.h). */
#include "core/clock.h"
#include "libpq.h"

void neo_pg_send(neo_pg *pg, const neo_statement *statement, const char *const *values)
{
    int failed = 1;
    pg->sent.statement = NULL;
    if (!neo_pg_is_alive(pg) && !neo_pg_reconnect(pg))
        return;
    PQclear(neo_pg_prepare(pg, statement, &failed));
    if (failed || !neo_pg_send_prepared(pg, statement, values))
        return;
    pg->sent.statement = statement;
    pg->sent.until = neo_steady_seconds() + NEO_PG_TIMEOUT_S;
}

int neo_pg_is_answered(neo_pg *pg)
{
    return !pg->sent.statement || !PQconsumeInput(pg->conn) || !PQisBusy(pg->conn) || neo_steady_seconds() >= pg->sent.until;
}

/* Runs the statement if it was not sent or can be retried. */
neo_pg_status neo_pg_receive(neo_pg *pg, const neo_statement *statement, const char *const *values, apr_pool_t *pool,
                             neo_rows *rows)
{
    int completed;
    long long left = pg->sent.until - neo_steady_seconds();
    if (!pg->sent.statement)
        return neo_pg_run(pg, statement, values, pool, rows);
    pg->sent.statement = NULL;
    PGresult *result = neo_pg_await(pg, 1, left > 0 ? (int)left : 0, &completed);
    if (neo_result_is_success(result) || !neo_pg_can_retry(pg, statement, result, completed))
        return neo_pg_finished(pg, result, pool, rows);
    PQclear(result);
    return neo_pg_run(pg, statement, values, pool, rows);
}
