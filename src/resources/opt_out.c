/* SPDX-License-Identifier: Apache-2.0 */
/* WhatsApp opt-outs, as they are exported and imported (see sql/0004_whatsapp.sql). */
#include <string.h>

#include "resources/lead.h"
#include "resources/list.h"
#include "schema/rules.h"

/* WhatsApp has contacts whose numbers our rule refuses; their opt-outs must not be lost. */
static const char *normal_contact(const char *text, apr_pool_t *pool)
{
    apr_size_t len = *text == '+' ? strspn(text + 1, "0123456789") : 0;
    return len >= 1 && len <= 20 && text[len + 1] == '\0' ? text + 1 : neo_normalize_phone_digits(text, pool);
}

static const char *number_rule(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value);
    (void)pool;
    return strspn(text, "0123456789") == strlen(text) ? NULL : "must be a phone number id of 5 to 20 digits";
}

static const neo_field fields[] = {
    {.name = "id",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER | NEO_ALWAYS,
     .doc = "Id of the opt-out."},
    {.name = "phone_number_id",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .min = 5,
     .max = 20,
     .rule = number_rule,
     .doc = "Meta's id of the organization's number. Without it, or if the organization has no such number, the opt-out is "
            "for all numbers."},
    {.name = "contact_phone",
     .type = NEO_STRING,
     .personal = NEO_SENSITIVE,
     .flags = NEO_CONDITIONAL | NEO_SHOW_PLUS,
     .max = 100,
     .normalize = normal_contact,
     .rule = neo_rule_phone_digits,
     .doc = "The contact's number. Stored as digits, exported with a leading plus sign."},
    {.name = "contact_bsuid",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_CONDITIONAL,
     .max = 255,
     .rule = neo_rule_bsuid,
     .doc = "The contact's business-scoped user id."},
    {.name = "lead_id",
     .type = NEO_REFERENCE,
     .personal = NEO_NOT_PERSONAL,
     .refers = &neo_lead,
     .doc = "The lead of the contact."},
    {.name = "opted_out_at",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED,
     .rule = neo_rule_past,
     .doc = "Time of the opt-out."},
    {.name = "preference_at",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .rule = neo_rule_past,
     .doc = "Time of the last preference, if later."},
    {.name = "organization_id",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER | NEO_ALWAYS,
     .doc = "The organization."},
    {0},
};

static void opt_out_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    if (!neo_json_get(clean, "contact_phone") && !neo_json_get(clean, "contact_bsuid"))
        neo_problem_field(problem, pool, NEO_VALIDATION_FIELD_REQUIRED, resource->name, "contact_phone",
                          "is required, unless there is a contact_bsuid");
}

const neo_resource neo_whatsapp_opt_out = {
    .name = "whatsapp_opt_out",
    .collection = "whatsapp_opt_outs",
    .prefix = "wao_",
    .title = "OptOut",
    .tag_doc = "Contacts that opted out of messages.",
    .fields = fields,
    .rule = opt_out_rule,
    .has_foreign_keys = 1,
};
