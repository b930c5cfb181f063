/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the events of writes, and their deliveries (see sql/event.h). */
#include "sql/event.h"

#include <apr_strings.h>
#include <string.h>

#include "sql/representation.h"

int neo_event_is_change(const neo_field *field)
{
    return strcmp(field->name, "updated_at") != 0 && strcmp(field->name, "updated_by") != 0;
}

/* ---------------------------------------------------------------- values of an event */

/* Adds a member's value, of the row r. A deletion is the row's last change and has its own time and author. */
static void add_value(neo_buf *sql, const neo_event *event, const neo_field *field)
{
    int is_deletion = strcmp(event->happened, "deleted") == 0;
    if (is_deletion && strcmp(field->name, "updated_at") == 0)
        neo_column_add_json(sql, field, apr_psprintf(sql->pool, NEO_NEXT_UPDATED_AT("%s", "r"), event->now), "");
    else if (is_deletion && strcmp(field->name, "updated_by") == 0)
        neo_column_add_json(sql, field, "{actor}::text", "");
    else
        neo_column_add_json(sql, field, "r.", field->name);
}

/* Adds the payload, concatenated like a representation (see sql/0002_resources.sql). */
static void add_payload(neo_buf *sql, const neo_event *event)
{
    if (event->payload) {
        neo_buf_printf(sql, ", %s", event->payload);
        return;
    }
    neo_buf_puts(sql, ", '{{' || concat_ws(','");
    for (const neo_field *f = event->resource->fields; f->name; f++)
        if (f->flags & NEO_IN_EVENT) {
            neo_buf_printf(sql, ", '\"%s\":' || ", f->name);
            add_value(sql, event, f);
        }
    neo_buf_puts(sql, ") || '}'");
}

/* Adds ", case when <the field has changed> then". */
static void add_case(neo_buf *sql, const neo_field *field)
{
    const char *cast = neo_columns[field->type].comparable;
    neo_buf_printf(sql, ", case when o.%s%s is distinct from r.%s%s then ", field->name, cast, field->name, cast);
}

/* Adds the columns `changed` and `previous`. */
static void add_difference(neo_buf *sql, const neo_resource *resource)
{
    neo_buf_puts(sql, ", array_remove(array[null");
    for (const neo_field *f = resource->fields; f->name; f++)
        if (neo_event_is_change(f)) {
            add_case(sql, f);
            neo_buf_printf(sql, "'%s' end", f->name);
        }
    neo_buf_puts(sql, "], null), ('{{' || concat_ws(','");
    for (const neo_field *f = resource->fields; f->name; f++)
        if (f->flags & NEO_IN_EVENT && neo_event_is_change(f)) {
            add_case(sql, f);
            neo_buf_printf(sql, "'\"%s\":' || coalesce((", f->name);
            neo_column_add_json(sql, f, "o.", f->name);
            neo_buf_puts(sql, ")::text, 'null') end");
        }
    neo_buf_puts(sql, ") || '}')::json");
}

/* ---------------------------------------------------------------- CTEs */

static void add_event(neo_buf *sql, const neo_event *event)
{
    neo_buf_printf(sql,
                   ", event%s as (insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id,"
                   " payload%s%s) select {organization}, '%s.%s', r.id, neoapi.event_time(%s), {actor}, {request}",
                   event->number, event->before ? ", changed, previous" : "", event->is_silent ? ", is_silent" : "",
                   event->resource->name, event->happened, event->now);
    add_payload(sql, event);
    if (event->before)
        add_difference(sql, event->resource);
    neo_buf_puts(sql, event->is_silent ? ", true" : "");
    neo_buf_printf(sql, " from %s r", event->from);
    if (event->before)
        neo_buf_printf(sql, " left join %s o on o.id = r.id", event->before);
    if (event->order)
        neo_buf_printf(sql, " order by %s", event->order);
    neo_buf_puts(sql, " returning id, resource_id, created_at, payload, changed, previous)");
}

