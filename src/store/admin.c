/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, creates and revokes what neoapictl administers: tenants, users, plans, credentials (see store/admin.h). */
#include "admin_exec.h"

#include <apr_strings.h>
#include <string.h>

#include "core/encode.h"
#include "sql/admin.h"

/* The error messages of violated constraints. */
static const struct {
    const char *constraint;
    const char *message;
} constraints[] = {
    {"plan_pkey", "a plan with this name already exists; see: neoapictl plan list"},
    {"plan_name_check", "a plan's name must be 1 to 40 lowercase letters, digits, hyphens and underscores"},
    {"plan_requests_check", "a plan must allow at least 1 request"},
    {"plan_window_seconds_check", "a plan's window must be 1 to 86400 seconds"},
    {"tenant_plan_fkey", "no such plan; see: neoapictl plan list"},
    {"tenant_pkey", "a tenant with this id already exists; see: neoapictl tenant list"},
    {"organization_pkey", "an organization with this id already exists; see: neoapictl organization list"},
    {"tenant_name_check", "a name must be 1 to 200 characters"},
    {"organization_name_check", "a name must be 1 to 200 characters"},
    {"organization_tenant_id_fkey", "no such tenant; see: neoapictl tenant list"},
    {"app_user_tenant_id_fkey", "no such tenant; see: neoapictl tenant list"},
    {"app_user_email_key", "the tenant already has a user with this e-mail address; see: neoapictl user list"},
    {"app_user_email_check", "an e-mail address must be 3 to 254 characters"},
    {"app_user_name_check", "a name must be 1 to 200 characters"},
    {"app_user_role_check", "no such role"},
    {"credential_name_check", "a name must be 1 to 200 characters"},
    {"credential_role_check", "no such role"},
    {"token_organization_pkey", "an organization is named twice"},
    {"token_organization_tenant_id_organization_id_fkey",
     "an organization does not exist or is not of the user's tenant; see: neoapictl organization list"},
    {"whatsapp_number_organization_id_fkey", "no such organization; see: neoapictl organization list"},
    {"whatsapp_number_phone_number_id_key",
     "a number with this phone_number_id already exists; see: neoapictl whatsapp number list"},
    {"whatsapp_number_phone_number_id_check", "a phone_number_id must be 5 to 20 digits"},
    {"whatsapp_number_waba_id_check", "an account's id must be 5 to 20 digits"},
    {"whatsapp_number_display_phone_number_check", "a display number must be 1 to 200 characters"},
};

static const char *message_of(neo_pg_status status, const neo_rows *rows)
{
    for (apr_size_t i = 0; rows->constraint && i < sizeof constraints / sizeof *constraints; i++)
        if (strcmp(constraints[i].constraint, rows->constraint) == 0)
            return constraints[i].message;
    switch (status) {
    case NEO_PG_OK: return NULL;
    case NEO_PG_UNIQUE_VIOLATION: return "the row exists already";
    case NEO_PG_FK_VIOLATION: return "a row that it refers to does not exist";
    default: return rows->message;
    }
}

const char *neo_admin_exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool, neo_rows *rows)
{
    return message_of(neo_pg_exec(pg, sql, params, values, pool, rows), rows);
}

const char *neo_admin_exec_on_one(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                                  const char *missing)
{
    neo_rows rows;
    const char *wrong = neo_admin_exec(pg, sql, params, values, pool, &rows);
    return wrong || rows.count ? wrong : missing;
}

const char *neo_admin_missing(neo_admin_listing what)
{
    static const char *const messages[NEO_ADMIN_LISTINGS] = {
        [NEO_ADMIN_TENANTS] = "no such tenant; see: neoapictl tenant list",
        [NEO_ADMIN_ORGANIZATIONS] = "no such organization; see: neoapictl organization list",
        [NEO_ADMIN_USERS] = "no such user; see: neoapictl user list",
        [NEO_ADMIN_PLANS] = "no such plan; see: neoapictl plan list",
        [NEO_ADMIN_KEYS] = "no such key; see: neoapictl key list",
        [NEO_ADMIN_NUMBERS] = "no such number; see: neoapictl whatsapp number list",
        [NEO_ADMIN_LEADS] = "no such lead; see: neoapictl lead list",
        [NEO_ADMIN_TOKENS] = "no such token; see: neoapictl token list",
        [NEO_ADMIN_WEBHOOKS] = "no such subscription; see: neoapictl webhook list",
    };
    return messages[what];
}

static const char *const listings[NEO_ADMIN_LISTINGS] = {
    [NEO_ADMIN_TENANTS] = tenants_sql,   [NEO_ADMIN_ORGANIZATIONS] = organizations_sql,
    [NEO_ADMIN_USERS] = users_sql,       [NEO_ADMIN_PLANS] = plans_sql,
    [NEO_ADMIN_KEYS] = keys_sql,         [NEO_ADMIN_TOKENS] = tokens_sql,
    [NEO_ADMIN_WEBHOOKS] = webhooks_sql, [NEO_ADMIN_NUMBERS] = numbers_sql,
    [NEO_ADMIN_LEADS] = leads_sql,
};

const char *neo_admin_list(neo_pg *pg, neo_admin_listing listing, const char *of, apr_pool_t *pool, neo_json **list)
{
    neo_rows rows;
    const char *values[] = {of};
    const char *sql = apr_pstrcat(pool, "select coalesce(json_agg(l), '[]') from (", listings[listing], ") l", NULL);
    const char *wrong = neo_admin_exec(pg, sql, 1, values, pool, &rows);
    if (!wrong)
        *list = neo_json_parse(neo_rows_text(&rows, 0, 0), pool, &wrong);
    return wrong;
}

