/* Schemas and sample bodies of a resource, drawn from its table of fields (see model/openapi_builder.h). */
#include <apr_hash.h>
#include <apr_lib.h>
#include <apr_strings.h>
#include <string.h>

#include "model/openapi_builder.h"

static const char *const suffixes[] = {[NEO_SHAPE_ANSWER] = "",
                                       [NEO_SHAPE_INPUT] = "Input",
                                       [NEO_SHAPE_PATCH] = "Patch",
                                       [NEO_SHAPE_CREATED] = "WithSecret",
                                       [NEO_SHAPE_EVENT] = "EventPayload"};
_Static_assert(sizeof suffixes / sizeof *suffixes == NEO_SHAPES, "every shape has its name");

const char *neo_openapi_schema_name(const neo_resource *resource, neo_shape shape, apr_pool_t *pool)
{
    return apr_pstrcat(pool, resource->title, suffixes[shape], NULL);
}

int neo_openapi_has_schema(const neo_resource *resource, neo_shape shape)
{
    if (shape == NEO_SHAPE_EVENT)
        return resource->has_events;
    for (const neo_field *f = resource->fields; f->name; f++)
        if (f->flags & NEO_SECRET)
            return 1;
    return shape != NEO_SHAPE_CREATED;
}

/* Whether a field of the resource itself is in a shape; what is in an object goes with it. */
static int is_in_shape(const neo_field *field, neo_shape shape)
{
    if (shape == NEO_SHAPE_EVENT)
        return field->flags & NEO_IN_EVENT;
    return shape != NEO_SHAPE_ANSWER || !(field->flags & NEO_SECRET);
}

const char *neo_openapi_id_pattern(const char *prefix, apr_pool_t *pool)
{
    return apr_pstrcat(pool, "^", prefix, "[0-7][0-9a-hjkmnp-tv-z]{25}$", NULL);
}

/* ---------------------------------------------------------------- one field */

/* One schema while it is made. */
typedef struct {
    const neo_openapi_builder *builder;
    const neo_resource *resource;
    neo_shape shape;
    const neo_field *fields; /* those of the object that is being made */
} maker;

static void add_object(const maker *m, const char *name, const neo_field *fields, const char *doc);

/* bank_account is BankAccount. */
static char *camel_case(const char *name, apr_pool_t *pool)
{
    neo_buf out;
    int upper = 1;
    neo_buf_init(&out, pool, 40);
    for (const char *c = name; *c; c++) {
        if (*c != '_')
            neo_buf_putc(&out, (char)(upper ? apr_toupper(*c) : *c));
        upper = *c == '_';
    }
    return out.ptr;
}

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

/* The schema of a field that is an object, or of a list of objects. An object's is BankAccount; where another table has taken
 * that name, and for what is in a list, the resource's stands before it: ContractParty. */
static const char *nested_name(const maker *m, const neo_field *field)
{
    apr_pool_t *pool = m->builder->pool;
    const char *name = camel_case(field->name, pool);
    if (field->type == NEO_LIST)
        return apr_pstrcat(pool, m->resource->title, singular(camel_case(field->name, pool)), suffixes[m->shape], NULL);
    const neo_field *taken = apr_hash_get(m->builder->objects, name, APR_HASH_KEY_STRING);
    if (!taken)
        apr_hash_set(m->builder->objects, name, APR_HASH_KEY_STRING, field->fields);
    return apr_pstrcat(pool, taken && taken != field->fields ? m->resource->title : "", name, suffixes[m->shape], NULL);
}

/* The maker of what is in a list, or in an event: an element is never patched, it is sent whole; and what is in an event's
 * field is the whole of it. */
