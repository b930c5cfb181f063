/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions that read one snapshot for a long time (see pg/pg.h). */
#include <apr_strings.h>

#include "libpq.h"

#define STATEMENT_S 60 /* the time limit of each statement */

/* The server ends the transaction if its client does not, for example because the host has failed: after it was idle for the
 * time limit of the whole, and from PostgreSQL 17 on after that limit in any case. */
neo_pg_status neo_pg_begin_snapshot(neo_pg *pg, int seconds, apr_pool_t *pool, neo_rows *rows)
{
    const char *sql = apr_psprintf(
        pool,
        "begin isolation level repeatable read read only;"
        " select set_config(name, case name when 'statement_timeout' then '%ds' else '%ds' end, true) from pg_settings"
        " where name in ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')",
        STATEMENT_S, seconds);
    PGresult *result = neo_pg_exec_reconnecting(pg, sql, 0, NULL);
    pg->in_transaction = neo_result_is_success(result);
    return neo_pg_finished(pg, result, pool, rows);
}

neo_pg_status neo_pg_read_snapshot(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                                   neo_rows *rows)
{
    int completed;
    int was_sent = PQsendQueryParams(pg->conn, sql, params, NULL, values, NULL, NULL, 0);
    PGresult *result = neo_pg_await(pg, was_sent, STATEMENT_S + 1, &completed);
    if (neo_state_is_class(neo_result_state(result), "57014")) { /* query_canceled: the time limit */
        (void)neo_pg_read_result(pg, result, pool, rows);
        return NEO_PG_TIME_LIMIT;
    }
    return neo_pg_finished(pg, result, pool, rows);
}