/* The requested id, or a new one. */
static void choose_id(char id[NEO_ID_SIZE], const char *prefix, const char *wanted)
{
    if (wanted)
        apr_cpystrn(id, wanted, NEO_ID_SIZE);
    else
        neo_id_issue(id, prefix);
}

const char *neo_admin_create_tenant(neo_pg *pg, const char *name, const char *plan, const char *wanted, apr_pool_t *pool,
                                    char id[NEO_ID_SIZE])
{
    neo_rows rows;
    const char *values[] = {id, name, plan ? plan : "default"};
    choose_id(id, "tnt_", wanted);
    return neo_admin_exec(pg, "insert into neoapi.tenant (id, name, plan) values ($1, $2, $3)", 3, values, pool, &rows);
}

const char *neo_admin_create_organization(neo_pg *pg, const char *tenant, const char *name, const char *wanted,
                                          apr_pool_t *pool, char id[NEO_ID_SIZE])
{
    neo_rows rows;
    const char *values[] = {id, tenant, name};
    choose_id(id, "org_", wanted);
    return neo_admin_exec(pg, "insert into neoapi.organization (id, tenant_id, name) values ($1, $2, $3)", 3, values, pool,
                          &rows);
}

const char *neo_admin_create_user(neo_pg *pg, const char *tenant, const char *email, const char *role, const char *name,
                                  apr_pool_t *pool, char id[NEO_ID_SIZE])
{
    neo_rows rows;
    const char *values[] = {id, tenant, email, name, role};
    neo_id_issue(id, "usr_");
    return neo_admin_exec(pg, "insert into neoapi.app_user (id, tenant_id, email, name, role) values ($1, $2, $3, $4, $5)", 5,
                          values, pool, &rows);
}

const char *neo_admin_create_plan(neo_pg *pg, const neo_new_plan *plan, apr_pool_t *pool)
{
    neo_rows rows;
    const char *values[] = {plan->name,
                            plan->requests,
                            plan->seconds,
                            plan->subscriptions,
                            plan->concurrent_requests,
                            plan->idempotency_bytes,
                            plan->deliveries_per_hour};
    return neo_admin_exec(pg,
                          "insert into neoapi.plan"
                          " (name, requests, window_seconds, subscriptions, concurrent_requests, idempotency_bytes,"
                          " deliveries_per_hour)"
                          " values ($1, $2, $3, nullif($4::text, 'unlimited')::int, nullif($5::text, 'unlimited')::int,"
                          " nullif($6::text, 'unlimited')::int, nullif($7::text, 'unlimited')::int)",
                          7, values, pool, &rows);
}

const char *neo_admin_hash_text(const unsigned char hash[NEO_SHA256_SIZE], apr_pool_t *pool)
{
    char *hex = apr_palloc(pool, 2 + 2 * NEO_SHA256_SIZE + 1);
    memcpy(hex, "\\x", 2);
    neo_hex(hash, NEO_SHA256_SIZE, hex + 2);
    return hex;
}

static const char *make_secret(const char *prefix, char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE], apr_pool_t *pool)
{
    unsigned char hash[NEO_SHA256_SIZE];
    neo_secret_make(secret, id, hash, prefix);
    return neo_admin_hash_text(hash, pool);
}

const char *neo_admin_create_key(neo_pg *pg, const char *organization, const char *role, neo_scopes scopes, const char *name,
                                 apr_pool_t *pool, char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE])
{
    neo_buf narrowed;
    neo_buf_init(&narrowed, pool, 256);
    neo_scopes_json(&narrowed, scopes);
    const char *hash = make_secret(NEO_KEY_PREFIX, id, secret, pool);
    const char *values[] = {id, organization, name, role, scopes ? narrowed.ptr : NULL, hash};
    return neo_admin_exec_on_one(pg, make_key_sql, 6, values, pool, neo_admin_missing(NEO_ADMIN_ORGANIZATIONS));
}

const char *neo_admin_create_token(neo_pg *pg, const char *user, const neo_json *organizations, const char *name,
                                   apr_pool_t *pool, char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE])
{
    const char *hash = make_secret(NEO_TOKEN_PREFIX, id, secret, pool);
    const char *values[] = {id, user, name, neo_json_text(organizations, pool).ptr, hash};
    return neo_admin_exec_on_one(pg, make_token_sql, 5, values, pool, neo_admin_missing(NEO_ADMIN_USERS));
}

const char *neo_admin_create_number(neo_pg *pg, const char *id, const neo_new_number *number, apr_pool_t *pool)
{
    neo_rows rows;
    const char *values[] = {number->organization,    id,
                            number->phone_number_id, number->waba_id,
                            number->display,         number->access_token,
                            number->app_secret,      number->verify_token_hash};
    return neo_admin_exec(pg, add_number_sql, 8, values, pool, &rows);
}

const char *neo_admin_change_number(neo_pg *pg, const char *id, const neo_new_number *number, apr_pool_t *pool)
{
    const char *values[] = {
        id, number->access_token, number->app_secret, number->verify_token_hash, number->waba_id, number->display};
    return neo_admin_exec_on_one(pg, update_number_sql, 6, values, pool, neo_admin_missing(NEO_ADMIN_NUMBERS));
}

const char *neo_admin_revoke(neo_pg *pg, const char *id, apr_pool_t *pool)
{
    const char *values[] = {id};
    return neo_admin_exec_on_one(
        pg, "update neoapi.credential set revoked_at = coalesce(revoked_at, now()) where id = $1 returning true", 1, values,
        pool, "no such key or token; see: neoapictl key list, neoapictl token list");
}
