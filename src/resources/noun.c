/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of what neoapictl administers (see resources/noun.h). */
#include "resources/noun.h"

#include <stddef.h>

#define MISSING(noun, command) "no such " noun "; see: neoapictl " command " list"

/* clang-format off */

/* Columns that are only listed. */
#define LISTED(column)                  LISTED_AS(NEO_KIND_NAME, column, NULL)
#define LISTED_TIME(column)             LISTED_AS(NEO_KIND_TIME, column, NULL)
#define LISTED_AS(type, column, sql)    {{.kind = type}, column, sql, NULL}
#define END                             {{0}, NULL, NULL, NULL}

#define NAME(summary)                                                                                                          \
    {{"name", NEO_KIND_NAME, NEO_USE_ARGUMENT | NEO_USE_CHANGE, NULL, summary}, "name", NULL, NULL}
#define ORGANIZATION(summary)                                                                                                  \
    {{"organization", NEO_KIND_ORGANIZATION_ID, NEO_PARAMETER_REQUIRED | NEO_USE_CREATE | NEO_USE_LIST, NULL, summary},       \
     "organization_id", NULL, NULL}
#define ROLE(summary)                                                                                                          \
    {{"role", NEO_KIND_ROLE, NEO_PARAMETER_REQUIRED | NEO_USE_CREATE | NEO_USE_CHANGE, NULL, summary}, "role", NULL, NULL}
#define TENANT(summary)                                                                                                        \
    {{"tenant", NEO_KIND_TENANT_ID, NEO_PARAMETER_REQUIRED | NEO_USE_CREATE | NEO_USE_LIST, NULL, summary},                   \
     "tenant_id", NULL, NULL}
#define FILTERED_BY_ORGANIZATION                                                                                               \
    {{"organization", NEO_KIND_ORGANIZATION_ID, NEO_USE_LIST, NULL, NULL}, "organization_id", NULL, NULL}

static const neo_noun_field tenant_fields[] = {
    NAME("the tenant's name"),
    {{"plan", NEO_KIND_PLAN, NEO_USE_CREATE | NEO_USE_CHANGE, "default", "the plan that limits its requests"},
     "plan", NULL, NULL},
    {{"id", NEO_KIND_TENANT_ID, NEO_USE_CREATE, NULL, "the id of a tenant that was exported and purged; defaults to a new id"},
     "id", NULL, NULL},
    LISTED_TIME("created_at"),
    END,
};

const neo_noun neo_noun_tenant = {
    "tenant", "id", tenant_fields, {"tenant", NEO_KIND_TENANT_ID, 0, NULL, "the tenant's id"},
    .missing = MISSING("tenant", "tenant"),
};

static const neo_noun_field organization_fields[] = {
    TENANT("the tenant that it belongs to"),
    NAME("the organization's name"),
    {{"id", NEO_KIND_ORGANIZATION_ID, NEO_USE_CREATE, NULL,
      "the id of an exported organization, to import into; defaults to a new id"},
     "id", NULL, NULL},
    {{"lead-assignment", NEO_KIND_LEAD_ASSIGNMENT, NEO_USE_CREATE | NEO_USE_CHANGE, "none",
      "the broker of leads that come without one: none, the property's, or the property's and else one in turn"},
     "lead_assignment", NULL, NULL},
    LISTED_TIME("created_at"),
    END,
};

const neo_noun neo_noun_organization = {
    "organization", "id", organization_fields, {"organization", NEO_KIND_ORGANIZATION_ID, 0, NULL, "the organization's id"},
    .missing = MISSING("organization", "organization"),
};

static const neo_noun_field user_fields[] = {
    TENANT("the tenant that the user belongs to"),
    {{"email", NEO_KIND_EMAIL, NEO_PARAMETER_REQUIRED | NEO_USE_CREATE | NEO_USE_CHANGE, NULL,
      "the user's e-mail address, unique in the tenant"},
     "email", NULL, NULL},
    ROLE("the role of the user and of the user's tokens"),
    NAME("the user's name"),
    LISTED_TIME("created_at"),
    END,
};

