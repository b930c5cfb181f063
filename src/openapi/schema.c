/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas of a resource, made from its table of fields (see openapi/openapi.h).
 * Of a resource that has all shapes, fields are described once for requests and once for responses: BrokerInput is BrokerPatch
 * with required fields, and Broker is BrokerEventPayload with the fields that events do not have. */
#include "openapi/openapi.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <string.h>

/* No control characters. In a text of several lines, line breaks and tabs are allowed. */
#define TEXT_CHARACTER  "[^\\x00-\\x1f\\x7f-\\x9f]"
#define LINES_CHARACTER "[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]"

/* ---------------------------------------------------------------- one field */

/* The schema that is being made. */
typedef struct {
    const neo_openapi_builder *builder;
    const neo_resource *resource;
    neo_shape shape;
    const neo_field *fields; /* this object's */
    int has_all_shapes;      /* the resource has all shapes; otherwise this schema is the only one */
    int is_element;          /* in a list, at any depth: there is no patch of it */
} maker;

static void add_object_schema(const maker *m, const char *name, const char *doc);

/* One of several: Parties is Party, Owners is Owner. */
static const char *singular(char *name)
{
    size_t len = strlen(name);
    if (len > 3 && strcmp(name + len - 3, "ies") == 0)
        strcpy(name + len - 3, "y");
    else if (name[len - 1] == 's')
        name[len - 1] = '\0';
    return name;
}

/* The name of the schema of an object, BankAccount, or of a list's element, ContractParty. If another table of fields has taken
 * the name, an object's begins with the resource's, too. */
static const char *nested_name(const maker *m, const neo_field *field)
{
    apr_pool_t *pool = m->builder->pool;
    const char *name = neo_openapi_camel_case(field->name, pool);
    if (field->type == NEO_LIST)
        return apr_pstrcat(pool, m->resource->title, singular(neo_openapi_camel_case(field->name, pool)),
                           neo_shape_suffixes[m->shape], NULL);
    const neo_field *taken = apr_hash_get(m->builder->objects, name, APR_HASH_KEY_STRING);
    if (!taken)
        apr_hash_set(m->builder->objects, name, APR_HASH_KEY_STRING, field->fields);
    int is_used = neo_resource_named(field->name) || (taken && taken != field->fields);
    return apr_pstrcat(pool, is_used ? m->resource->title : "", name, neo_shape_suffixes[m->shape], NULL);
}

/* The maker of a member or element. A list's element is never patched but sent whole, and an event has whole objects. */
static maker make_inner(const maker *m, const neo_field *field)
{
    maker within = *m;
    within.fields = field->fields;
    within.is_element |= field->type == NEO_LIST;
    if (m->shape == NEO_SHAPE_PATCH && field->type == NEO_LIST)
        within.shape = NEO_SHAPE_INPUT;
    if (m->shape == NEO_SHAPE_EVENT)
        within.shape = NEO_SHAPE_ANSWER;
    return within;
}

static int is_read(neo_shape shape)
{
    return shape != NEO_SHAPE_INPUT && shape != NEO_SHAPE_PATCH;
}

static neo_json *id_schema(const char *prefix, apr_pool_t *pool)
{
    neo_json *schema = neo_openapi_json(pool, NEO_JSON({"type" : "string"}));
    neo_json_set_string(schema, "pattern", apr_pstrcat(pool, "^", prefix, "[0-7][0-9a-hjkmnp-tv-z]{25}$", NULL), pool);
    return schema;
}

/* What a request may send: a pattern that is not anchored allows control characters elsewhere in the text. */
static const char *request_pattern(const neo_field *field, apr_pool_t *pool)
{
    const char *character = field->flags & NEO_MULTILINE ? LINES_CHARACTER : TEXT_CHARACTER;
    if (field->format || (field->pattern && *field->pattern == '^'))
        return field->pattern;
    return field->pattern ? apr_pstrcat(pool, "^", character, "*", field->pattern, character, "*$", NULL)
                          : apr_pstrcat(pool, "^", character, "*$", NULL);
}

/* A text that has a normal form is limited by its pattern, since it can be sent with more characters than are kept. The limit
 * of a verbatim text is that of imports. */
static neo_json *string_schema(const maker *m, const neo_field *field)
{
    apr_pool_t *pool = m->builder->pool;
    if (field->flags & NEO_SERVER && !field->pattern && strcmp(field->name, "id") == 0)
        return id_schema(m->resource->prefix, pool);
    neo_json *schema = neo_openapi_json(pool, NEO_JSON({"type" : "string"}));
    neo_json_set_string(schema, "format", field->format, pool);
    neo_json_set_string(schema, "pattern", is_read(m->shape) ? field->pattern : request_pattern(field, pool), pool);
    if (field->max && !field->normalize && !(field->flags & NEO_VERBATIM)) {
        neo_json_set_integer(schema, "minLength", field->min ? field->min : 1, pool);
        neo_json_set_integer(schema, "maxLength", field->max, pool);
    }
    return schema;
}

