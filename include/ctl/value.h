/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of values on the command line: placeholder, validation, completion. */
#ifndef NEO_CTL_VALUE_H
#define NEO_CTL_VALUE_H

#include <apr_pools.h>
#include <apr_tables.h>

typedef enum neo_ctl_kind {
    NEO_CTL_FLAG, /* an option that has no value */
    NEO_CTL_NAME, /* free text, 1 to 200 characters */
    NEO_CTL_PLAN,
    NEO_CTL_EMAIL,
    NEO_CTL_COUNT,
    NEO_CTL_LIMIT, /* a count, or "unlimited" */
    NEO_CTL_SECONDS,
    NEO_CTL_GRACE, /* seconds, 0 allowed */
    NEO_CTL_ROLE,
    NEO_CTL_SCOPE,
    NEO_CTL_FILE,
    NEO_CTL_FOLDER,
    NEO_CTL_CONNINFO,
    NEO_CTL_IDENTIFIER, /* a role's or database's name in PostgreSQL */
    NEO_CTL_TENANT_ID,
    NEO_CTL_ORGANIZATION_ID,
    NEO_CTL_USER_ID,
    NEO_CTL_KEY_ID,
    NEO_CTL_TOKEN_ID,
    NEO_CTL_SUBSCRIPTION_ID,
    NEO_CTL_DELIVERY_ID,
    NEO_CTL_DELIVERY_STATUS,
    NEO_CTL_RECOVERY_STATUS,
    NEO_CTL_EVENT_TYPE,
    NEO_CTL_TIME,
    NEO_CTL_NUMBER_ID,
    NEO_CTL_LEAD_ID,
    NEO_CTL_HOST,        /* a DNS name */
    NEO_CTL_PROVIDER_ID, /* an id at Meta: digits */
    NEO_CTL_KINDS
} neo_ctl_kind;

/* The placeholder in help: "ROLE". */
const char *neo_ctl_placeholder(neo_ctl_kind kind);

/* "tnt_", or NULL if values are not ids. */
const char *neo_ctl_id_prefix(neo_ctl_kind kind);

/* Returns NULL, or an error: "must be …". */
const char *neo_ctl_value_check(neo_ctl_kind kind, const char *text, apr_pool_t *pool);

/* All values as const char *, if the kind is an enumeration; else NULL. */
apr_array_header_t *neo_ctl_value_words(neo_ctl_kind kind, apr_pool_t *pool);
int neo_ctl_is_among(const apr_array_header_t *words, const char *text);

#endif
