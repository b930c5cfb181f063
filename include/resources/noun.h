/* SPDX-License-Identifier: Apache-2.0 */
/* What neoapictl administers: tenants, plans, keys. From a noun's table of fields, arguments, options and statements of the
 * commands create, list, change and remove, their help, completion and manual are derived: a field is one row here and one
 * column in sql/. */
#ifndef NEO_RESOURCES_NOUN_H
#define NEO_RESOURCES_NOUN_H

/* The kinds of values on the command line. */
typedef enum neo_parameter_kind {
    NEO_KIND_FLAG, /* an option that has no value */
    NEO_KIND_NAME, /* free text, 1 to 200 characters */
    NEO_KIND_PLAN,
    NEO_KIND_EMAIL,
    NEO_KIND_COUNT,
    NEO_KIND_LIMIT, /* a count, or "unlimited" */
    NEO_KIND_SECONDS,
    NEO_KIND_GRACE, /* seconds, 0 allowed */
    NEO_KIND_ROLE,
    NEO_KIND_SCOPE,
    NEO_KIND_FILE,
    NEO_KIND_FOLDER,
    NEO_KIND_CONNINFO,
    NEO_KIND_MACHINE,
    NEO_KIND_IDENTIFIER, /* a role's or database's name in PostgreSQL */
    NEO_KIND_TENANT_ID,
    NEO_KIND_ORGANIZATION_ID,
    NEO_KIND_USER_ID,
    NEO_KIND_KEY_ID,
    NEO_KIND_TOKEN_ID,
    NEO_KIND_SUBSCRIPTION_ID,
    NEO_KIND_DELIVERY_ID,
    NEO_KIND_DELIVERY_STATUS,
    NEO_KIND_RECOVERY_STATUS,
    NEO_KIND_EVENT_TYPE,
    NEO_KIND_TIME,
    NEO_KIND_NUMBER_ID,
    NEO_KIND_LEAD_ID,
    NEO_KIND_LEAD_ASSIGNMENT,
    NEO_KIND_RETENTION, /* what a rule of retention is for */
    NEO_KIND_MONTHS,
    NEO_KIND_FEED_ID,
    NEO_KIND_PORTAL_FORMAT, /* a format of leads */
    NEO_KIND_PORTAL_ID,
    NEO_KIND_REJECTED_ID,
    NEO_KIND_HOST,        /* a DNS name */
    NEO_KIND_PROVIDER_ID, /* an id at Meta: digits */
    NEO_KIND_BASE_URL,
    NEO_KIND_COLLECTOR, /* the URL of a collector of traces */
    NEO_KIND_PORT,
    NEO_KIND_RANGES,   /* one or more address ranges */
    NEO_KIND_NETWORKS, /* networks in CIDR notation, which become an array */
    NEO_KIND_TEXT,     /* free text, like a name */
    NEO_KIND_EXPIRY,   /* a time in the future */
    NEO_KIND_SWITCH,
    NEO_KIND_LOG_LEVEL,
    NEO_KIND_PROCESSES,
    NEO_KIND_THREADS,
    NEO_KIND_ATTEMPT, /* seconds of an attempt of a webhook */
    NEO_KIND_CONCURRENCY,
    NEO_PARAMETER_KINDS
} neo_parameter_kind;

/* Flags of a parameter. Those from NEO_USE_CREATE on are also how a command uses its noun; as flags of a field, they name the
 * commands that have it. One type, because compilers warn of a combination of two. */
typedef enum neo_use {
    NEO_PARAMETER_REQUIRED = 1,
    NEO_PARAMETER_REPEATED = 2, /* may be given several times */
    NEO_USE_ARGUMENT = 4,       /* only of fields: an argument of `create` */
    NEO_USE_CREATE = 8,
    NEO_USE_CHANGE = 16,
    NEO_USE_LIST = 32, /* the field filters the list */
    NEO_USE_ONE = 64,  /* only of commands: the argument is one row */
} neo_use;

/* An argument, or an option: "tenant" is --tenant. */
typedef struct neo_parameter {
    const char *name;
    neo_parameter_kind kind;
    unsigned int flags;
    const char *default_value; /* or NULL */
    const char *summary;
} neo_parameter;

/* A field without a parameter's name is only listed. */
typedef struct neo_noun_field {
    neo_parameter parameter;    /* that of `create`; its flags name the commands that have it */
    const char *column;         /* its name in lists. A flag sets it to null and is not listed */
    const char *listed;         /* the SQL expression in lists, in which t is the row; NULL: the column */
    const char *change_summary; /* the summary in `change --help`; NULL: the parameter's */
} neo_noun_field;

typedef struct neo_noun neo_noun;
struct neo_noun {
    const char *table, *key;      /* the column that identifies a row */
    const neo_noun_field *fields; /* their order is that of lists; terminated by a NULL column */
    neo_parameter one;            /* the argument that identifies a row */
    const char *missing;          /* the error message if a row does not exist */
    const char *condition;        /* " and …" of its rows, if the table has others; or NULL */
    const char *parent;           /* the column that refers to the row from which tenant_id is taken; or NULL */
    const neo_noun *parent_noun;
};

extern const neo_noun neo_noun_tenant, neo_noun_organization, neo_noun_user, neo_noun_plan, neo_noun_key, neo_noun_token,
    neo_noun_feed, neo_noun_subscription, neo_noun_number, neo_noun_lead, neo_noun_portal, neo_noun_rejected, neo_noun_host;

/* ---------------------------------------------------------------- the limits of a plan */

/* The limits of a plan. Each row is a column of neoapi.plan (sql/0001_foundation.sql). Options, help, completion and manual of
 * `neoapictl plan`, the columns of its list, and the members of neo_credential are derived from it. */

/* Column; option; kind of its value: NEO_KIND_<kind>, of which LIMIT accepts "unlimited", which is null in the database and 0
 * in neo_credential; default, NULL if the option is required; summary; summary in `plan change --help`, NULL for the same. */
/* clang-format off */
#define NEO_PLAN_LIMITS(X)                                                                                                     \
    X(requests, "requests", COUNT, NULL, "requests per window and credential", NULL)                                           \
    X(window_seconds, "window", SECONDS, NULL, "length of the window", NULL)                                                   \
    X(subscriptions, "subscriptions", LIMIT, "50", "webhook subscriptions per organization",                                   \
      "webhook subscriptions per organization; more that exist are kept")                                                      \
    X(concurrent_requests, "concurrent-requests", LIMIT, "50", "requests in progress per organization", NULL)                  \
    X(idempotency_bytes, "idempotency-bytes", LIMIT, "1000000000",                                                             \
      "stored responses per organization, host and day, in bytes", NULL)                                                       \
    X(deliveries_per_hour, "deliveries-per-hour", LIMIT, "100000",                                                             \
      "webhook deliveries per organization and receiver in an hour; others wait", NULL)
/* clang-format on */

#endif
