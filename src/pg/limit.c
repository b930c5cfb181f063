/* SPDX-License-Identifier: Apache-2.0 */
/* Statements with a time limit of their own (see pg/pg.h). */
#include <apr_strings.h>

#include "libpq.h"

void neo_pg_limit_time(neo_pg *pg, int milliseconds)
{
    pg->time_limit = milliseconds;
}

/* A pipeline is one transaction until its end, so the setting is reset by then, also behind a pooler. */
static int send_limited(neo_pg *pg, const neo_statement *statement, const char *sql, int params, const char *const *values)
{
    static const char set[] = "select set_config('statement_timeout', $1, true)";
    char limit[16];
    const char *const limits[] = {limit};
    apr_snprintf(limit, sizeof limit, "%d", pg->time_limit);
    return PQenterPipelineMode(pg->conn) && PQsendQueryParams(pg->conn, set, 1, NULL, limits, NULL, NULL, 0) &&
           (statement ? neo_pg_send_prepared(pg, statement, values)
                      : PQsendQueryParams(pg->conn, sql, params, NULL, values, NULL, NULL, 0)) &&
           PQpipelineSync(pg->conn);
}

/* The results of the setting, of the statement, and the end of the pipeline. After a failure to send, the connection is
 * unusable. */
PGresult *neo_pg_execute_limited(neo_pg *pg, const neo_statement *statement, const char *sql, int params,
                                 const char *const *values, int *completed)
{
    int ignored;
    int was_sent = send_limited(pg, statement, sql, params, values);
    PQclear(neo_pg_await(pg, was_sent, NEO_PG_TIMEOUT_S, &ignored));
    PGresult *result = neo_pg_await(pg, was_sent && !pg->timed_out, NEO_PG_TIMEOUT_S, completed);
    if (was_sent && !pg->timed_out && PQstatus(pg->conn) == CONNECTION_OK)
        PQclear(PQgetResult(pg->conn));
    PQexitPipelineMode(pg->conn);
    return result;
}
