/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of bodies (see schema/validate.h). */
#include "schema/validate.h"

#include <apr_strings.h>
#include <string.h>

#include "core/clock.h"
#include "core/encode.h"

typedef struct {
    const neo_resource *resource;
    apr_pool_t *pool;
    neo_problem *problem;
} walk;

/* The position of a value in the body. Only an error turns it into a path. */
typedef struct place {
    const struct place *in; /* NULL: the body itself */
    const char *name;       /* the member's; NULL for an element */
    apr_size_t index;       /* the element's */
} place;

static const char *format_path(const place *at, apr_pool_t *pool)
{
    const char *in = at->in ? format_path(at->in, pool) : "";
    if (!at->name)
        return apr_psprintf(pool, "%s[%d]", in, (int)at->index);
    return *in ? apr_pstrcat(pool, in, ".", at->name, NULL) : at->name;
}

static void add_field_error(walk *w, neo_code code, const place *at, const char *message)
{
    neo_problem_field(&w->problem, w->pool, code, w->resource->name, format_path(at, w->pool), "%s", message);
}

/* A key as errors show it: its first 20 characters if it is long. */
static const char *shorten_key(const walk *w, const char *key)
{
    apr_size_t cut = 0;
    if (neo_utf8_length(key) <= 60)
        return key;
    for (int n = 0; n < 20; n++)
        do
            cut++;
        while (((unsigned char)key[cut] & 0xC0) == 0x80);
    return apr_pstrcat(w->pool, apr_pstrndup(w->pool, key, cut), "…", NULL);
}

static void check_member_names(walk *w, const neo_field *fields, neo_json *object, const place *in);

static void check_nested_names(walk *w, const neo_field *field, neo_json *value, const place *at)
{
    neo_json_kind kind = neo_json_get_kind(value);
    if (field->type == NEO_OBJECT && kind == NEO_JSON_OBJECT)
        check_member_names(w, field->fields, value, at);
    if (field->type != NEO_LIST || kind != NEO_JSON_ARRAY || neo_json_size(value) > (apr_size_t)field->max_items)
        return;
    for (apr_size_t i = 0; i < neo_json_size(value); i++)
        if (neo_json_get_kind(neo_json_at(value, i)) == NEO_JSON_OBJECT)
            check_member_names(w, field->fields, neo_json_at(value, i), &(place){at, NULL, i});
}

static void check_member_names(walk *w, const neo_field *fields, neo_json *object, const place *in)
{
    for (void *m = neo_json_first(object); m; m = neo_json_next(object, m)) {
        const char *key = neo_json_member_key(m);
        const neo_field *field = neo_field_named(fields, key);
        if (!field || field->flags & NEO_API_ONLY)
            add_field_error(w, NEO_VALIDATION_UNKNOWN_FIELD, &(place){in, shorten_key(w, key), 0},
                            "is not a field of this resource");
        else
            check_nested_names(w, field, neo_json_member_value(m), &(place){in, key, 0});
    }
}

static neo_json *clean_object(walk *w, const neo_field *fields, neo_json *object, const place *in);

static neo_json *clean_value(walk *w, const neo_field *field, neo_json *value, const neo_json *beside, const place *at);

static int contains_text(const neo_json *list, const char *text)
{
    for (apr_size_t i = 0; i < neo_json_size(list); i++)
        if (strcmp(neo_json_string(neo_json_at(list, i)), text) == 0)
            return 1;
    return 0;
}

static neo_json *clean_list(walk *w, const neo_field *field, const neo_json *list, const place *in)
{
    neo_field element = *field;
    element.type = field->type == NEO_LIST ? NEO_OBJECT : field->type == NEO_TEXT_LIST ? NEO_STRING : NEO_REFERENCE;
    neo_json *clean = neo_json_make_array(w->pool);
    for (apr_size_t i = 0; i < neo_json_size(list); i++) {
        place at = {in, NULL, i};
        neo_json *stored = clean_value(w, &element, neo_json_at(list, i), NULL, &at);
        if (stored && field->type == NEO_REFERENCE_LIST && contains_text(clean, neo_json_string(stored)))
            add_field_error(w, NEO_VALIDATION_FIELD_INVALID, &at, "must not repeat an earlier element");
        else if (stored)
            neo_json_append(clean, stored);
    }
    return clean;
}

/* Names of members are the caller's, so that no code has them. */
static neo_json *clean_map(walk *w, const neo_field *field, neo_json *map, const place *at)
{
    neo_json *clean = neo_json_make_object(w->pool);
    for (void *m = neo_json_first(map); m; m = neo_json_next(map, m)) {
        const char *key = neo_json_member_key(m), *message = neo_check_member(field, key, neo_json_member_value(m), w->pool);
        if (message)
            neo_problem_member(&w->problem, w->pool, NEO_VALIDATION_FIELD_INVALID, w->resource->name, format_path(at, w->pool),
                               shorten_key(w, key), message);
        else if (neo_json_get_kind(neo_json_member_value(m)) != NEO_JSON_NULL)
            neo_json_set(clean, key, neo_json_member_value(m));
    }
    return clean;
}

