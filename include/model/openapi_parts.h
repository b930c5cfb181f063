/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the OpenAPI document, each of which is a file. */
#ifndef NEO_MODEL_OPENAPI_PARTS_H
#define NEO_MODEL_OPENAPI_PARTS_H

#include "model/openapi_builder.h"

/* openapi_fixed.c: info, servers, security and tags; the components that no table defines; the content of a success if the path
 * is no resource's. */
void neo_openapi_top(const neo_openapi_builder *builder, neo_json *document);
void neo_openapi_fixed_components(const neo_openapi_builder *builder);
neo_json *neo_openapi_answer(const neo_openapi_builder *builder, neo_action action);

/* openapi_webhook.c: deliveries, and the member `webhooks`: what receivers get. */
void neo_openapi_delivery_components(const neo_openapi_builder *builder);
neo_json *neo_openapi_webhooks(const neo_openapi_builder *builder);

/* openapi_event.c: events and the parameters that follow the log. */
void neo_openapi_event_components(const neo_openapi_builder *builder);

/* openapi_batch.c: the request and the result of a batch of the resource. */
void neo_openapi_batch(const neo_openapi_builder *builder, const neo_resource *resource);

/* openapi_problem.c: adds the error responses of an operation. */
void neo_openapi_problems(const neo_openapi_builder *builder, neo_json *responses, const neo_operation *operation,
                          const neo_resource *resource);

#endif
