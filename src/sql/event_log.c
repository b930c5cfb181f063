/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, follows and reads events, and reads the state of the log (see sql/event_log.h). */
#include "sql/event_log.h"

#include <apr_strings.h>
#include <stdlib.h>

#include "sql/event_log.sql.h"

#define RECORD "neoapi.event_record(t)"
#define PREFIX "evt_"

neo_pg_status neo_event_list(neo_pg *pg, const neo_actor *actor, const char *types, const neo_selection *selection,
                             apr_pool_t *pool, neo_rows *rows)
{
    const neo_listed listed = {.answer = RECORD,
                               .from = "neoapi.event t where t.organization_id = $1",
                               .prefix = PREFIX,
                               .merged = "t.type",
                               .values = types ? "select unnest($2::text[])" : NULL};
    const char *values[] = {actor->organization, types};
    return neo_page_run(pg, &listed, values, types ? 2 : 1, selection, pool, rows);
}

neo_pg_status neo_event_follow(neo_pg *pg, const neo_actor *actor, const char *types, const char *after,
                               const neo_selection *selection, apr_pool_t *pool, neo_rows *rows)
{
    const neo_listed listed = {.answer = RECORD,
                               .from = types ? "scan t where t.type = any ($3::text[])" : "scan t where true",
                               .prefix = PREFIX,
                               .head = follow_sql};
    const char *values[] = {actor->organization, after, types};
    return neo_page_run(pg, &listed, values, types ? 3 : 2, selection, pool, rows);
}

neo_pg_status neo_event_read(neo_pg *pg, const neo_actor *actor, const char *types, const char *id, apr_pool_t *pool,
                             neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(read, .organization = actor->organization, .id = id, .types = types), pool, rows);
}

neo_pg_status neo_event_check_epoch(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(check_epoch), pool, rows);
}

neo_pg_status neo_event_find_new(neo_pg *pg, const char *organizations, const char *positions, int seconds, apr_pool_t *pool,
                                 neo_rows *rows)
{
    return neo_pg_exec_once(pg, apr_psprintf(pool, find_new_sql, organizations, positions), seconds, pool, rows);
}

/* ---------------------------------------------------------------- the end of the log */

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

neo_pg_status neo_log_rank_read(neo_pg *pg, int seconds, apr_pool_t *pool, long long *rank)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_exec_once(pg, rank_sql, seconds, pool, &rows);
    const char *value = status == NEO_PG_OK && rows.count ? neo_rows_value(&rows, 0, 0) : NULL;
    *rank = value ? atoll(value) : NEO_LOG_NO_RANK;
    return status;
}

int neo_log_has_replaced(long long other, long long rank)
{
    return other % 2 == 0 && rank != NEO_LOG_NO_RANK && other > rank;
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
