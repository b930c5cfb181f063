/* SPDX-License-Identifier: Apache-2.0 */
/* Webhook deliveries, and the requests to receivers, which are under `webhooks` (see model/openapi_parts.h). */
#include <apr_lib.h>
#include <apr_strings.h>
#include <string.h>

#include "model/fields.h"
#include "model/openapi_parts.h"
#include "model/openapi_schema.h"

#define SUBSCRIPTION_ID "whs_01kga4vrzrd2v6x8t1q5m9k7b4"
#define DELIVERY_ID     NEO_SAMPLE_DELIVERY

/* ---------------------------------------------------------------- deliveries */

/* clang-format off */
static const struct {
    const char *kind, *name, *json;
} components[] = {
    {"schemas", "Delivery", NEO_JSON({
        "type": "object",
        "description": "One event for one subscription, with any number of attempts.",
        "required": ["id", "subscription_id", "event_id", "event_type", "status", "attempt_count", "created_at"],
        "properties": {
            "id": {
                "type": "string",
                "pattern": "^whd_[0-7][0-9a-hjkmnp-tv-z]{25}$",
                "description": "Identifies the delivery; receivers get it as `id`."
            },
            "subscription_id": {
                "type": "string",
                "pattern": "^whs_[0-7][0-9a-hjkmnp-tv-z]{25}$",
                "description": "The subscription."
            },
            "event_id": {
                "type": "string",
                "pattern": "^evt_[0-9a-f]{26}$",
                "description": "Identifies the event; receivers get it as `webhook-id`. Repetitions have the same."
            },
            "event_type": {"type": "string", "description": "The event, or `webhook.test`."},
            "status": {
                "type": "string",
                "enum": ["pending", "success", "failed"],
                "description": "`pending` until a 2xx response or until the last attempt has failed. `success` and `failed` are final."
            },
            "http_status": {
                "type": "integer",
                "minimum": 100,
                "maximum": 999,
                "description": "Status of the last response. Absent if there was none."
            },
            "attempt_count": {"type": "integer", "minimum": 0, "description": "Attempts so far."},
            "created_at": {"type": "string", "format": "date-time", "description": "When the delivery was created."},
            "completed_at": {
                "type": "string",
                "format": "date-time",
                "description": "When the status became final. Absent until then."
            }
        }
    })},
    {"schemas", "DeliveryDetail", NEO_JSON({
        "description": "A delivery with its payload and attempts.",
        "allOf": [
            {"$ref": "#/components/schemas/Delivery"},
            {
                "type": "object",
                "required": ["payload", "attempts"],
                "properties": {
                    "payload": {"type": "object", "description": "The payload of the event."},
                    "attempts": {
                        "type": "array",
                        "description": "Oldest first.",
                        "items": {"$ref": "#/components/schemas/DeliveryAttempt"}
                    }
                }
            }
        ]
    })},
    {"schemas", "DeliveryAttempt", NEO_JSON({
        "type": "object",
        "description": "One attempt to send a delivery.",
        "required": ["number", "started_at", "duration_ms"],
        "properties": {
            "number": {"type": "integer", "minimum": 1, "description": "The first attempt is number 1."},
            "started_at": {"type": "string", "format": "date-time", "description": "When it began."},
            "duration_ms": {"type": "integer", "minimum": 0, "description": "How long it took, in milliseconds."},
            "http_status": {
                "type": "integer",
                "minimum": 100,
                "maximum": 999,
                "description": "Status of the response. Absent if there was none."
            },
            "error": {
                "type": "string",
                "description": "Why there was no complete response: `timeout`, `connection_failed`, `no_public_address` (the name has none), `certificate_not_trusted`, `response_too_large` (more than 64 KiB of headers and trailers), `response_invalid` (not HTTP) and others."
            },
            "response_excerpt": {"type": "string", "description": "The first 1024 bytes of the response body."}
        }
    })},
    {"schemas", "Recovered", NEO_JSON({
        "type": "object",
        "description": "The result of a recovery.",
        "required": ["recovered"],
        "properties": {
            "recovered": {"type": "integer", "minimum": 0, "description": "Number of events that are sent again."},
            "position": {"type": "string", "description": "From here the next request continues. Absent if all events were examined."}
        }
    })},
    {"schemas", "TestEvent", NEO_JSON({
        "type": "object",
        "description": "Sent by `POST /webhooks/{id}/test`.",
        "required": ["id", "event_type", "created_at", "payload"],
        "properties": {
            "id": {"type": "string", "description": "The delivery's id."},
            "event_type": {"type": "string", "const": "webhook.test", "description": "The event."},
            "created_at": {"type": "string", "format": "date-time", "description": "When the test was requested."},
            "payload": {
                "type": "object",
                "description": "The tested subscription.",
                "required": ["subscription_id"],
                "properties": {"subscription_id": {"type": "string", "description": "The subscription's id."}}
            }
        }
    })},
    {"parameters", "DeliveryId", NEO_JSON({
        "name": "delivery_id",
        "in": "path",
        "required": true,
        "description": "The id of the delivery.",
        "schema": {"type": "string", "pattern": "^whd_[0-7][0-9a-hjkmnp-tv-z]{25}$"},
        "example": ""
    })},
    {"parameters", "WebhookSignature", NEO_JSON({
        "name": "X-Webhook-Signature",
        "in": "header",
        "required": true,
        "description": "`sha256=` and the HMAC-SHA256 of the body's bytes in lowercase hexadecimal digits, keyed with the whole `whsec_…` secret.",
        "schema": {"type": "string", "pattern": "^sha256=[0-9a-f]{64}$"},
        "example": "sha256=5c2f0d1f8f4f5a3b9c1e7d6a0b4c8e2f3a5d7c9b1e0f2a4c6d8b0e1f3a5c7d9e"
    })},
    {"parameters", "StandardId", NEO_JSON({
        "name": "webhook-id",
        "in": "header",
        "required": true,
        "description": "The event's id, the same whenever the event is sent again.",
        "schema": {"type": "string", "pattern": "^evt_[0-9a-f]{26}$"},
        "example": "evt_000000000001f4a70000003a91"
    })},
    {"parameters", "StandardTimestamp", NEO_JSON({
        "name": "webhook-timestamp",
        "in": "header",
        "required": true,
        "description": "Start of this attempt, in seconds since 1970 (Unix time). Refuse requests that are older than some minutes.",
        "schema": {"type": "string", "pattern": "^[0-9]+$"},
        "example": "1770109960"
    })},
    {"parameters", "StandardSignature", NEO_JSON({
        "name": "webhook-signature",
        "in": "header",
        "required": true,
        "description": "The signature of Standard Webhooks: `v1,` and the HMAC-SHA256 in base64 of `webhook-id`, `webhook-timestamp` and the body, joined by dots, keyed with the bytes that the secret has in base64 behind `whsec_`. For 24 hours after a rotation there are two, separated by a space: the new secret's and the old one's.",
        "schema": {"type": "string", "pattern": "^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?$"},
        "example": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="
    })},
    {"responses", "Received", NEO_JSON({"description": "Received: the delivery has succeeded."})},
    {"responses", "Unsubscribed", NEO_JSON({"description": "Unsubscribe: the delivery has failed, and the subscription becomes inactive."})},
    {"responses", "NotReceived", NEO_JSON({"description": "Not received: retried. `Retry-After` with 429 or 503 postpones the retry."})},
};

