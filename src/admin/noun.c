/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and revokes what neoapictl administers: tenants, users, plans, credentials (see admin/noun.h). */
#include "admin/noun.h"

#include <apr_strings.h>
#include <stdarg.h>
#include <string.h>

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
    {"listing_feed_name_check", "a name must be 1 to 200 characters"},
    {"listing_feed_contact_name_check", "a name must be 1 to 200 characters"},
    {"listing_feed_contact_email_check", "an e-mail address must be 3 to 254 characters"},
    {"listing_feed_contact_phone_check", "a telephone number must be 1 to 200 characters"},
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

const char *neo_admin_exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool, neo_rows *rows)
{
    neo_pg_status status = neo_pg_exec(pg, sql, params, values, pool, rows);
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

const char *neo_admin_exec_on_one(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                                  const char *missing)
{
    neo_rows rows;
    const char *error = neo_admin_exec(pg, sql, params, values, pool, &rows);
    return error || rows.count ? error : missing;
}

void neo_admin_set(apr_array_header_t *settings, const char *column, const char *value)
{
    APR_ARRAY_PUSH(settings, neo_admin_setting) = (neo_admin_setting){column, value};
}

apr_array_header_t *neo_admin_settings(apr_pool_t *pool, ...)
{
    va_list args;
    apr_array_header_t *settings = apr_array_make(pool, 8, sizeof(neo_admin_setting));
    va_start(args, pool);
    for (const char *column; (column = va_arg(args, const char *));)
        neo_admin_set(settings, column, va_arg(args, const char *));
    va_end(args);
    return settings;
}

const char *neo_admin_list(neo_pg *pg, const neo_noun *noun, neo_admin_setting filter, apr_pool_t *pool, neo_json **list)
{
    neo_rows rows;
    neo_buf sql;
    neo_buf_init(&sql, pool, 512);
    neo_buf_printf(&sql, "select coalesce(json_agg(l), '[]') from (select t.%s", noun->key);
    for (const neo_noun_field *f = noun->fields; f->column; f++)
        if (f->parameter.kind != NEO_KIND_FLAG && strcmp(f->column, noun->key) != 0) {
            const char *value = f->listed ? f->listed : apr_pstrcat(pool, "t.", f->column, NULL);
            neo_buf_printf(&sql, f->parameter.kind == NEO_KIND_TIME ? ", neoapi.format_timestamp(%s) as %s" : ", %s as %s",
                           value, f->column);
        }
    neo_buf_printf(&sql, " from neoapi.%s t where true%s", noun->table, noun->condition ? noun->condition : "");
    if (filter.value)
        neo_buf_printf(&sql, " and t.%s = $1", filter.column);
    neo_buf_printf(&sql, " order by t.%s) l", noun->key);
    const char *error = neo_admin_exec(pg, sql.ptr, filter.value != NULL, &filter.value, pool, &rows);
    if (!error)
        *list = neo_json_parse(neo_rows_text(&rows, 0, 0), pool, &error);
    return error;
}

const char *neo_admin_revoke(neo_pg *pg, const neo_noun *noun, const char *id, apr_pool_t *pool)
{
    const char *sql = apr_psprintf(pool,
                                   "update neoapi.%s set revoked_at = coalesce(revoked_at, now()) where id = $1%s"
                                   " returning true",
                                   noun->table, noun->condition ? noun->condition : "");
    return neo_admin_exec_on_one(pg, sql, 1, &id, pool, noun->missing);
}
