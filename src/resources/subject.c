/* SPDX-License-Identifier: Apache-2.0 */
/* A person (a data subject of Lei 13.709): how a request names one, and what followers learn of an erasure. */
#include "resources/fields.h"
#include "resources/lead.h"
#include "schema/rules.h"

static const neo_field fields[] = {
    {.name = "document_number",
     .type = NEO_STRING,
     .personal = NEO_SENSITIVE,
     .flags = NEO_CONDITIONAL,
     .max = 14,
     .normalize = neo_normalize_tax_number,
     .rule = neo_rule_tax_number,
     .pattern = NEO_PATTERN_TAX_NUMBER,
     .doc = "CPF or CNPJ. Dots, dashes and slashes are accepted and removed.",
     .example = "\"52998224725\""},
    {.name = "email",
     .type = NEO_STRING,
     .personal = NEO_SENSITIVE,
     .flags = NEO_CONDITIONAL | NEO_NOT_IN_EXAMPLE,
     .max = 254,
     .rule = neo_rule_email,
     .format = "email",
     .doc = "E-mail address. Case is ignored.",
     .example = "\"marcos.albuquerque@example.com.br\""},
    {.name = "phone",
     .type = NEO_STRING,
     .personal = NEO_SENSITIVE,
     .flags = NEO_CONDITIONAL | NEO_NOT_IN_EXAMPLE | NEO_SHOW_PLUS,
     .max = 100,
     .normalize = neo_normalize_phone_digits,
     .rule = neo_rule_phone_digits,
     .pattern = NEO_PATTERN_LEAD_PHONE,
     .doc =
         "Telephone number. Without a country code it is Brazilian; it also finds the number with or without the ninth digit.",
     .example = "\"+5511987654321\""},
    {.name = "dry_run",
     .type = NEO_BOOLEAN,
     .personal = NEO_NOT_PERSONAL,
     .doc = "Of an erasure: `true` changes nothing and returns what would happen.",
     .example = "true"},
    {0},
};

static void subject_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    if (!*problem && !neo_json_get(clean, "document_number") && !neo_json_get(clean, "email") && !neo_json_get(clean, "phone"))
        neo_problem_field(problem, pool, NEO_VALIDATION_FIELD_REQUIRED, resource->name, "document_number",
                          "is required, unless there is an email or a phone");
}

const neo_resource neo_subject = {
    .name = "subject",
    .collection = "subjects",
    .prefix = "ers_",
    .title = "Subject",
    .tag_doc = "The data of a person: access, export and erasure (Lei 13.709). Needs the role `org_admin`.",
    .area = NEO_AREA_PRIVACY,
    .fields = fields,
    .rule = subject_rule,
};

const neo_filter neo_subject_filters[] = {
    {.name = "document_number", .kind = NEO_FILTER_TO, .doc = "CPF or CNPJ.", .example = "\"52998224725\""},
    {.name = "email", .kind = NEO_FILTER_TO, .doc = "E-mail address.", .example = "\"marcos.albuquerque@example.com.br\""},
    {.name = "phone", .kind = NEO_FILTER_TO, .doc = "Telephone number.", .example = "\"+5511987654321\""},
    {0},
};

/* ---------------------------------------------------------------- the events of an erasure */

static const neo_field erased_fields[] = {
    {.name = "id",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_ALWAYS | NEO_IN_EVENT,
     .doc = "Id of the record.",
     .example = NEO_TEXT(NEO_SAMPLE_OWNER)},
    {.name = "deleted",
     .type = NEO_BOOLEAN,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_ALWAYS | NEO_IN_EVENT,
     .doc = "Whether the record no longer exists. Otherwise others refer to it, and it stays without personal data.",
     .example = "false"},
    {.name = "erased_at",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_ALWAYS | NEO_IN_EVENT,
     .doc = "Time of the erasure.",
     .example = "\"2026-02-20T09:30:12.418Z\""},
    NEO_FIELDS_OF_TENANCY("record"),
    {0},
};

const neo_resource neo_erased = {
    .name = "erasure", .title = "Erased", .fields = erased_fields, .has_events = 1, .is_excluded_from_wildcard = 1};
