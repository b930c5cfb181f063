/* SPDX-License-Identifier: Apache-2.0 */
/* An export of an organization (see admin/export.h). */
#include "admin/export.h"

#include <apr_strings.h>
#include <stdlib.h>

#include "admin/export.sql.h"
#include "resources/noun.h"
#include "sql/representation.h"

#define FETCH_ROWS "1000" /* a few megabytes at most */

const char *neo_export_begin(neo_pg *pg, const char *organization, apr_pool_t *pool, neo_json **head)
{
    neo_rows rows;
    const char *error = neo_pg_query(pg, "begin isolation level repeatable read read only", 0, NULL, pool, &rows);
    if (!error)
        error = neo_pg_query(pg, head_sql, 1, &organization, pool, &rows);
    if (!error && !rows.count)
        error = neo_noun_organization.missing;
    if (!error)
        *head = neo_json_parse(neo_rows_text(&rows, 0, 0), pool, &error);
    if (!error && !(error = neo_pg_query(pg, left_out_sql, 1, &organization, pool, &rows)))
        neo_json_set(*head, "left_out", neo_json_parse(neo_rows_text(&rows, 0, 0), pool, &error));
    return error;
}

void neo_export_end(neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    (void)neo_pg_query(pg, "commit", 0, NULL, pool, &rows); /* nothing was written, so a failure does not matter */
}

const char *neo_export_count(neo_pg *pg, const neo_resource *resource, const char *organization, apr_pool_t *pool,
                             long long *count)
{
    neo_rows rows;
    const char *sql = apr_psprintf(pool, "select count(*) from neoapi.%s where organization_id = $1", neo_table_name(resource));
    const char *error = neo_pg_query(pg, sql, 1, &organization, pool, &rows);
    *count = error ? 0 : atoll(neo_rows_value(&rows, 0, 0));
    return error;
}

/* `declare` takes no parameters. */
const char *neo_export_open(neo_pg *pg, const neo_resource *resource, const char *organization, apr_pool_t *pool)
{
    neo_rows rows;
    return neo_pg_query(pg,
                        apr_psprintf(pool,
                                     "close all; declare export_cursor no scroll cursor for select %s from neoapi.%s t"
                                     " where t.organization_id = %s order by t.id",
                                     neo_representation_exported(resource, pool), neo_table_name(resource),
                                     neo_pg_literal(pg, organization, pool)),
                        0, NULL, pool, &rows);
}

const char *neo_export_next(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_query(pg, "fetch " FETCH_ROWS " from export_cursor", 0, NULL, pool, rows);
}
