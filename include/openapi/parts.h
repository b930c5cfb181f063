/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the OpenAPI document, each of which is a file. */
#ifndef NEO_OPENAPI_PARTS_H
#define NEO_OPENAPI_PARTS_H

#include "openapi/builder.h"

/* openapi_fixed.c: sets the components and templates of the builder. Returns the document with all members before `paths`. */
neo_json *neo_openapi_begin(neo_openapi_builder *builder);

/* openapi_webhook.c: the schemas of events, and the member `webhooks`: what receivers get. */
void neo_openapi_event_components(const neo_openapi_builder *builder);
neo_json *neo_openapi_webhooks(const neo_openapi_builder *builder);

/* openapi_batch.c: the request and the result of a batch of the resource. */
void neo_openapi_batch(const neo_openapi_builder *builder, const neo_resource *resource);

/* openapi_problem.c: adds the error responses of an operation. */
void neo_openapi_problems(const neo_openapi_builder *builder, neo_json *responses, const neo_operation *operation,
                          const neo_resource *resource);

#endif
