/* SPDX-License-Identifier: Apache-2.0 */
/* The CTEs that look up, write and clear references, and the statement that finds external ids (see sql/reference.h). */
#include "sql/reference.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/id.h"
#include "pg/pg.h"
#include "schema/references.h"
#include "sql/event.h"

const char *neo_reference_column(const char *id, apr_pool_t *pool)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if (strncmp(id, (*r)->prefix, NEO_PREFIX_LEN) == 0 && neo_is_referred_to(*r))
            return apr_pstrcat(pool, (*r)->name, "_id", NULL);
    return NULL;
}

void neo_references_begin(neo_reference_values *all, apr_pool_t *pool)
{
    neo_buf_init(&all->numbers, pool, 64);
    neo_buf_init(&all->paths, pool, 256);
    neo_buf_init(&all->targets, pool, 256);
}

void neo_references_add(neo_reference_values *all, const neo_resource *resource, const neo_json *body, int number)
{
    const apr_array_header_t *found = neo_references(resource, body, all->paths.pool);
    for (int i = 0; i < found->nelts; i++) {
        neo_array_add_number(&all->numbers, number);
        neo_array_add(&all->paths, APR_ARRAY_IDX(found, i, neo_reference).path);
        neo_array_add(&all->targets, APR_ARRAY_IDX(found, i, neo_reference).target);
    }
}

void neo_references_end(neo_reference_values *all, neo_values *values)
{
    values->numbers = neo_array_end(&all->numbers);
    values->paths = neo_array_end(&all->paths);
    values->targets = neo_array_end(&all->targets);
}

/* Scalar subqueries, so that each reference is one index look-up, whatever the planner estimates of the tables' sizes. */
void neo_reference_add_lookup(neo_buf *sql, const neo_resource *resource, const char *from)
{
    neo_buf_printf(sql,
                   "ref as materialized (select r.item_number, r.path, r.target from unnest({numbers}::int[],"
                   " {paths}::text[], {targets}::text[]) as r (item_number, path, target)),"
                   " missing as materialized (select item_number, path from %s where case left(target, 4)",
                   from);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if (neo_can_refer_to(resource, *r))
            neo_buf_printf(sql,
                           " when '%s' then (select o.id from neoapi.%s o where o.organization_id = {organization}"
                           " and o.id = target)",
                           (*r)->prefix, neo_table_name(*r));
    neo_buf_puts(sql, " end is null), ");
}

void neo_reference_add_created(neo_buf *sql)
{
    neo_buf_puts(sql, ", stored_references as (insert into neoapi.reference (organization_id, source_id, path, target_id)"
                      " select {organization}, created.id, path, target from created join ref using (item_number))");
}

/* The rows are locked, so the references that this statement sees are current. */
void neo_reference_add_updated(neo_buf *sql)
{
    neo_buf_puts(
        sql, ", removed_references as (delete from neoapi.reference r using updated where r.organization_id = {organization}"
             " and r.source_id = updated.id and not exists (select from ref"
             " where ref.item_number = updated.item_number and ref.path = r.path)),"
             " stored_references as (insert into neoapi.reference (organization_id, source_id, path, target_id)"
             " select {organization}, updated.id, path, target from updated join ref using (item_number)"
             " where not exists (select from neoapi.reference r where r.organization_id = {organization}"
             " and r.source_id = updated.id and r.path = ref.path and r.target_id = ref.target)"
             " on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id)");
}

void neo_reference_add_deleted(neo_buf *sql)
{
    neo_buf_puts(sql, ", removed_references as (delete from neoapi.reference r using deleted"
                      " where r.organization_id = {organization} and r.source_id = deleted.id)");
}

/* Ids of a kind have a common prefix, so that one index look-up finds the first. */
void neo_reference_add_used(neo_buf *sql, const neo_resource *resource, const char *but)
{
    const char *between = "";
    neo_buf_puts(sql, "used as materialized (select item_number, ("
                      "select string_agg(concat_ws(' ', k.kind, u.source_id, u.path), ',') from (values ");
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if (neo_can_refer_to(*r, resource)) {
            neo_buf_printf(sql, "%s('%s', '%s')", between, (*r)->name, (*r)->prefix);
            between = ", ";
        }
    neo_buf_printf(sql,
                   ") as k (kind, prefix) cross join lateral (select r.source_id, r.path from neoapi.reference r"
                   " where r.organization_id = {organization}"
                   " and r.%s_id = item.item_id and r.source_id > k.prefix and r.source_id < k.prefix || '~'"
                   " and r.source_id <> item.item_id and not exists (select from item other where other.item_id = r.source_id"
                   " and (other.item_number < item.item_number or exists (select from neoapi.reference back"
                   " where back.organization_id = {organization} and back.source_id = item.item_id"
                   " and back.target_id = other.item_id)))%s order by r.source_id limit 1) u) as users from item), ",
                   resource->name, but);
}

