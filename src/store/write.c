/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the statements that write a row, from a resource's table (see store/write.h). */
#include "store/write.h"

#include <apr_strings.h>
#include <string.h>

#include "model/references.h"
#include "model/transition.h"
#include "store/event.h"
#include "store/idempotency.h"
#include "store/mutual.h"
#include "store/reference.h"

#define THIS_ROW        "t.organization_id = {organization} and t.id = {id}"
#define NOW             "{now}::timestamptz"
#define NEXT_UPDATED_AT NEO_NEXT_UPDATED_AT(NOW, "before")
#define IMPORTED(name)  "({times}::json->>'" name "')::timestamptz"
#define THIS_VERSION    " and t.xmin = {version}::xid"

const char *neo_table_of(const neo_resource *resource)
{
    return resource->table ? resource->table : resource->name;
}

/* ---------------------------------------------------------------- fields */

static const neo_field *secret_of(const neo_resource *resource)
{
    for (const neo_field *f = resource->fields; f->name; f++)
        if (f->flags & NEO_SECRET)
            return f;
    return NULL;
}

int neo_write_is_parameter(const neo_field *field)
{
    return !(field->flags & NEO_SERVER);
}

/* Adds the names of the fields that a write sets: parameters, and timestamps of transitions. */
static void add_names(neo_buf *sql, const neo_resource *resource)
{
    for (const neo_field *f = resource->fields; f->name; f++)
        if (neo_write_is_parameter(f) || neo_transition_sets(resource, f))
            neo_buf_printf(sql, ", %s", f->name);
}

/* Adds the values for add_names. */
static void add_values(neo_buf *sql, const neo_resource *resource, int is_import)
{
    int number = 0;
    for (const neo_field *f = resource->fields; f->name; f++)
        if (neo_write_is_parameter(f))
            neo_buf_printf(sql, ", {field%d}", number++);
        else if (neo_transition_sets(resource, f))
            neo_buf_printf(
                sql, is_import ? ", " IMPORTED("%s") : ", case {timestamp_field}::text when '%s' then {now}::timestamptz end",
                f->name);
}

/* Adds assignments: "name = {field0}, creci = {field1}". */
static void add_settings(neo_buf *sql, const neo_resource *resource)
{
    int number = 0;
    for (const neo_field *f = resource->fields; f->name; f++)
        if (neo_write_is_parameter(f))
            neo_buf_printf(sql, "%s = {field%d}, ", f->name, number++);
        else if (neo_transition_sets(resource, f))
            neo_buf_printf(sql, "%s = case {timestamp_field}::text when '%s' then {now}::timestamptz else t.%s end, ", f->name,
                           f->name, f->name);
}

void neo_write_add_returning(neo_buf *sql, const neo_resource *resource)
{
    if (resource->effects) {
        neo_buf_puts(sql, " returning t.*");
        return;
    }
    neo_buf_puts(sql, " returning t.id, t.representation");
    if (secret_of(resource))
        neo_buf_puts(sql, ", t.secret");
    for (const neo_field *f = resource->fields; f->name; f++)
        if (f->flags & NEO_IN_EVENT && strcmp(f->name, "id") != 0)
            neo_buf_printf(sql, ", t.%s", f->name);
}

/* ---------------------------------------------------------------- effects */

/* The resource whose rows the effects change; NULL: there are no effects. All effects of a resource are on the same. */
static const neo_resource *target_of(const neo_resource *resource)
{
    return resource->effects ? neo_field_named(resource->fields, resource->effects->through)->refers : NULL;
}

/* The CTE target: locks the row that the effect changes, before the row itself, if it has the version that was checked. */
static void add_target(neo_buf *sql, const neo_resource *target)
{
    neo_buf_printf(sql,
                   "target as materialized (select o.* from neoapi.%s o where o.organization_id = {organization}"
                   " and o.id = {target} and o.xmin = {target_version}::xid for no key update of o), ",
                   neo_table_of(target));
}
#define TARGET_IS_LOCKED " and ({target}::text is null or exists (select from target))"

