/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue of the types of events (see openapi/openapi.h). */
#include <apr_strings.h>
#include <string.h>

#include "openapi/openapi.h"
#include "resources/scope.h"

static const char component[] = "#/components/schemas/";

/* A schema that is copied out of the document, with the schemas that it refers to. */
typedef struct {
    neo_json *schemas; /* the document's, by name */
    neo_json *defs;    /* the copies of those that were referred to */
    apr_pool_t *pool;
} bundle;

static neo_json *copy(const bundle *b, neo_json *value);

/* Entered before its schema is copied, because schemas may refer to each other in circles. */
static neo_json *copy_reference(const bundle *b, const char *target)
{
    const char *name = target + sizeof component - 1;
    if (!neo_json_get(b->defs, name)) {
        neo_json_set(b->defs, name, neo_json_make_object(b->pool));
        neo_json_set(b->defs, name, copy(b, neo_json_get(b->schemas, name)));
    }
    return neo_json_make_string(apr_pstrcat(b->pool, "#/$defs/", name, NULL), b->pool);
}

static neo_json *copy_object(const bundle *b, neo_json *object)
{
    neo_json *made = neo_json_make_object(b->pool);
    for (void *m = neo_json_first(object); m; m = neo_json_next(object, m)) {
        const char *key = neo_json_member_key(m), *text = neo_json_string(neo_json_member_value(m));
        int is_reference = strcmp(key, "$ref") == 0 && text && strncmp(text, component, sizeof component - 1) == 0;
        neo_json_set(made, key, is_reference ? copy_reference(b, text) : copy(b, neo_json_member_value(m)));
    }
    return made;
}

static neo_json *copy(const bundle *b, neo_json *value)
{
    if (neo_json_get_kind(value) == NEO_JSON_OBJECT)
        return copy_object(b, value);
    if (neo_json_get_kind(value) != NEO_JSON_ARRAY)
        return value;
    neo_json *made = neo_json_make_array(b->pool);
    for (apr_size_t i = 0; i < neo_json_size(value); i++)
        neo_json_append(made, copy(b, neo_json_at(value, i)));
    return made;
}

/* The schema of this name, complete. */
static neo_json *make_schema(neo_json *schemas, const char *name, apr_pool_t *pool)
{
    const bundle b = {schemas, neo_json_make_object(pool), pool};
    neo_json *schema = neo_openapi_json(pool, NEO_JSON({"$schema" : "https://json-schema.org/draft/2020-12/schema"}));
    neo_json *made = copy_object(&b, neo_json_get(schemas, name));
    for (void *m = neo_json_first(made); m; m = neo_json_next(made, m))
        neo_json_set(schema, neo_json_member_key(m), neo_json_member_value(m));
    neo_json_set(schema, "$defs", b.defs);
    return schema;
}

/* The schema of deliveries of the type. */
static neo_json *make_type_schema(neo_json *schemas, const neo_event_type *type, apr_pool_t *pool)
{
    neo_json *schema = make_schema(schemas, apr_pstrcat(pool, type->payload->title, "Event", NULL), pool);
    neo_json_set(neo_json_get(schema, "properties"), "event_type", neo_openapi_json(pool, "{\"const\": \"%s\"}", type->name));
    return schema;
}

static neo_json *describe_thin(neo_json *components, apr_pool_t *pool)
{
    neo_json *thin = neo_json_make_object(pool), *example = neo_json_get(neo_json_get(components, "examples"), "ThinEvent");
    neo_json_set(thin, "schema", make_schema(neo_json_get(components, "schemas"), "ThinEvent", pool));
    neo_json_set(thin, "example", neo_json_get(example, "value"));
    return thin;
}

static neo_json *describe(neo_json *schemas, const neo_event_type *type, apr_pool_t *pool)
{
    neo_json *item = neo_json_make_object(pool);
    neo_json_set_string(item, "type", type->name, pool);
    neo_json_set_string(item, "summary", type->summary, pool);
    neo_json_set_string(item, "scope", neo_scope_text(NEO_SCOPE_READ(type->area), pool), pool);
    neo_json_set_boolean(item, "is_in_wildcard", neo_event_is_in_wildcard(type), pool);
    neo_json_set_string(item, "since", type->since ? type->since : NEO_FIRST_VERSION, pool);
    neo_json_set(item, "schema", make_type_schema(schemas, type, pool));
    neo_json_set(item, "example", neo_openapi_event_sample(type, pool));
    return item;
}

neo_text neo_openapi_event_types(neo_json *document, apr_pool_t *pool)
{
    apr_pool_t *scratch;
    apr_pool_create(&scratch, pool);
    neo_json *components = neo_json_get(document, "components"), *schemas = neo_json_get(components, "schemas");
    neo_json *all = neo_json_make_object(scratch), *items = neo_json_make_array(scratch);
    for (const neo_event_type *t = neo_event_types; t->name; t++)
        neo_json_append(items, describe(schemas, t, scratch));
    neo_json_set(all, "items", items);
    neo_json_set(all, "thin", describe_thin(components, scratch));
    const neo_text text = neo_json_text(all, scratch), kept = {apr_pstrmemdup(pool, text.ptr, text.len), text.len};
    apr_pool_destroy(scratch);
    return kept;
}
