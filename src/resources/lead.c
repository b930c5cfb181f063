/* SPDX-License-Identifier: Apache-2.0 */
/* Leads: people who have asked about a property. */
#include "resources/lead.h"

#include <apr_strings.h>
#include <ctype.h>
#include <string.h>

#include "core/id.h"
#include "resources/fields.h"
#include "schema/business_rules.h"
#include "schema/rules.h"
#include "schema/validate.h"

#define SAMPLE_OTHER_LEAD "led_01kgexq2m4c7f1h5k9n3r6t8w1"

static const struct {
    neo_lead_column column;
    const char *heading;
    int is_required;
} headings[] = {
    {NEO_LEAD_NAME, "name", 1},      {NEO_LEAD_PHONE, "phone", 1},  {NEO_LEAD_EMAIL, "email", 0},
    {NEO_LEAD_PARTY, "party_id", 0}, {NEO_LEAD_EMAIL, "e-mail", 0}, {NEO_LEAD_PARTY, "party", 0},
};

int neo_lead_column_is_required(neo_lead_column column)
{
    return headings[column].is_required;
}

const char *neo_lead_column_name(neo_lead_column column)
{
    return headings[column].heading;
}

int neo_lead_column_named(const char *heading)
{
    for (apr_size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        if (strcasecmp(headings[i].heading, heading) == 0)
            return (int)headings[i].column;
    return -1;
}

/* ---------------------------------------------------------------- telephone numbers */

/* The digits without separators; NULL if there are other characters. */
static char *strip_separators(const char *text, apr_pool_t *pool)
{
    char *digits = apr_pstrdup(pool, text), *out = digits;
    for (; *text; text++)
        if (isdigit((unsigned char)*text))
            *out++ = *text;
        else if (!strchr(" -./()", *text))
            return NULL;
    *out = '\0';
    return digits;
}

/* `digits`: without the country code. */
static const char *check_brazilian(const char *digits)
{
    size_t len = strlen(digits);
    if (len != 10 && len != 11)
        return "must be a Brazilian number of 10 or 11 digits with area code, or start with + and a country code";
    if (digits[0] == '0' || digits[1] == '0')
        return "must start with an area code from 11 to 99";
    if (len == 11 && digits[2] != '9')
        return "must have a 9 before the 8 digits of a mobile number";
    return digits[2] == '0' || digits[2] == '1' ? "must not have 0 or 1 after the area code" : NULL;
}

static const char *phone_digits(const char *text, apr_pool_t *pool, const char **digits)
{
    int is_whole = *text == '+';
    char *all = strip_separators(text + is_whole, pool);
    if (!all || !*all)
        return "must be a telephone number of digits, optionally with a leading + and spaces, dots, dashes and parentheses";
    if (!is_whole && strncmp(all, "00", 2) == 0) {
        is_whole = 1;
        all += 2;
    }
    size_t len = strlen(all);
    int has_code = strncmp(all, "55", 2) == 0 && (is_whole || len == 12 || len == 13);
    if (has_code || !is_whole) {
        const char *national = has_code ? all + 2 : all;
        *digits = apr_pstrcat(pool, "55", national, NULL);
        return check_brazilian(national);
    }
    *digits = all;
    if (*all == '0' || len < 8 || len > 15)
        return "must have a country code and 8 to 15 digits in total";
    return NULL;
}

/* Must agree with neoapi.whatsapp_phone_key in sql/0004_whatsapp.sql. */
const char *neo_phone_key(const char *digits, apr_pool_t *pool)
{
    int is_whole = strlen(digits) == 13 && strspn(digits, "0123456789") == 13;
    if (is_whole && strncmp(digits, "55", 2) == 0 && digits[2] != '0' && digits[3] != '0' && digits[4] == '9' &&
        digits[5] >= '6')
        return apr_pstrcat(pool, apr_pstrmemdup(pool, digits, 4), digits + 5, NULL);
    if (is_whole && (strncmp(digits, "521", 3) == 0 || strncmp(digits, "549", 3) == 0))
        return apr_pstrcat(pool, apr_pstrmemdup(pool, digits, 2), digits + 3, NULL);
    return digits;
}

/* The rule takes digits alone as already normalized. So an invalid number gets a trailing space, for the rule to refuse it. */
const char *neo_normalize_phone_digits(const char *text, apr_pool_t *pool)
{
    const char *digits;
    if (!phone_digits(text, pool, &digits))
        return digits;
    return *text ? apr_pstrcat(pool, text, " ", NULL) : text;
}

const char *neo_rule_phone_digits(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value), *digits;
    return text[strspn(text, "0123456789")] == '\0' ? NULL : phone_digits(text, pool, &digits);
}

