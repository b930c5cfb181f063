/* SPDX-License-Identifier: Apache-2.0 */
/* Finds resources by their external ids (see sql/external_id.h). */
#include "sql/external_id.h"

#include <stdlib.h>

#include "core/buf.h"
#include "pg/array.h"
#include "sql/sql.h"

static neo_sql *find;

/* A scalar subquery for each kind, so that each external id is one index look-up, whatever the planner estimates of the tables'
 * sizes. */
void neo_external_id_make_statement(apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 2048);
    neo_buf_puts(&sql, "select number, id from (select w.number, case w.kind");
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if (neo_has_external_id(*r))
            neo_buf_printf(&sql,
                           " when '%s' then (select t.id from neoapi.%s t where t.organization_id = {organization}"
                           " and t.external_id = w.external_id)",
                           (*r)->name, neo_table_name(*r));
    neo_buf_puts(&sql, " end as id from unnest({numbers}::int[], {paths}::text[], {targets}::text[])"
                       " as w (number, kind, external_id)) as found where id is not null");
    find = neo_sql_make(pool, sql.ptr, NEO_READS);
}

neo_pg_status neo_external_id_find(neo_pg *pg, const neo_actor *actor, neo_external_id *all, int count, apr_pool_t *pool,
                                   neo_rows *rows)
{
    neo_values v = {0};
    neo_buf numbers, kinds, external_ids;
    neo_buf_init(&numbers, pool, 64);
    neo_buf_init(&kinds, pool, 256);
    neo_buf_init(&external_ids, pool, 256);
    for (int i = 0; i < count; i++) {
        neo_array_add_number(&numbers, i);
        neo_array_add_plain(&kinds, all[i].resource->name);
        neo_array_add(&external_ids, all[i].external_id);
    }
    v.organization = actor->organization;
    v.numbers = neo_array_end(&numbers);
    v.paths = neo_array_end(&kinds);
    v.targets = neo_array_end(&external_ids);
    neo_pg_status status = neo_sql_run(pg, find, &v, pool, rows);
    for (int r = 0; status == NEO_PG_OK && r < rows->count; r++)
        all[atoi(neo_rows_value(rows, r, 0))].id = neo_rows_value(rows, r, 1);
    return status;
}