static neo_json *enum_schema(const maker *m, const neo_field *field)
{
    apr_pool_t *pool = m->builder->pool;
    neo_json *schema = neo_openapi_json(pool, NEO_JSON({"type" : "string"})), *values = neo_json_make_array(pool);
    for (const char *const *v = field->values; *v; v++)
        neo_json_append_string(values, *v, pool);
    neo_json_set(schema, "enum", values);
    return schema;
}

static neo_json *number_schema(const maker *m, const neo_field *field)
{
    apr_pool_t *pool = m->builder->pool;
    neo_json *schema = neo_json_make_object(pool);
    neo_json_set_string(schema, "type", field->type == NEO_INTEGER ? "integer" : "number", pool);
    neo_json_set_string(schema, "format", field->format, pool);
    neo_json_set_integer(schema, "minimum", field->min, pool);
    neo_json_set_integer(schema, "maximum", field->max, pool);
    return schema;
}

static neo_json *object_schema(const maker *m, const neo_field *field)
{
    maker within = make_inner(m, field);
    const char *name = nested_name(&within, field);
    add_object_schema(&within, name, NULL); /* the property describes it */
    return neo_openapi_ref(m->builder, "schemas", name);
}

/* A reference that is sent can have the external id instead. */
static neo_json *id_or_external_id(const maker *m, const neo_resource *kind, const char *prefix)
{
    apr_pool_t *pool = m->builder->pool;
    neo_json *id = id_schema(prefix, pool);
    if (is_read(m->shape) || !neo_has_external_id(kind))
        return id;
    neo_json *either = neo_json_make_array(pool), *schema = neo_json_make_object(pool);
    neo_json_append(either, id);
    neo_json_append(either, neo_openapi_ref(m->builder, "schemas", "ExternalReference"));
    neo_json_set(schema, "oneOf", either);
    return schema;
}

/* If the member `type` gives the kind, an id of any of its kinds. */
static neo_json *reference_schema(const maker *m, const neo_field *field)
{
    apr_pool_t *pool = m->builder->pool;
    const char *prefixes = NULL;
    const neo_resource *kind = field->refers;
    if (kind)
        return id_or_external_id(m, kind, kind->prefix);
    for (const char *const *v = neo_field_named(m->fields, "type")->values; *v; v++) {
        kind = neo_resource_named(*v);
        prefixes = apr_pstrcat(pool, prefixes ? prefixes : "(", prefixes ? "|" : "", kind->prefix, NULL);
    }
    return id_or_external_id(m, kind, apr_pstrcat(pool, prefixes, ")", NULL));
}

static neo_json *array_schema(const maker *m, const neo_field *field, neo_json *items)
{
    apr_pool_t *pool = m->builder->pool;
    neo_json *schema = neo_openapi_json(pool, NEO_JSON({"type" : "array"}));
    if (field->flags & (NEO_REQUIRED | NEO_ALWAYS) || field->type == NEO_ENUM_LIST ||
        is_read(m->shape)) /* an empty one is left out */
        neo_json_set_integer(schema, "minItems", 1, pool);
    if (field->max_items)
        neo_json_set_integer(schema, "maxItems", field->max_items, pool);
    if (field->type == NEO_ENUM_LIST || field->type == NEO_REFERENCE_LIST)
        neo_json_set_boolean(schema, "uniqueItems", 1, pool);
    neo_json_set(schema, "items", items);
    return schema;
}

static neo_json *map_schema(const maker *m, const neo_field *field)
{
    apr_pool_t *pool = m->builder->pool;
    neo_json *schema = neo_openapi_json(pool, NEO_JSON({"type" : "object"}));
    neo_json_set_integer(schema, "maxProperties", field->max_items, pool);
    neo_json_set(schema, "propertyNames",
                 neo_openapi_json(pool, "{\"minLength\": 1, \"maxLength\": %d}", field->max_key_length));
    neo_json_set(schema, "additionalProperties",
                 neo_openapi_json(pool, "{\"type\": %s, \"maxLength\": %d}",
                                  m->shape == NEO_SHAPE_PATCH ? "[\"string\", \"null\"]" : "\"string\"", (int)field->max));
    return schema;
}