static maker inside(const maker *m, const neo_field *field)
{
    maker within = *m;
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

static void set_integer(neo_json *schema, const char *key, long long value, apr_pool_t *pool)
{
    neo_json_set(schema, key, neo_json_make_integer(value, pool));
}

static neo_json *id_schema(const char *prefix, apr_pool_t *pool)
{
    neo_json *schema = neo_openapi_json(pool, NEO_JSON({"type" : "string"}));
    neo_openapi_text(schema, "pattern", neo_openapi_id_pattern(prefix, pool), pool);
    return schema;
}

/* What has a normal form is limited by its pattern, since it can be sent with more characters than are kept. */
static neo_json *string_schema(const maker *m, const neo_field *field)
{
    apr_pool_t *pool = m->builder->pool;
    if (field->flags & NEO_SERVER && strcmp(field->name, "id") == 0)
        return id_schema(m->resource->prefix, pool);
    neo_json *schema = neo_openapi_json(pool, NEO_JSON({"type" : "string"}));
    neo_openapi_text(schema, "format", field->format, pool);
    neo_openapi_text(schema, "pattern", field->pattern, pool);
    if (field->max && !field->normalize) {
        set_integer(schema, "minLength", field->min ? field->min : 1, pool);
        set_integer(schema, "maxLength", field->max, pool);
    }
    return schema;
}

static neo_json *enum_schema(const maker *m, const neo_field *field)
{
    apr_pool_t *pool = m->builder->pool;
    neo_json *schema = neo_openapi_json(pool, NEO_JSON({"type" : "string"})), *values = neo_json_make_array(pool);
    for (const char *const *v = field->values; *v; v++)
        neo_json_append(values, neo_json_make_string(*v, pool));
    neo_json_set(schema, "enum", values);
    return schema;
}

static neo_json *timestamp_schema(const maker *m, const neo_field *field)
{
    (void)field;
    return neo_openapi_json(m->builder->pool, NEO_JSON({"type" : "string", "format" : "date-time"}));
}

static neo_json *date_schema(const maker *m, const neo_field *field)
{
    (void)field;
    return neo_openapi_json(
        m->builder->pool,
        NEO_JSON({"type" : "string", "format" : "date", "pattern" : "^(1[89]|[2-9][0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}$"}));
}

static neo_json *number_schema(const maker *m, const neo_field *field)
{
    apr_pool_t *pool = m->builder->pool;
    neo_json *schema = neo_json_make_object(pool);
    neo_openapi_text(schema, "type", field->type == NEO_INTEGER ? "integer" : "number", pool);
    neo_openapi_text(schema, "format", field->format, pool);
    set_integer(schema, "minimum", field->min, pool);
    set_integer(schema, "maximum", field->max, pool);
    return schema;
}

static neo_json *object_schema(const maker *m, const neo_field *field)
{
    maker within = inside(m, field);
    const char *name = nested_name(&within, field);
    add_object(&within, name, field->fields, NULL); /* what it is for is said beside the reference */
    return neo_openapi_ref(m->builder, "schemas", name);
}

static neo_json *boolean_schema(const maker *m, const neo_field *field)
{
    (void)field;
    return neo_openapi_json(m->builder->pool, NEO_JSON({"type" : "boolean"}));
}

/* Where the kind is said by the member `type`, an id of any of its kinds. */
static neo_json *reference_schema(const maker *m, const neo_field *field)
{
    apr_pool_t *pool = m->builder->pool;
    const char *prefixes = NULL;
    if (field->refers)
        return id_schema(field->refers->prefix, pool);
    for (const char *const *v = neo_field_named(m->fields, "type")->values; *v; v++)
        prefixes = apr_pstrcat(pool, prefixes ? prefixes : "(", prefixes ? "|" : "", neo_resource_named(*v)->prefix, NULL);
    return id_schema(apr_pstrcat(pool, prefixes, ")", NULL), pool);
}

static neo_json *array_schema(const maker *m, const neo_field *field, neo_json *items)
{
    apr_pool_t *pool = m->builder->pool;
    neo_json *schema = neo_openapi_json(pool, NEO_JSON({"type" : "array"}));
    if (field->flags & NEO_REQUIRED || is_read(m->shape)) /* an empty one is left out */
        set_integer(schema, "minItems", 1, pool);
    if (field->max_items)
        set_integer(schema, "maxItems", field->max_items, pool);
    if (field->type == NEO_ENUM_LIST || field->type == NEO_REFERENCE_LIST)
        neo_json_set(schema, "uniqueItems", neo_json_make_boolean(1, pool));
    neo_json_set(schema, "items", items);
    return schema;
}

static neo_json *enum_list_schema(const maker *m, const neo_field *field)
{
    return array_schema(m, field, enum_schema(m, field));
}

static neo_json *text_list_schema(const maker *m, const neo_field *field)
{
    return array_schema(m, field, string_schema(m, field));
}

static neo_json *list_schema_of(const maker *m, const neo_field *field)
{
    return array_schema(m, field, object_schema(m, field));
}

static neo_json *reference_list_schema(const maker *m, const neo_field *field)
{
    return array_schema(m, field, reference_schema(m, field));
}

static neo_json *map_schema(const maker *m, const neo_field *field)
{
    apr_pool_t *pool = m->builder->pool;
    neo_json *schema = neo_openapi_json(pool, NEO_JSON({"type" : "object"}));
    set_integer(schema, "maxProperties", field->max_items, pool);
    neo_json_set(schema, "propertyNames",
                 neo_openapi_json(pool, "{\"minLength\": 1, \"maxLength\": %d}", field->max_key_length));
    neo_json_set(schema, "additionalProperties",
                 neo_openapi_json(pool, "{\"type\": %s, \"maxLength\": %d}",
                                  m->shape == NEO_SHAPE_PATCH ? "[\"string\", \"null\"]" : "\"string\"", (int)field->max));
    return schema;
}

static neo_json *(*const schemas[])(const maker *, const neo_field *) = {
    [NEO_STRING] = string_schema,       [NEO_ENUM] = enum_schema,
    [NEO_TIMESTAMP] = timestamp_schema, [NEO_OBJECT] = object_schema,
    [NEO_BOOLEAN] = boolean_schema,     [NEO_ENUM_LIST] = enum_list_schema,
    [NEO_DATE] = date_schema,           [NEO_INTEGER] = number_schema,
    [NEO_DECIMAL] = number_schema,      [NEO_TEXT_LIST] = text_list_schema,
    [NEO_LIST] = list_schema_of,        [NEO_MAP] = map_schema,
    [NEO_REFERENCE] = reference_schema, [NEO_REFERENCE_LIST] = reference_list_schema,
};
_Static_assert(sizeof schemas / sizeof *schemas == NEO_TYPES, "every type has its schema");

/* Lets a schema take null, too. */
static neo_json *nullable(neo_json *schema, apr_pool_t *pool)
{
    neo_json *type = neo_json_get(schema, "type"), *values = neo_json_get(schema, "enum");
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

/* A preset is told to people only: with `default` openapi-typescript would have the field sent always. */
static const char *doc_of(const maker *m, const neo_field *field)
{
    if (is_read(m->shape) || !field->default_value)
        return field->doc;
    return apr_pstrcat(m->builder->pool, field->doc, " `", field->default_value, "` where it is left out",
                       m->shape == NEO_SHAPE_PATCH ? " at creation or null." : " or null.", NULL);
}

static neo_json *field_schema(const maker *m, const neo_field *field)
{
    apr_pool_t *pool = m->builder->pool;
    neo_json *schema = schemas[field->type](m, field);
    if (!is_read(m->shape) && !(field->flags & (NEO_REQUIRED | NEO_SERVER))) /* null is no value, also in a new body */
        schema = nullable(schema, pool);
    neo_openapi_text(schema, "description", doc_of(m, field), pool);
    if (field->flags & NEO_SERVER && m->shape != NEO_SHAPE_EVENT)
        neo_json_set(schema, "readOnly", neo_json_make_boolean(1, pool));
    if (field->example)
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

/* What is read may get new members; what is sent may have only those that are known. */
static void add_object(const maker *of, const char *name, const neo_field *fields, const char *doc)
{
    const maker here = {of->builder, of->resource, of->shape, fields}, *m = &here;
    apr_pool_t *pool = m->builder->pool;
    neo_json *schema = neo_openapi_add(m->builder, "schemas", name, neo_openapi_json(pool, NEO_JSON({"type" : "object"})));
    neo_json *required = neo_json_make_array(pool), *properties = neo_json_make_object(pool);
    neo_openapi_text(schema, "description", doc, pool);
    for (const neo_field *f = fields; f->name; f++) {
        if (fields == m->resource->fields && !is_in_shape(f, m->shape))
            continue;
        neo_json_set(properties, f->name, field_schema(m, f));
        if (f->flags & required_flags[m->shape])
            neo_json_append(required, neo_json_make_string(f->name, pool));
    }
    if (neo_json_size(required))
        neo_json_set(schema, "required", required);
    neo_json_set(schema, "properties", properties);
    if (!is_read(m->shape))
        neo_json_set(schema, "additionalProperties", neo_json_make_boolean(0, pool));
}

/* clang-format off */
static const char list_schema[] = NEO_JSON({
    "type": "object",
    "description": "One page of %s.",
    "required": ["items", "page_info"],
    "properties": {
        "items": {
            "type": "array",
            "description": "Newest first.",
            "maxItems": 100,
            "items": {"$ref": "#/components/schemas/%s"}
        },
        "page_info": {"$ref": "#/components/schemas/PageInfo"}
    }
});

static const char page_info_sample[] = NEO_JSON({
    "start_cursor": "AZk3Yc0VtW1n5bYc7LrJgmZ3k0Q8xdF2hK9sP4uE6oR7yT1wN0jB5vL8aGqCiXzDfHbMpSs",
    "end_cursor": "AZk3Yc0VtW1n5bYc7LrJgmZ3k0Q8xdF2hK9sP4uE6oR7yT1wN0jB5vL8aGqCiXzDfHbMpSs",
    "has_next_page": true,
    "has_previous_page": false
});
/* clang-format on */

/* ---------------------------------------------------------------- samples */

static neo_json *sample_of(const neo_field *fields, unsigned int without, apr_pool_t *pool);

/* Of an object, or of a list with one element. */
static neo_json *sample_of_parts(const neo_field *field, unsigned int without, apr_pool_t *pool)
{
    neo_json *parts = sample_of(field->fields, without, pool);
    if (field->type == NEO_OBJECT)
        return parts;
    neo_json *list = neo_json_make_array(pool);
    neo_json_append(list, parts);
    return list;
}

static neo_json *sample_of(const neo_field *fields, unsigned int without, apr_pool_t *pool)
{
    neo_json *sample = neo_json_make_object(pool);
    for (const neo_field *f = fields; f->name; f++) {
        if (f->flags & without)
            continue;
        if (f->example)
            neo_json_set(sample, f->name, neo_openapi_json(pool, "%s", f->example));
        else if (f->fields)
            neo_json_set(sample, f->name, sample_of_parts(f, without, pool));
    }
    return sample;
}

static int can_be_cleared(const neo_field *field)
{
    return !(field->flags & (NEO_SERVER | NEO_REQUIRED)) && !field->default_value;
}

/* The first field that can be cleared is set, and the last one is cleared; where none can, the last that can be written is
 * set. */
static neo_json *sample_patch(const neo_resource *resource, apr_pool_t *pool)
{
    neo_json *patch = neo_json_make_object(pool);
    const neo_field *last = NULL, *written = NULL;
    for (const neo_field *f = resource->fields; f->name; f++) {
        if (!(f->flags & NEO_SERVER))
            written = f;
        if (!can_be_cleared(f))
            continue;
        if (!last && f->example)
            neo_json_set(patch, f->name, neo_openapi_json(pool, "%s", f->example));
        last = f;
    }
    if (last)
        neo_json_set(patch, last->name, neo_openapi_json(pool, "null"));
    else if (written)
        neo_json_set(patch, written->name, neo_openapi_json(pool, "%s", written->example));
    return patch;
}

neo_json *neo_openapi_sample(const neo_resource *resource, neo_shape shape, apr_pool_t *pool)
{
    if (shape == NEO_SHAPE_PATCH)
        return sample_patch(resource, pool);
    neo_json *sample =
        sample_of(resource->fields, shape == NEO_SHAPE_INPUT ? NEO_SERVER | NEO_NOT_IN_EXAMPLE : NEO_NOT_IN_EXAMPLE, pool);
    for (const neo_field *f = resource->fields; f->name; f++)
        if (!is_in_shape(f, shape))
            neo_json_remove(sample, f->name);
    return sample;
}

/* ---------------------------------------------------------------- putting them in */

void neo_openapi_example(const neo_openapi_builder *builder, const char *name, neo_json *value)
{
    neo_json *example = neo_openapi_add(builder, "examples", name, neo_json_make_object(builder->pool));
    neo_json_set(example, "value", value);
}

neo_json *neo_openapi_content(const neo_openapi_builder *builder, const char *schema, const char *example)
{
    neo_json *content = neo_json_make_object(builder->pool);
    neo_json_set(content, "schema", neo_openapi_ref(builder, "schemas", schema));
    neo_json_set(content, "examples", neo_json_make_object(builder->pool));
    neo_json_set(neo_json_get(content, "examples"), example, neo_openapi_ref(builder, "examples", schema));
    return content;
}

void neo_openapi_schema(const neo_openapi_builder *builder, const neo_resource *resource, neo_shape shape, const char *doc)
{
    maker m = {builder, resource, shape, resource->fields};
    const char *name = neo_openapi_schema_name(resource, shape, builder->pool);
    add_object(&m, name, resource->fields, neo_openapi_fill(builder, doc, resource));
    if (shape != NEO_SHAPE_EVENT) /* which is always sent in its envelope */
        neo_openapi_example(builder, name, neo_openapi_sample(resource, shape, builder->pool));
}

void neo_openapi_list(const neo_openapi_builder *builder, const char *title, const char *collection, neo_json *item)
{
    apr_pool_t *pool = builder->pool;
    const char *name = apr_pstrcat(pool, title, "List", NULL);
    neo_json *list = neo_openapi_json(pool, "{\"items\": [], \"page_info\": %s}", page_info_sample);
    neo_json_append(neo_json_get(list, "items"), item);
    neo_openapi_add(builder, "schemas", name, neo_openapi_json(pool, list_schema, collection, title));
    neo_openapi_example(builder, name, list);
}

void neo_openapi_schemas(const neo_openapi_builder *builder, const neo_resource *resource)
{
    static const char *const docs[] = {
        [NEO_SHAPE_ANSWER] = "A {resource} as it is read. A field without a value is left out.",
        [NEO_SHAPE_INPUT] = "A {resource} as it is sent to create or replace one. No text is blank or has control characters, "
                            "unless its field says so. Fields that the service sets are passed over, so that what was read can "
                            "be sent back; any other name is refused.",
        [NEO_SHAPE_PATCH] =
            "Changes to a {resource}, as a JSON merge patch: what is sent is set, null clears an optional field, "
            "all others stay. Fields that the service sets are passed over.",
        [NEO_SHAPE_CREATED] = "A {resource} with its secret, which no other response has.",
        [NEO_SHAPE_EVENT] = "A {resource} as subscribers are told of it: as it is after the change, or was before its end.",
    };
    for (neo_shape shape = 0; shape < NEO_SHAPES; shape++)
        if (neo_openapi_has_schema(resource, shape))
            neo_openapi_schema(builder, resource, shape, docs[shape]);
    neo_openapi_list(builder, resource->title, resource->collection,
                     neo_openapi_sample(resource, NEO_SHAPE_ANSWER, builder->pool));
}
