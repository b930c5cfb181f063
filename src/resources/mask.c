/* SPDX-License-Identifier: Apache-2.0 */
/* Masks sensitive fields in JSON, and finds filters that would reveal them (see resources/mask.h). */
#include "resources/mask.h"

#include <ctype.h>
#include <string.h>

#include "core/id.h"
#include "core/json.h"

/* ---------------------------------------------------------------- whether */

int neo_scopes_mask(neo_scopes scopes, int area)
{
    return scopes & NEO_SCOPES_MASKED && (!(scopes & NEO_SCOPE_READ(area)) || scopes & NEO_SCOPE_MASKED(area));
}

int neo_scopes_mask_field(neo_scopes scopes, const neo_resource *resource, const char *name)
{
    const neo_field *field = neo_scopes_mask(scopes, resource->area) ? neo_field_named(resource->fields, name) : NULL;
    return field && field->personal == NEO_SENSITIVE;
}

int neo_resource_is_sensitive(const neo_resource *resource)
{
    for (const neo_field *f = resource->fields; f->name; f++)
        if (f->personal == NEO_SENSITIVE)
            return 1;
    return 0;
}

/* ---------------------------------------------------------------- fields */

/* `is_whole`: the object's own field is sensitive, and so are all of its members. */
static void mask_fields(neo_json *object, const neo_field *fields, int is_whole, apr_pool_t *pool)
{
    for (const neo_field *f = fields; f->name; f++) {
        neo_json *value = neo_json_get(object, f->name);
        int is_masked = is_whole || f->personal == NEO_SENSITIVE;
        neo_json_kind kind = value ? neo_json_get_kind(value) : NEO_JSON_NULL;
        if (f->fields && kind == NEO_JSON_OBJECT)
            mask_fields(value, f->fields, is_masked, pool);
        else if (f->fields && kind == NEO_JSON_ARRAY)
            for (apr_size_t i = 0; i < neo_json_size(value); i++)
                mask_fields(neo_json_at(value, i), f->fields, is_masked, pool);
        else if (is_masked && kind == NEO_JSON_STRING && f->type == NEO_STRING)
            neo_json_set_string(object, f->name, NEO_MASK, pool);
        else if (is_masked && kind != NEO_JSON_NULL)
            neo_json_remove(object, f->name);
    }
}

/* ---------------------------------------------------------------- what an object is */

static const neo_resource *find_by_id(const neo_json *object)
{
    static const neo_resource *const others[] = {&neo_conversation, &neo_whatsapp_message, NULL};
    const neo_resource *const *const lists[] = {neo_resources, others};
    const char *id = neo_json_string_at(object, "id");
    for (apr_size_t i = 0; id && i < sizeof lists / sizeof *lists; i++)
        for (const neo_resource *const *r = lists[i]; *r; r++)
            if (strncmp(id, (*r)->prefix, NEO_PREFIX_LEN) == 0)
                return *r;
    return NULL;
}

/* The type of an event of the log, or of a delivery; NULL if the object is neither. */
static const neo_event_type *find_event_type(const neo_json *object)
{
    const char *type = neo_json_string_at(object, "event_type");
    if (!type)
        type = neo_json_string_at(object, "type");
    int is_event = neo_json_get(object, "payload") || neo_json_get(object, "attempts");
    for (const neo_event_type *t = neo_event_types; type && is_event && t->name; t++)
        if (strcmp(t->name, type) == 0)
            return t;
    return NULL;
}

/* A receiver's response can repeat what it was sent. */
static void mask_event(neo_json *event, const neo_event_type *type, apr_pool_t *pool)
{
    static const char *const members[] = {"payload", "previous"};
    neo_json *attempts = neo_json_get(event, "attempts");
    for (apr_size_t i = 0; attempts && i < neo_json_size(attempts); i++)
        neo_json_remove(neo_json_at(attempts, i), "response_excerpt");
    for (apr_size_t i = 0; i < sizeof members / sizeof *members; i++) {
        neo_json *resource = neo_json_get(event, members[i]);
        if (resource && neo_json_get_kind(resource) == NEO_JSON_OBJECT)
            mask_fields(resource, type->payload->fields, 0, pool);
    }
}

/* ---------------------------------------------------------------- a whole text */

static void mask(neo_json *value, const neo_resource *resource, neo_scopes scopes, apr_pool_t *pool);

static void mask_object(neo_json *object, const neo_resource *resource, neo_scopes scopes, apr_pool_t *pool)
{
    const neo_event_type *type = find_event_type(object);
    const neo_resource *own = find_by_id(object);
    resource = own ? own : resource;
    if (type) {
        if (neo_scopes_mask(scopes, (int)type->area))
            mask_event(object, type, pool);
        return;
    }
    if (resource && neo_scopes_mask(scopes, resource->area))
        mask_fields(object, resource->fields, 0, pool);
    for (void *m = neo_json_first(object); m; m = neo_json_next(object, m))
        if (!resource || !neo_field_named(resource->fields, neo_json_member_key(m)))
            mask(neo_json_member_value(m), resource, scopes, pool);
}

/* The depth is that of responses, which the service makes. */
static void mask(neo_json *value, const neo_resource *resource, neo_scopes scopes, apr_pool_t *pool)
{
    neo_json_kind kind = neo_json_get_kind(value);
    if (kind == NEO_JSON_OBJECT)
        mask_object(value, resource, scopes, pool);
    for (apr_size_t i = 0; kind == NEO_JSON_ARRAY && i < neo_json_size(value); i++)
        mask(neo_json_at(value, i), resource, scopes, pool);
}

int neo_mask_text(neo_text *text, const neo_resource *resource, neo_scopes scopes, apr_pool_t *pool)
{
    const char *error;
    neo_json *value = neo_json_parse(*text, pool, &error);
    if (!value)
        return 0;
    mask(value, resource, scopes, pool);
    *text = neo_json_text(value, pool);
    return 1;
}

/* ---------------------------------------------------------------- filters */

/* Whether SQL has the column of a row, also within an expression. */
static int has_column(const char *sql, const char *column)
{
    size_t len = strlen(column);
    for (const char *at = sql; at && (at = strstr(at, column)); at += len)
        if (at > sql && at[-1] == '.' && !isalnum((unsigned char)at[len]) && at[len] != '_')
            return 1;
    return 0;
}

static int any_has_column(const char *const *sqls, const char *column)
{
    for (; sqls && *sqls; sqls++)
        if (has_column(*sqls, column))
            return 1;
    return 0;
}

/* `sources` are as many as the values. */
static int compares(const neo_filter *filter, const char *column)
{
    for (int i = 0; filter->sources && filter->values[i]; i++)
        if (has_column(filter->sources[i], column))
            return 1;
    return strcmp(filter->name, column) == 0 || has_column(filter->left, column) || has_column(filter->selection, column) ||
           any_has_column(filter->alternatives, column);
}

int neo_filter_is_sensitive(const neo_filter *filter, const neo_resource *resource)
{
    for (const neo_field *f = resource->fields; f->name; f++)
        if (f->personal == NEO_SENSITIVE && compares(filter, f->name))
            return 1;
    return 0;
}
