/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what holds back the event log, and its epoch (see sql/event_log.h). */
#include "sql/event_log.h"

#include <stdlib.h>

#include "sql/event_log.sql.h"

enum { TRANSACTION, RUNNING, DESCRIPTION };

neo_pg_status neo_log_holder_read(neo_pg *pg, apr_pool_t *pool, neo_log_holder *holder)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run(pg, NEO_QUERY(holder_sql, 0), NULL, pool, &rows);
    *holder = (neo_log_holder){0};
    if (status != NEO_PG_OK || rows.count == 0)
        return status;
    const char *running = neo_rows_value(&rows, 0, RUNNING);
    holder->transaction = atoll(neo_rows_value(&rows, 0, TRANSACTION));
    holder->running = running ? atoll(running) : -1;
    holder->description = neo_rows_value(&rows, 0, DESCRIPTION);
    return status;
}

neo_pg_status neo_log_epoch_read(neo_pg *pg, apr_pool_t *pool, int *is_current, const char **begun_at)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run(pg, NEO_QUERY(epoch_sql, 0), NULL, pool, &rows);
    if (status == NEO_PG_OK) {
        *is_current = neo_rows_is_true(&rows, 0, 0);
        *begun_at = neo_rows_value(&rows, 0, 1);
    }
    return status;
}
