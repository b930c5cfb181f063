/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and stores what the provider reports about an account (see whatsapp/account.h). */
#include "whatsapp/account.h"

#include "core/encode.h"
#include "core/json.h"
#include "whatsapp/account.sql.h"

neo_pg_status neo_whatsapp_usage(neo_pg *pg, const neo_actor *actor, const char *from, const char *to, apr_pool_t *pool,
                                 neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(usage, .organization = actor->organization, .from = from, .to = to), pool, rows);
}

/* ---------------------------------------------------------------- reports */

neo_pg_status neo_whatsapp_claim_reports(neo_pg *pg, const neo_actor *actor, const char *kind, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(claim, .organization = actor->organization, .kind = kind), pool, rows);
}

neo_pg_status neo_whatsapp_store_templates(neo_pg *pg, const neo_actor *actor, const char *account, const neo_json *templates,
                                           apr_pool_t *pool)
{
    neo_rows rows;
    char block[NEO_ID_BLOCK_SIZE];
    neo_id_issue_block(block, "wat_");
    return neo_pg_run(pg,
                      NEO_BIND(store_templates, .organization = actor->organization, .account = account,
                               .templates = neo_json_text(templates, pool).ptr, .block = block),
                      pool, &rows);
}

neo_pg_status neo_whatsapp_pause_templates(neo_pg *pg, const neo_actor *actor, const char *account, const char *claimed,
                                           const char *next_page, apr_pool_t *pool)
{
    neo_rows rows;
    return neo_pg_run(pg,
                      NEO_BIND(pause_templates, .organization = actor->organization, .account = account, .claimed = claimed,
                               .next_page = next_page),
                      pool, &rows);
}

neo_pg_status neo_whatsapp_finish_templates(neo_pg *pg, const neo_actor *actor, const char *account, const char *claimed,
                                            apr_pool_t *pool)
{
    neo_rows rows;
    return neo_pg_run(pg,
                      NEO_BIND(finish_templates, .organization = actor->organization, .account = account, .claimed = claimed),
                      pool, &rows);
}

neo_pg_status neo_whatsapp_store_numbers(neo_pg *pg, const neo_actor *actor, const char *account, const neo_json *numbers,
                                         const char *claimed, apr_pool_t *pool)
{
    neo_rows rows;
    return neo_pg_run(pg,
                      NEO_BIND(store_numbers, .organization = actor->organization, .account = account,
                               .numbers = neo_json_text(numbers, pool).ptr, .claimed = claimed),
                      pool, &rows);
}

/* ---------------------------------------------------------------- reading */

neo_pg_status neo_whatsapp_list_templates(neo_pg *pg, const neo_actor *actor, const neo_selection *selection, apr_pool_t *pool,
                                          neo_rows *rows)
{
    static const neo_listed listed = {
        .answer = "'{\"id\":\"' || t.id || '\",\"account_id\":\"' || t.waba_id || '\",\"name\":' || to_json(t.name) || "
                  "',\"language\":' || to_json(t.language) || ',\"category\":' || to_json(t.category) || ',\"status\":' || "
                  "to_json(t.status) || ',\"reported_at\":\"' || neoapi.format_timestamp(t.read_at) || '\"' || "
                  "case t.definition::text when '{}' then '}' else ',' || substr(t.definition::text, 2) end",
        .from = "neoapi.whatsapp_template t where t.organization_id = $1 and t.definition is not null and exists (select from "
                "neoapi.whatsapp_number n where n.organization_id = t.organization_id and n.waba_id = t.waba_id)",
        .prefix = "wat_"};
    return neo_page_run(pg, &listed, &actor->organization, 1, selection, pool, rows);
}

neo_pg_status neo_whatsapp_list_numbers(neo_pg *pg, const neo_actor *actor, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(numbers, .organization = actor->organization), pool, rows);
}

neo_pg_status neo_whatsapp_find_template(neo_pg *pg, const neo_actor *actor, const neo_conversation_start *start,
                                         apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg,
                      NEO_BIND(find_template, .organization = actor->organization, .lead = start->lead, .number = start->number,
                               .target = start->target, .template = neo_json_string_at(start->content, "template_name"),
                               .language = neo_json_string_at(start->content, "template_language")),
                      pool, rows);
}

neo_pg_status neo_whatsapp_apply_changes(neo_pg *pg, neo_text items, const char *const *numbers, apr_pool_t *pool)
{
    neo_rows rows;
    neo_buf ids;
    neo_buf_init(&ids, pool, 256);
    for (; *numbers; numbers++)
        neo_array_add_plain(&ids, *numbers);
    return neo_pg_run(pg, NEO_BIND(apply_changes, .items = items.ptr, .numbers = neo_array_end(&ids)), pool, &rows);
}
