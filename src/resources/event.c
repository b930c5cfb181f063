/* SPDX-License-Identifier: Apache-2.0 */
/* The event log: the types of events, who may read them, and the filters of the list. */
#include <string.h>

#include "resources/fields.h"
#include "resources/scope.h"

/* ---------------------------------------------------------------- types */

/* The payload of whatsapp.message.received, which differs from the example of a sent message. */
#define RECEIVED                                                                                                               \
    "{\"direction\":\"inbound\",\"source\":\"webhook\",\"type\":\"text\",\"body\":\"Posso visitar amanhã?\","                 \
    "\"status\":\"received\",\"template_name\":null,\"template_language\":null,\"pricing\":null,\"actor_id\":null,"            \
    "\"actor_type\":\"system\"}"
#define FAILING "{\"health\":\"failing\",\"failing_since\":\"2026-02-03T09:12:41.204Z\"}"
#define DISABLED                                                                                                               \
    "{\"is_active\":false,\"health\":\"disabled\",\"disabled_at\":\"2026-02-03T09:12:41.204Z\",\"disabled_reason\":\"gone\"}"

#define ERASED_LEAD "{\"id\":" NEO_TEXT(NEO_SAMPLE_LEAD) ",\"deleted\":true}"

/* Types of which neo_resources has none: X(name, AREA, payload, summary, sample). */
/* clang-format off */
#define OTHER_TYPES(X)                                                                                                         \
    X("webhook.test", WEBHOOKS, webhook_test, "A subscription is tested", NULL)                                                \
    X("webhook.failing", WEBHOOKS, webhook, "Another subscription has been failing for ten minutes", FAILING)                  \
    X("webhook.disabled", WEBHOOKS, webhook, "Another subscription became inactive", DISABLED)                                 \
    X("webhook.recovered", WEBHOOKS, webhook,                                                                                  \
      "A delivery to another subscription succeeded after one of these events", NULL)                                          \
    X("credential.expiring", WEBHOOKS, expiring_credential, "An API key or a token expires in 30 days, or in 7", NULL)         \
    X("party.erased", PARTIES, erased, "A party's personal data was erased", NULL)                                             \
    X("lead.erased", LEADS, erased, "A lead was erased", ERASED_LEAD)                                                          \
    X("whatsapp.message.received", WHATSAPP, whatsapp_message, "A contact sent a message", RECEIVED)                           \
    X("whatsapp.message.sent", WHATSAPP, whatsapp_message, "The business sent a message with its telephone",                   \
      "{\"source\":\"device\",\"type\":\"text\",\"body\":\"Amanhã às 10h?\",\"template_name\":null,\"template_language\":null,"  \
      "\"actor_id\":null,\"actor_type\":\"system\"}")                                                                         \
    X("whatsapp.message.updated", WHATSAPP, whatsapp_message, "A message changed: its status, or its text",                    \
      "{\"status\":\"delivered\"}")                                                                                            \
    X("whatsapp.contact.opted_out", WHATSAPP, conversation, "A contact opted out",                                             \
      "{\"opted_out_at\":\"2026-02-03T09:20:15.402Z\"}")                                                                       \
    X("whatsapp.contact.opted_in", WHATSAPP, conversation, "A contact who had opted out opted in again", NULL)