static const char delivery[] = NEO_JSON({
    "id": "%s",
    "subscription_id": "%s",
    "event_id": "evt_000000000001f4a70000003a91",
    "event_type": "broker.created",
    "status": "success",
    "http_status": 204,
    "attempt_count": 2,
    "created_at": "2026-02-03T09:12:40.118Z",
    "completed_at": "2026-02-03T09:13:42.907Z"
});

static const char attempts[] = NEO_JSON([
    {"number": 1, "started_at": "2026-02-03T09:12:40.121Z", "duration_ms": 15000, "error": "timeout"},
    {"number": 2, "started_at": "2026-02-03T09:13:42.866Z", "duration_ms": 41, "http_status": 204}
]);

/* A delivery before its first attempt. */
static const char fresh[] = NEO_JSON({
    "id": "%s",
    "subscription_id": "%s",
    "event_id": "evt_000000000001f4a70000003a91",
    "event_type": "broker.created",
    "status": "pending",
    "attempt_count": 0,
    "created_at": "2026-02-03T09:12:40.118Z"
});

/* What a receiver gets: the payload is inside. */
static const char envelope[] = NEO_JSON({
    "type": "object",
    "description": "%s",
    "required": ["id", "event_type", "created_at", "payload"],
    "properties": {
        "id": {"type": "string", "description": "The delivery's id."},
        "event_type": {"type": "string", "enum": [], "description": "The event."},
        "created_at": {"type": "string", "format": "date-time", "description": "When the event happened."},
        "payload": {}
    }
});

