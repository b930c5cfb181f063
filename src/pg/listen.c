/* SPDX-License-Identifier: Apache-2.0 */
/* Notifications, and statements that are run once on a given connection (see pg/pg.h). */
#include <apr_strings.h>
#include <stdlib.h>

#include "libpq.h"

neo_pg_status neo_pg_listen(neo_pg *pg, const char *channel, apr_pool_t *pool, neo_rows *rows)
{
    const char *sql = apr_psprintf(pool, "listen %s; select pg_backend_pid()", channel);
    neo_pg_status status = neo_pg_read_result(pg, neo_pg_execute_text(pg, sql, 0, NULL, NEO_PG_TIMEOUT_S), pool, rows);
    if (status != NEO_PG_OK)
        return status;
    /* A pooler sends a made-up process id when a connection starts. */
    if (atoi(neo_rows_value(rows, 0, 0)) == PQbackendPID(pg->conn))
        return NEO_PG_OK;
    PQclear(neo_pg_execute_text(pg, "unlisten *", 0, NULL, NEO_PG_TIMEOUT_S));
    rows->message = "a connection pooler does not pass on notifications";
    return NEO_PG_FAILED;
}

int neo_pg_socket(neo_pg *pg)
{
    return PQsocket(pg->conn);
}

int neo_pg_notifications(neo_pg *pg)
{
    int count = 0;
    if (!PQconsumeInput(pg->conn) || PQstatus(pg->conn) != CONNECTION_OK)
        return -1;
    for (PGnotify *notice; (notice = PQnotifies(pg->conn)); count++)
        PQfreemem(notice);
    return count;
}

neo_pg_status neo_pg_exec_once(neo_pg *pg, const char *sql, int seconds, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_read_result(pg, neo_pg_execute_text(pg, sql, 0, NULL, seconds), pool, rows);
}
