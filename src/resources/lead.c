/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of leads (see resources/lead.h). */
#include "resources/lead.h"

#include <apr_strings.h>
#include <ctype.h>
#include <string.h>

#include "resources/list.h"
#include "schema/rules.h"
#include "schema/validate.h"

static const struct {
    neo_lead_column column;
    const char *heading;
} headings[] = {
    {NEO_LEAD_NAME, "name"},      {NEO_LEAD_PHONE, "phone"},  {NEO_LEAD_EMAIL, "email"},
    {NEO_LEAD_PARTY, "party_id"}, {NEO_LEAD_EMAIL, "e-mail"}, {NEO_LEAD_PARTY, "party"},
};

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
static char *bare(const char *text, apr_pool_t *pool)
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
    char *all = bare(text + is_whole, pool);
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
static const char *in_one_line(const char *text, apr_pool_t *pool)
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

/* The columns are those of sql/0004_whatsapp.sql. Leads are not in the OpenAPI document. */
static const neo_field fields[] = {
    {.name = "id", .type = NEO_STRING, .flags = NEO_SERVER | NEO_ALWAYS, .doc = "Id of the lead."},
    {.name = "name",
     .type = NEO_STRING,
     .flags = NEO_REQUIRED,
     .max = 200,
     .normalize = in_one_line,
     .doc = "Name, in one line."},
    {.name = "phone",
     .type = NEO_STRING,
     .flags = NEO_REQUIRED | NEO_SHOW_PLUS,
     .max = 100,
     .normalize = neo_normalize_phone_digits,
     .rule = neo_rule_phone_digits,
     .doc = "WhatsApp number. Stored as digits, exported with a leading plus sign."},
    {.name = "email", .type = NEO_STRING, .max = 254, .rule = neo_rule_email, .doc = "E-mail address."},
    {.name = "party_id", .type = NEO_REFERENCE, .refers = &neo_party, .doc = "The party that the lead has become."},
    {.name = "organization_id", .type = NEO_STRING, .flags = NEO_SERVER | NEO_ALWAYS, .doc = "The organization."},
    {.name = "created_at", .type = NEO_TIMESTAMP, .flags = NEO_SERVER | NEO_ALWAYS, .doc = "Time of the import."},
    {0},
};

const neo_resource neo_lead = {
    .name = "lead",
    .collection = "leads",
    .prefix = "led_",
    .title = "Lead",
    .tag_doc = "Prospects to contact.",
    .fields = fields,
    .has_foreign_keys = 1,
};

int neo_lead_check(const char *values[NEO_LEAD_COLUMNS], const char *error[NEO_LEAD_COLUMNS], apr_pool_t *pool)
{
    int count = 0;
    for (int c = 0; c < NEO_LEAD_COLUMNS; c++) {
        const neo_field *field = neo_field_named(fields, headings[c].heading);
        const char *value = values[c] ? in_one_line(values[c], pool) : "";
        values[c] = *value ? field->normalize ? field->normalize(value, pool) : value : NULL;
        error[c] = values[c]                       ? neo_check(field, neo_json_make_string(values[c], pool), NULL, pool)
                   : (field->flags & NEO_REQUIRED) ? "is required"
                                                   : NULL;
        count += error[c] != NULL;
    }
    return count;
}