void neo_event_add_paths(neo_buf *json, const neo_resource *resource)
{
    const neo_filter *const tables[] = {neo_common_filters, resource->filters};
    neo_buf_putc(json, '{');
    for (int i = 0, count = 0; i < 2; i++)
        for (const neo_filter *f = tables[i]; f && f->name; f++) {
            const char *path = neo_filter_event_path(resource, f);
            if (path && strcmp(path, f->name) != 0)
                neo_buf_printf(json, "%s\"%s\":\"%s\"", count++ ? "," : "", f->name, path);
        }
    neo_buf_putc(json, '}');
}

/* Adds the ids s.id of the subscriptions that get an event e of a write (see neoapi.webhook_route). */
static void add_subscriptions(neo_buf *sql, const neo_event *event)
{
    const char *kind = event->resource->name;
    const char *is_wanted = event->resource->is_excluded_from_wildcard
                                ? ""
                                : apr_psprintf(sql->pool, " and '%s' = any (s.excluded) is not true", kind);
    neo_buf_printf(sql,
                   "(select s.subscription_id as id from neoapi.webhook_route s where s.organization_id = {organization}"
                   " and s.pattern = any ('{{%s.%s,%s.*%s}') and s.key = '' and s.is_active%s union all"
                   " select neoapi.webhook_match({organization}, '%s.%s', e.payload, e.previous, e.changed, '{",
                   kind, event->happened, kind, event->resource->is_excluded_from_wildcard ? "" : ",*", is_wanted, kind,
                   event->happened);
    neo_event_add_paths(sql, event->resource);
    neo_buf_printf(sql,
                   "') where exists (select from neoapi.webhook_shape h where h.organization_id = {organization}"
                   " and h.kind = '%s') offset 0) s",
                   kind);
}

/* The `updated_at` that the row r has after the change. */
static const char *changed_at(const neo_event *event, apr_pool_t *pool)
{
    if (strcmp(event->happened, "deleted") == 0)
        return apr_psprintf(pool, NEO_NEXT_UPDATED_AT("%s", "r"), event->now);
    return event->before ? "r.updated_at" : event->now;
}

/* A delivery's id ends in the last four characters of its subscription's id, which are unique in the organization: numbering
 * the rows would cost as much as inserting one. `offset 0` keeps the planner from joining the rows of a group, each with its
 * own organization, to the subscriptions of all organizations. */
void neo_event_add(neo_buf *sql, const neo_event *event)
{
    const char *number = event->number, *name = event->resource->name;
    add_event(sql, event);
    if (event->is_silent)
        return;
    neo_buf_printf(sql,
                   ", matched%s as (select {organization} as organization_id, %s || right(s.id, 4) as id,"
                   " s.id as subscription_id, e.id as event_id, e.created_at as event_at, %s as created_at,"
                   " case when o.ordering = 'resource' then r.id end as resource_id,"
                   " case when o.ordering = 'resource' then %s end as changed_at"
                   " from event%s e join %s r on r.id = e.resource_id cross join lateral ",
                   number, event->id_block, event->now, changed_at(event, sql->pool), number, event->from);
    add_subscriptions(sql, event);
    neo_buf_printf(sql,
                   " cross join lateral (select w.ordering from neoapi.webhook_subscription w"
                   " where w.organization_id = {organization} and w.id = s.id limit 1) o),"
                   " queued_deliveries%s as (insert into neoapi.webhook_delivery"
                   " (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)"
                   " select organization_id, id, subscription_id, event_id, '%s.%s', event_at, created_at from matched%s"
                   " returning 1), queued%s as (insert into neoapi.webhook_queue"
                   " (id, organization_id, subscription_id, due_at, resource_id, changed_at)"
                   " select id, organization_id, subscription_id, now(), resource_id, changed_at from matched%s)",
                   number, name, event->happened, number, number, number);
}