/* ---------------------------------------------------------------- mutual references */

void neo_mutual_add_partner(neo_buf *sql, const neo_resource *resource)
{
    const neo_field *field = neo_mutual_field(resource);
    if (!field)
        return;
    neo_buf_printf(
        sql,
        "locked as materialized (select t.* from neoapi.%s t where t.organization_id = {organization}"
        " and t.id in ({id}, (select o.%s from neoapi.%s o where o.organization_id = {organization} and o.id = {id}))"
        " and case when t.id = {id} then t.xmin = {version}::xid else t.%s = {id} end"
        " order by t.id for no key update of t),"
        " partner as materialized (select locked.*, 1 as item_number from locked where id <> {id}), ",
        neo_table_name(resource), field->name, neo_table_name(resource), field->name);
}

void neo_mutual_add_partners(neo_buf *sql, const neo_resource *resource)
{
    const neo_field *field = neo_mutual_field(resource);
    if (!field)
        return;
    neo_buf_printf(sql,
                   "partner as materialized (select o.*, item.item_number from item join neoapi.%s t"
                   " on t.organization_id = {organization} and t.id = item.item_id join neoapi.%s o"
                   " on o.organization_id = {organization} and o.id = t.%s and o.%s = t.id"
                   " where not exists (select from item other where other.item_id = o.id)), ",
                   neo_table_name(resource), neo_table_name(resource), field->name, field->name);
}

const char *neo_mutual_exclude_partner(const neo_resource *resource, apr_pool_t *pool)
{
    const neo_field *field = neo_mutual_field(resource);
    if (!field)
        return "";
    return apr_psprintf(pool,
                        " and not exists (select from partner where partner.id = r.source_id and r.path = '%s'"
                        " and partner.item_number = item.item_number)",
                        field->name);
}

void neo_mutual_add_cleared(neo_buf *sql, const neo_resource *resource)
{
    const neo_field *field = neo_mutual_field(resource);
    if (!field)
        return;
    neo_buf_printf(sql,
                   ", cleared as (update neoapi.%s o set %s = null, updated_by = {actor}, updated_at = " NEO_NEXT_UPDATED_AT(
                       "deleted.item_now",
                       "partner") " from deleted, partner where o.organization_id = {organization}"
                                  " and o.id = partner.id and partner.item_number = deleted.item_number"
                                  " returning o.*, deleted.item_number, deleted.item_cleared_block, deleted.item_now),"
                                  " cleared_references as (delete from neoapi.reference r using cleared"
                                  " where r.organization_id = {organization} and r.source_id = cleared.id and r.path = '%s')",
                   neo_table_name(resource), field->name, field->name);
    if (resource->has_events)
        neo_event_add(sql, &(neo_event){.resource = resource,
                                        .happened = "updated",
                                        .from = "cleared",
                                        .before = "partner",
                                        .number = "_cleared",
                                        .order = "r.item_number",
                                        .id_block = "r.item_cleared_block",
                                        .now = "r.item_now"});
}

const char *neo_mutual_deliveries(const neo_resource *resource)
{
    if (!resource->has_events)
        return "0";
    return neo_mutual_field(resource)
               ? "(select count(*) from queued_deliveries) + (select count(*) from queued_deliveries_cleared)"
               : "(select count(*) from queued_deliveries)";
}

/* ---------------------------------------------------------------- external ids */

static neo_sql *find_by_external_id;

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
    find_by_external_id = neo_sql_make(pool, sql.ptr, NEO_READS);
}

neo_pg_status neo_external_id_find(neo_pg *pg, const neo_actor *actor, neo_external_id *all, int count, apr_pool_t *pool,
                                   neo_rows *rows)
{
    neo_values v = {.organization = actor->organization};
    neo_reference_values wanted;
    neo_references_begin(&wanted, pool);
    for (int i = 0; i < count; i++) {
        neo_array_add_number(&wanted.numbers, i);
        neo_array_add_plain(&wanted.paths, all[i].resource->name);
        neo_array_add(&wanted.targets, all[i].external_id);
    }
    neo_references_end(&wanted, &v);
    neo_pg_status status = neo_sql_run(pg, find_by_external_id, &v, pool, rows);
    for (int r = 0; status == NEO_PG_OK && r < rows->count; r++)
        all[atoi(neo_rows_value(rows, r, 0))].id = neo_rows_value(rows, r, 1);
    return status;
}
