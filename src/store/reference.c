/* SPDX-License-Identifier: Apache-2.0 */
/* The CTEs that look up and write references (see store/reference.h). */
#include "store/reference.h"

#include <apr_strings.h>
#include <string.h>

#include "core/id.h"
#include "model/references.h"
#include "store/array.h"
#include "store/write.h"

const char *neo_reference_column(const char *id, apr_pool_t *pool)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if (strncmp(id, (*r)->prefix, NEO_PREFIX_LEN) == 0 && neo_is_referred_to(*r))
            return apr_pstrcat(pool, (*r)->name, "_id", NULL);
    return NULL;
}

void neo_reference_add_values(neo_values *values, const neo_resource *resource, const neo_json *body, apr_pool_t *pool)
{
    neo_buf paths, targets;
    const apr_array_header_t *all = neo_references(resource, body, pool);
    neo_buf_init(&paths, pool, 256);
    neo_buf_init(&targets, pool, 256);
    for (int i = 0; i < all->nelts; i++) {
        neo_array_add(&paths, APR_ARRAY_IDX(all, i, neo_reference).path);
        neo_array_add(&targets, APR_ARRAY_IDX(all, i, neo_reference).target);
    }
    values->of[NEO_PARAM_PATHS] = neo_array_end(&paths);
    values->of[NEO_PARAM_TARGETS] = neo_array_end(&targets);
}

void neo_reference_add_lookup(neo_buf *sql, const neo_resource *resource)
{
    neo_buf_puts(sql, "ref as materialized (select r.path, r.target"
                      " from unnest({paths}::text[], {targets}::text[]) as r (path, target)), ");
    neo_reference_add_missing(sql, resource, "path");
}

/* Scalar subqueries, so that each reference is one index look-up, whatever the planner estimates of the tables' sizes. */
void neo_reference_add_missing(neo_buf *sql, const neo_resource *resource, const char *columns)
{
    neo_buf_printf(sql, "missing as materialized (select %s from ref where case left(target, 4)", columns);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if (neo_can_refer_to(resource, *r))
            neo_buf_printf(sql,
                           " when '%s' then (select o.id from neoapi.%s o where o.organization_id = {organization}"
                           " and o.id = target)",
                           (*r)->prefix, neo_table_of(*r));
    neo_buf_puts(sql, " end is null), ");
}

void neo_reference_add_created(neo_buf *sql, const char *made)
{
    neo_buf_printf(sql,
                   ", stored_references as (insert into neoapi.reference (organization_id, source_id, path, target_id)"
                   " select {organization}, {id}, path, target from ref, %s)",
                   made);
}

/* The row has the expected version, so the references that this statement sees are current. */
void neo_reference_add_updated(neo_buf *sql, const char *made)
{
    neo_buf_printf(sql,
                   ", removed_references as (delete from neoapi.reference r using %s where r.organization_id = {organization}"
                   " and r.source_id = {id} and r.path <> all ({paths}::text[])),"
                   " stored_references as (insert into neoapi.reference (organization_id, source_id, path, target_id)"
                   " select {organization}, {id}, path, target from ref, %s where not exists (select from neoapi.reference r"
                   " where r.organization_id = {organization} and r.source_id = {id} and r.path = ref.path"
                   " and r.target_id = ref.target)"
                   " on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id)",
                   made, made);
}

void neo_reference_add_deleted(neo_buf *sql, const char *made)
{
    neo_buf_printf(sql,
                   ", removed_references as (delete from neoapi.reference r using %s where r.organization_id = {organization}"
                   " and r.source_id = {id})",
                   made);
}

void neo_reference_add_used(neo_buf *sql, const neo_resource *resource, const char *but)
{
    neo_buf_puts(sql, "used as materialized (");
    neo_reference_add_users(sql, resource, "{id}", but);
    neo_buf_puts(sql, "), ");
}

/* Ids of a kind have a common prefix, so that one index look-up finds the first. */
void neo_reference_add_users(neo_buf *sql, const neo_resource *resource, const char *id, const char *but)
{
    const char *between = "";
    neo_buf_puts(sql, "select string_agg(concat_ws(' ', k.kind, u.source_id, u.path), ',') as users from (values ");
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if (neo_can_refer_to(*r, resource)) {
            neo_buf_printf(sql, "%s('%s', '%s')", between, (*r)->name, (*r)->prefix);
            between = ", ";
        }
    neo_buf_printf(sql,
                   ") as k (kind, prefix) cross join lateral (select r.source_id, r.path from neoapi.reference r"
                   " where r.organization_id = {organization}"
                   " and r.%s_id = %s and r.source_id > k.prefix and r.source_id < k.prefix || '~'"
                   " and r.source_id <> %s%s order by r.source_id limit 1) u",
                   resource->name, id, id, but);
}
