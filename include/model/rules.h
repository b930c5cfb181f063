/* Rules that fields share: what a table of lengths and types can't say about a value. See neo_rule and neo_normalizer. Beside
 * each rule stands the pattern of what can be sent, for the description. */
#ifndef NEO_MODEL_RULES_H
#define NEO_MODEL_RULES_H

#include "model/resource.h"

/* An e-mail address in the form that HTML's input type=email takes, at most 254 characters (RFC 5321, section 4.5.3.1.3). */
const char *neo_rule_email(const neo_json *value, apr_pool_t *pool);

/* At least one letter or digit: punctuation alone would make every such number equal. */
const char *neo_rule_has_alphanumeric(const neo_json *value, apr_pool_t *pool);
#define NEO_PATTERN_HAS_ALPHANUMERIC "[0-9A-Za-z]"

/* An address that webhooks can be sent to: absolute https (RFC 3986, section 4.3), and http where the administrator allows it.
 */
const char *neo_rule_webhook_url(const neo_json *value, apr_pool_t *pool);
/* Allows http in this process, for all that is checked from now on. */
void neo_rule_allow_http(void);

/* Where a file is: an absolute https address with a host's name and without user and password. */
const char *neo_rule_https_url(const neo_json *value, apr_pool_t *pool);
#define NEO_PATTERN_HTTPS_URL "^https://[A-Za-z0-9._-]+(:[0-9]{1,5})?([/?#][!#-;=?-Z_a-z~]*)?$"

/* A telephone number as ITU-T E.164 writes it: a plus sign, the country's code, at most 15 digits. */
const char *neo_rule_phone(const neo_json *value, apr_pool_t *pool);
#define NEO_PATTERN_PHONE "^[+][1-9][0-9]{6,14}$"

/* A media type without parameters (RFC 6838, section 4.2). */
const char *neo_rule_mime_type(const neo_json *value, apr_pool_t *pool);
#define NEO_PATTERN_MIME_TYPE "^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$"

/* A SHA-256 digest in hexadecimal digits, kept in lower case. */
const char *neo_rule_sha256(const neo_json *value, apr_pool_t *pool);
const char *neo_normalize_lower_case(const char *text, apr_pool_t *pool);
#define NEO_PATTERN_SHA256 "^[0-9A-Fa-f]{64}$"

/* A postal code (CEP): 8 digits. A dash in front of the last three is accepted and dropped. */
const char *neo_rule_postal_code(const neo_json *value, apr_pool_t *pool);
const char *neo_normalize_postal_code(const char *text, apr_pool_t *pool);
#define NEO_PATTERN_POSTAL_CODE "^[0-9]{5}-?[0-9]{3}$"

/* The number of a municipality at IBGE: 7 digits. */
const char *neo_rule_ibge_code(const neo_json *value, apr_pool_t *pool);
#define NEO_PATTERN_IBGE_CODE "^[0-9]{7}$"

/* The tax number of a person (CPF) or of a company (CNPJ), both with check digits. It is kept without dots, dashes and slashes,
 * and in upper case, since a CNPJ has letters, too (Instrução Normativa RFB 2.229/2024). */
int neo_is_cpf(const char *bare);
int neo_is_cnpj(const char *bare);
const char *neo_rule_tax_number(const neo_json *value, apr_pool_t *pool);
const char *neo_normalize_tax_number(const char *text, apr_pool_t *pool);
#define NEO_PATTERN_TAX_NUMBER "^[0-9A-Za-z./-]{11,18}$"

/* What the fields of a resource cannot say one by one: see neo_body_rule. */
void neo_property_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool);
void neo_party_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool);
void neo_proposal_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool);
void neo_contract_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool);

#endif