/* ---------------------------------------------------------------- a lead */

/* Replaces white space, such as line breaks in a cell, by single spaces, and trims. */
static const char *join_lines(const char *text, apr_pool_t *pool)
{
    char *line = apr_palloc(pool, strlen(text) + 1), *out = line;
    for (; *text; text++)
        if (!strchr(" \t\r\n", *text))
            *out++ = *text;
        else if (out > line && out[-1] != ' ')
            *out++ = ' ';
    while (out > line && out[-1] == ' ')
        out--;
    *out = '\0';
    return line;
}

const char *neo_rule_bsuid(const neo_json *value, apr_pool_t *pool)
{
    (void)pool;
    return strchr(neo_json_string(value), ' ') ? "must not contain spaces" : NULL;
}

static const char *const sources[] = {"portal", "site", "referral", "walk_in", "import", "other", NULL};
const char *const neo_lead_statuses[] = {"new", "contacted", "qualified", "converted", "lost", NULL};

static const char *const assigned_by[] = {"rule", "hand", NULL};
const char *const neo_lead_assignments[] = {"none", "property", "turn", NULL};

static const neo_field origin[] = {
    {.name = "portal",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED,
     .max = 60,
     .doc = "Name of the portal or system.",
     .example = "\"zap\""},
    {.name = "lead_id",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .max = 200,
     .doc = "Its id of the lead.",
     .example = "\"59ee0fc6e4b043e1b2a6d863\""},
    {0},
};

static const neo_field consent[] = {
    {.name = "given_at",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED,
     .rule = neo_rule_past,
     .doc = "Time of the consent. Not in the future.",
     .example = "\"2026-01-31T13:45:10.123Z\""},
    {.name = "source",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_REQUIRED,
     .max = 200,
     .doc = "Where it was given.",
     .example = "\"formulário do site\""},
    {.name = "text",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_MULTILINE,
     .max = 2000,
     .doc = "What the person agreed to.",
     .example = "\"Aceito receber mensagens sobre imóveis.\""},
    {0},
};

