/* SPDX-License-Identifier: Apache-2.0 */
/* What receivers of webhooks get: the schemas of events, and the member `webhooks` (see openapi/openapi.h). */
#include <apr_strings.h>

#include "openapi/openapi.h"
#include "resources/list.h"

/* The schema {Resource}Event, the envelope of webhooks, or Logged{Resource}Event, that of the event log; {Resource} is the
 * title of the payload. Adds it if it does not exist. */
static neo_json *envelope(const neo_openapi_builder *builder, const char *name, const neo_event_type *type)
{
    neo_json *schemas = neo_json_get(builder->components, "schemas");
    neo_json *schema = neo_json_get(schemas, neo_openapi_fill(builder, name, type->payload));
    return schema ? schema : neo_openapi_add_template(builder, "schemas", name, type->payload);
}

static neo_shape payload_shape(const neo_event_type *type)
{
    return type->payload->has_events ? NEO_SHAPE_EVENT : NEO_SHAPE_ANSWER;
}

/* The type of event and its payload in an envelope's properties. */
static void describe(const neo_openapi_builder *builder, neo_json *properties, const char *member, const neo_event_type *type)
{
    const char *payload = neo_openapi_schema_name(type->payload, payload_shape(type), builder->pool);
    neo_json_append_string(neo_json_get(neo_json_get(properties, member), "enum"), type->name, builder->pool);
    neo_json_set(properties, "payload", neo_openapi_ref(builder, "schemas", payload));
}

/* Adds the type to the union of the log's events. */
static void add_logged(const neo_openapi_builder *builder, const neo_event_type *type)
{
    const char *name = neo_openapi_fill(builder, "Logged{Resource}Event", type->payload);
    neo_json *schema = envelope(builder, "Logged{Resource}Event", type), *ref = neo_openapi_ref(builder, "schemas", name);
    neo_json *properties = neo_json_get(neo_json_at(neo_json_get(schema, "allOf"), 1), "properties");
    neo_json *all = neo_json_get(neo_json_get(builder->components, "schemas"), "Event");
    neo_json *mapping = neo_json_get(neo_json_get(all, "discriminator"), "mapping");
    if (!neo_json_get(neo_json_get(properties, "payload"), "$ref")) /* it is new */
        neo_json_append(neo_json_get(all, "oneOf"), ref);
    neo_json_set(mapping, type->name, neo_json_get(ref, "$ref"));
    describe(builder, properties, "type", type);
}

void neo_openapi_event_components(const neo_openapi_builder *builder)
{
    neo_openapi_schema(builder, &neo_lead_merge, NEO_SHAPE_INPUT, "Which lead to merge.");
    neo_openapi_schema(builder, &neo_recovery, NEO_SHAPE_INPUT, "Which deliveries to send again.");
    neo_openapi_schema(builder, &neo_key_rotation, NEO_SHAPE_INPUT, "How to rotate a key.");
    neo_openapi_schema(builder, &neo_webhook_test, NEO_SHAPE_EVENT, "Which subscription is tested.");
    neo_openapi_schema(builder, &neo_expiring_credential, NEO_SHAPE_EVENT, "Which credential expires.");
    neo_openapi_schema(builder, &neo_subject, NEO_SHAPE_INPUT, "The person.");
    neo_openapi_schema(builder, &neo_erased, NEO_SHAPE_EVENT, "What was erased.");
    for (const neo_event_type *t = neo_event_types; t->name; t++) {
        neo_json *schema = envelope(builder, "{Resource}Event", t);
        describe(builder, neo_json_get(schema, "properties"), "event_type", t);
        add_logged(builder, t);
    }
}

neo_json *neo_openapi_event_sample(const neo_event_type *type, apr_pool_t *pool)
{
    neo_json *sample = neo_openapi_json(pool, NEO_JSON({"id" : "whd_01kghcczxp4h7n2s9w3c6f1k8r"}));
    neo_json *payload = neo_openapi_sample(type->payload, payload_shape(type), pool);
    neo_json_set_string(sample, "event_type", type->name, pool);
    neo_json_set_string(sample, "created_at", "2026-02-03T09:12:40.118Z", pool);
    neo_json_set(sample, "payload",
                 type->sample ? neo_json_merge_patch(payload, neo_openapi_json(pool, "%s", type->sample), pool) : payload);
    return sample;
}

/* ---------------------------------------------------------------- requests */

/* `name`: of what is sent; `id`: of the operation, in the style of a type of event; `schema`: of the body. */
static void add_delivery_post(const neo_openapi_builder *builder, neo_json *webhooks, const char *name, const char *id,
                              const char *summary, const char *schema)
{
    apr_pool_t *pool = builder->pool;
    neo_json *item = neo_json_make_object(pool), *post = neo_openapi_template(builder, "deliveryPost", NULL);
    neo_json_set_string(post, "summary", summary, pool);
    neo_json_set_string(post, "operationId", apr_pstrcat(pool, "on", neo_openapi_camel_case(id, pool), NULL), pool);
    neo_json_set(neo_json_get(neo_json_get(post, "requestBody"), "content"), "application/json",
                 neo_openapi_content(builder, schema));
    neo_json_set(item, "post", post);
    neo_json_set(webhooks, name, item);
}

neo_json *neo_openapi_webhooks(const neo_openapi_builder *builder)
{
    neo_json *webhooks = neo_json_make_object(builder->pool);
    for (const neo_event_type *t = neo_event_types; t->name; t++)
        add_delivery_post(builder, webhooks, t->name, t->name, t->summary,
                          neo_openapi_fill(builder, "{Resource}Event", t->payload));
    add_delivery_post(builder, webhooks, "thin", "thin.event", "A thin delivery, of any event", "ThinEvent");
    add_delivery_post(builder, webhooks, "batch", "event.batch", "A batch of deliveries", "EventBatch");
    return webhooks;
}
