/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas of batches, made from those of a resource (see openapi/parts.h). */
#include <apr_strings.h>

#include "openapi/parts.h"
#include "openapi/schema.h"
#include "schema/batch.h"

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

void neo_openapi_batch(const neo_openapi_builder *builder, const neo_resource *resource)
{
    apr_pool_t *pool = builder->pool;
    static const char *const schemas[NEO_METHODS] = {"{Resource}BatchCreate", "{Resource}BatchUpdate", "{Resource}BatchDelete",
                                                     "{Resource}BatchUpsert", "{Resource}BatchMerge"};
    neo_json *batch = neo_openapi_add_template(builder, "schemas", "{Resource}Batch", resource);
    neo_json *operations = neo_json_get(neo_json_get(neo_json_get(batch, "properties"), "operations"), "items");
    for (neo_method method = 0; method < NEO_METHODS; method++) {
        if (!neo_batch_has_method(resource, method))
            continue;
        const char *name = neo_openapi_fill(builder, schemas[method], resource);
        neo_json_append(neo_json_get(operations, "oneOf"), neo_openapi_ref(builder, "schemas", name));
        neo_openapi_text(neo_json_get(neo_json_get(operations, "discriminator"), "mapping"), neo_methods[method],
                         apr_pstrcat(pool, "#/components/schemas/", name, NULL), pool);
        neo_openapi_add_template(builder, "schemas", schemas[method], resource);
    }
    neo_openapi_add_template(builder, "schemas", "{Resource}BatchResult", resource);
    neo_openapi_example(builder, neo_openapi_fill(builder, "{Resource}Batch", resource), sample_batch(builder, resource));
}
