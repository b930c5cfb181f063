/* SPDX-License-Identifier: Apache-2.0 */
/* Counts for `neoapictl status` (see admin/overview.h). */
#include "admin/overview.h"

#include "admin/overview.sql.h"

const char *neo_overview_read(neo_pg *pg, apr_pool_t *pool, neo_json **counts)
{
    neo_rows rows;
    const char *error = NULL;
    if (neo_pg_exec(pg, overview_sql, 0, NULL, pool, &rows) != NEO_PG_OK)
        return rows.message;
    *counts = neo_json_parse(neo_rows_text(&rows, 0, 0), pool, &error);
    return error;
}