static neo_json *clean_parts(walk *w, const neo_field *field, neo_json *value, const place *at)
{
    switch (field->type) {
    case NEO_OBJECT: return clean_object(w, field->fields, value, at);
    case NEO_MAP: return clean_map(w, field, value, at);
    case NEO_LIST:
    case NEO_TEXT_LIST:
    case NEO_REFERENCE_LIST: return clean_list(w, field, value, at);
    default: return NULL;
    }
}

neo_json *neo_normalize_timestamp(const neo_json *value, apr_pool_t *pool)
{
    char text[NEO_MS_TEXT_SIZE];
    neo_ms ms;
    if (!neo_ms_parse(neo_json_string(value), &ms))
        return NULL; /* not possible after neo_check */
    neo_ms_format(text, ms);
    return neo_json_make_string(text, pool);
}

/* A value as it will be stored; NULL if it is wrong, or an object or list without values. */
static neo_json *clean_value(walk *w, const neo_field *field, neo_json *value, const neo_json *beside, const place *at)
{
    if (field->normalize && neo_json_string(value))
        value = neo_json_make_string(field->normalize(neo_json_string(value), w->pool), w->pool);
    const char *message = neo_check(field, value, beside, w->pool);
    if (message) {
        add_field_error(w, NEO_VALIDATION_FIELD_INVALID, at, message);
        return NULL;
    }
    if (field->type == NEO_TIMESTAMP)
        return neo_normalize_timestamp(value, w->pool);
    neo_json *parts = clean_parts(w, field, value, at);
    return !parts ? value : neo_json_size(parts) ? parts : NULL;
}

static neo_json *clean_object(walk *w, const neo_field *fields, neo_json *object, const place *in)
{
    neo_json *clean = neo_json_make_object(w->pool);
    for (const neo_field *f = fields; f->name; f++) {
        if (f->flags & (NEO_SERVER | NEO_API_ONLY))
            continue;
        neo_json *value = neo_json_get(object, f->name), *stored = NULL;
        place at = {in, f->name, 0};
        if (value && neo_json_get_kind(value) != NEO_JSON_NULL)
            stored = clean_value(w, f, value, clean, &at);
        else if (f->default_value)
            stored = f->type == NEO_BOOLEAN ? neo_json_make_boolean(strcmp(f->default_value, "true") == 0, w->pool)
                                            : neo_json_make_string(f->default_value, w->pool);
        else if (f->flags & NEO_REQUIRED)
            add_field_error(w, NEO_VALIDATION_FIELD_REQUIRED, &at, "is required");
        if (stored)
            neo_json_set(clean, f->name, stored);
    }
    return clean;
}

static neo_problem *not_an_object(apr_pool_t *pool, const neo_json *body)
{
    neo_problem *problem = NULL;
    neo_problem_field(&problem, pool, NEO_VALIDATION_MALFORMED_JSON, "", "body", "must be a JSON object, not %s",
                      neo_json_kind_name(neo_json_get_kind(body)));
    return problem;
}

/* A patch from another status does not send the field: the stored value is removed. */
static void check_status_fields(walk *w, neo_json *clean, const neo_json *sent)
{
    const char *status = neo_json_string_at(clean, "status");
    for (const neo_field *f = w->resource->fields; status && f->name; f++) {
        if (!f->only_with_status || strcmp(f->only_with_status, status) == 0 || !neo_json_get(clean, f->name))
            continue;
        if (neo_json_get(sent, f->name))
            add_field_error(w, NEO_VALIDATION_FIELD_INVALID, &(place){.name = f->name},
                            apr_psprintf(w->pool, "is accepted only with the status %s", f->only_with_status));
        neo_json_remove(clean, f->name);
    }
}

/* Validates `body`; unknown names are looked for in `sent`. */
static neo_problem *check(const neo_resource *resource, neo_json *body, neo_json *sent, apr_pool_t *pool, neo_json **clean)
{
    walk w = {resource, pool, NULL};
    *clean = clean_object(&w, resource->fields, body, NULL);
    check_member_names(&w, resource->fields, sent, NULL);
    check_status_fields(&w, *clean, sent);
    if (resource->rule)
        resource->rule(resource, *clean, &w.problem, pool);
    return w.problem;
}

neo_problem *neo_validate(const neo_resource *resource, neo_json *body, apr_pool_t *pool, neo_json **clean)
{
    if (neo_json_get_kind(body) != NEO_JSON_OBJECT)
        return not_an_object(pool, body);
    return check(resource, body, body, pool, clean);
}

neo_problem *neo_validate_patch(const neo_resource *resource, neo_json *current, neo_json *patch, apr_pool_t *pool,
                                neo_json **clean)
{
    return neo_validate_merged(resource, neo_json_merge_patch(current, patch, pool), patch, pool, clean);
}

neo_problem *neo_validate_merged(const neo_resource *resource, neo_json *merged, neo_json *patch, apr_pool_t *pool,
                                 neo_json **clean)
{
    if (neo_json_get_kind(patch) != NEO_JSON_OBJECT)
        return not_an_object(pool, patch);
    return check(resource, merged, patch, pool, clean);
}
