/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the events of writes, and their deliveries (see store/event.h). */
#include "store/event.h"

#include <string.h>

#include "store/column.h"
#include "store/write.h"

/* Whether every change sets the field. */
static int is_bookkeeping(const neo_field *field)
{
    return strcmp(field->name, "updated_at") == 0 || strcmp(field->name, "updated_by") == 0;
}

/* JSON has no equality in PostgreSQL. The module writes it in one form, so that its text can be compared. The first cast is the
 * type of a parameter. */
static const char *cast_of(const neo_field *field)
{
    return strcmp(neo_columns[field->type].type, "json") == 0 ? "::json::text" : "";
}

/* ---------------------------------------------------------------- values of an event */

/* Adds the column of the row r. A deletion is the row's last change and has its own time and author. */
static void add_column(neo_buf *sql, const neo_event *event, const neo_field *field)
{
    int is_deletion = strcmp(event->happened, "deleted") == 0;
    if (is_deletion && strcmp(field->name, "updated_at") == 0)
        neo_buf_printf(sql, NEO_NEXT_UPDATED_AT("%s", "r"), event->now);
    else if (is_deletion && strcmp(field->name, "updated_by") == 0)
        neo_buf_puts(sql, "{actor}::text");
    else
        neo_buf_printf(sql, "r.%s", field->name);
}

/* Adds the payload, concatenated like a representation (see sql/0002_resources.sql). */
static void add_payload(neo_buf *sql, const neo_event *event)
{
    neo_buf_puts(sql, ", '{{' || concat_ws(','");
    for (const neo_field *f = event->resource->fields; f->name; f++)
        if (f->flags & NEO_IN_EVENT) {
            neo_buf_printf(sql, ", '\"%s\":' || %s", f->name, neo_columns[f->type].json_prefix);
            add_column(sql, event, f);
            neo_buf_puts(sql, neo_columns[f->type].json_suffix);
        }
    neo_buf_puts(sql, ") || '}'");
}

/* Adds ", case when <the field has changed> then". */
static void add_case(neo_buf *sql, const neo_field *field)
{
    const char *cast = cast_of(field);
    neo_buf_printf(sql, ", case when o.%s%s is distinct from r.%s%s then ", field->name, cast, field->name, cast);
}

/* Adds the columns `changed` and `previous`. */
static void add_difference(neo_buf *sql, const neo_resource *resource)
{
    neo_buf_puts(sql, ", array_remove(array[null");
    for (const neo_field *f = resource->fields; f->name; f++)
        if (!is_bookkeeping(f)) {
            add_case(sql, f);
            neo_buf_printf(sql, "'%s' end", f->name);
        }
    neo_buf_puts(sql, "], null), ('{{' || concat_ws(','");
    for (const neo_field *f = resource->fields; f->name; f++)
        if (f->flags & NEO_IN_EVENT && !is_bookkeeping(f)) {
            add_case(sql, f);
            neo_buf_printf(sql, "'\"%s\":' || coalesce((%so.%s%s)::text, 'null') end", f->name,
                           neo_columns[f->type].json_prefix, f->name, neo_columns[f->type].json_suffix);
        }
    neo_buf_puts(sql, ") || '}')::json");
}

void neo_event_add_differs(neo_buf *sql, const neo_resource *resource, const char *before, neo_new_value value)
{
    int number = 0;
    neo_buf_puts(sql, "(false");
    for (const neo_field *f = resource->fields; f->name; f++) {
        const char *changed = is_bookkeeping(f) ? NULL : value(resource, f, number, sql->pool);
        number += neo_write_is_parameter(f);
        if (changed)
            neo_buf_printf(sql, " or %s.%s%s is distinct from %s%s", before, f->name, cast_of(f), changed, cast_of(f));
    }
    neo_buf_putc(sql, ')');
}

/* ---------------------------------------------------------------- CTEs */

static void add_event(neo_buf *sql, const neo_event *event)
{
    neo_buf_printf(sql,
                   ", event%s as (insert into neoapi.event (organization_id, type, resource_id, created_at, actor, request_id,"
                   " payload%s) select {organization}, '%s.%s', r.id, %s, {actor}, {request}",
                   event->number, event->before ? ", changed, previous" : "", event->resource->name, event->happened,
                   event->now);
    add_payload(sql, event);
    if (event->before)
        add_difference(sql, event->resource);
    neo_buf_printf(sql, " from %s r", event->from);
    if (event->before)
        neo_buf_printf(sql, " left join %s o on o.id = r.id", event->before);
    if (event->order)
        neo_buf_printf(sql, " order by %s", event->order);
    neo_buf_puts(sql, " returning id, resource_id, created_at)");
}

/* A delivery's id ends in the last four characters of its subscription's id, which are unique in the organization: numbering
 * the rows would cost as much as inserting one. */
static void add_deliveries(neo_buf *sql, const neo_event *event)
{
    const char *number = event->number, *name = event->resource->name;
    neo_buf_printf(sql,
                   ", queued_deliveries%s as (insert into neoapi.webhook_delivery"
                   " (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)"
                   " select {organization}, %s || right(s.id, 4), s.id, e.id, '%s.%s', e.created_at, %s"
                   " from event%s e join %s r on r.id = e.resource_id"
                   " join neoapi.webhook_subscription s on s.organization_id = {organization}"
                   " and s.is_active and s.events && array['%s.%s', '*'] returning organization_id, id, subscription_id),"
                   " queued%s as (insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)"
                   " select id, organization_id, subscription_id, now() from queued_deliveries%s)",
                   number, event->id_block, name, event->happened, event->now, number, event->from, name, event->happened,
                   number, number);
}

void neo_event_add(neo_buf *sql, const neo_event *event)
{
    add_event(sql, event);
    if (!event->is_silent)
        add_deliveries(sql, event);
}
