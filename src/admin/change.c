/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, changes and removes what neoapictl administers (see admin/noun.h). */
#include <apr_strings.h>
#include <string.h>

#include "admin/change.sql.h"
#include "admin/noun.h"
#include "core/encode.h"
#include "schema/resource.h"

/* ---------------------------------------------------------------- creating */

/* Whether the setting is the list of a token's organizations, which are rows of another table. */
static int is_organization_list(const neo_noun *noun, const neo_admin_setting *setting)
{
    return noun == &neo_noun_token && strcmp(setting->column, "allowed_organization_ids") == 0;
}

static const char *set_organizations(neo_pg *pg, const neo_noun *noun, const char *id, const apr_array_header_t *settings,
                                     apr_pool_t *pool)
{
    neo_rows rows;
    const char *error = NULL;
    for (int i = 0; i < settings->nelts && !error; i++)
        if (is_organization_list(noun, &APR_ARRAY_IDX(settings, i, neo_admin_setting))) {
            const char *values[] = {id, APR_ARRAY_IDX(settings, i, neo_admin_setting).value};
            error =
                neo_admin_exec(pg, "delete from neoapi.token_organization where credential_id = $1", 1, values, pool, &rows);
            if (!error)
                error = neo_admin_exec(pg, set_organizations_sql, 2, values, pool, &rows);
        }
    return error;
}

const char *neo_admin_create(neo_pg *pg, const neo_noun *noun, const apr_array_header_t *settings, apr_pool_t *pool)
{
    const char **values = apr_palloc(pool, (apr_size_t)settings->nelts * sizeof *values), *id = NULL, *from = "", *error;
    int used = 0;
    neo_buf columns, parameters;
    neo_buf_init(&columns, pool, 128);
    neo_buf_init(&parameters, pool, 128);
    for (int i = 0; i < settings->nelts; i++) {
        const neo_admin_setting *s = &APR_ARRAY_IDX(settings, i, neo_admin_setting);
        if (is_organization_list(noun, s))
            continue;
        values[used++] = s->value;
        neo_buf_printf(&columns, "%s%s", used > 1 ? ", " : "", s->column);
        neo_buf_printf(&parameters, "%s$%d", used > 1 ? ", " : "", used);
        if (strcmp(s->column, noun->key) == 0)
            id = s->value;
        if (noun->parent && strcmp(s->column, noun->parent) == 0)
            from = apr_psprintf(pool, ", p.tenant_id from neoapi.%s p where p.id = $%d", noun->parent_noun->table, used);
    }
    error = neo_admin_exec_on_one(pg,
                                  apr_psprintf(pool, "insert into neoapi.%s (%s%s) select %s%s returning true", noun->table,
                                               columns.ptr, noun->parent ? ", tenant_id" : "", parameters.ptr, from),
                                  used, values, pool, noun->parent ? noun->parent_noun->missing : NULL);
    return error ? error : set_organizations(pg, noun, id, settings, pool);
}

const char *neo_admin_hash_text(const unsigned char hash[NEO_SHA256_SIZE], apr_pool_t *pool)
{
    char *hex = apr_palloc(pool, 2 + 2 * NEO_SHA256_SIZE + 1);
    memcpy(hex, "\\x", 2);
    neo_hex(hash, NEO_SHA256_SIZE, hex + 2);
    return hex;
}

const char *neo_admin_create_credential(neo_pg *pg, const neo_noun *noun, apr_array_header_t *settings, apr_pool_t *pool,
                                        char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE])
{
    unsigned char hash[NEO_SHA256_SIZE];
    neo_secret_make(secret, id, hash,
                    noun == &neo_noun_key    ? NEO_KEY_PREFIX
                    : noun == &neo_noun_feed ? NEO_FEED_PREFIX
                                             : NEO_TOKEN_PREFIX);
    neo_admin_set(settings, "id", id);
    neo_admin_set(settings, "secret_hash", neo_admin_hash_text(hash, pool));
    return neo_admin_create(pg, noun, settings, pool);
}

/* ---------------------------------------------------------------- changing */

