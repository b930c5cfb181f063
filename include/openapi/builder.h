/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks of the OpenAPI document: components, references, texts and response headers. */
#ifndef NEO_OPENAPI_BUILDER_H
#define NEO_OPENAPI_BUILDER_H

#include <apr_hash.h>

#include "core/json.h"
#include "schema/operation.h"

/* Everything lives in the pool. */
typedef struct neo_openapi_builder {
    apr_pool_t *pool;
    const neo_operation *const *operations; /* ended by NULL */
    const char *base;                       /* the base URL without the slash at its end */
    const char *docs_url;
    neo_json *components; /* by kind, then by name */
    neo_json *templates;  /* of src/openapi/document.json, by name */
    apr_hash_t *objects;  /* the tables of fields that are objects, by the names of their schemas */
} neo_openapi_builder;

/* JSON source as a C string, without quotes and backslashes. */
#define NEO_JSON(...) #__VA_ARGS__

/* JSON from a format and its arguments, which must need no escapes. Aborts on malformed JSON: the tests build all of it. */
neo_json *neo_openapi_json(apr_pool_t *pool, const char *fmt, ...) NEO_PRINTF(2, 3);

/* object[key] = text; does nothing if it is NULL. */
void neo_openapi_text(neo_json *object, const char *key, const char *text, apr_pool_t *pool);

/* Adds a component and returns it: neo_openapi_add(builder, "schemas", "PageInfo", …). */
neo_json *neo_openapi_add(const neo_openapi_builder *builder, const char *kind, const char *name, neo_json *value);

/* Adds examples[name] = {value}. */
void neo_openapi_example(const neo_openapi_builder *builder, const char *name, neo_json *value);

/* {"$ref": "#/components/<kind>/<name>"} */
neo_json *neo_openapi_ref(const neo_openapi_builder *builder, const char *kind, const char *name);

/* A reference to a component with this response, which is added unless it exists: BadRequest, BadRequest2, … */
neo_json *neo_openapi_share(const neo_openapi_builder *builder, const char *name, neo_json *response);

/* {schema, examples}: a schema, and the example of the same name if there is one. */
neo_json *neo_openapi_content(const neo_openapi_builder *builder, const char *schema);

/* A text with {base}, {docs} and {version} filled in and, if there is a resource, {resource}, {collection}, both also with a
 * capital, {prefix} and {sample_id}. Other braces stay. */
const char *neo_openapi_fill(const neo_openapi_builder *builder, const char *text, const neo_resource *resource);

/* A copy of a value whose strings are filled in. */
neo_json *neo_openapi_filled(const neo_openapi_builder *builder, neo_json *value, const neo_resource *resource);

/* A template, filled in. `name` must exist. */
neo_json *neo_openapi_template(const neo_openapi_builder *builder, const char *name, const neo_resource *resource);

/* Adds a template as a component and returns it: its name is filled in, too, such as {Resource}Batch. */
neo_json *neo_openapi_add_template(const neo_openapi_builder *builder, const char *kind, const char *name,
                                   const neo_resource *resource);

/* Response headers, in addition to X-Request-ID. The introduction says that every response has those of the rate limit; only
 * 429 lists them, because each list takes 130 bytes in every response. */
enum neo_header {
    NEO_HEADER_ETAG = 1,
    NEO_HEADER_LOCATION = 2,
    NEO_HEADER_LINK = 4,
    NEO_HEADER_REPLAYED = 8,
    NEO_HEADER_RETRY_AFTER = 16,
    NEO_HEADER_CHALLENGE = 32,
    NEO_HEADER_RATE_LIMIT = 64,
    NEO_HEADER_POSITION = 128,
    NEO_HEADER_TOTAL = 256,
};

/* The `headers` of a response. */
neo_json *neo_openapi_headers(const neo_openapi_builder *builder, unsigned int set);

#endif
