/* SPDX-License-Identifier: Apache-2.0 */
/* Rules, normalizers and patterns of fields (see neo_rule and neo_normalizer). The pattern of a rule matches what it accepts
 * before normalization. */
#ifndef NEO_SCHEMA_RULES_H
#define NEO_SCHEMA_RULES_H

#include "schema/resource.h"

/* An e-mail address as defined by HTML for input type=email, of at most 254 characters (RFC 5321, section 4.5.3.1.3). */
const char *neo_rule_email(const neo_json *value, apr_pool_t *pool);

/* At least one letter or digit: a unique index ignores punctuation. */
const char *neo_rule_has_alphanumeric(const neo_json *value, apr_pool_t *pool);
#define NEO_PATTERN_HAS_ALPHANUMERIC "[0-9A-Za-z]"

/* An absolute http or https URL (RFC 3986, section 4.3). The message names https only, because most sites refuse http. */
const char *neo_rule_webhook_url(const neo_json *value, apr_pool_t *pool);

/* The URL of a file: absolute, with https and a host name, without user and password. */
const char *neo_rule_https_url(const neo_json *value, apr_pool_t *pool);
#define NEO_PATTERN_HTTPS_URL "^https://[A-Za-z0-9._-]+(:[0-9]{1,5})?([/?#][!#-;=?-Z_a-z~]*)?$"

/* A telephone number (ITU-T E.164): a plus sign, the country code, at most 15 digits. */
const char *neo_rule_phone(const neo_json *value, apr_pool_t *pool);
/* Removes spaces, dots, dashes and parentheses. */
const char *neo_normalize_phone(const char *text, apr_pool_t *pool);
#define NEO_PATTERN_PHONE "^[ .()-]*[+][ .()-]*[1-9]([ .()-]*[0-9]){6,14}[ .()-]*$"

/* A media type without parameters (RFC 6838, section 4.2). */
const char *neo_rule_mime_type(const neo_json *value, apr_pool_t *pool);
#define NEO_PATTERN_MIME_TYPE "^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$"

/* A SHA-256 digest in hexadecimal digits, stored in lower case. */
const char *neo_rule_sha256(const neo_json *value, apr_pool_t *pool);
const char *neo_normalize_lower_case(const char *text, apr_pool_t *pool);
#define NEO_PATTERN_SHA256 "^[0-9A-Fa-f]{64}$"

/* A time that is not in the future. An opt-out in the future would override every later opt-in until then. */
const char *neo_rule_past(const neo_json *value, apr_pool_t *pool);

/* A postal code (CEP): 8 digits. A dash before the last three is removed. */
const char *neo_rule_postal_code(const neo_json *value, apr_pool_t *pool);
const char *neo_normalize_postal_code(const char *text, apr_pool_t *pool);
#define NEO_PATTERN_POSTAL_CODE "^[0-9]{5}-?[0-9]{3}$"

/* An IBGE municipality code: 7 digits. */
const char *neo_rule_ibge_code(const neo_json *value, apr_pool_t *pool);
#define NEO_PATTERN_IBGE_CODE "^[0-9]{7}$"

/* A tax number of a person (CPF) or company (CNPJ) with check digits, stored without dots, dashes and slashes and in upper
 * case: a CNPJ can have letters (Instrução Normativa RFB 2.229/2024). */
int neo_is_cpf(const char *bare);
int neo_is_cnpj(const char *bare);
const char *neo_rule_tax_number(const neo_json *value, apr_pool_t *pool);
const char *neo_normalize_tax_number(const char *text, apr_pool_t *pool);
#define NEO_PATTERN_TAX_NUMBER "^[0-9A-Za-z./-]{11,18}$"

#endif
