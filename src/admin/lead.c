/* SPDX-License-Identifier: Apache-2.0 */
/* Imports leads for neoapictl (see admin/lead.h). */
#include "admin/lead.h"

#include "admin/lead.sql.h"
#include "core/id.h"
#include "exec.h"

static const char *exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool, neo_rows *rows)
{
    neo_pg_status status = neo_pg_exec(pg, sql, params, values, pool, rows);
    if (status == NEO_PG_OK)
        return NULL;
    if (status == NEO_PG_UNIQUE_VIOLATION || status == NEO_PG_FK_VIOLATION)
        return "leads or parties were changed at the same time; try again";
    return rows->message;
}

const char *neo_admin_find_organization(neo_pg *pg, const char *organization, apr_pool_t *pool)
{
    neo_rows rows;
    const char *values[] = {organization};
    const char *error = exec(pg, "select from neoapi.organization where id = $1", 1, values, pool, &rows);
    return error || rows.count ? error : neo_admin_missing(NEO_ADMIN_ORGANIZATIONS);
}

const char *neo_admin_check_leads(neo_pg *pg, const char *organization, neo_text rows, apr_pool_t *pool, neo_json **problems)
{
    neo_rows found;
    const char *values[] = {organization, rows.ptr};
    const char *error = exec(pg, problems_sql, 2, values, pool, &found);
    if (!error)
        *problems = neo_json_parse(neo_rows_text(&found, 0, 0), pool, &error);
    return error;
}

const char *neo_admin_add_leads(neo_pg *pg, const char *organization, neo_text rows, apr_pool_t *pool)
{
    neo_rows made;
    char id_block[NEO_ID_BLOCK_SIZE];
    neo_id_issue_block(id_block, "led_");
    const char *values[] = {organization, rows.ptr, id_block};
    return exec(pg, add_sql, 3, values, pool, &made);
}
