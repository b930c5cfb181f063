/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas of batches, made from those of a resource (see model/openapi_parts.h). */
#include <apr_strings.h>

#include "model/batch.h"
#include "model/openapi_parts.h"
#include "model/openapi_schema.h"

/* clang-format off */
static const char batch_schema[] = NEO_JSON({
    "type": "object",
    "description": "Operations on {collection}, in their order.",
    "required": ["operations"],
    "properties": {
        "atomic": {
            "type": "boolean",
            "description": "Whether all are done or none. `false` if absent.",
            "examples": [false]
        },
        "operations": {
            "type": "array",
            "description": "The operations.",
            "minItems": 1,
            "maxItems": 100,
            "items": {
                "oneOf": [],
                "discriminator": {"propertyName": "method", "mapping": {}}
            }
        }
    },
    "additionalProperties": false
});

static const char *const operation_schemas[NEO_METHODS] = {
    [NEO_METHOD_CREATE] = NEO_JSON({
        "type": "object",
        "description": "Creates a {resource}.",
        "required": ["method", "data"],
        "properties": {
            "method": {"type": "string", "const": "create"},
            "data": {"$ref": "#/components/schemas/{Resource}Input"}
        },
        "additionalProperties": false
    }),
    [NEO_METHOD_UPDATE] = NEO_JSON({
        "type": "object",
        "description": "Changes fields of a {resource}.",
        "required": ["method", "id", "data"],
        "properties": {
            "method": {"type": "string", "const": "update"},
            "id": {"type": "string", "description": "The id of the {resource}."},
            "data": {"$ref": "#/components/schemas/{Resource}Patch"}
        },
        "additionalProperties": false
    }),
    [NEO_METHOD_DELETE] = NEO_JSON({
        "type": "object",
        "description": "Deletes a {resource}.",
        "required": ["method", "id"],
        "properties": {
            "method": {"type": "string", "const": "delete"},
            "id": {"type": "string", "description": "The id of the {resource}."}
        },
        "additionalProperties": false
    }),
    [NEO_METHOD_UPSERT] = NEO_JSON({
        "type": "object",
        "description": "Replaces the {resource} with the `external_id`, or creates it.",
        "required": ["method", "external_id", "data"],
        "properties": {
            "method": {"type": "string", "const": "upsert"},
            "external_id": {"type": "string", "description": "Your id of the {resource}, which `data` may leave out."},
            "data": {"$ref": "#/components/schemas/{Resource}Input"}
        },
        "additionalProperties": false
    }),
};

static const char result_schema[] = NEO_JSON({
    "type": "object",
    "description": "The result of a batch of {collection}.",
    "required": ["succeeded", "failed", "results"],
    "properties": {
        "succeeded": {"type": "integer", "description": "Operations that succeeded.", "minimum": 0, "maximum": 100},
        "failed": {"type": "integer", "description": "Operations that failed.", "minimum": 0, "maximum": 100},
        "results": {
            "type": "array",
            "description": "One result for each operation, in their order.",
            "minItems": 1,
            "maxItems": 100,
            "items": {
                "type": "object",
                "description": "The result of one operation.",
                "required": ["index", "status"],
                "properties": {
                    "index": {"type": "integer", "description": "Index of the operation in the request, from 0.", "minimum": 0, "maximum": 99},
                    "status": {
                        "type": "integer",
                        "description": "Status of the single request: 201, 200 or 204 if it succeeded.",
                        "minimum": 200,
                        "maximum": 599
                    },
                    "resource": {
                        "description": "The {resource}, if it was created or changed.",
                        "$ref": "#/components/schemas/{Resource}"
                    },
                    "error": {
                        "description": "Why it failed, with fields as in the single request.",
                        "$ref": "#/components/schemas/Problem"
                    }
                }
            }
        }
    }
});

static const char error_sample[] = NEO_JSON({
    "index": 2,
    "status": 404,
    "error": {
        "type": "not_found",
        "title": "Resource Not Found",
        "status": 404,
        "detail": "The organization has no {resource} with this id.",
        "code": "not_found.{resource}",
        "request_id": "req_01kga4ssqb0d4f7h2k5n9q1s6v",
        "timestamp": "2026-01-31T13:45:10.123Z"
    }
});
/* clang-format on */