/* The CTE effect: the new status of the target, and its event. */
static void add_effect(neo_buf *sql, const neo_resource *target)
{
    neo_buf_printf(sql,
                   ", effect as (update neoapi.%s o set status = {target_status}, updated_at = " NEO_NEXT_UPDATED_AT(
                       NOW, "target") ", updated_by = {actor} from updated, target where o.organization_id = {organization}"
                                      " and o.id = target.id returning o.*)",
                   neo_table_of(target));
    if (target->has_events)
        neo_event_add(sql, &(neo_event){.resource = target,
                                        .happened = "updated",
                                        .from = "effect",
                                        .before = "target",
                                        .number = "_effect",
                                        .id_block = "{target_id_block}",
                                        .now = NOW});
}

/* ---------------------------------------------------------------- the final select */

/* The row's own event and its deliveries, and the answer: `column` of the CTE `happened`, and the number of all deliveries. */
static void add_answer(neo_buf *sql, const neo_resource *resource, const char *happened, const char *column, int is_silent)
{
    if (resource->has_events)
        neo_event_add(sql, &(neo_event){.resource = resource,
                                        .happened = happened,
                                        .from = happened,
                                        .before = strcmp(happened, "updated") == 0 ? "before" : NULL,
                                        .number = "",
                                        .id_block = "{id_block}",
                                        .now = NOW,
                                        .is_silent = is_silent});
    neo_buf_printf(
        sql, resource->has_events && !is_silent ? " select %s, (select count(*) from queued_deliveries)" : " select %s, 0",
        column);
    if (target_of(resource) && target_of(resource)->has_events && strcmp(happened, "updated") == 0)
        neo_buf_puts(sql, " + (select count(*) from queued_deliveries_effect)");
}

static void add_refusal(neo_buf *sql, const char *made, const char *refusal, const char *from)
{
    neo_buf_printf(sql, ", null from %s union all select null, 0, %s from %s", made, refusal, from);
}

/* ---------------------------------------------------------------- the statements */

/* The key is inserted without `on conflict`: of two concurrent requests the second one waits, violates the key's uniqueness, is
 * rolled back and then returns the first one's response. */
neo_sql *neo_write_create(const neo_resource *resource, int idempotency, int is_import, apr_pool_t *pool)
{
    const neo_field *secret = secret_of(resource);
    int refers = neo_has_references(resource);
    neo_buf sql;
    neo_buf_init(&sql, pool, 8192);
    neo_buf_puts(&sql, "with ");
    if (refers)
        neo_reference_add_lookup(&sql, resource);
    neo_buf_printf(&sql,
                   "created as (insert into neoapi.%s as t (organization_id, id, tenant_id, created_at, updated_at,"
                   " created_by, updated_by%s",
                   neo_table_of(resource), secret ? ", secret" : "");
    add_names(&sql, resource);
    neo_buf_printf(&sql, ") select {organization}, {id}, {tenant}, %s, {actor}, {actor}%s",
                   is_import ? IMPORTED("created_at") ", " IMPORTED("updated_at") : NOW ", " NOW, secret ? ", {secret}" : "");
    add_values(&sql, resource, is_import);
    neo_buf_puts(&sql, refers ? " where " NEO_REFERENCES_EXIST : "");
    if (idempotency)
        neo_buf_printf(&sql, " %s " NEO_IDEMPOTENCY_KEY_IS_FREE, refers ? "and" : "where");
    neo_write_add_returning(&sql, resource);
    neo_buf_putc(&sql, ')');
    if (refers)
        neo_reference_add_created(&sql, "created");
    if (idempotency)
        neo_buf_puts(&sql, secret ? NEO_IDEMPOTENCY_STORE_KEY("201", "representation", "secret", "created")
                                  : NEO_IDEMPOTENCY_STORE_KEY("201", "representation", "null", "created"));
    add_answer(&sql, resource, "created", "representation", is_import);
    if (refers)
        add_refusal(&sql, "created", "path", idempotency ? "missing where " NEO_IDEMPOTENCY_KEY_IS_FREE : "missing");
    else
        neo_buf_puts(&sql, " from created");
    return neo_sql_make(pool, sql.ptr, 1);
}

