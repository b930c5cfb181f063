/* What a lead must be (see model/lead.h). */
#include "model/lead.h"

#include <apr_strings.h>
#include <ctype.h>
#include <string.h>

#include "model/check.h"
#include "model/rules.h"

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

int neo_lead_column_of(const char *heading)
{
    for (apr_size_t i = 0; i < sizeof headings / sizeof *headings; i++)
        if (strcasecmp(headings[i].heading, heading) == 0)
            return (int)headings[i].column;
    return -1;
}

/* ---------------------------------------------------------------- telephone numbers */

/* The digits of a number without what people put between them; NULL where there is something else. */
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

/* What is wrong with a Brazilian number, without the country's code. */
static const char *check_brazilian(const char *digits)
{
    size_t len = strlen(digits);
    if (len != 10 && len != 11)
        return "must be a Brazilian number with area code, 10 or 11 digits, or begin with + and another country's code";
    if (digits[0] == '0' || digits[1] == '0')
        return "must begin with an area code from 11 to 99";
    if (len == 11 && digits[2] != '9')
        return "must have a 9 in front of the 8 digits of a mobile number";
    return digits[2] == '0' || digits[2] == '1' ? "must not have a number that begins with 0 or 1" : NULL;
}

const char *neo_phone_digits(const char *text, apr_pool_t *pool, const char **digits)
{
    int is_whole = *text == '+';
    char *all = bare(text + is_whole, pool);
    if (!all || !*all)
        return "must be a telephone number: digits, with blanks, dots, dashes and brackets between them, and + in front";
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
        return "must have a country's code and 8 to 15 digits in all";
    return NULL;
}

/* The same as neoapi.whatsapp_phone_key of sql/0005_whatsapp.sql. */
const char *neo_phone_folded(const char *digits, apr_pool_t *pool)
{
    int is_mobile = strlen(digits) == 13 && strncmp(digits, "55", 2) == 0 && digits[2] != '0' && digits[3] != '0' &&
                    digits[4] == '9' && digits[5] >= '6';
    return is_mobile ? apr_pstrcat(pool, apr_pstrmemdup(pool, digits, 4), digits + 5, NULL) : digits;
}

/* Digits alone are the form that was found: whatever else is digits gets something behind it that no rule passes over. */
const char *neo_normalize_phone_digits(const char *text, apr_pool_t *pool)
{
    const char *digits;
    if (!neo_phone_digits(text, pool, &digits))
        return digits;
    return *text ? apr_pstrcat(pool, text, " ", NULL) : text;
}

const char *neo_rule_phone_digits(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value), *digits;
    return text[strspn(text, "0123456789")] == '\0' ? NULL : neo_phone_digits(text, pool, &digits);
}

/* ---------------------------------------------------------------- a lead */

/* A text in one line: blanks and line breaks, as a table's cell may have, are one blank each. */
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

/* The columns are those of sql/0005_whatsapp.sql; nobody is shown these sentences but who reads here. */
static const neo_field fields[] = {
    {.name = "id", .type = NEO_STRING, .flags = NEO_SERVER | NEO_ALWAYS, .doc = "Identifies the lead."},
    {.name = "name", .type = NEO_STRING, .flags = NEO_REQUIRED, .max = 200, .normalize = in_one_line, .doc = "In one line."},
    {.name = "phone",
     .type = NEO_STRING,
     .flags = NEO_REQUIRED,
     .max = 100,
     .normalize = neo_normalize_phone_digits,
     .rule = neo_rule_phone_digits,
     .doc = "What is written to over WhatsApp. Kept as digits, shown with a plus sign in front."},
    {.name = "email", .type = NEO_STRING, .max = 254, .rule = neo_rule_email, .doc = "The e-mail address."},
    {.name = "party_id", .type = NEO_REFERENCE, .refers = &neo_party, .doc = "The party that the lead has become."},
    {.name = "organization_id", .type = NEO_STRING, .flags = NEO_SERVER | NEO_ALWAYS, .doc = "The organization."},
    {.name = "created_at", .type = NEO_TIMESTAMP, .flags = NEO_SERVER | NEO_ALWAYS, .doc = "When it was brought in."},
    {0},
};

const neo_resource neo_lead = {
    .name = "lead",
    .collection = "leads",
    .prefix = "led_",
    .title = "Lead",
    .tag_doc = "People who are interested, to be written to.",
    .fields = fields,
    .has_foreign_keys = 1,
};

int neo_lead_check(const char *values[NEO_LEAD_COLUMNS], const char *wrong[NEO_LEAD_COLUMNS], apr_pool_t *pool)
{
    int count = 0;
    for (int c = 0; c < NEO_LEAD_COLUMNS; c++) {
        const neo_field *field = neo_field_named(fields, headings[c].heading);
        const char *value = values[c] ? in_one_line(values[c], pool) : "";
        values[c] = *value ? field->normalize ? field->normalize(value, pool) : value : NULL;
        wrong[c] = values[c]                       ? neo_check(field, neo_json_make_string(values[c], pool), NULL, pool)
                   : (field->flags & NEO_REQUIRED) ? "is missing"
                                                   : NULL;
        count += wrong[c] != NULL;
    }
    return count;
}
