/* SPDX-License-Identifier: Apache-2.0 */
/* Webhook subscriptions. src/delivery/ sends the events. */
#include "model/fields.h"
#include "model/rules.h"

#define EVENTS(name, AREA, collection) #name ".created", #name ".updated", #name ".deleted",
/* Not included in "*", which clients chose when there were no others. */
#define NEO_WHATSAPP_EVENTS "whatsapp.message.received", "whatsapp.message.updated", "whatsapp.contact.opted_out"
static const char *const events[] = {NEO_RESOURCES_WITH_EVENTS(EVENTS) NEO_WHATSAPP_EVENTS, "*", NULL};

static const neo_field fields[] = {
    NEO_FIELD_ID("subscription", "whs_01kga4vrzrd2v6x8t1q5m9k7b4", 0),
    {.name = "url",
     .type = NEO_STRING,
     .flags = NEO_REQUIRED | NEO_ALWAYS | NEO_HTTPS,
     .max = 2000,
     .rule = neo_rule_webhook_url,
     .format = "uri",
     .doc = "URL to which deliveries are sent by POST: absolute, with https.",
     .example = "\"https://crm.example.com/hooks/brokers\""},
    {.name = "events",
     .type = NEO_ENUM_LIST,
     .flags = NEO_REQUIRED | NEO_ALWAYS,
     .values = events,
     .doc = "Events to deliver; `*` means all but those of WhatsApp.",
     .example = "[\"broker.created\", \"broker.updated\"]"},
    {.name = "secret",
     .type = NEO_STRING,
     .flags = NEO_SERVER | NEO_SECRET,
     .doc = "Secret with which deliveries are signed. Returned only when it is created or rotated.",
     .example = "\"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazNyFqTuA3E=\""},
    {.name = "is_active",
     .type = NEO_BOOLEAN,
     .flags = NEO_ALWAYS,
     .default_value = "true",
     .doc = "Whether events are delivered. Pending deliveries are sent when it becomes active again.",
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
    .tag_doc = "Subscriptions to events, and their deliveries.",
    .area = NEO_AREA_WEBHOOKS,
    .fields = fields,
};

static const neo_field recovery_fields[] = {
    {.name = "since",
     .type = NEO_TIMESTAMP,
     .flags = NEO_REQUIRED,
     .doc = "Deliveries that failed at this time or later are retried.",
     .example = "\"2026-02-03T00:00:00.000Z\""},
    {0},
};

const neo_resource neo_recovery = {.name = "webhook",
                                   .collection = "webhooks",
                                   .prefix = "whs_",
                                   .title = "Recovery",
                                   .area = NEO_AREA_WEBHOOKS,
                                   .fields = recovery_fields};