static const char *new_value(const neo_resource *resource, const neo_field *field, int number, apr_pool_t *pool)
{
    (void)resource;
    return neo_write_is_parameter(field) ? apr_psprintf(pool, "{field%d}", number) : NULL;
}

/* The CTE updated, and before it the CTE before: the row as it was, locked, in its latest version. A row that would not change
 * is not written. A transition's timestamp changes only with the status. */
static void add_updated(neo_buf *sql, const neo_resource *resource, int versioned)
{
    neo_buf_printf(sql, "before as materialized (select t.* from neoapi.%s t where " THIS_ROW "%s%s for no key update),",
                   neo_table_of(resource), versioned ? THIS_VERSION : "", target_of(resource) ? TARGET_IS_LOCKED : "");
    neo_buf_printf(sql, " updated as (update neoapi.%s t set ", neo_table_of(resource));
    add_settings(sql, resource);
    neo_buf_printf(sql,
                   "updated_at = " NEXT_UPDATED_AT ", updated_by = {actor} from before"
                   " where t.organization_id = {organization} and t.id = before.id%s and ",
                   neo_has_references(resource) ? " and " NEO_REFERENCES_EXIST : "");
    neo_event_add_differs(sql, resource, "before", new_value);
    neo_buf_puts(sql, resource->effects || resource->has_events ? " returning t.*)" : " returning t.id, t.representation)");
}

/* Missing references matter only if the row still has the version: otherwise the request was checked against old data. */
neo_sql *neo_write_update(const neo_resource *resource, int versioned, apr_pool_t *pool)
{
    const neo_resource *target = target_of(resource);
    int refers = neo_has_references(resource);
    neo_buf sql;
    neo_buf_init(&sql, pool, 8192);
    neo_buf_puts(&sql, "with ");
    if (refers)
        neo_reference_add_lookup(&sql, resource);
    if (target)
        add_target(&sql, target);
    add_updated(&sql, resource, versioned);
    if (refers)
        neo_reference_add_updated(&sql, "updated");
    if (target)
        add_effect(&sql, target);
    add_answer(&sql, resource, "updated", "representation", 0);
    if (refers)
        add_refusal(&sql, "updated", "path", "missing where exists (select from before)");
    else
        neo_buf_puts(&sql, ", null from updated");
    neo_buf_printf(&sql, " union all select representation, 0, null from before where not exists (select from updated)%s",
                   refers ? " and " NEO_REFERENCES_EXIST : "");
    return neo_sql_make(pool, sql.ptr, 1);
}

neo_sql *neo_write_delete(const neo_resource *resource, int versioned, apr_pool_t *pool)
{
    int is_target = neo_is_referred_to(resource);
    const char *is_locked = neo_mutual_field(resource) ? " and exists (select from locked where locked.id = {id})" : "";
    neo_buf sql;
    neo_buf_init(&sql, pool, 8192);
    neo_buf_puts(&sql, "with ");
    neo_mutual_add_partner(&sql, resource);
    if (is_target)
        neo_reference_add_used(&sql, resource, neo_mutual_but(resource, 0, pool));
    neo_buf_printf(&sql, "deleted as (delete from neoapi.%s t where " THIS_ROW "%s%s%s returning t.*)", neo_table_of(resource),
                   versioned ? THIS_VERSION : "", is_target ? " and " NEO_REFERENCE_NONE : "", is_locked);
    if (neo_has_references(resource))
        neo_reference_add_deleted(&sql, "deleted");
    neo_mutual_add_cleared(&sql, resource, 0);
    add_answer(&sql, resource, "deleted", "id", 0);
    if (neo_mutual_field(resource) && resource->has_events)
        neo_buf_puts(&sql, " + (select count(*) from queued_deliveries_cleared)");
    if (is_target)
        add_refusal(&sql, "deleted", "users", apr_pstrcat(pool, "used where users is not null", is_locked, NULL));
    else
        neo_buf_puts(&sql, " from deleted");
    return neo_sql_make(pool, sql.ptr, 1);
}
