/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the statements of an import (see admin/import_sql.h). */
#include "admin/import_sql.h"

#include <apr_strings.h>

#include "sql/write.h"

#define MAX_SHOWN "101" /* errors of one kind: one more than are shown */

const char *neo_import_find_sql(const neo_resource *const *kinds, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 2048);
    neo_buf_puts(&sql, "with lookup as materialized (select * from json_to_recordset($2::json)"
                       " as l (n int, kind text, given text, external text, fresh text)),"
                       " found as materialized (select l.n, l.kind, l.given, coalesce(i.id, m.id, case l.kind");
    for (const neo_resource *const *k = kinds; *k; k++)
        if (neo_has_external_id(*k))
            neo_buf_printf(&sql,
                           " when '%s' then (select t.id from neoapi.%s t where t.organization_id = $1"
                           " and t.external_id = l.external)",
                           (*k)->name, neo_table_name(*k));
    neo_buf_puts(&sql, " end, l.fresh) as id from lookup l left join neoapi.imported_id i on i.organization_id = $1"
                       " and i.kind = l.kind and i.original_id = l.given"
                       " left join import_id m on m.kind = l.kind and m.original_id = l.given),"
                       " stored as (insert into import_id (kind, original_id, id)"
                       " select kind, given, id from found where given is not null on conflict do nothing)"
                       " select n, id from found");
    return sql.ptr;
}

const char *neo_import_missing_sql(const neo_resource *const *kinds, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 2048);
    neo_buf_puts(&sql, "with outside as materialized (select * from import_reference r"
                       " where not exists (select from import_line l where l.id = r.target))"
                       " select r.number, r.path from outside r where case left(r.target, 4)");
    for (const neo_resource *const *k = kinds; *k; k++)
        neo_buf_printf(&sql, " when '%s' then (select o.id from neoapi.%s o where o.organization_id = $1 and o.id = r.target)",
                       (*k)->prefix, neo_table_name(*k));
    neo_buf_puts(&sql, " end is null order by r.number, r.path limit " MAX_SHOWN);
    return sql.ptr;
}

/* `columns` are expressions over unqualified columns, so each is used in a query with only one source. */
const char *neo_import_duplicates_sql(const neo_resource *kind, const char *columns, const char *present, const char *predicate,
                                      apr_pool_t *pool)
{
    const char *where = predicate ? apr_psprintf(pool, "%s and (%s)", present, predicate) : present;
    return apr_psprintf(
        pool,
        "with mine as materialized (select l.number, l.id, (select row(%s)::text"
        " from json_populate_record(null::neoapi.%s, l.body) where %s) as key"
        " from import_line l where l.kind = '%s' and l.body is not null)"
        " select m.number, m.first, null from (select number, key, min(number) over (partition by key) as first from mine"
        " where key is not null) m where m.number <> m.first"
        " union all select m.number, null, t.id from mine m join (select id, row(%s)::text as key from neoapi.%s"
        " where organization_id = $1 and %s) t on t.key = m.key"
        " where t.id <> m.id and not exists (select from import_line o where o.id = t.id) order by 1 limit " MAX_SHOWN,
        columns, neo_table_name(kind), where, kind->name, columns, neo_table_name(kind), where);
}

/* ---------------------------------------------------------------- write */

neo_sql *neo_import_call_sql(const neo_resource *kind, apr_pool_t *pool)
{
    const char *sql = apr_psprintf(pool,
                                   "with batch as materialized (select l.number, l.body from import_line l where l.kind = '%s'"
                                   " and l.number > {before}::bigint order by l.number limit " NEO_IMPORT_BATCH_ROWS "),"
                                   " done as materialized (select b.number, %s({organization}, b.body) as outcome from batch b)"
                                   " select max(number), count(*), count(*) filter (where outcome = 'created'), 0,"
                                   " count(*) filter (where outcome = 'skipped') from done",
                                   kind->name, kind->import_function);
    return neo_sql_make(pool, sql, NEO_WRITES);
}

neo_sql *neo_import_finish_sql(const neo_resource *kind, apr_pool_t *pool)
{
    return neo_sql_make(pool,
                        apr_psprintf(pool,
                                     "select %s({organization}, l.body) from import_line l where l.kind = '%s'"
                                     " and l.number > {before}::bigint and l.number <= {since}::bigint",
                                     kind->finish_function, kind->name),
                        NEO_WRITES);
}

/* ---------------------------------------------------------------- references */

/* Validated references refer to existing rows or to lines of the file; the latter are written unless they come later. */
neo_sql *neo_import_references_sql(const neo_resource *const *kind, int is_resolving, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 4096);
    neo_buf_printf(&sql,
                   "with line as materialized (select l.number, l.id from import_line l where l.kind = '%s'"
                   " and l.number > {before}::bigint and l.number <= {since}::bigint),"
                   " due as materialized (select line.id, i.path, i.target from line join import_reference i using (number)),"
                   " removed as (delete from neoapi.reference r using line where r.organization_id = {organization}"
                   " and r.source_id = line.id and not exists (select from due where due.id = r.source_id"
                   " and due.path = r.path))"
                   " insert into neoapi.reference as r (organization_id, source_id, path, target_id)"
                   " select {organization}, id, path, target from due",
                   (*kind)->name);
    if (!is_resolving) {
        neo_buf_printf(&sql,
                       " where not exists (select from import_line f where f.id = due.target"
                       " and (f.kind = '%s' and f.number > {since}::bigint",
                       (*kind)->name);
        for (const neo_resource *const *later = kind + 1; *later; later++)
            neo_buf_printf(&sql, " or f.kind = '%s'", (*later)->name);
        neo_buf_puts(&sql, "))");
    }
    neo_buf_puts(&sql, " on conflict (organization_id, source_id, path)"
                       " do update set target_id = excluded.target_id where r.target_id <> excluded.target_id");
    return neo_sql_make(pool, sql.ptr, NEO_WRITES);
}