#define ROW_OF(name, AREA, happened)                                                                                           \
    {#name "." happened, NEO_AREA_##AREA, &neo_##name, "A " #name " was " happened, NULL, NULL},
#define ROWS(name, AREA, collection)                                                                                           \
    ROW_OF(name, AREA, "created") ROW_OF(name, AREA, "updated") ROW_OF(name, AREA, "deleted")
#define ROW(name, AREA, payload, summary, sample) {name, NEO_AREA_##AREA, &neo_##payload, summary, sample, NULL},
#define NAMES(name, AREA, collection) #name ".*", #name ".created", #name ".updated", #name ".deleted",
#define NAME(name, AREA, payload, summary, sample) name,

const neo_event_type neo_event_types[] = {NEO_RESOURCES_WITH_EVENTS(ROWS) OTHER_TYPES(ROW){0}};

const char *const neo_event_type_values[] = {NEO_RESOURCES_WITH_EVENTS(NAMES) "webhook.*", "credential.*", "whatsapp.*", OTHER_TYPES(NAME) NULL};
/* clang-format on */

static const neo_field test_fields[] = {
    {.name = "subscription_id",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_ALWAYS | NEO_IN_EVENT,
     .doc = "The tested subscription.",
     .example = "\"whs_01kga4vrzrd2v6x8t1q5m9k7b4\""},
    {0},
};

const neo_resource neo_webhook_test = {
    .name = "subscription", .title = "Test", .fields = test_fields, .has_events = 1, .is_excluded_from_wildcard = 1};

static const char *const credential_types[] = {"api_key", "personal_access_token", NULL};

static const neo_field expiring_fields[] = {
    {.name = "id",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_ALWAYS | NEO_IN_EVENT,
     .doc = "Id of the credential.",
     .example = "\"nbr_01jwr1zbts0h4k8n3p7r1t5w9x\""},
    {.name = "type",
     .type = NEO_ENUM,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_ALWAYS | NEO_IN_EVENT,
     .values = credential_types,
     .doc = "The kind of credential.",
     .example = "\"api_key\""},
    NEO_FIELDS_OF_TENANCY("event; a token for several has an event in each"),
    {.name = "name",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_ALWAYS | NEO_IN_EVENT,
     .doc = "What the administrator named it.",
     .example = "\"ERP\""},
    {.name = "expires_at",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_ALWAYS | NEO_IN_EVENT,
     .doc = "When it stops working.",
     .example = "\"2026-03-05T00:00:00.000Z\""},
    {.name = "threshold_days",
     .type = NEO_INTEGER,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_ALWAYS | NEO_IN_EVENT,
     .min = 7,
     .max = 30,
     .doc = "The event is added this many days before: 30 and 7, once for each.",
     .example = "30"},
    {0},
};

const neo_resource neo_expiring_credential = {
    .name = "credential", .title = "Credential", .fields = expiring_fields, .has_events = 1, .is_excluded_from_wildcard = 1};

int neo_event_is_in_wildcard(const neo_event_type *type)
{
    return type->payload->has_events && !type->payload->is_excluded_from_wildcard;
}

const char *neo_event_types_readable(neo_scopes scopes, apr_pool_t *pool)
{
    int has_all = 1;
    neo_buf out;
    neo_buf_init(&out, pool, 512);
    neo_buf_putc(&out, '{');
    for (const neo_event_type *t = neo_event_types; t->name; t++)
        if (scopes & NEO_SCOPE_READ(t->area))
            neo_buf_printf(&out, "%s%s", out.len > 1 ? "," : "", t->name);
        else
            has_all = 0;
    neo_buf_putc(&out, '}');
    return has_all ? NULL : out.ptr;
}

const char *const *neo_event_type_expand(const char *value, apr_pool_t *pool)
{
    size_t len = strlen(value);
    int is_pattern = len > 2 && strcmp(value + len - 2, ".*") == 0;
    apr_array_header_t *all = apr_array_make(pool, 4, sizeof(const char *));
    for (const neo_event_type *t = neo_event_types; t->name; t++)
        if (is_pattern && strncmp(t->name, value, len - 1) == 0)
            APR_ARRAY_PUSH(all, const char *) = t->name;
    if (!all->nelts)
        return NULL;
    APR_ARRAY_PUSH(all, const char *) = NULL;
    return (const char *const *)all->elts;
}

/* ---------------------------------------------------------------- the resource */

static const neo_field fields[] = {
    NEO_FIELD_ID("event", "evt_35357c0000001f4a7a00003a91", 0),
    {0},
};

const neo_resource neo_event_log = {.name = "event",
                                    .collection = "events",
                                    .prefix = "evt_",
                                    .title = "Event",
                                    .tag_doc = "The log of all changes, to follow without gaps.",
                                    .fields = fields};

const neo_filter neo_event_filters[] = {
    {.name = "type",
     .kind = NEO_FILTER_MERGED,
     .left = "t.type",
     .value = NEO_VALUE_ENUM,
     .values = neo_event_type_values,
     .expand = neo_event_type_expand,
     .doc = "Type, or all types of a resource: `broker.*`.",
     .example = "\"broker.*\""},
    {.name = "resource_id",
     .value = NEO_VALUE_REFERENCE,
     .left = "t.resource_id",
     .doc = "The changed resource.",
     .example = "\"brk_01kga4srwtf2j8m5q1t7w3x9z6\""},
    {.name = "actor_id", .left = "t.actor", .doc = "Who made the change.", .example = "\"nbr_01jwr1zbts0h4k8n3p7r1t5w9x\""},
    {.name = "created_gte",
     .kind = NEO_FILTER_FROM,
     .value = NEO_VALUE_TIMESTAMP,
     .left = "t.created_at",
     .right = "%s::timestamptz",
     .doc = "Changed at this time or later.",
     .example = "\"2026-02-03T00:00:00.000Z\""},
    {.name = "created_lte",
     .kind = NEO_FILTER_TO,
     .value = NEO_VALUE_TIMESTAMP,
     .left = "t.created_at",
     .right = "%s::timestamptz",
     .doc = "Changed at this time or earlier.",
     .example = "\"2026-02-03T23:59:59.999Z\""},
    {0},
};