const neo_noun neo_noun_user = {
    "app_user", "id", user_fields, {"user", NEO_KIND_USER_ID, 0, NULL, "the user's id"},
    .missing = MISSING("user", "user"),
};

#define LIMIT_FIELD(column, option, kind, default_value, summary, change_summary)                                              \
    {{option, NEO_KIND_##kind, /* the cast: clang warns of a literal as a condition */                                        \
      ((const char *)default_value ? 0 : NEO_PARAMETER_REQUIRED) | NEO_USE_CREATE | NEO_USE_CHANGE, default_value, summary},   \
     #column, NULL, change_summary},

static const neo_noun_field plan_fields[] = {
    {{"name", NEO_KIND_PLAN, NEO_USE_ARGUMENT, NULL,
      "the plan's name: lowercase letters, digits, hyphens and underscores"},
     "name", NULL, NULL},
    NEO_PLAN_LIMITS(LIMIT_FIELD)
    END,
};

const neo_noun neo_noun_plan = {
    "plan", "name", plan_fields, {"plan", NEO_KIND_PLAN, 0, NULL, "the plan's name"},
    .missing = MISSING("plan", "plan"),
};

#define LISTED_CREDENTIAL_TIMES                                                                                                \
    LISTED_TIME("created_at"), LISTED_TIME("revoked_at"),                                                                      \
    LISTED_AS(NEO_KIND_TIME, "previous_secret_until",                                                                         \
              "case when t.previous_secret_until > now() then t.previous_secret_until end"),                                   \
    LISTED_AS(NEO_KIND_TIME, "last_used_at",                                                                                  \
              "(select u.used_at from neoapi.credential_use u where u.credential_id = t.id)")

#define CREDENTIAL_LIMITS                                                                                                      \
    {{"description", NEO_KIND_TEXT, NEO_USE_CREATE | NEO_USE_CHANGE, NULL, "more about it, for administrators"},               \
     "description", NULL, NULL},                                                                                               \
    {{"no-description", NEO_KIND_FLAG, NEO_USE_CHANGE, NULL, "remove the description"}, "description", NULL, NULL},            \
    {{"expires-at", NEO_KIND_EXPIRY, NEO_USE_CREATE | NEO_USE_CHANGE, NULL,                                                    \
      "when it stops working; never by default"},                                                                              \
     "expires_at", "neoapi.format_timestamp(t.expires_at)", "when it stops working"},                                          \
    {{"no-expiry", NEO_KIND_FLAG, NEO_USE_CHANGE, NULL, "it does not expire"}, "expires_at", NULL, NULL},                      \
    {{"allowed-networks", NEO_KIND_NETWORKS, NEO_USE_CREATE | NEO_USE_CHANGE, NULL,                                            \
      "the networks from which it works, with commas between them; any by default"},                                           \
     "allowed_networks", NULL, "the networks from which it works, with commas between them"},                                  \
    {{"any-network", NEO_KIND_FLAG, NEO_USE_CHANGE, NULL, "it works from any network"}, "allowed_networks", NULL, NULL}

static const neo_noun_field key_fields[] = {
    LISTED("tenant_id"),
    ORGANIZATION("the organization that the key gives access to"),
    ROLE("the key's role"),
    {{"scope", NEO_KIND_SCOPE, NEO_PARAMETER_REPEATED | NEO_USE_CREATE | NEO_USE_CHANGE, NULL,
      "a scope of the role; restricts the key to the given scopes"},
     "scopes", NULL, "a scope of the role, which must be given too; restricts the key to the given scopes"},
    {{"every-scope", NEO_KIND_FLAG, NEO_USE_CHANGE, NULL, "give the key all scopes of its role"}, "scopes", NULL, NULL},
    NAME("what the key is used for"),
    CREDENTIAL_LIMITS,
    LISTED_CREDENTIAL_TIMES,
    END,
};

const neo_noun neo_noun_key = {
    "credential", "id", key_fields, {"id", NEO_KIND_KEY_ID, 0, NULL, "the key's id"},
    .missing = MISSING("key", "key"), .condition = " and id like 'nbr\\_%'",
    .parent = "organization_id", .parent_noun = &neo_noun_organization,
};

static const neo_noun_field token_fields[] = {
    LISTED("tenant_id"),
    {{"user", NEO_KIND_USER_ID, NEO_PARAMETER_REQUIRED | NEO_USE_CREATE | NEO_USE_LIST, NULL,
      "the user, whose role the token has"},
     "user_id", NULL, NULL},
    LISTED_AS(NEO_KIND_EMAIL, "email", "(select u.email from neoapi.app_user u where u.id = t.user_id)"),
    {{"organization", NEO_KIND_ORGANIZATION_ID, NEO_PARAMETER_REQUIRED | NEO_PARAMETER_REPEATED | NEO_USE_CREATE | NEO_USE_CHANGE,
      NULL, "an organization of the user's tenant that the token gives access to"},
     "allowed_organization_ids",
     "array(select o.organization_id from neoapi.token_organization o where o.credential_id = t.id order by o.position)",
     "an organization that the token gives access to; replaces the current ones"},
    NAME("what the token is used for"),
    CREDENTIAL_LIMITS,
    LISTED_CREDENTIAL_TIMES,
    END,
};

const neo_noun neo_noun_token = {
    "credential", "id", token_fields, {"id", NEO_KIND_TOKEN_ID, 0, NULL, "the token's id"},
    .missing = MISSING("token", "token"), .condition = " and id like 'pat\\_%'",
    .parent = "user_id", .parent_noun = &neo_noun_user,
};

static const neo_noun_field feed_fields[] = {
    LISTED("tenant_id"),
    ORGANIZATION("the organization whose active properties the feed has"),
    NAME("who reads the feed, such as a portal's name"),
    {{"contact", NEO_KIND_NAME, NEO_PARAMETER_REQUIRED | NEO_USE_CREATE | NEO_USE_CHANGE, NULL,
      "the agency's name in the advertisements"},
     "contact_name", NULL, NULL},
    {{"email", NEO_KIND_EMAIL, NEO_PARAMETER_REQUIRED | NEO_USE_CREATE | NEO_USE_CHANGE, NULL,
      "its e-mail address"},
     "contact_email", NULL, NULL},
    {{"phone", NEO_KIND_NAME, NEO_PARAMETER_REQUIRED | NEO_USE_CREATE | NEO_USE_CHANGE, NULL, "its telephone number"},
     "contact_phone", NULL, NULL},
    LISTED_TIME("created_at"),
    LISTED_TIME("revoked_at"),
    END,
};

const neo_noun neo_noun_feed = {
    "listing_feed", "id", feed_fields, {"id", NEO_KIND_FEED_ID, 0, NULL, "the feed's id: the first 30 characters of its token"},
    .missing = MISSING("feed", "listings"), .parent = "organization_id", .parent_noun = &neo_noun_organization,
};

static const neo_noun_field subscription_fields[] = {
    FILTERED_BY_ORGANIZATION,
    LISTED("url"),
    LISTED("description"),
    LISTED("events"),
    LISTED("is_active"),
    LISTED("health"),
    LISTED_TIME("last_success_at"),
    LISTED_TIME("failing_since"),
    LISTED_TIME("disabled_at"),
    LISTED("disabled_reason"),
    LISTED_TIME("limited_until"),
    LISTED_TIME("paused_until"),
    LISTED("ordering"),
    LISTED("batch"),
    LISTED("max_per_second"),
    LISTED("max_in_flight"),
    LISTED("payload"),
    LISTED("is_masked"),
    LISTED_AS(NEO_KIND_COUNT, "pending", "(select count(*) from neoapi.webhook_queue q where q.subscription_id = t.id)"),
    END,
};

const neo_noun neo_noun_subscription = {
    "webhook_subscription", "id", subscription_fields,
    {"subscription", NEO_KIND_SUBSCRIPTION_ID, 0, NULL, "the subscription's id"},
    .missing = MISSING("subscription", "webhook"),
};

static const neo_noun_field number_fields[] = {
    ORGANIZATION("the organization that uses the number"),
    {{"display", NEO_KIND_NAME, NEO_USE_ARGUMENT | NEO_USE_CHANGE, NULL, "the number as displayed: \"+55 11 4000-1234\""},
     "display_phone_number", NULL, "the number as displayed"},
    {{"phone-number-id", NEO_KIND_PROVIDER_ID, NEO_PARAMETER_REQUIRED | NEO_USE_CREATE, NULL, "the number's id at Meta"},
     "phone_number_id", NULL, NULL},
    {{"waba-id", NEO_KIND_PROVIDER_ID, NEO_PARAMETER_REQUIRED | NEO_USE_CREATE | NEO_USE_CHANGE, NULL,
      "the id of the WhatsApp Business Account at Meta"},
     "waba_id", NULL, NULL},
    LISTED_TIME("created_at"),
    END,
};

const neo_noun neo_noun_number = {
    "whatsapp_number", "id", number_fields, {"number", NEO_KIND_NUMBER_ID, 0, NULL, "the number's id"},
    .missing = MISSING("number", "whatsapp number"),
};

static const neo_noun_field lead_fields[] = {
    FILTERED_BY_ORGANIZATION,
    LISTED("name"),
    LISTED("phone"),
    LISTED("email"),
    LISTED("party_id"),
    LISTED_TIME("created_at"),
    END,
};

const neo_noun neo_noun_lead = {
    "lead", "id", lead_fields, {"lead", NEO_KIND_LEAD_ID, 0, NULL, "the lead's id"},
    .missing = MISSING("lead", "lead"),
};

static const neo_noun_field portal_fields[] = {
    LISTED("tenant_id"),
    ORGANIZATION("the organization whose leads the portal posts"),
    {{"portal", NEO_KIND_PORTAL_FORMAT, NEO_USE_ARGUMENT, NULL, "the format of its leads"}, "portal", NULL, NULL},
    LISTED_TIME("created_at"),
    END,
};

const neo_noun neo_noun_portal = {
    "lead_portal", "id", portal_fields, {"portal", NEO_KIND_PORTAL_ID, 0, NULL, "the portal's id"},
    .missing = MISSING("portal", "portal"), .parent = "organization_id", .parent_noun = &neo_noun_organization,
};

static const neo_noun_field rejected_fields[] = {
    FILTERED_BY_ORGANIZATION,
    LISTED("portal_id"),
    LISTED("reason"),
    LISTED("times"),
    LISTED_TIME("received_at"),
    LISTED_TIME("last_received_at"),
    LISTED("body"),
    END,
};

const neo_noun neo_noun_rejected = {
    "lead_rejected", "id", rejected_fields, {"rejected", NEO_KIND_REJECTED_ID, 0, NULL, "the rejected lead's id"},
    .missing = "no such rejected lead; see: neoapictl lead rejected",
};

static const neo_noun_field host_fields[] = {
    LISTED("name"),
    LISTED("version"),
    LISTED_TIME("seen_at"),
    LISTED("clock_ahead_ms"),
    LISTED("delivers"),
    LISTED("requests"),
    LISTED("attempts"),
    LISTED_TIME("drained_at"),
    END,
};

const neo_noun neo_noun_host = {
    "host", "name", host_fields, {"host", NEO_KIND_NAME, 0, NULL, "the host's name"},
    .missing = MISSING("host", "host"),
};

/* clang-format on */
