/* Rules that fields share: what a table of lengths and types can't say about a value. See neo_rule. */
#ifndef NEO_MODEL_RULES_H
#define NEO_MODEL_RULES_H

#include "model/resource.h"

/* An e-mail address in the form that HTML's input type=email takes, at most 254 characters (RFC 5321, section 4.5.3.1.3). */
const char *neo_rule_email(const neo_json *value, apr_pool_t *pool);

/* At least one letter or digit: punctuation alone would make every such number equal. */
const char *neo_rule_has_alphanumeric(const neo_json *value, apr_pool_t *pool);

/* An address that webhooks can be sent to: absolute https (RFC 3986, section 4.3), and http where the administrator allows it.
 */
const char *neo_rule_webhook_url(const neo_json *value, apr_pool_t *pool);
/* Allows http in this process, for all that is checked from now on. */
void neo_rule_allow_http(void);

#endif
