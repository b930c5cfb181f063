/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that an administrator creates: tenants, organizations, users, plans and credentials. Permissions are PostgreSQL's;
 * values are checked by the schema's constraints.
 *
 * Every function returns NULL, or an error message for people; then nothing was changed. New ids are written to `id`. Triggers
 * of the schema notify the processes that cache credentials. */
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
    NEO_ADMIN_WEBHOOKS, /* of the organization `of`, or all; so are the next two */
    NEO_ADMIN_NUMBERS,
    NEO_ADMIN_LEADS,
    NEO_ADMIN_LISTINGS
} neo_admin_listing;

/* Sets *list to a JSON array of objects, oldest first. `of` is NULL for all, and if the listing has none. */
const char *neo_admin_list(neo_pg *pg, neo_admin_listing listing, const char *of, apr_pool_t *pool, neo_json **list);

/* `plan` NULL is the default plan. `wanted` is the id that the tenant had in another deployment, NULL for a new one. */
const char *neo_admin_create_tenant(neo_pg *pg, const char *name, const char *plan, const char *wanted, apr_pool_t *pool,
                                    char id[NEO_ID_SIZE]);
const char *neo_admin_create_organization(neo_pg *pg, const char *tenant, const char *name, const char *wanted,
                                          apr_pool_t *pool, char id[NEO_ID_SIZE]);
const char *neo_admin_create_user(neo_pg *pg, const char *tenant, const char *email, const char *role, const char *name,
                                  apr_pool_t *pool, char id[NEO_ID_SIZE]);

/* A limit of `requests` in each window of `seconds`, and limits of each organization: numbers or "unlimited". */
typedef struct neo_new_plan {
    const char *name, *requests, *seconds, *subscriptions, *concurrent_requests, *idempotency_bytes, *deliveries_per_hour;
} neo_new_plan;
const char *neo_admin_create_plan(neo_pg *pg, const neo_new_plan *plan, apr_pool_t *pool);

/* A new API key; `scopes` 0: all of the role's. */
const char *neo_admin_create_key(neo_pg *pg, const char *organization, const char *role, neo_scopes scopes, const char *name,
                                 apr_pool_t *pool, char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE]);

/* A new personal access token; `organizations` is a JSON array of ids, in the order of display. */
const char *neo_admin_create_token(neo_pg *pg, const char *user, const neo_json *organizations, const char *name,
                                   apr_pool_t *pool, char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE]);

/* A new secret for a key or token that is not revoked; the current one stays valid for `seconds`. If the one before that is
 * still valid, it would end: that is refused unless `seconds` is 0 or `ends_previous`. */
const char *neo_admin_rotate(neo_pg *pg, const char *id, const char *seconds, int ends_previous, apr_pool_t *pool,
                             char secret[NEO_SECRET_SIZE]);

/* A WhatsApp number of an organization. Secrets are sealed for the number's id. */
typedef struct neo_new_number {
    const char *organization;
    const char *phone_number_id, *waba_id, *display;
    const char *access_token, *app_secret; /* sealed */
    const char *verify_token_hash;         /* hexadecimal */
} neo_new_number;
const char *neo_admin_create_number(neo_pg *pg, const char *id, const neo_new_number *number, apr_pool_t *pool);
/* Changes what is not NULL; organization and phone_number_id are ignored. */
const char *neo_admin_change_number(neo_pg *pg, const char *id, const neo_new_number *number, apr_pool_t *pool);

/* Revokes a key or token; if it is revoked already, revoked_at does not change. */
const char *neo_admin_revoke(neo_pg *pg, const char *id, apr_pool_t *pool);

/* A new value: of a tenant's name or plan, an organization's name, a user's name, email or role, a plan's requests or window
 * (seconds), a key's name, role or scopes (a JSON array; "null": all of the role's), a token's name or organizations (a JSON
 * array of ids, in the order of display). */
typedef struct neo_admin_setting {
    const char *name;
    const char *value;
} neo_admin_setting;

/* Changes one row: all settings or none. A plan's `id` is its name. */
const char *neo_admin_change(neo_pg *pg, neo_admin_listing what, const char *id, const neo_admin_setting *settings, int count,
                             apr_pool_t *pool);

/* Removes one row, unless others depend on it: the error message names them. The conversations of a number or a lead can be
 * removed with it. */
const char *neo_admin_remove(neo_pg *pg, neo_admin_listing what, const char *id, int with_conversations, apr_pool_t *pool);

#endif
