/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAPI document (3.1, as YAML), made from the tables of resources and operations; and the parts that it is made of. */
#ifndef NEO_OPENAPI_OPENAPI_H
#define NEO_OPENAPI_OPENAPI_H

#include <apr_hash.h>
#include <apr_tables.h>

#include "core/json.h"
#include "resources/list.h"
#include "schema/operation.h"

/* `operations` is ended by NULL; `base_url` ends in /public/v1/; `docs_url` has no slash at the end. */
neo_json *neo_openapi_document(const neo_operation *const *operations, const char *base_url, const char *docs_url,
                               apr_pool_t *pool);

/* The catalogue of the types of events, as JSON, of the OpenAPI document that it takes their schemas from: {"items": [{type,
 * summary, scope, is_in_wildcard, since, schema, example}]}. Each schema is JSON Schema (2020-12) and needs no other document.
 */
neo_text neo_openapi_event_types(neo_json *document, apr_pool_t *pool);

/* An operation that the document has; `resource` is NULL if its path has none. */
typedef struct neo_openapi_row {
    const neo_operation *operation;
    const neo_resource *resource;
} neo_openapi_row;

/* All of them (neo_openapi_row), in the order of the document. */
const apr_array_header_t *neo_openapi_rows(const neo_operation *const *operations, apr_pool_t *pool);

/* JSON as YAML 1.2, written so that readers of YAML 1.1 see the same: in block style; what fits on a few lines is in flow style
 * within. Members keep their order. The text ends in a newline and comes from the pool. */
neo_text neo_yaml_text(neo_json *value, apr_pool_t *pool);

/* ---------------------------------------------------------------- building blocks */

/* Everything lives in the pool. */
typedef struct neo_openapi_builder {
    apr_pool_t *pool;
    const neo_operation *const *operations; /* ended by NULL */
    const char *base;                       /* the base URL without the slash at its end */
    const char *docs_url;
    neo_json *components; /* by kind, then by name */
    neo_json *templates;  /* those of src/openapi/document.json, by name */
    apr_hash_t *objects;  /* the tables of fields that are objects, by the names of their schemas */
} neo_openapi_builder;

/* JSON source as a C string, without quotes and backslashes. */
#define NEO_JSON(...) #__VA_ARGS__

/* JSON from a format and its arguments, which must need no escapes. Aborts on malformed JSON: the tests build all of it. */
neo_json *neo_openapi_json(apr_pool_t *pool, const char *fmt, ...) NEO_PRINTF(2, 3);

/* The operationId of an operation with a verb: createBroker, listBrokers, getPrincipal. */
const char *neo_openapi_operation_id(const neo_operation *operation, const neo_resource *resource, apr_pool_t *pool);

/* BankAccount for bank_account, BrokerCreated for broker.created. */
char *neo_openapi_camel_case(const char *name, apr_pool_t *pool);

/* Marks an operation, a parameter or a schema as deprecated, and adds to its description. Does nothing if `mark` is NULL. */
void neo_openapi_deprecate(neo_json *value, const neo_deprecation *mark, apr_pool_t *pool);

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

/* The `headers` of a response: a set of enum neo_response_headers. */
neo_json *neo_openapi_headers(const neo_openapi_builder *builder, unsigned int set);

/* ---------------------------------------------------------------- schemas and examples */

typedef enum neo_shape {
    NEO_SHAPE_ANSWER,  /* in responses: Broker */
    NEO_SHAPE_INPUT,   /* to create or replace: BrokerInput */
    NEO_SHAPE_PATCH,   /* a merge patch: BrokerPatch */
    NEO_SHAPE_CREATED, /* with its secret, in one response only: WebhookWithSecret */
    NEO_SHAPE_EVENT,   /* in webhook events: BrokerEventPayload */
    NEO_SHAPES
} neo_shape;

/* "Input": what follows the title of a resource in the name of a schema. */
extern const char *const neo_shape_suffixes[NEO_SHAPES];

/* Whether a resource has the shape: not each has a secret, or events. */
int neo_openapi_has_schema(const neo_resource *resource, neo_shape shape);

/* Whether a field of the resource itself is in a shape; the members of an object go with it. */
int neo_openapi_has_field(const neo_field *field, neo_shape shape);

const char *neo_openapi_schema_name(const neo_resource *resource, neo_shape shape, apr_pool_t *pool);

/* Adds the schemas of all shapes, and of the list; examples of what is sent. */
void neo_openapi_schemas(const neo_openapi_builder *builder, const neo_resource *resource);

/* Adds the schema of a resource that has one shape only; an example if it is sent. */
void neo_openapi_schema(const neo_openapi_builder *builder, const neo_resource *resource, neo_shape shape, const char *doc);

/* An example of a shape, made of the examples of its fields. */
neo_json *neo_openapi_sample(const neo_resource *resource, neo_shape shape, apr_pool_t *pool);

/* ---------------------------------------------------------------- other parts */

/* The parts that are the same for all resources: sets the components and templates of the builder. Returns the document with
 * all members before `paths`. */
neo_json *neo_openapi_begin(neo_openapi_builder *builder);

/* The schemas of events, and the member `webhooks`: what receivers get. */
void neo_openapi_event_components(const neo_openapi_builder *builder);
neo_json *neo_openapi_webhooks(const neo_openapi_builder *builder);

/* An example of a delivery. */
neo_json *neo_openapi_event_sample(const neo_event_type *type, apr_pool_t *pool);

/* Adds the error responses of an operation. */
void neo_openapi_problems(const neo_openapi_builder *builder, neo_json *responses, const neo_operation *operation,
                          const neo_resource *resource);

#endif
