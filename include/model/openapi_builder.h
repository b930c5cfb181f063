/* What the files that write the description share: the document while it is put together, and its parts. */
#ifndef NEO_MODEL_OPENAPI_BUILDER_H
#define NEO_MODEL_OPENAPI_BUILDER_H

#include <apr_hash.h>

#include "core/json.h"
#include "model/operation.h"

/* Members of `components` by kind; everything lives in the pool. */
typedef struct neo_openapi_builder {
    apr_pool_t *pool;
    const char *base; /* the base URL without the slash at its end */
    const char *docs_url;
    neo_json *components;
    apr_hash_t *objects; /* the tables of fields that are objects, by the names of their schemas */
} neo_openapi_builder;

/* The source of a JSON text, without the quotes and backslashes that a string of C would need. */
#define NEO_JSON(...) #__VA_ARGS__

/* JSON from a format and its arguments, which must need no escapes. A mistake in it ends the process: tests make them all. */
neo_json *neo_openapi_json(apr_pool_t *pool, const char *fmt, ...) NEO_PRINTF(2, 3);

/* object[key] = a string; nothing where it is NULL. */
void neo_openapi_text(neo_json *object, const char *key, const char *text, apr_pool_t *pool);

/* Adds a component and returns it: neo_openapi_add(draft, "schemas", "PageInfo", …). */
neo_json *neo_openapi_add(const neo_openapi_builder *builder, const char *kind, const char *name, neo_json *value);

/* {"$ref": "#/components/<kind>/<name>"} */
neo_json *neo_openapi_ref(const neo_openapi_builder *builder, const char *kind, const char *name);

/* A text with {base} filled in and, where there is a resource, {resource}, {collection}, both also with a capital, and
 * {sample_id}. What else stands between braces is left. */
const char *neo_openapi_fill(const neo_openapi_builder *builder, const char *text, const neo_resource *resource);

/* Response headers, beside those that every response has. */
enum neo_header {
    NEO_HEADER_ETAG = 1,
    NEO_HEADER_LOCATION = 2,
    NEO_HEADER_LINK = 4,
    NEO_HEADER_REPLAYED = 8,
    NEO_HEADER_RETRY_AFTER = 16,
    NEO_HEADER_ALLOW = 32,
    NEO_HEADER_CHALLENGE = 64,
};

/* The `headers` of a response. */
neo_json *neo_openapi_headers(const neo_openapi_builder *builder, unsigned int set);

/* openapi_fixed.c: what no table of the model says. info, servers and so on at the top; the fixed components; the content of a
 * success where the path is no resource's. */
void neo_openapi_top(const neo_openapi_builder *builder, neo_json *document);
void neo_openapi_fixed_components(const neo_openapi_builder *builder);
neo_json *neo_openapi_answer(const neo_openapi_builder *builder, neo_action action);

/* openapi_schema.c: the schemas of a resource, and bodies made of its fields' examples. */
typedef enum neo_shape {
    NEO_SHAPE_ANSWER,  /* what is read: Broker */
    NEO_SHAPE_INPUT,   /* what is sent to create or replace: BrokerInput */
    NEO_SHAPE_PATCH,   /* a merge patch: BrokerPatch */
    NEO_SHAPE_CREATED, /* what is read this once, with its secret: WebhookWithSecret */
    NEO_SHAPE_EVENT,   /* what subscribers are told: BrokerEventPayload */
    NEO_SHAPES
} neo_shape;

/* Whether a resource has a schema of the shape: not each has a secret, or events. */
int neo_openapi_has_schema(const neo_resource *resource, neo_shape shape);

const char *neo_openapi_schema_name(const neo_resource *resource, neo_shape shape, apr_pool_t *pool);
/* The schemas of all its shapes, and of its list. */
void neo_openapi_schemas(const neo_openapi_builder *builder, const neo_resource *resource);
/* The schema of one shape, and an example of the same name where it is sent by itself. */
void neo_openapi_schema(const neo_openapi_builder *builder, const neo_resource *resource, neo_shape shape, const char *doc);
neo_json *neo_openapi_sample(const neo_resource *resource, neo_shape shape, apr_pool_t *pool);
/* The schema of a page, <title>List, and an example of the same name with this one item. */
void neo_openapi_list(const neo_openapi_builder *builder, const char *title, const char *collection, neo_json *item);
/* Adds examples[name] = {value}. */
void neo_openapi_example(const neo_openapi_builder *builder, const char *name, neo_json *value);
/* {schema, examples}: a schema, and the example that has its name. */
neo_json *neo_openapi_content(const neo_openapi_builder *builder, const char *schema, const char *example);
/* The pattern of the ids of a kind: "^brk_…$" */
const char *neo_openapi_id_pattern(const char *prefix, apr_pool_t *pool);

#define NEO_SAMPLE_DELIVERY "whd_01kghcczxp4h7n2s9w3c6f1k8r"

/* openapi_webhook.c: deliveries, and the member `webhooks`: what receivers get. */
void neo_openapi_delivery_components(const neo_openapi_builder *builder);
neo_json *neo_openapi_webhooks(const neo_openapi_builder *builder);

/* openapi_batch.c: what a batch of the resource is, and its result. */
void neo_openapi_batch(const neo_openapi_builder *builder, const neo_resource *resource);

/* openapi_problem.c: the error responses of an operation, with an example of each code. */
void neo_openapi_problems(const neo_openapi_builder *builder, neo_json *responses, const neo_operation *operation,
                          const neo_resource *resource);

#endif