static const char *apply_settings(neo_pg *pg, const neo_noun *noun, const char *id, const apr_array_header_t *settings,
                                  apr_pool_t *pool)
{
    const char **values = apr_palloc(pool, (apr_size_t)(settings->nelts + 1) * sizeof *values), *error;
    int used = 1;
    neo_buf sql;
    neo_buf_init(&sql, pool, 256);
    neo_buf_printf(&sql, "update neoapi.%s set %s = %s", noun->table, noun->key, noun->key);
    values[0] = id;
    for (int i = 0; i < settings->nelts; i++) {
        const neo_admin_setting *s = &APR_ARRAY_IDX(settings, i, neo_admin_setting);
        if (!is_organization_list(noun, s)) {
            values[used++] = s->value;
            neo_buf_printf(&sql, ", %s = $%d", s->column, used);
        }
    }
    neo_buf_printf(&sql, " where %s = $1%s returning true", noun->key, noun->condition ? noun->condition : "");
    error = neo_admin_exec_on_one(pg, sql.ptr, used, values, pool, noun->missing);
    return error ? error : set_organizations(pg, noun, id, settings, pool);
}

/* Commits, or rolls back after an error. */
static const char *end_transaction(neo_pg *pg, const char *error, apr_pool_t *pool)
{
    neo_rows rows;
    const char *at_end = neo_admin_exec(pg, error ? "rollback" : "commit", 0, NULL, pool, &rows);
    return error ? error : at_end;
}

const char *neo_admin_change(neo_pg *pg, const neo_noun *noun, const char *id, const apr_array_header_t *settings,
                             apr_pool_t *pool)
{
    neo_rows rows;
    const char *error = neo_admin_exec(pg, "begin", 0, NULL, pool, &rows);
    return error ? error : end_transaction(pg, apply_settings(pg, noun, id, settings, pool), pool);
}

/* Why a credential was not rotated. */
static const char *explain_rotation(neo_pg *pg, const char *id, apr_pool_t *pool)
{
    neo_rows rows;
    const char *values[] = {id};
    const char *error = neo_admin_exec(pg,
                                       "select revoked_at is not null, neoapi.format_timestamp(previous_secret_until)"
                                       " from neoapi.credential where id = $1",
                                       1, values, pool, &rows);
    if (error)
        return error;
    if (!rows.count)
        return strncmp(id, NEO_KEY_PREFIX, NEO_PREFIX_LEN) == 0 ? neo_noun_key.missing : neo_noun_token.missing;
    if (neo_rows_is_true(&rows, 0, 0))
        return "it is revoked, which cannot be undone; create another one";
    return apr_psprintf(pool,
                        "the previous secret is valid until %s and would end now; wait until then, or end it with "
                        "--end-previous (both with --grace 0)",
                        neo_rows_value(&rows, 0, 1));
}

const char *neo_admin_rotate(neo_pg *pg, const char *id, const char *seconds, int ends_previous, apr_pool_t *pool,
                             char secret[NEO_SECRET_SIZE])
{
    unsigned char hash[NEO_SHA256_SIZE];
    neo_rows rows;
    neo_secret_renew(secret, id, hash);
    const char *values[] = {id, neo_admin_hash_text(hash, pool), seconds, ends_previous ? "true" : "false"};
    const char *error = neo_admin_exec(pg, rotate_sql, 4, values, pool, &rows);
    return error || rows.count ? error : explain_rotation(pg, id, pool);
}

/* ---------------------------------------------------------------- removing */

