/* Leads: what a row of theirs must be, in a table (`lead import`) and in a line (`import`). Administrators make them with
 * neoapictl. */
#ifndef NEO_MODEL_LEAD_H
#define NEO_MODEL_LEAD_H

#include "model/resource.h"

typedef enum neo_lead_column {
    NEO_LEAD_NAME,
    NEO_LEAD_PHONE,
    NEO_LEAD_EMAIL,
    NEO_LEAD_PARTY,
    NEO_LEAD_COLUMNS
} neo_lead_column;

/* The columns' names, "party_id". */
const char *neo_lead_column_name(neo_lead_column column);

/* The column that a heading means, in any case, also by its other names; -1 for none. */
int neo_lead_column_of(const char *heading);

/* Checks a lead, and brings its values into the form in which they are kept: NULL where there is none. Returns how many are
 * wrong; what is wrong with each stands in `wrong`, NULL with the others. */
int neo_lead_check(const char *values[NEO_LEAD_COLUMNS], const char *wrong[NEO_LEAD_COLUMNS], apr_pool_t *pool);

/* A telephone number as digits, the country's code first: "+55 (11) 98765-4321" is "5511987654321". Without a code it is
 * Brazilian. Returns NULL, or what is wrong with it ("must be …"). */
const char *neo_phone_digits(const char *text, apr_pool_t *pool, const char **digits);

/* The same as the form and the rule of a field. What is no number stays a text that is none: nobody takes an area code for a
 * country's. */
const char *neo_normalize_phone_digits(const char *text, apr_pool_t *pool);
const char *neo_rule_phone_digits(const neo_json *value, apr_pool_t *pool);

/* The digits as two spellings of the same number are compared: Brazilian mobiles without their ninth digit. */
const char *neo_phone_folded(const char *digits, apr_pool_t *pool);

#endif