/* JSON with the names of the resource filled in. */
static neo_json *filled(const neo_openapi_builder *builder, const char *text, const neo_resource *resource)
{
    return neo_openapi_json(builder->pool, "%s", neo_openapi_fill(builder, text, resource));
}

static neo_json *sample_operation(const neo_openapi_builder *builder, const neo_resource *resource, neo_method method)
{
    apr_pool_t *pool = builder->pool;
    neo_json *operation = neo_json_make_object(pool);
    neo_openapi_text(operation, "method", neo_methods[method], pool);
    if (method != NEO_METHOD_CREATE)
        neo_openapi_text(operation, "id", neo_openapi_fill(builder, "{sample_id}", resource), pool);
    if (method != NEO_METHOD_DELETE)
        neo_json_set(operation, "data",
                     neo_openapi_sample(resource, method == NEO_METHOD_UPDATE ? NEO_SHAPE_PATCH : NEO_SHAPE_INPUT, pool));
    return operation;
}

static neo_json *sample_batch(const neo_openapi_builder *builder, const neo_resource *resource)
{
    neo_json *batch = neo_openapi_json(builder->pool, NEO_JSON({"atomic" : false, "operations" : []}));
    for (neo_method method = 0; method < NEO_METHOD_UPSERT; method++)
        neo_json_append(neo_json_get(batch, "operations"), sample_operation(builder, resource, method));
    return batch;
}

static neo_json *sample_result(const neo_openapi_builder *builder, const neo_resource *resource)
{
    apr_pool_t *pool = builder->pool;
    neo_json *result = neo_openapi_json(pool, NEO_JSON({"succeeded" : 2, "failed" : 1, "results" : []}));
    neo_json *results = neo_json_get(result, "results"), *error = filled(builder, error_sample, resource);
    for (int index = 0; index < 2; index++) {
        neo_json *done = neo_openapi_json(pool, "{\"index\": %d, \"status\": %d}", index, index ? 200 : 201);
        neo_json_set(done, "resource", neo_openapi_sample(resource, NEO_SHAPE_ANSWER, pool));
        neo_json_append(results, done);
    }
    neo_openapi_text(neo_json_get(error, "error"), "documentation_url",
                     apr_pstrcat(pool, builder->docs_url, "/errors#not_found.", resource->name, NULL), pool);
    neo_json_append(results, error);
    return result;
}

void neo_openapi_batch(const neo_openapi_builder *builder, const neo_resource *resource)
{
    apr_pool_t *pool = builder->pool;
    static const char *const names[NEO_METHODS] = {"{Resource}BatchCreate", "{Resource}BatchUpdate", "{Resource}BatchDelete",
                                                   "{Resource}BatchUpsert"};
    const char *batch = neo_openapi_fill(builder, "{Resource}Batch", resource);
    const char *result = neo_openapi_fill(builder, "{Resource}BatchResult", resource);
    neo_json *whole = neo_openapi_add(builder, "schemas", batch, filled(builder, batch_schema, resource));
    neo_json *operations = neo_json_get(neo_json_get(neo_json_get(whole, "properties"), "operations"), "items");
    for (neo_method method = 0; method < NEO_METHODS; method++) {
        if (!neo_batch_has_method(resource, method))
            continue;
        const char *name = neo_openapi_fill(builder, names[method], resource);
        neo_json_append(neo_json_get(operations, "oneOf"), neo_openapi_ref(builder, "schemas", name));
        neo_openapi_text(neo_json_get(neo_json_get(operations, "discriminator"), "mapping"), neo_methods[method],
                         apr_pstrcat(pool, "#/components/schemas/", name, NULL), pool);
        neo_json *schema = filled(builder, operation_schemas[method], resource);
        neo_json *id = neo_json_get(neo_json_get(schema, "properties"), "id");
        if (id)
            neo_openapi_text(id, "pattern", neo_openapi_id_pattern(resource->prefix, pool), pool);
        neo_openapi_add(builder, "schemas", name, schema);
    }
    neo_openapi_add(builder, "schemas", result, filled(builder, result_schema, resource));
    neo_openapi_example(builder, batch, sample_batch(builder, resource));
    if (resource == neo_resources[0]) /* the other results have the same form */
        neo_openapi_example(builder, result, sample_result(builder, resource));
}