/* Rows that depend on another one: their names, and the statement that counts them ($1 is the other one). */
static const struct {
    const neo_noun *noun;
    const char *one, *several, *sql;
} dependents[] = {
    {&neo_noun_plan, "tenant", "tenants", "select count(*) from neoapi.tenant where plan = $1"},
    {&neo_noun_tenant, "organization", "organizations", "select count(*) from neoapi.organization where tenant_id = $1"},
    {&neo_noun_tenant, "user", "users", "select count(*) from neoapi.app_user where tenant_id = $1"},
    {&neo_noun_organization, "API key that works", "API keys that work",
     "select count(*) from neoapi.credential where organization_id = $1 and revoked_at is null"},
    {&neo_noun_organization, "token that reaches it", "tokens that reach it",
     "select count(*) from neoapi.token_organization o join neoapi.credential c on c.id = o.credential_id"
     " where o.organization_id = $1 and c.revoked_at is null"},
    {&neo_noun_organization, "feed of listings that works", "feeds of listings that work",
     "select count(*) from neoapi.listing_feed where organization_id = $1 and revoked_at is null"},
    {&neo_noun_organization, "WhatsApp number", "WhatsApp numbers",
     "select count(*) from neoapi.whatsapp_number where organization_id = $1"},
    {&neo_noun_organization, "portal", "portals", "select count(*) from neoapi.lead_portal where organization_id = $1"},
    {&neo_noun_organization, "WhatsApp opt-out", "WhatsApp opt-outs",
     "select count(*) from neoapi.whatsapp_opt_out where organization_id = $1"},
    {&neo_noun_organization, "record that the law keeps", "records that the law keeps",
     "select count(*) from neoapi.restricted_record where organization_id = $1"},
    {&neo_noun_organization, "erasure in progress", "erasures in progress",
     "select count(*) from neoapi.erasure where organization_id = $1 and completed_at is null"},
    {&neo_noun_user, "token that works", "tokens that work",
     "select count(*) from neoapi.credential where user_id = $1 and revoked_at is null"},
    {&neo_noun_number, "conversation", "conversations",
     "select count(*) from neoapi.whatsapp_conversation where number_id = $1"},
    {&neo_noun_lead, "conversation", "conversations", "select count(*) from neoapi.whatsapp_conversation where lead_id = $1"},
};

static void add_reason(neo_buf *reasons, const char *count, const char *one, const char *several)
{
    if (strcmp(count, "0") != 0)
        neo_buf_printf(reasons, "%s%s %s", reasons->len ? ", " : "", count, strcmp(count, "1") == 0 ? one : several);
}

static const char *count_rows(neo_pg *pg, const char *sql, const char *id, apr_pool_t *pool, const char **number)
{
    neo_rows rows;
    const char *values[] = {id};
    const char *error = neo_admin_exec(pg, sql, 1, values, pool, &rows);
    if (!error)
        *number = neo_rows_value(&rows, 0, 0);
    return error;
}

/* The resources of an organization. */
static const char *count_resources(neo_pg *pg, const char *id, neo_buf *reasons, apr_pool_t *pool)
{
    const char *error = NULL, *number = "0";
    for (const neo_resource *const *r = neo_resources; *r && !error; r++) {
        const char *sql = apr_psprintf(pool, "select count(*) from neoapi.%s where organization_id = $1", neo_table_name(*r));
        if (!(error = count_rows(pg, sql, id, pool, &number)))
            add_reason(reasons, number, (*r)->name, (*r)->collection);
    }
    return error;
}

/* Why a row cannot be removed; NULL if it can. */
static const char *find_obstacle(neo_pg *pg, const neo_noun *noun, const char *id, apr_pool_t *pool)
{
    const char *error = NULL, *number = "0";
    neo_buf reasons;
    neo_buf_init(&reasons, pool, 128);
    if (noun == &neo_noun_plan && strcmp(id, "default") == 0)
        return "the default plan cannot be removed, because new tenants get it; it can be changed";
    for (apr_size_t i = 0; i < sizeof dependents / sizeof *dependents && !error; i++)
        if (dependents[i].noun == noun && !(error = count_rows(pg, dependents[i].sql, id, pool, &number)))
            add_reason(&reasons, number, dependents[i].one, dependents[i].several);
    if (!error && noun == &neo_noun_organization)
        error = count_resources(pg, id, &reasons, pool);
    if (error || !reasons.len)
        return error;
    return apr_psprintf(pool, "it still has %s; %s", reasons.ptr,
                        noun == &neo_noun_plan   ? "give them another plan first with: neoapictl tenant change"
                        : noun == &neo_noun_user ? "revoke them first with: neoapictl token revoke"
                        : noun == &neo_noun_number || noun == &neo_noun_lead
                            ? "with --with-conversations they are removed, too, with their messages and opt-outs"
                            : "remove them first, or remove everything with: neoapictl purge");
}

