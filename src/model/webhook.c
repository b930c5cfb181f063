/* Webhook subscriptions: who is to be told of which events. What is sent and how is src/delivery's. */
#include "model/fields.h"
#include "model/rules.h"

/* Every event there is: a resource's name and what happened to it. */
#define EVENTS(name, AREA, collection) #name ".created", #name ".updated", #name ".deleted",
static const char *const events[] = {NEO_RESOURCES_WITH_EVENTS(EVENTS) "*", NULL};

static const neo_field fields[] = {
    NEO_FIELD_ID("subscription", "whs_01kga4vrzrd2v6x8t1q5m9k7b4", 0),
    {.name = "url",
     .type = NEO_STRING,
     .flags = NEO_REQUIRED | NEO_ALWAYS,
     .max = 2000,
     .rule = neo_rule_webhook_url,
     .format = "uri",
     .doc = "Where deliveries are sent to, by POST. An absolute https address.",
     .example = "\"https://crm.example.com/hooks/brokers\""},
    {.name = "events",
     .type = NEO_ENUM_LIST,
     .flags = NEO_REQUIRED | NEO_ALWAYS,
     .values = events,
     .doc = "The events that are told; `*` stands for all.",
     .example = "[\"broker.created\", \"broker.updated\"]"},
    {.name = "secret",
     .type = NEO_STRING,
     .flags = NEO_SERVER | NEO_SECRET,
     .doc = "What deliveries are signed with. Shown once, in the response to creation and to the rotation of the secret.",
     .example = "\"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazNyFqTuA3E=\""},
    {.name = "is_active",
     .type = NEO_BOOLEAN,
     .flags = NEO_ALWAYS,
     .default_value = "true",
     .doc = "Whether events are told. What is pending when it becomes inactive is kept for later.",
     .example = "true"},
    NEO_FIELDS_OF_TIMES("subscription", "2026-01-31T13:46:14.904Z", "2026-01-31T13:46:14.904Z", 0),
    {0},
};

const neo_resource neo_webhook = {
    .name = "webhook",
    .table = "webhook_subscription",
    .collection = "webhooks",
    .prefix = "whs_",
    .title = "Webhook",
    .tag_doc = "Subscriptions to events, and what was delivered.",
    .area = NEO_AREA_WEBHOOKS,
    .fields = fields,
};

/* The body of the request to recover: no row, just fields that are checked. */
static const neo_field recovery_fields[] = {
    {.name = "since",
     .type = NEO_TIMESTAMP,
     .flags = NEO_REQUIRED,
     .doc = "What has failed since this moment is sent again.",
     .example = "\"2026-02-03T00:00:00.000Z\""},
    {0},
};

const neo_resource neo_recovery = {.name = "webhook",
                                   .collection = "webhooks",
                                   .prefix = "whs_",
                                   .title = "Recovery",
                                   .area = NEO_AREA_WEBHOOKS,
                                   .fields = recovery_fields};
