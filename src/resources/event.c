/* SPDX-License-Identifier: Apache-2.0 */
/* The event log: the types of events, who may read them, and the filters of the list. */
#include <string.h>

#include "resources/fields.h"
#include "resources/scope.h"

/* ---------------------------------------------------------------- types */

/* clang-format off */
#define OTHER_TYPES(X)                                                                                                         \
    X("webhook.test", WEBHOOKS)                                                                                                \
    X("webhook.failing", WEBHOOKS)                                                                                             \
    X("webhook.disabled", WEBHOOKS)                                                                                            \
    X("webhook.recovered", WEBHOOKS)                                                                                           \
    X("whatsapp.message.received", WHATSAPP)                                                                                   \
    X("whatsapp.message.sent", WHATSAPP)                                                                                       \
    X("whatsapp.message.updated", WHATSAPP)                                                                                    \
    X("whatsapp.contact.opted_out", WHATSAPP)                                                                                  \
    X("whatsapp.contact.opted_in", WHATSAPP)

#define ROWS(name, AREA, collection)                                                                                           \
    {#name ".created", NEO_AREA_##AREA}, {#name ".updated", NEO_AREA_##AREA}, {#name ".deleted", NEO_AREA_##AREA},
#define ROW(name, AREA) {name, NEO_AREA_##AREA},
#define NAMES(name, AREA, collection) #name ".*", #name ".created", #name ".updated", #name ".deleted",
#define NAME(name, AREA) name,

static const struct {
    const char *name;
    neo_area area;
} types[] = {NEO_RESOURCES_WITH_EVENTS(ROWS) OTHER_TYPES(ROW)};

const char *const neo_event_type_values[] = {NEO_RESOURCES_WITH_EVENTS(NAMES) "webhook.*", "whatsapp.*", OTHER_TYPES(NAME) NULL};
/* clang-format on */

#define COUNT (sizeof types / sizeof *types)

const char *neo_event_types_readable(neo_scopes scopes, apr_pool_t *pool)
{
    int has_all = 1;
    neo_buf out;
    neo_buf_init(&out, pool, 512);
    neo_buf_putc(&out, '{');
    for (apr_size_t i = 0; i < COUNT; i++)
        if (scopes & NEO_SCOPE_READ(types[i].area))
            neo_buf_printf(&out, "%s%s", out.len > 1 ? "," : "", types[i].name);
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
    for (apr_size_t i = 0; i < COUNT; i++)
        if (is_pattern && strncmp(types[i].name, value, len - 1) == 0)
            APR_ARRAY_PUSH(all, const char *) = types[i].name;
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
