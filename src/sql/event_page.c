/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, follows and reads events (see sql/event_page.h). */
#include "sql/event_page.h"

#include <apr_strings.h>

#include "sql/event_page.sql.h"

#define RECORD "neoapi.event_record(t)"
#define PREFIX "evt_"
/* The events that a page examines: the largest page and one more. With more, the planner may sort all later ones. */
#define SCANNED 101

static neo_statement *read_one, *check_epoch;
static const char *head; /* of pages that follow the log */

void neo_event_make_statements(apr_pool_t *pool)
{
    head = apr_psprintf(pool, follow_sql, SCANNED, SCANNED, SCANNED);
    read_one = neo_statement_make(pool, read_sql, 3, 0);
    check_epoch = neo_statement_make(pool, "select neoapi.check_event_epoch()", 0, 1);
}

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
                               .head = head};
    const char *values[] = {actor->organization, after, types};
    return neo_page_run(pg, &listed, values, types ? 3 : 2, selection, pool, rows);
}

neo_pg_status neo_event_read(neo_pg *pg, const neo_actor *actor, const char *types, const char *id, apr_pool_t *pool,
                             neo_rows *rows)
{
    const char *values[] = {actor->organization, id, types};
    return neo_pg_run(pg, read_one, values, pool, rows);
}

neo_pg_status neo_event_check_epoch(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, check_epoch, NULL, pool, rows);
}

neo_pg_status neo_event_find_new(neo_pg *pg, const char *organizations, const char *positions, int seconds, apr_pool_t *pool,
                                 neo_rows *rows)
{
    return neo_pg_exec_once(pg, apr_psprintf(pool, find_new_sql, organizations, positions), seconds, pool, rows);
}
