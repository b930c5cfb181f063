/* SPDX-License-Identifier: Apache-2.0 */
/* What receivers of webhooks get: the schemas of events, and the member `webhooks` (see model/openapi_parts.h). */
#include <apr_lib.h>
#include <apr_strings.h>
#include <string.h>

#include "model/openapi_parts.h"
#include "model/openapi_schema.h"

static const char *const happened[] = {"created", "updated", "deleted"};

static const char *event_of(const neo_resource *resource, int which, apr_pool_t *pool)
{
    return apr_pstrcat(pool, resource->name, ".", happened[which], NULL);
}

/* Adds {Resource}Event, the envelope of the payload; the caller adds its events to the returned array. */
static neo_json *add_envelope(const neo_openapi_builder *builder, const char *title, const char *doc, const char *payload)
{
    const neo_resource kind = {.title = title};
    neo_json *schema = neo_openapi_add_template(builder, "schemas", "{Resource}Event", &kind);
    neo_json *properties = neo_json_get(schema, "properties");
    neo_openapi_text(schema, "description", doc, builder->pool);
    neo_json_set(properties, "payload", neo_openapi_ref(builder, "schemas", payload));
    return neo_json_get(neo_json_get(properties, "event_type"), "enum");
}

static void add_event(const neo_openapi_builder *builder, const neo_resource *resource)
{
    apr_pool_t *pool = builder->pool;
    const char *doc = apr_psprintf(pool, "Sent when a %s is created, updated or deleted.", resource->name);
    neo_json *events = add_envelope(builder, resource->title, doc, neo_openapi_schema_name(resource, NEO_SHAPE_EVENT, pool));
    for (int i = 0; i < (int)(sizeof happened / sizeof *happened); i++)
        neo_json_append(events, neo_json_make_string(event_of(resource, i, pool), pool));
}

/* The events that "*" does not include; those with the same payload follow each other. */
static const struct {
    const char *name, *payload, *summary;
} other_events[] = {
    {"whatsapp.message.received", "Message", "A contact sent a message"},
    {"whatsapp.message.updated", "Message", "A message changed: its status, or its text"},
    {"whatsapp.contact.opted_out", "Conversation", "A contact opted out"},
    {"whatsapp.contact.opted_in", "Conversation", "A contact who had opted out opted in again"},
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

void neo_openapi_event_components(const neo_openapi_builder *builder)
{
    neo_openapi_schema(builder, &neo_recovery, NEO_SHAPE_INPUT, "Which deliveries to send again.");
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if ((*r)->has_events)
            add_event(builder, *r);
    add_other_events(builder);
}

/* ---------------------------------------------------------------- requests */

/* broker.created is onBrokerCreated. */
static const char *id_of(const char *event, apr_pool_t *pool)
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
