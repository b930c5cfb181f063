/* The rows that an administrator makes: tenants, organizations, users, plans and credentials. SQL alone; who may run it is
 * PostgreSQL's to say, and what the values must look like is the schema's.
 *
 * Every function returns NULL, or a sentence for people that says why nothing was done. Ids that are made are written to `id`.
 * Every process that serves requests is told of each change by triggers of the schema. */
#ifndef NEO_STORE_ADMIN_H
#define NEO_STORE_ADMIN_H

#include "core/secret.h"
#include "model/scope.h"
#include "store/pg.h"

typedef enum neo_admin_listing {
    NEO_ADMIN_TENANTS,
    NEO_ADMIN_ORGANIZATIONS, /* of the tenant `of`, or all */
    NEO_ADMIN_USERS,         /* of the tenant `of`, or all */
    NEO_ADMIN_PLANS,
    NEO_ADMIN_KEYS,     /* of the organization `of`, or all */
    NEO_ADMIN_TOKENS,   /* of the user `of`, or all */
    NEO_ADMIN_WEBHOOKS, /* these three of the organization `of`, or all: subscriptions, */
    NEO_ADMIN_NUMBERS,  /* numbers for WhatsApp, */
    NEO_ADMIN_LEADS,    /* leads */
    NEO_ADMIN_LISTINGS
} neo_admin_listing;

/* Sets *list to a JSON array of objects, oldest first. `of` narrows it where the listing says so; NULL elsewhere. */
const char *neo_admin_list(neo_pg *pg, neo_admin_listing listing, const char *of, apr_pool_t *pool, neo_json **list);

/* `plan` NULL is the default plan. `wanted` is the id that it had elsewhere, NULL for a new one. */
const char *neo_admin_add_tenant(neo_pg *pg, const char *name, const char *plan, const char *wanted, apr_pool_t *pool,
                                 char id[NEO_ID_SIZE]);
const char *neo_admin_set_plan(neo_pg *pg, const char *tenant, const char *plan, apr_pool_t *pool);
const char *neo_admin_add_organization(neo_pg *pg, const char *tenant, const char *name, const char *wanted, apr_pool_t *pool,
                                       char id[NEO_ID_SIZE]);
const char *neo_admin_add_user(neo_pg *pg, const char *tenant, const char *email, const char *role, const char *name,
                               apr_pool_t *pool, char id[NEO_ID_SIZE]);
/* `requests` in each window of `seconds`. */
const char *neo_admin_add_plan(neo_pg *pg, const char *name, const char *requests, const char *seconds, apr_pool_t *pool);

/* A new API key; `scopes` 0 gives it all that its role has. */
const char *neo_admin_make_key(neo_pg *pg, const char *organization, const char *role, neo_scopes scopes, const char *name,
                               apr_pool_t *pool, char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE]);

/* A new personal access token; `organizations` is a JSON array of ids, in the order in which they are to be shown. */
const char *neo_admin_make_token(neo_pg *pg, const char *user, const neo_json *organizations, const char *name,
                                 apr_pool_t *pool, char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE]);

/* A new secret for a credential of either kind that is not revoked; the one before it is good for so many seconds more. One
 * before that which still is good ends: that is refused, unless `seconds` are 0 or `ends_previous`. */
const char *neo_admin_rotate(neo_pg *pg, const char *id, const char *seconds, int ends_previous, apr_pool_t *pool,
                             char secret[NEO_SECRET_SIZE]);

/* A number that an organization writes from over WhatsApp, as its provider knows it. Secrets are sealed for the number's id. */
typedef struct neo_new_number {
    const char *organization;
    const char *phone_number_id, *waba_id, *display;
    const char *access_token, *app_secret; /* sealed */
    const char *verify_token_hash;         /* hexadecimal */
} neo_new_number;
const char *neo_admin_add_number(neo_pg *pg, const char *id, const neo_new_number *number, apr_pool_t *pool);
/* New secrets of a number, another account, another way to write it; what is NULL stays. Organization and phone_number_id are
 * not looked at. */
const char *neo_admin_update_number(neo_pg *pg, const char *id, const neo_new_number *number, apr_pool_t *pool);

/* Ends a credential of either kind for good; one that has been revoked before keeps its first moment. */
const char *neo_admin_revoke(neo_pg *pg, const char *id, apr_pool_t *pool);

/* What is to be different about a row: of a tenant name and plan, of an organization name, of a user name, email and role, of a
 * plan requests and window (seconds), of a key name, role and scopes (a JSON array; "null": all of the role's), of a token name
 * and organizations (a JSON array of ids, in their order). */
typedef struct neo_admin_setting {
    const char *name;
    const char *value;
} neo_admin_setting;

/* Changes one row, all settings at once or none. `id` is the name of a plan. */
const char *neo_admin_change(neo_pg *pg, neo_admin_listing what, const char *id, const neo_admin_setting *settings, int count,
                             apr_pool_t *pool);

/* Removes one row, unless something depends on it: then the sentence says what. Of a number or a lead the conversations can go
 * along, with what was said in them. */
const char *neo_admin_remove(neo_pg *pg, neo_admin_listing what, const char *id, int with_conversations, apr_pool_t *pool);

#endif
