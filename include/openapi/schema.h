/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas of a resource, and example bodies made of its fields' examples. */
#ifndef NEO_OPENAPI_SCHEMA_H
#define NEO_OPENAPI_SCHEMA_H

#include "openapi/builder.h"

typedef enum neo_shape {
    NEO_SHAPE_ANSWER,  /* in responses: Broker */
    NEO_SHAPE_INPUT,   /* to create or replace: BrokerInput */
    NEO_SHAPE_PATCH,   /* a merge patch: BrokerPatch */
    NEO_SHAPE_CREATED, /* with its secret, in one response only: WebhookWithSecret */
    NEO_SHAPE_EVENT,   /* in webhook events: BrokerEventPayload */
    NEO_SHAPES
} neo_shape;

/* Whether a resource has the shape: not each has a secret, or events. */
int neo_openapi_has_schema(const neo_resource *resource, neo_shape shape);

/* Whether a field of the resource itself is in a shape; the members of an object go with it. */
int neo_openapi_has_field(const neo_field *field, neo_shape shape);

const char *neo_openapi_schema_name(const neo_resource *resource, neo_shape shape, apr_pool_t *pool);

/* Adds the schemas of all shapes, and of the list; examples of what is sent. */
void neo_openapi_schemas(const neo_openapi_builder *builder, const neo_resource *resource);

/* Adds the schema of a resource that has one shape only; an example if it is sent. */
void neo_openapi_schema(const neo_openapi_builder *builder, const neo_resource *resource, neo_shape shape, const char *doc);

/* openapi_sample.c: an example of a shape. */
neo_json *neo_openapi_sample(const neo_resource *resource, neo_shape shape, apr_pool_t *pool);

#endif