static const struct {
    neo_json *(*make)(const maker *, const neo_field *); /* the schema, of a list that of its elements */
    int is_list;
    const char *text; /* the schema, if `make` is NULL */
} schemas[] = {
    [NEO_STRING] = {.make = string_schema},
    [NEO_ENUM] = {.make = enum_schema},
    [NEO_TIMESTAMP] = {.text = NEO_JSON({"type" : "string", "format" : "date-time"})},
    [NEO_OBJECT] = {.make = object_schema},
    [NEO_BOOLEAN] = {.text = NEO_JSON({"type" : "boolean"})},
    [NEO_ENUM_LIST] = {.make = enum_schema, .is_list = 1},
    [NEO_DATE] = {.text = NEO_JSON(
                      {"type" : "string", "format" : "date", "pattern" : "^(1[89]|[2-9][0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}$"})},
    [NEO_INTEGER] = {.make = number_schema},
    [NEO_DECIMAL] = {.make = number_schema},
    [NEO_TEXT_LIST] = {.make = string_schema, .is_list = 1},
    [NEO_LIST] = {.make = object_schema, .is_list = 1},
    [NEO_MAP] = {.make = map_schema},
    [NEO_REFERENCE] = {.make = reference_schema},
    [NEO_REFERENCE_LIST] = {.make = reference_schema, .is_list = 1},
};
_Static_assert(sizeof schemas / sizeof *schemas == NEO_TYPES, "every type has its schema");

/* Allows null, too. */
static neo_json *nullable(neo_json *schema, apr_pool_t *pool)
{
    neo_json *type = neo_json_get(schema, "type"), *values = neo_json_get(schema, "enum");
    neo_json *alternatives = neo_json_get(schema, "oneOf");
    if (alternatives) {
        neo_json_append(alternatives, neo_openapi_json(pool, NEO_JSON({"type" : "null"})));
        return schema;
    }
    if (!type) {
        neo_json *either = neo_openapi_json(pool, NEO_JSON({"anyOf" : []}));
        neo_json_append(neo_json_get(either, "anyOf"), schema);
        neo_json_append(neo_json_get(either, "anyOf"), neo_openapi_json(pool, NEO_JSON({"type" : "null"})));
        return either;
    }
    neo_json_set(schema, "type", neo_openapi_json(pool, "[\"%s\", \"null\"]", neo_json_string(type)));
    if (values)
        neo_json_append(values, neo_openapi_json(pool, "null"));
    return schema;
}

/* A field of a resource has its example in responses: requests have one as a whole. An enum's values, and those that the
 * service sets, need none. */
static int has_example(const maker *m, const neo_field *field)
{
    if (!field->example || !m->has_all_shapes)
        return field->example != NULL;
    return is_read(m->shape) && field->type != NEO_ENUM && !(field->flags & NEO_SERVER);
}

static neo_json *field_schema(const maker *m, const neo_field *field)
{
    apr_pool_t *pool = m->builder->pool;
    int is_ignored = field->flags & NEO_SERVER && !is_read(m->shape);
    if (is_ignored && m->resource->transitions && field->type == NEO_TIMESTAMP)
        return neo_openapi_json(
            pool,
            NEO_JSON({"description" : "With `import=true` the time in the history that is imported. Otherwise ignored."}));
    if (is_ignored)
        return neo_openapi_json(pool, NEO_JSON({"readOnly" : true}));
    const char *text = schemas[field->type].text;
    neo_json *schema = text ? neo_openapi_json(pool, "%s", text) : schemas[field->type].make(m, field);
    if (schemas[field->type].is_list)
        schema = array_schema(m, field, schema);
    if (!is_read(m->shape) && !(field->flags & NEO_REQUIRED)) /* null is no value, also in a new body */
        schema = nullable(schema, pool);
    const char *doc = field->doc;
    /* The default value is in the text only: with `default`, openapi-typescript would make the field required. */
    if (!is_read(m->shape) && field->default_value)
        doc = apr_pstrcat(pool, doc, " `", field->default_value, "` if absent at creation or null.", NULL);
    neo_json_set_string(schema, "description", doc, pool);
    if (is_read(m->shape) && field->personal == NEO_SENSITIVE)
        neo_json_set_boolean(schema, "x-masked", 1, pool);
    neo_openapi_deprecate(schema, field->deprecated, pool);
    if (has_example(m, field))
        neo_json_set(schema, "examples", neo_openapi_json(pool, "[%s]", field->example));
    return schema;
}

/* ---------------------------------------------------------------- all fields */

/* The flags of the fields that must be there. */
static const unsigned int required_flags[] = {
    [NEO_SHAPE_ANSWER] = NEO_ALWAYS | NEO_REQUIRED,
    [NEO_SHAPE_INPUT] = NEO_REQUIRED,
    [NEO_SHAPE_PATCH] = 0,
    [NEO_SHAPE_CREATED] = NEO_ALWAYS | NEO_REQUIRED | NEO_SECRET,
    [NEO_SHAPE_EVENT] = NEO_ALWAYS | NEO_REQUIRED,
};