static const char envelope_sample[] = NEO_JSON({
    "id": "%s",
    "event_type": "%s",
    "created_at": "2026-02-03T09:12:40.118Z",
    "payload": {}
});

static const char delivery_post[] = NEO_JSON({
    "tags": ["Webhooks"],
    "summary": "",
    "description": "Answer with any 2xx within 15 seconds.",
    "operationId": "",
    "security": [],
    "parameters": [
        {"$ref": "#/components/parameters/WebhookSignature"},
        {"$ref": "#/components/parameters/StandardId"},
        {"$ref": "#/components/parameters/StandardTimestamp"},
        {"$ref": "#/components/parameters/StandardSignature"}
    ],
    "requestBody": {"required": true, "content": {}},
    "responses": {
        "2XX": {"$ref": "#/components/responses/Received"},
        "410": {"$ref": "#/components/responses/Unsubscribed"},
        "default": {"$ref": "#/components/responses/NotReceived"}
    }
});
/* clang-format on */

static const char *const happened[] = {"created", "updated", "deleted"};

static const char *event_of(const neo_resource *resource, int which, apr_pool_t *pool)
{
    return apr_pstrcat(pool, resource->name, ".", happened[which], NULL);
}

static neo_json *event_sample(const neo_resource *resource, apr_pool_t *pool)
{
    neo_json *sample = neo_openapi_json(pool, envelope_sample, DELIVERY_ID, event_of(resource, 0, pool));
    neo_json_set(sample, "payload", neo_openapi_sample(resource, NEO_SHAPE_EVENT, pool));
    return sample;
}

/* An envelope; the caller adds its events. */
static neo_json *add_envelope(const neo_openapi_builder *builder, const char *title, const char *doc, const char *payload)
{
    apr_pool_t *pool = builder->pool;
    neo_json *schema =
        neo_openapi_add(builder, "schemas", apr_pstrcat(pool, title, "Event", NULL), neo_openapi_json(pool, envelope, doc));
    neo_json *properties = neo_json_get(schema, "properties");
    neo_json_set(properties, "payload", neo_openapi_ref(builder, "schemas", payload));
    return neo_json_get(neo_json_get(properties, "event_type"), "enum");
}

/* {Resource}Event: the envelope with the payload of that resource. */
static void add_event(const neo_openapi_builder *builder, const neo_resource *resource)
{
    apr_pool_t *pool = builder->pool;
    const char *doc = apr_psprintf(pool, "Sent when a %s is created, updated or deleted.", resource->name);
    neo_json *events = add_envelope(builder, resource->title, doc, neo_openapi_schema_name(resource, NEO_SHAPE_EVENT, pool));
    for (int i = 0; i < (int)(sizeof happened / sizeof *happened); i++)
        neo_json_append(events, neo_json_make_string(event_of(resource, i, pool), pool));
    if (resource == neo_resources[0]) /* the other events have the same form */
        neo_openapi_example(builder, apr_pstrcat(pool, resource->title, "Event", NULL), event_sample(resource, pool));
}

/* The events that "*" does not include; those with the same payload follow each other. */
static const struct {
    const char *name, *payload, *summary;
} other_events[] = {
    {"whatsapp.message.received", "Message", "A contact sent a message"},
    {"whatsapp.message.updated", "Message", "A message changed: its status, or its text"},
    {"whatsapp.contact.opted_out", "Conversation", "A contact opted out"},
    {"webhook.failing", "Webhook", "Another subscription has been failing for ten minutes"},
    {"webhook.disabled", "Webhook", "Another subscription became inactive"},
    {"webhook.recovered", "Webhook", "A delivery to another subscription succeeded after one of these events"},
};

static void add_other_events(const neo_openapi_builder *builder)
{
    neo_json *events = NULL;
    for (apr_size_t i = 0; i < sizeof other_events / sizeof *other_events; i++) {
        const char *payload = other_events[i].payload;
        if (i == 0 || strcmp(payload, other_events[i - 1].payload) != 0)
            events = add_envelope(builder, payload, "Sent to subscriptions that list the event.", payload);
        neo_json_append(events, neo_json_make_string(other_events[i].name, builder->pool));
    }
}

