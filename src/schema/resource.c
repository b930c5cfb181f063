/* SPDX-License-Identifier: Apache-2.0 */
/* The orders of lists, look-ups (see schema/resource.h). */
#include "schema/resource.h"

#include <string.h>

const neo_order neo_orders[] = {
    [NEO_NEWEST_FIRST] = {"-created_at", NULL, 1},
    [NEO_OLDEST_FIRST] = {"created_at", NULL, 0},
    {"-updated_at", "t.updated_at", 1},
    {"updated_at", "t.updated_at", 0},
    {0},
};

const neo_resource *neo_find_collection(const char *collection)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if (strcmp((*r)->collection, collection) == 0)
            return *r;
    return NULL;
}

const neo_resource *neo_resource_named(const char *name)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if (strcmp((*r)->name, name) == 0)
            return *r;
    return NULL;
}

const neo_field *neo_field_named(const neo_field *fields, const char *name)
{
    for (const neo_field *f = fields; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

int neo_filter_accepts_several(const neo_filter *filter)
{
    return filter->kind != NEO_FILTER_FROM && filter->kind != NEO_FILTER_TO && filter->kind != NEO_FILTER_CONTAINS;
}

const neo_filter *neo_filter_in(const neo_filter *filters, const char *name)
{
    for (const neo_filter *f = filters; f && f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

const neo_filter *neo_filter_named(const neo_resource *resource, const char *name)
{
    const neo_filter *own = neo_filter_in(resource->filters, name);
    return own ? own : neo_filter_in(neo_common_filters, name);
}

const neo_field *neo_filter_field(const neo_resource *resource, const char *name)
{
    for (const neo_field *f = resource->fields; f->name; f++) {
        size_t len = strlen(f->name);
        if (strncmp(name, f->name, len) == 0 &&
            (!name[len] || strcmp(name + len, "_gte") == 0 || strcmp(name + len, "_lte") == 0))
            return f;
    }
    return NULL;
}

const char *neo_filter_event_path(const neo_resource *resource, const neo_filter *filter)
{
    const char *path = filter->event_path;
    int is_exact = filter->value == NEO_VALUE_ENUM || filter->value == NEO_VALUE_REFERENCE || filter->value == NEO_VALUE_ID;
    if (!path && filter->kind == NEO_FILTER_REFERS)
        path = filter->left;
    if (!path && is_exact && (filter->kind == NEO_FILTER_EQUAL || filter->kind == NEO_FILTER_OVERLAPS) && filter->left &&
        strncmp(filter->left, "t.", 2) == 0)
        path = filter->left + 2;
    for (const neo_field *f = resource->fields; path && f->name; f++) {
        size_t len = strlen(f->name);
        if (f->flags & NEO_IN_EVENT && strncmp(path, f->name, len) == 0 && (path[len] == '.' || !path[len]))
            return path;
    }
    return NULL;
}

int neo_resource_index(const neo_resource *resource)
{
    int i = 0;
    while (neo_resources[i] && neo_resources[i] != resource)
        i++;
    return i;
}

const char *neo_table_name(const neo_resource *resource)
{
    return resource->table ? resource->table : resource->name;
}

const neo_resource *neo_effect_target(const neo_resource *resource)
{
    return resource->effects ? neo_field_named(resource->fields, resource->effects->through)->refers : NULL;
}

static const neo_field *find_key_field(const neo_field *fields, const char *key)
{
    for (const neo_field *f = fields; f->name; f++) {
        size_t len = strlen(f->name);
        if (strncmp(key, f->name, len) == 0 && strcmp(key + len, "_key") == 0)
            return f;
    }
    return NULL;
}

/* The text behind `start` and an underscore; NULL if it begins otherwise. */
static const char *after(const char *text, const char *start)
{
    size_t len = strlen(start);
    return strncmp(text, start, len) == 0 && text[len] == '_' ? text + len + 1 : NULL;
}

int neo_has_external_id(const neo_resource *resource)
{
    return resource->fields && neo_field_named(resource->fields, "external_id");
}

const neo_field *neo_secret_field(const neo_resource *resource)
{
    for (const neo_field *f = resource->fields; f->name; f++)
        if (f->flags & NEO_SECRET)
            return f;
    return NULL;
}

const char *const *neo_response_field_names(const neo_resource *resource, apr_pool_t *pool)
{
    apr_array_header_t *names = apr_array_make(pool, 50, sizeof(const char *));
    for (const neo_field *f = resource->fields; f->name; f++)
        if (!(f->flags & (NEO_SECRET | NEO_EXPORT_ONLY)))
            APR_ARRAY_PUSH(names, const char *) = f->name;
    APR_ARRAY_PUSH(names, const char *) = NULL;
    return (const char *const *)names->elts;
}

const neo_field *neo_unique_field(const neo_resource *resource, const char *index, const char **status)
{
    const char *key = after(index, neo_table_name(resource));
    const neo_field *field = key ? find_key_field(resource->fields, key) : NULL;
    const neo_field *statuses = neo_field_named(resource->fields, "status");
    *status = NULL;
    if (field || !key || !statuses)
        return field;
    for (const char *const *v = statuses->values; *v && !field; v++) {
        const char *rest = after(key, *v);
        field = rest ? find_key_field(resource->fields, rest) : NULL;
        *status = field ? *v : NULL;
    }
    return field;
}

int neo_field_is_personal(const neo_field *field)
{
    int is_personal = field->personal > NEO_NOT_PERSONAL;
    for (const neo_field *member = field->fields; !is_personal && member && member->name; member++)
        is_personal = neo_field_is_personal(member);
    return is_personal;
}