static const neo_field fields[] = {
    NEO_FIELD_ID("lead", NEO_SAMPLE_LEAD, NEO_IN_EVENT),
    {.name = "name",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_REQUIRED | NEO_IN_EVENT,
     .max = 200,
     .doc = "Name.",
     .example = "\"Marina Duarte\""},
    {.name = "phone",
     .type = NEO_STRING,
     .personal = NEO_SENSITIVE,
     .flags = NEO_CONDITIONAL | NEO_UNIQUE | NEO_IN_EVENT | NEO_SHOW_PLUS,
     .max = 100,
     .normalize = neo_normalize_phone_digits,
     .rule = neo_rule_phone_digits,
     .pattern = NEO_PATTERN_LEAD_PHONE,
     .doc = "Telephone number in E.164 format. Without a country code it is Brazilian. Spaces, dots, dashes, slashes and "
            "parentheses are accepted and removed. Unique within the organization, also with or without Brazil's ninth digit.",
     .example = "\"+5511987654321\""},
    {.name = "whatsapp_user_id",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_CONDITIONAL | NEO_IN_EVENT | NEO_NOT_IN_EXAMPLE,
     .max = 255,
     .rule = neo_rule_bsuid,
     .pattern = "^[^ ]{1,255}$",
     .doc = "The business-scoped user id (BSUID) of a contact whose number WhatsApp does not show. Messages are sent to it if "
            "there is no `phone`.",
     .example = "\"BR.13491208655302741918\""},
    {.name = "email",
     .type = NEO_STRING,
     .personal = NEO_SENSITIVE,
     .flags = NEO_CONDITIONAL | NEO_IN_EVENT,
     .max = 254,
     .rule = neo_rule_email,
     .format = "email",
     .doc = "E-mail address. At least one of `phone`, `whatsapp_user_id` and `email` is required.",
     .example = "\"marina.duarte@example.com.br\""},
    {.name = "message",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_IN_EVENT | NEO_MULTILINE,
     .max = 5000,
     .doc = "What the person wrote. Line breaks are allowed.",
     .example = "\"Gostaria de agendar uma visita.\""},
    {.name = "source",
     .type = NEO_ENUM,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_ALWAYS | NEO_IN_EVENT,
     .values = sources,
     .default_value = "other",
     .doc = "Where the lead comes from.",
     .example = "\"portal\""},
    {.name = "origin",
     .type = NEO_OBJECT,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_IN_EVENT,
     .fields = origin,
     .doc = "The portal or system that the lead comes from."},
    {.name = "property_id",
     .type = NEO_REFERENCE,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_IN_EVENT,
     .refers = &neo_property,
     .doc = "The property that the person asked about.",
     .example = NEO_TEXT(NEO_SAMPLE_PROPERTY)},
    {.name = "party_id",
     .type = NEO_REFERENCE,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_IN_EVENT | NEO_NOT_IN_EXAMPLE,
     .refers = &neo_party,
     .doc = "The party that the lead has become.",
     .example = NEO_TEXT(NEO_SAMPLE_BUYER)},
    {.name = "broker_id",
     .type = NEO_REFERENCE,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_IN_EVENT,
     .refers = &neo_broker,
     .doc = "The broker in charge. If a new lead has none, the organization's rule can choose one.",
     .example = NEO_TEXT(NEO_SAMPLE_BROKER)},
    {.name = "assigned_by",
     .type = NEO_ENUM,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER | NEO_IN_EVENT,
     .values = assigned_by,
     .doc = "Who chose the broker: the organization's `rule`, or `hand`, a client.",
     .example = "\"hand\""},
    {.name = "status",
     .type = NEO_ENUM,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_ALWAYS | NEO_IN_EVENT,
     .values = neo_lead_statuses,
     .default_value = "new",
     .doc = "From `new` by `contacted` and `qualified` to the final `converted`; `lost` can become `contacted` again. See the "
            "page Business rules.",
     .example = "\"new\""},
    {.name = "lost_reason",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_CONDITIONAL | NEO_NOT_IN_EXAMPLE | NEO_IN_EVENT | NEO_MULTILINE,
     .max = 1000,
     .only_with_status = "lost",
     .doc = "Why the lead was lost. Required with the status `lost`, refused with another; a change from `lost` removes it.",
     .example = "\"Comprou em outro bairro.\""},
    {.name = "consent",
     .type = NEO_OBJECT,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_IN_EVENT,
     .fields = consent,
     .doc = "The person's consent to be contacted (LGPD)."},
    {.name = "received_at",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_IN_EVENT,
     .rule = neo_rule_past,
     .doc = "When the person last made contact, if not at `created_at`. Not in the future.",
     .example = "\"2026-02-02T10:17:12.000Z\""},
    {.name = "merged_lead_ids",
     .type = NEO_TEXT_LIST,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER | NEO_NOT_ON_CREATE | NEO_IN_EVENT | NEO_NOT_IN_EXAMPLE,
     .max = 30,
     .max_items = 1000,
     .doc = "The latest 1000 leads that were merged into this one, and no longer exist.",
     .example = "[" NEO_TEXT(SAMPLE_OTHER_LEAD) "]"},
    NEO_FIELDS_OF_CALLER("lead", NEO_IDENTIFYING),
    NEO_FIELDS_OF_SERVICE("lead", "2026-02-02T10:17:33.060Z", "2026-02-02T10:17:33.060Z"),
    {0},
};

static const neo_transition transitions[] = {
    {.from = "new", .to = "contacted"},
    {.from = "new", .to = "qualified"},
    {.from = "new", .to = "converted"},
    {.from = "new", .to = "lost"},
    {.from = "contacted", .to = "qualified"},
    {.from = "contacted", .to = "converted"},
    {.from = "contacted", .to = "lost"},
    {.from = "qualified", .to = "converted"},
    {.from = "qualified", .to = "lost"},
    {.from = "lost", .to = "contacted"},
    {0},
};

static const char *const contacts[] = {"phone", "whatsapp_user_id", "email", NULL};

/* Whether there is a contact, also one with an error. */
static int has_contact(const neo_json *clean, const neo_problem *problem)
{
    for (const char *const *name = contacts; *name; name++)
        if (neo_json_get(clean, *name))
            return 1;
    for (int i = 0; problem && i < problem->items->nelts; i++)
        if (neo_has_name(contacts, APR_ARRAY_IDX(problem->items, i, neo_problem_item).field))
            return 1;
    return 0;
}

static void lead_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    const char *status = neo_json_string_at(clean, "status");
    if (!has_contact(clean, *problem))
        neo_problem_field(problem, pool, NEO_VALIDATION_FIELD_REQUIRED, resource->name, "phone",
                          "is required, unless there is a whatsapp_user_id or an email");
    if (status && strcmp(status, "lost") == 0 && !neo_json_get(clean, "lost_reason"))
        neo_problem_field(problem, pool, NEO_VALIDATION_FIELD_REQUIRED, resource->name, "lost_reason",
                          "is required with the status lost");
}

