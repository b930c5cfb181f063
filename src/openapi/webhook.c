/* SPDX-License-Identifier: Apache-2.0 */
/* What receivers of webhooks get: the schemas of events, and the member `webhooks` (see openapi/openapi.h). */
#include <apr_lib.h>
#include <apr_strings.h>

#include "openapi/openapi.h"
#include "resources/list.h"

static const char *const happened[] = {"created", "updated", "deleted"};

static const char *event_name(const neo_resource *resource, int which, apr_pool_t *pool)
{
    return apr_pstrcat(pool, resource->name, ".", happened[which], NULL);
}

/* The schema {Resource}Event, the envelope of webhooks, or Logged{Resource}Event, that of the event log; `title` takes the
 * place of {Resource}. Adds it if it does not exist. */
static neo_json *envelope(const neo_openapi_builder *builder, const char *name, const char *title)
{
    const neo_resource kind = {.title = title};
    neo_json *schemas = neo_json_get(builder->components, "schemas");
    neo_json *schema = neo_json_get(schemas, neo_openapi_fill(builder, name, &kind));
    return schema ? schema : neo_openapi_add_template(builder, "schemas", name, &kind);
}

/* The type of event and its payload in an envelope's properties. */
static void describe(const neo_openapi_builder *builder, neo_json *properties, const char *member, const char *event,
                     const char *payload)
{
    neo_json_append(neo_json_get(neo_json_get(properties, member), "enum"), neo_json_make_string(event, builder->pool));
    neo_json_set(properties, "payload", neo_openapi_ref(builder, "schemas", payload));
}

static void add_delivered(const neo_openapi_builder *builder, const char *event, const char *title, const char *payload,
                          const char *doc)
{
    neo_json *schema = envelope(builder, "{Resource}Event", title);
    neo_openapi_text(schema, "description", doc, builder->pool);
    describe(builder, neo_json_get(schema, "properties"), "event_type", event, payload);
}

/* Adds a type of event to the union of the log's events. */
static void add_logged(const neo_openapi_builder *builder, const char *event, const char *title, const char *payload)
{
    neo_json *schema = envelope(builder, "Logged{Resource}Event", title);
    neo_json *properties = neo_json_get(neo_json_at(neo_json_get(schema, "allOf"), 1), "properties");
    neo_json *all = neo_json_get(neo_json_get(builder->components, "schemas"), "Event");
    neo_json *mapping = neo_json_get(neo_json_get(all, "discriminator"), "mapping");
    neo_json *ref = neo_openapi_ref(builder, "schemas", apr_pstrcat(builder->pool, "Logged", title, "Event", NULL));
    if (!neo_json_get(neo_json_get(properties, "payload"), "$ref")) /* it is new */
        neo_json_append(neo_json_get(all, "oneOf"), ref);
    neo_json_set(mapping, event, neo_json_get(ref, "$ref"));
    describe(builder, properties, "type", event, payload);
}

static void add_event_webhooks(const neo_openapi_builder *builder, const neo_resource *resource)
{
    apr_pool_t *pool = builder->pool;
    const char *doc = apr_psprintf(pool, "Sent when a %s is created, updated or deleted.", resource->name);
    const char *payload = neo_openapi_schema_name(resource, NEO_SHAPE_EVENT, pool);
    for (int i = 0; i < (int)(sizeof happened / sizeof *happened); i++) {
        const char *event = event_name(resource, i, pool);
        add_delivered(builder, event, resource->title, payload, doc);
        add_logged(builder, event, resource->title, payload);
    }
}

/* The events that "*" does not include. */
static const struct {
    const char *name, *payload, *summary;
} other_events[] = {
    {"whatsapp.message.received", "Message", "A contact sent a message"},
    {"whatsapp.message.sent", "Message", "The business sent a message with its telephone"},
    {"whatsapp.message.updated", "Message", "A message changed: its status, or its text"},
    {"whatsapp.contact.opted_out", "Conversation", "A contact opted out"},
    {"whatsapp.contact.opted_in", "Conversation", "A contact who had opted out opted in again"},
    {"webhook.failing", "Webhook", "Another subscription has been failing for ten minutes"},
    {"webhook.disabled", "Webhook", "Another subscription became inactive"},
    {"webhook.recovered", "Webhook", "A delivery to another subscription succeeded after one of these events"},
};

void neo_openapi_event_components(const neo_openapi_builder *builder)
{
    neo_openapi_schema(builder, &neo_lead_merge, NEO_SHAPE_INPUT, "Which lead to merge.");
    neo_openapi_schema(builder, &neo_recovery, NEO_SHAPE_INPUT, "Which deliveries to send again.");
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if ((*r)->has_events)
            add_event_webhooks(builder, *r);
    for (apr_size_t i = 0; i < sizeof other_events / sizeof *other_events; i++) {
        const char *payload = other_events[i].payload;
        add_delivered(builder, other_events[i].name, payload, payload, "Sent to subscriptions that list the event.");
        add_logged(builder, other_events[i].name, payload, payload);
    }
    add_logged(builder, "webhook.test", "Test", "TestEventPayload");
}

/* ---------------------------------------------------------------- requests */

/* broker.created is onBrokerCreated. */
static const char *webhook_operation_id(const char *event, apr_pool_t *pool)
{
    neo_buf out;
    int upper = 1;
    neo_buf_init(&out, pool, 40);
    neo_buf_puts(&out, "on");
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
    neo_json *item = neo_json_make_object(pool), *post = neo_openapi_template(builder, "deliveryPost", NULL);
    neo_json *content = neo_openapi_content(builder, schema);
    neo_openapi_text(post, "summary", summary, pool);
    neo_openapi_text(post, "operationId", webhook_operation_id(event, pool), pool);
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
            add_delivery_post(builder, webhooks, event_name(*r, i, pool), apr_pstrcat(pool, (*r)->title, "Event", NULL),
                              apr_psprintf(pool, "A %s was %s", (*r)->name, happened[i]));
    for (apr_size_t i = 0; i < sizeof other_events / sizeof *other_events; i++)
        add_delivery_post(builder, webhooks, other_events[i].name, apr_pstrcat(pool, other_events[i].payload, "Event", NULL),
                          other_events[i].summary);
    add_delivery_post(builder, webhooks, "webhook.test", "TestEvent", "A subscription is tested");
    return webhooks;
}
