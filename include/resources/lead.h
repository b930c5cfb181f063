/* SPDX-License-Identifier: Apache-2.0 */
/* What other files need of leads: the columns of a CSV file (`neoapictl lead import`), and the rules of telephone numbers. */
#ifndef NEO_RESOURCES_LEAD_H
#define NEO_RESOURCES_LEAD_H

#include "schema/resource.h"

/* How an organization assigns leads that come without a broker, ended by NULL: "turn" */
extern const char *const neo_lead_assignments[];

typedef enum neo_lead_column {
    NEO_LEAD_NAME,
    NEO_LEAD_PHONE,
    NEO_LEAD_EMAIL,
    NEO_LEAD_PARTY,
    NEO_LEAD_COLUMNS
} neo_lead_column;

extern const char *const neo_lead_statuses[]; /* ended by NULL */

/* "party_id" */
const char *neo_lead_column_name(neo_lead_column column);

int neo_lead_column_is_required(neo_lead_column column);

/* The column of a CSV heading or one of its synonyms, in any case; -1 if unknown. */
int neo_lead_column_named(const char *heading);

/* Validates a lead and normalizes its values; an empty one becomes NULL. Returns the number of errors. error[i]: the error of a
 * column, or NULL. */
int neo_lead_check(const char *values[NEO_LEAD_COLUMNS], const char *error[NEO_LEAD_COLUMNS], apr_pool_t *pool);

/* The normalizer and the rule of telephone numbers: "+55 (11) 98765-4321" becomes "5511987654321", digits with the country
 * code. Without + it is Brazilian. */
const char *neo_normalize_phone_digits(const char *text, apr_pool_t *pool);
const char *neo_rule_phone_digits(const neo_json *value, apr_pool_t *pool);

/* What a lead's phone may be sent as. The rule is stricter. */
#define NEO_PATTERN_LEAD_PHONE "^[+]?[ ./()-]*[0-9]([ ./()-]*[0-9]){7,16}[ ./()-]*$"

/* The rule of a lead's id that the operation itself looks up, unlike a reference. */
const char *neo_rule_lead_id(const neo_json *value, apr_pool_t *pool);

/* The rule of a contact's business-scoped user id. */
const char *neo_rule_bsuid(const neo_json *value, apr_pool_t *pool);

/* The key by which numbers are compared, without the digit that WhatsApp may omit: Brazil's ninth digit, the 1 after Mexico's
 * country code, the 9 after Argentina's. */
const char *neo_phone_key(const char *digits, apr_pool_t *pool);

#endif