/* The statements that remove what belongs to a row ($1). */
static const struct {
    const neo_noun *noun;
    const char *sql;
} belongings[] = {
    {&neo_noun_user, "delete from neoapi.credential where user_id = $1"},
    {&neo_noun_organization, "delete from neoapi.credential where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.token_organization where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.listing_feed where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.lead_rejected where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.lead_origin where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.idempotency_key where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.imported_id where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.webhook_attempt where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.webhook_delivery where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.event where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.whatsapp_template where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.whatsapp_usage where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.retention_rule where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.erasure where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.whatsapp_erased_opt_out where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.privacy_key where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.credential_usage where organization_id = $1"},
    {&neo_noun_organization, "delete from neoapi.whatsapp_report where organization_id = $1"},
    {&neo_noun_lead, forget_lead_sql},
};

/* Removes the conversations of a number or with a lead, with their messages. A lead's opt-outs are removed, too; a number's are
 * kept. The caller has locked the number or lead. */
static const char *remove_conversations(neo_pg *pg, const char *id, apr_pool_t *pool)
{
    static const char *const steps[] = {
        remove_opt_outs_sql,
        "select from neoapi.whatsapp_conversation where number_id = $1 or lead_id = $1 order by organization_id, id for update",
        "delete from neoapi.whatsapp_status s using neoapi.whatsapp_message m, neoapi.whatsapp_conversation c"
        " where (c.number_id = $1 or c.lead_id = $1) and m.organization_id = c.organization_id and m.conversation_id = c.id"
        " and s.organization_id = m.organization_id and s.provider_message_id = m.provider_message_id",
        ("delete from neoapi.whatsapp_message m using neoapi.whatsapp_conversation c where (c.number_id = $1 or c.lead_id = $1)"
         " and m.organization_id = c.organization_id and m.conversation_id = c.id"),
        "delete from neoapi.whatsapp_conversation where number_id = $1 or lead_id = $1",
    };
    neo_rows rows;
    const char *error = NULL;
    for (apr_size_t i = 0; i < sizeof steps / sizeof *steps && !error; i++)
        error = neo_admin_exec(pg, steps[i], 1, &id, pool, &rows);
    return error;
}

static const char *remove_row(neo_pg *pg, const neo_noun *noun, const char *id, int with_conversations, apr_pool_t *pool)
{
    neo_rows rows;
    const char *values[] = {id}, *clause = apr_psprintf(pool, "from neoapi.%s where %s = $1%s", noun->table, noun->key,
                                                        noun->condition ? noun->condition : "");
    const char *error =
        neo_admin_exec_on_one(pg, apr_psprintf(pool, "select true %s for update", clause), 1, values, pool, noun->missing);
    if (!error && with_conversations)
        error = remove_conversations(pg, id, pool);
    if (!error && (noun == &neo_noun_key || noun == &neo_noun_token || noun == &neo_noun_feed))
        error = neo_admin_exec_on_one(pg, apr_psprintf(pool, "select true %s and revoked_at is not null", clause), 1, values,
                                      pool, "it is not revoked; revoke it first");
    if (!error)
        error = find_obstacle(pg, noun, id, pool);
    for (apr_size_t i = 0; i < sizeof belongings / sizeof *belongings && !error; i++)
        if (belongings[i].noun == noun)
            error = neo_admin_exec(pg, belongings[i].sql, 1, values, pool, &rows);
    return error ? error : neo_admin_exec(pg, apr_psprintf(pool, "delete %s", clause), 1, values, pool, &rows);
}

const char *neo_admin_remove(neo_pg *pg, const neo_noun *noun, const char *id, int with_conversations, apr_pool_t *pool)
{
    neo_rows rows;
    const char *error = neo_admin_exec(pg, "begin", 0, NULL, pool, &rows);
    return error ? error : end_transaction(pg, remove_row(pg, noun, id, with_conversations, pool), pool);
}