/* The shape that this one extends; itself if there is none. */
static neo_shape base_shape(const maker *m)
{
    int is_resource = m->fields == m->resource->fields;
    if (m->shape == NEO_SHAPE_INPUT && m->has_all_shapes && !m->is_element)
        return NEO_SHAPE_PATCH;
    if (m->shape == NEO_SHAPE_CREATED && is_resource)
        return NEO_SHAPE_ANSWER;
    return m->shape == NEO_SHAPE_ANSWER && is_resource && m->resource->has_events ? NEO_SHAPE_EVENT : m->shape;
}

/* Whether the base has the field, with the same schema. */
static int is_inherited(const maker *m, const neo_field *field, const neo_json *schema)
{
    maker base = *m;
    base.shape = base_shape(m);
    if (base.shape == m->shape || (m->fields == m->resource->fields && !neo_openapi_has_field(field, base.shape)))
        return 0;
    return strcmp(neo_json_text(schema, m->builder->pool).ptr,
                  neo_json_text(field_schema(&base, field), m->builder->pool).ptr) == 0;
}

static void add_fields(const maker *m, neo_json *required, neo_json *properties)
{
    for (const neo_field *f = m->fields; f->name; f++) {
        if (!neo_openapi_has_field(f, m->shape))
            continue;
        neo_json *schema = field_schema(m, f);
        int is_known = is_inherited(m, f, schema);
        if (!is_known)
            neo_json_set(properties, f->name, schema);
        if (f->flags & required_flags[m->shape] && !(is_known && f->flags & required_flags[base_shape(m)]))
            neo_json_append_string(required, f->name, m->builder->pool);
    }
}

/* Responses may get new members; requests may have only those that are known. `name` is without the base's suffix. */
static void add_object_schema(const maker *m, const char *name, const char *doc)
{
    apr_pool_t *pool = m->builder->pool;
    neo_shape base = base_shape(m);
    neo_json *schema = neo_openapi_add(m->builder, "schemas", name, neo_openapi_json(pool, NEO_JSON({"type" : "object"})));
    neo_json *required = neo_json_make_array(pool), *properties = neo_json_make_object(pool), *all = neo_json_make_array(pool);
    neo_json_set_string(schema, "description", doc, pool);
    if (base != m->shape) {
        size_t stem = strlen(name) - strlen(neo_shape_suffixes[m->shape]);
        neo_json_append(all,
                        neo_openapi_ref(m->builder, "schemas",
                                        apr_pstrcat(pool, apr_pstrmemdup(pool, name, stem), neo_shape_suffixes[base], NULL)));
        neo_json_set(schema, "allOf", all);
    }
    add_fields(m, required, properties);
    if (neo_json_size(required))
        neo_json_set(schema, "required", required);
    if (neo_json_size(properties))
        neo_json_set(schema, "properties", properties);
    if (!is_read(m->shape) && base == m->shape)
        neo_json_set_boolean(schema, "additionalProperties", 0, pool);
}

/* ---------------------------------------------------------------- components */

static void add_schema(const neo_openapi_builder *builder, const neo_resource *resource, neo_shape shape, const char *doc,
                       int has_all_shapes)
{
    const maker m = {
        .builder = builder, .resource = resource, .shape = shape, .fields = resource->fields, .has_all_shapes = has_all_shapes};
    const char *name = neo_openapi_schema_name(resource, shape, builder->pool);
    add_object_schema(&m, name, neo_openapi_fill(builder, doc, resource));
    if (!is_read(shape))
        neo_openapi_example(builder, name, neo_openapi_sample(resource, shape, builder->pool));
}

void neo_openapi_schema(const neo_openapi_builder *builder, const neo_resource *resource, neo_shape shape, const char *doc)
{
    add_schema(builder, resource, shape, doc, 0);
}

void neo_openapi_schemas(const neo_openapi_builder *builder, const neo_resource *resource)
{
    static const char *const docs[] = {
        [NEO_SHAPE_ANSWER] = "A {resource}. Fields without a value are absent.",
        [NEO_SHAPE_INPUT] = ("A {resource} to create or replace. Texts must not be blank. Fields that the service sets are "
                             "ignored, so that a response can be sent back; unknown fields are refused."),
        [NEO_SHAPE_PATCH] = "Changes to a {resource} (JSON merge patch): null clears an optional field, absent fields stay.",
        [NEO_SHAPE_CREATED] = "A {resource} with its secret, which no other response has.",
        [NEO_SHAPE_EVENT] =
            "The fields of a {resource} that events have: as they are after the change, or before the deletion.",
    };
    for (neo_shape shape = 0; shape < NEO_SHAPES; shape++)
        if (neo_openapi_has_schema(resource, shape))
            add_schema(builder, resource, shape, docs[shape], 1);
    neo_openapi_add_template(builder, "schemas", "{Resource}List", resource);
}