static void add_samples(const neo_openapi_builder *builder)
{
    apr_pool_t *pool = builder->pool;
    neo_json *detail = neo_openapi_json(pool, delivery, DELIVERY_ID, SUBSCRIPTION_ID);
    neo_json *test = neo_openapi_json(pool, envelope_sample, DELIVERY_ID, "webhook.test");
    neo_json_set(detail, "payload", neo_openapi_sample(&neo_broker, NEO_SHAPE_EVENT, pool));
    neo_json_set(detail, "attempts", neo_openapi_json(pool, "%s", attempts));
    neo_openapi_text(neo_json_get(test, "payload"), "subscription_id", SUBSCRIPTION_ID, pool);
    neo_openapi_example(builder, "DeliveryDetail", detail);
    neo_openapi_example(builder, "TestEvent", test);
    neo_openapi_example(builder, "Delivery", neo_openapi_json(pool, fresh, DELIVERY_ID, SUBSCRIPTION_ID));
    neo_openapi_example(builder, "Recovered", neo_openapi_json(pool, "%s", NEO_JSON({"recovered" : 12})));
}

void neo_openapi_delivery_components(const neo_openapi_builder *builder)
{
    for (apr_size_t i = 0; i < sizeof components / sizeof *components; i++) {
        neo_json *component = neo_openapi_json(builder->pool, "%s", components[i].json);
        const char *example = neo_json_string(neo_json_get(component, "example"));
        if (example && !*example)
            neo_openapi_text(component, "example", DELIVERY_ID, builder->pool);
        neo_openapi_add(builder, components[i].kind, components[i].name, component);
    }
    neo_openapi_list(builder, "Delivery", "deliveries");
    add_samples(builder);
    neo_openapi_schema(builder, &neo_recovery, NEO_SHAPE_INPUT, "Which deliveries to send again.");
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if ((*r)->has_events)
            add_event(builder, *r);
    add_other_events(builder);
}

/* ---------------------------------------------------------------- what receivers get */

/* broker.created is tellBrokerCreated. */
static const char *id_of(const char *event, apr_pool_t *pool)
{
    neo_buf out;
    int upper = 1;
    neo_buf_init(&out, pool, 40);
    neo_buf_puts(&out, "tell");
    for (; *event; event++) {
        if (apr_isalnum(*event))
            neo_buf_putc(&out, (char)(upper ? apr_toupper(*event) : *event));
        upper = !apr_isalnum(*event);
    }
    return out.ptr;
}

static void add_delivery_post(const neo_openapi_builder *builder, neo_json *webhooks, const char *event, const char *schema,
                              const char *summary)
{
    apr_pool_t *pool = builder->pool;
    neo_json *item = neo_json_make_object(pool), *post = neo_openapi_json(pool, "%s", delivery_post);
    neo_json *content = neo_openapi_content(builder, schema);
    neo_openapi_text(post, "summary", summary, pool);
    neo_openapi_text(post, "operationId", id_of(event, pool), pool);
    neo_json_set(neo_json_get(neo_json_get(post, "requestBody"), "content"), "application/json", content);
    neo_json_set(item, "post", post);
    neo_json_set(webhooks, event, item);
}

neo_json *neo_openapi_webhooks(const neo_openapi_builder *builder)
{
    apr_pool_t *pool = builder->pool;
    neo_json *webhooks = neo_json_make_object(pool);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (int i = 0; (*r)->has_events && i < (int)(sizeof happened / sizeof *happened); i++)
            add_delivery_post(builder, webhooks, event_of(*r, i, pool), apr_pstrcat(pool, (*r)->title, "Event", NULL),
                              apr_psprintf(pool, "A %s was %s", (*r)->name, happened[i]));
    for (apr_size_t i = 0; i < sizeof other_events / sizeof *other_events; i++)
        add_delivery_post(builder, webhooks, other_events[i].name, apr_pstrcat(pool, other_events[i].payload, "Event", NULL),
                          other_events[i].summary);
    add_delivery_post(builder, webhooks, "webhook.test", "TestEvent", "A subscription is tested");
    return webhooks;
}
