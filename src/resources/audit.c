/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log and the usage: their scopes, and the filters of the log. The schemas are in src/openapi/document.json. */
#include "resources/fields.h"
#include "resources/list.h"

static const neo_field fields[] = {
    NEO_FIELD_ID("entry", "aud_019c24b7d5c14d80a1f0e29b6c", 0),
    {0},
};

const neo_resource neo_audit_log = {.name = "audit_entry",
                                    .collection = "audit",
                                    .prefix = "aud_",
                                    .title = "AuditEntry",
                                    .tag_doc = "Who has changed what gives access to data, and who has exported data.",
                                    .area = NEO_AREA_AUDIT,
                                    .fields = fields};

const neo_filter neo_audit_filters[] = {
    {.name = "action",
     .left = "t.action",
     .doc = "What was done, such as `credential.created`.",
     .example = "\"credential.created\""},
    {.name = "object_id", .left = "t.object_id", .doc = "What was changed.", .example = "\"whs_01kgb1m6d8v3w5x7z9b1d3f5h7\""},
    {.name = "credential_id",
     .left = "t.credential",
     .doc = "The API key or token that did it.",
     .example = "\"nbr_01jwr1zbts0h4k8n3p7r1t5w9x\""},
    {.name = "created_gte",
     .kind = NEO_FILTER_FROM,
     .value = NEO_VALUE_TIMESTAMP,
     .left = "t.created_at",
     .right = "%s::timestamptz",
     .doc = "At this time or later.",
     .example = "\"2026-02-03T00:00:00.000Z\""},
    {.name = "created_lte",
     .kind = NEO_FILTER_TO,
     .value = NEO_VALUE_TIMESTAMP,
     .left = "t.created_at",
     .right = "%s::timestamptz",
     .doc = "At this time or earlier.",
     .example = "\"2026-02-03T23:59:59.999Z\""},
    {0},
};

const neo_resource neo_usage_report = {.name = "usage",
                                       .collection = "usage",
                                       .prefix = "usg_",
                                       .title = "Usage",
                                       .tag_doc = "What each credential has used, by day.",
                                       .area = NEO_AREA_USAGE,
                                       .fields = fields};
