/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the statements of an import (see import_sql.h). */
#include "import_sql.h"

#include <apr_strings.h>
#include <string.h>

#include "model/references.h"
#include "store/event.h"
#include "store/write.h"

#define MAX_SHOWN "101" /* errors of one kind: one more than are shown */

/* A `case` that looks up the id `what` in the table that its prefix names; null if the row does not exist. */
static void add_lookup(neo_buf *sql, const neo_resource *const *kinds, const char *organization, const char *what)
{
    neo_buf_printf(sql, "case left(%s, 4)", what);
    for (const neo_resource *const *k = kinds; *k; k++)
        neo_buf_printf(sql, " when '%s' then (select o.id from neoapi.%s o where o.organization_id = %s and o.id = %s)",
                       (*k)->prefix, neo_table_of(*k), organization, what);
    neo_buf_puts(sql, " end");
}

const char *neo_import_find_sql(const neo_resource *const *kinds, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 2048);
    neo_buf_puts(&sql, "with lookup as materialized (select * from json_to_recordset($2::json)"
                       " as l (n int, kind text, given text, external text, fresh text)),"
                       " found as materialized (select l.n, l.kind, l.given, coalesce(i.id, m.id, case l.kind");
    for (const neo_resource *const *k = kinds; *k; k++)
        if (neo_field_named((*k)->fields, "external_id"))
            neo_buf_printf(&sql,
                           " when '%s' then (select t.id from neoapi.%s t where t.organization_id = $1"
                           " and t.external_id = l.external)",
                           (*k)->name, neo_table_of(*k));
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
                       " select r.number, r.path from outside r where ");
    add_lookup(&sql, kinds, "$1", "r.target");
    neo_buf_puts(&sql, " is null order by r.number, r.path limit " MAX_SHOWN);
    return sql.ptr;
}

/* `columns` are expressions over a row's columns, so they stand in queries whose only source is that row. */
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
        columns, neo_table_of(kind), where, kind->name, columns, neo_table_of(kind), where);
}

/* ---------------------------------------------------------------- write */

static void add_names(neo_buf *sql, const neo_resource *kind)
{
    for (const neo_field *f = kind->fields; f->name; f++)
        neo_buf_printf(sql, "%s%s", f == kind->fields ? "" : ", ", f->name);
}

/* If a line omits these fields, they keep their values, or are set to now and the actor. */
static void add_value(neo_buf *sql, const neo_field *field)
{
    const char *name = field->name;
    if (strcmp(name, "created_at") == 0 || strcmp(name, "updated_at") == 0)
        neo_buf_printf(sql, "coalesce(item.%s, o.%s, {now}::timestamptz)", name, name);
    else if (strcmp(name, "created_by") == 0 || strcmp(name, "updated_by") == 0)
        neo_buf_printf(sql, "coalesce(item.%s, o.%s, {actor})", name, name);
    else
        neo_buf_printf(sql, "item.%s", name);
}

/* The line's updated_at is used only if it is later than the row's, because every change increases it. */
static void add_setting(neo_buf *sql, const neo_field *field)
{
    if (strcmp(field->name, "updated_at") == 0)
        neo_buf_puts(sql, "updated_at = case when excluded.updated_at > t.updated_at then excluded.updated_at"
                          " else " NEO_NEXT_UPDATED_AT("{now}::timestamptz", "t") " end");
    else
        neo_buf_printf(sql, "%s = excluded.%s", field->name, field->name);
}

static const char *new_value(const neo_resource *kind, const neo_field *field, int number, apr_pool_t *pool)
{
    (void)kind, (void)number;
    return apr_pstrcat(pool, "excluded.", field->name, NULL);
}

/* The CTE before: the rows that exist, locked in the order in which batches lock them, in their latest version. The CTE
 * written: the rows that are new or change. A line whose only difference is an earlier updated_at or another author changes
 * nothing. */
static void add_written(neo_buf *sql, const neo_resource *kind)
{
    const char *between = "";
    neo_buf_printf(sql,
                   "before as materialized (select t.* from item join neoapi.%s t on t.organization_id = {organization}"
                   " and t.id = item.id order by t.id for no key update of t), ",
                   neo_table_of(kind));
    neo_buf_printf(sql, "written as (insert into neoapi.%s as t (", neo_table_of(kind));
    add_names(sql, kind);
    neo_buf_puts(sql, ") select ");
    for (const neo_field *f = kind->fields; f->name; f++, between = ", ") {
        neo_buf_puts(sql, between);
        add_value(sql, f);
    }
    neo_buf_puts(sql, " from item left join before o on o.id = item.id"
                      " order by item_number on conflict (organization_id, id) do update set ");
    between = "";
    for (const neo_field *f = kind->fields; f->name; f++)
        if (strcmp(f->name, "id") != 0 && strcmp(f->name, "organization_id") != 0) {
            neo_buf_puts(sql, between);
            add_setting(sql, f);
            between = ", ";
        }
    neo_buf_puts(sql,
                 neo_field_named(kind->fields, "updated_at") ? " where excluded.updated_at > t.updated_at or " : " where ");
    neo_event_add_differs(sql, kind, "t", new_value);
    neo_buf_puts(sql, " returning t.*, t.xmax = 0 as is_made)");
}

static void add_events(neo_buf *sql, const neo_resource *kind, const char *happened, const char *number, const char *which,
                       int sends_webhooks)
{
    int is_update = strcmp(happened, "updated") == 0;
    neo_buf_printf(sql,
                   ", %s as (select w.*, p.item_id_block, p.item_number from written w join batch p on p.item_id = w.id"
                   " where %s)",
                   happened, which);
    neo_event_add(sql, &(neo_event){.resource = kind,
                                    .happened = happened,
                                    .from = happened,
                                    .before = is_update ? "before" : NULL,
                                    .number = number,
                                    .order = "r.item_number",
                                    .id_block = "r.item_id_block",
                                    .now = "{now}::timestamptz",
                                    .is_silent = !sends_webhooks});
}

neo_sql *neo_import_write_sql(const neo_resource *kind, neo_import_events events, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 8192);
    neo_buf_printf(&sql,
                   "with batch as materialized (select l.number as item_number, l.id as item_id, l.id_block as item_id_block,"
                   " l.body as item_body from import_line l where l.kind = '%s' and l.number > {before}::bigint"
                   " order by l.number limit " NEO_IMPORT_BATCH_ROWS "),"
                   " item as materialized (select p.item_number, b.* from batch p"
                   " cross join lateral json_populate_record(null::neoapi.%s, p.item_body) b), ",
                   kind->name, neo_table_of(kind));
    add_written(&sql, kind);
    if (events != NEO_IMPORT_NO_EVENTS && kind->has_events) {
        add_events(&sql, kind, "created", "0", "w.is_made", events == NEO_IMPORT_WEBHOOKS);
        add_events(&sql, kind, "updated", "1", "not w.is_made", events == NEO_IMPORT_WEBHOOKS);
    }
    neo_buf_puts(&sql, " select (select max(item_number) from batch), (select count(*) from batch),"
                       " (select count(*) from written where is_made), (select count(*) from written where not is_made)");
    return neo_sql_make(pool, sql.ptr, 1);
}

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
    return neo_sql_make(pool, sql.ptr, 1);
}