enum { READ_CONVERSATION };
static const neo_read reads[] = {
    {.sql = "select c.id from neoapi.whatsapp_conversation c where c.organization_id = $1 and c.lead_id = $2 limit 1"},
    {0},
};

static const char *check_no_conversation(const neo_rule_input *input, apr_pool_t *pool)
{
    (void)pool;
    return input->read[READ_CONVERSATION]
               ? "The lead cannot be deleted while it has a WhatsApp conversation. The administrator can remove "
                 "it with its conversations."
               : NULL;
}

static const neo_precondition preconditions[] = {
    {.when = NEO_ON_DELETE,
     .code = NEO_CONFLICT_IN_USE,
     .reads_if = "id",
     .check = check_no_conversation,
     .doc = "It has no WhatsApp conversation."},
    {0},
};

static const neo_filter filters[] = {
    {.name = "status", .value = NEO_VALUE_ENUM, .values = neo_lead_statuses, .left = "t.status", .doc = "Status."},
    {.name = "source", .value = NEO_VALUE_ENUM, .values = sources, .left = "t.source", .doc = "Source."},
    {.name = "phone",
     .left = "neoapi.whatsapp_phone_key(t.phone)",
     .right = "neoapi.whatsapp_phone_key(ltrim(%s, '+ '))",
     .doc = "Telephone number in E.164 format, with or without Brazil's ninth digit."},
    {.name = "whatsapp_user_id", .left = "t.whatsapp_user_id", .doc = "The contact's business-scoped user id."},
    {.name = "email", .left = "lower(t.email)", .right = "lower(%s)", .doc = "E-mail address. Case is ignored."},
    {.name = "property_id", .value = NEO_VALUE_REFERENCE, .left = "t.property_id", .doc = "Property."},
    {.name = "party_id", .value = NEO_VALUE_REFERENCE, .left = "t.party_id", .doc = "Party."},
    {.name = "broker_id", .value = NEO_VALUE_REFERENCE, .left = "t.broker_id", .doc = "Broker in charge."},
    {.name = "q",
     .kind = NEO_FILTER_CONTAINS,
     .left = "neoapi.folded(t.name)",
     .right = "neoapi.folded(%s)",
     .doc = "A part of the name. Case and accents are ignored.",
     .example = "\"duarte\""},
    NEO_FILTER_EXTERNAL_ID,
    {0},
};

const neo_resource neo_lead = {
    .name = "lead",
    .collection = "leads",
    .prefix = "led_",
    .title = "Lead",
    .tag_doc = "People who have asked about a property or want to be contacted.",
    .area = NEO_AREA_LEADS,
    .has_events = 1,
    .is_excluded_from_wildcard = 1,
    .fields = fields,
    .filters = filters,
    .rule = lead_rule,
    .transitions = transitions,
    .preconditions = preconditions,
    .reads = reads,
    .has_batch = 1,
};

const char *neo_rule_lead_id(const neo_json *value, apr_pool_t *pool)
{
    (void)pool;
    return neo_id_is(neo_json_string(value), "led_") ? NULL : "must be the id of a lead (led_…)";
}

static const neo_field merge_fields[] = {
    {.name = "lead_id",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED,
     .max = 100,
     .rule = neo_rule_lead_id,
     .pattern = "^led_[0-7][0-9a-hjkmnp-tv-z]{25}$",
     .doc = "The other lead, which is deleted.",
     .example = NEO_TEXT(SAMPLE_OTHER_LEAD)},
    {0},
};

const neo_resource neo_lead_merge = {.name = "lead",
                                     .collection = "leads",
                                     .prefix = "led_",
                                     .title = "LeadMerge",
                                     .area = NEO_AREA_LEADS,
                                     .fields = merge_fields};

int neo_lead_check(const char *values[NEO_LEAD_COLUMNS], const char *error[NEO_LEAD_COLUMNS], apr_pool_t *pool)
{
    int count = 0;
    for (int c = 0; c < NEO_LEAD_COLUMNS; c++) {
        const neo_field *field = neo_field_named(fields, headings[c].heading);
        const char *value = values[c] ? join_lines(values[c], pool) : "";
        values[c] = *value ? field->normalize ? field->normalize(value, pool) : value : NULL;
        error[c] = values[c]                 ? neo_check(field, neo_json_make_string(values[c], pool), NULL, pool)
                   : headings[c].is_required ? "is required"
                                             : NULL;
        count += error[c] != NULL;
    }
    return count;
}
