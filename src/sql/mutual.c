/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the parts of a deletion that clear a mutual reference (see sql/mutual.h). */
#include "sql/mutual.h"

#include <apr_strings.h>

#include "schema/references.h"
#include "sql/event.h"

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
        neo_table_of(resource), field->name, neo_table_of(resource), field->name);
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
                   neo_table_of(resource), neo_table_of(resource), field->name, field->name);
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
                   neo_table_of(resource), field->name, field->name);
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
