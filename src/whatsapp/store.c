/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the schema's functions for WhatsApp (see whatsapp/store.h). */
#include "whatsapp/store.h"

#include <apr_strings.h>

#include "core/encode.h"
#include "pg/pg.h"
#include "whatsapp/store.sql.h"

neo_pg_status neo_whatsapp_begin(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                 const neo_conversation_start *start, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg,
                      NEO_BIND(begin, NEO_IDEMPOTENCY_VALUES(actor, idempotency), .actor = actor->name,
                               .actor_type = start->actor_type, .lead = start->lead, .number = start->number,
                               .target = start->target, .content = neo_json_text(start->content, pool).ptr,
                               .conversation = start->conversation, .message = start->message),
                      pool, rows);
}

neo_pg_status neo_whatsapp_end(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency, const char *message,
                               const neo_conversation_result *result, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg,
                      NEO_BIND(end, .organization = actor->organization, .credential = actor->credential,
                               .key = idempotency ? idempotency->key : NULL, .message = message, .outcome = result->outcome,
                               .provider_id = result->provider_id, .wa_id = result->wa_id, .bsuid = result->bsuid,
                               .is_held = result->is_held ? "true" : "false",
                               .code = result->code >= 0 ? apr_itoa(pool, result->code) : NULL, .title = result->title,
                               .body = result->body, .is_start = result->is_start ? "true" : "false"),
                      pool, rows);
}

neo_pg_status neo_whatsapp_answer(neo_pg *pg, const neo_actor *actor, const char *message, int is_start, apr_pool_t *pool,
                                  neo_rows *rows)
{
    return neo_pg_run(
        pg, NEO_BIND(answer, .organization = actor->organization, .message = message, .is_start = is_start ? "true" : "false"),
        pool, rows);
}

neo_pg_status neo_whatsapp_list(neo_pg *pg, const neo_actor *actor, const neo_selection *selection, apr_pool_t *pool,
                                neo_rows *rows)
{
    static const neo_listed listed = {.answer = "neoapi.whatsapp_conversation_json(t)",
                                      .from = "neoapi.whatsapp_conversation t where t.organization_id = $1"
                                              " and not (t.is_provisional and t.opted_out_at is null)",
                                      .prefix = "wac_"};
    return neo_page_run(pg, &listed, &actor->organization, 1, selection, pool, rows);
}

neo_pg_status neo_whatsapp_read(neo_pg *pg, const neo_actor *actor, const char *id, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(read, .organization = actor->organization, .id = id), pool, rows);
}

neo_pg_status neo_whatsapp_change(neo_pg *pg, const neo_actor *actor, const char *id, const char *version,
                                  const neo_json *changes, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg,
                      NEO_BIND(change, .organization = actor->organization, .id = id, .version = version,
                               .changes = neo_json_text(changes, pool).ptr, .actor = actor->name, .request = actor->origin),
                      pool, rows);
}

neo_pg_status neo_whatsapp_merge_leads(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency, const char *id,
                                       const char *other, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg,
                      NEO_BIND(merge_leads, NEO_IDEMPOTENCY_VALUES(actor, idempotency), .id = id, .lead = other,
                               .actor = actor->name, .request = actor->origin),
                      pool, rows);
}

neo_pg_status neo_whatsapp_last_received(neo_pg *pg, const neo_actor *actor, const char *id, const char *up_to,
                                         apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(last_received, .organization = actor->organization, .id = id, .message = up_to), pool, rows);
}

neo_pg_status neo_whatsapp_mark_read(neo_pg *pg, const neo_actor *actor, const char *id, const neo_rows *received,
                                     apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg,
                      NEO_BIND(mark_read, .organization = actor->organization, .id = id,
                               .message = neo_rows_value(received, 0, NEO_RECEIVED_MESSAGE),
                               .seen = neo_rows_value(received, 0, NEO_RECEIVED_SEEN)),
                      pool, rows);
}

neo_pg_status neo_whatsapp_media(neo_pg *pg, const neo_actor *actor, const char *conversation, const char *message,
                                 apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(media, .organization = actor->organization, .id = conversation, .message = message), pool,
                      rows);
}

/* Edits and revocations have changed the message that they refer to, and are not messages. */
neo_pg_status neo_whatsapp_list_messages(neo_pg *pg, const neo_actor *actor, const char *conversation,
                                         const neo_selection *selection, apr_pool_t *pool, neo_rows *rows)
{
    static const neo_listed listed = {.answer = "neoapi.whatsapp_message_json(t)",
                                      .from = "neoapi.whatsapp_message t where t.organization_id = $1"
                                              " and t.conversation_id = $2 and t.refers_to is null",
                                      .prefix = "wam_"};
    const char *values[] = {actor->organization, conversation};
    return neo_page_run(pg, &listed, values, 2, selection, pool, rows);
}

static const char *format_array(const char *const *ids, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 256);
    for (; *ids; ids++)
        neo_array_add_plain(&out, *ids);
    return neo_array_end(&out);
}

neo_pg_status neo_whatsapp_numbers(neo_pg *pg, const char *const *ids, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(find_numbers, .ids = format_array(ids, pool)), pool, rows);
}

neo_pg_status neo_whatsapp_newest_numbers(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(newest_numbers), pool, rows);
}

neo_pg_status neo_whatsapp_verify(neo_pg *pg, const unsigned char hash[NEO_SHA256_SIZE], apr_pool_t *pool, neo_rows *rows)
{
    char hex[2 * NEO_SHA256_SIZE + 1];
    neo_hex(hash, NEO_SHA256_SIZE, hex);
    return neo_pg_run(pg, NEO_BIND(verify, .hash = hex), pool, rows);
}

neo_pg_status neo_whatsapp_receive(neo_pg *pg, neo_text items, const char *const *numbers, apr_pool_t *pool, neo_rows *rows)
{
    char conversations[NEO_ID_BLOCK_SIZE], messages[NEO_ID_BLOCK_SIZE];
    neo_id_issue_block(conversations, "wac_");
    neo_id_issue_block(messages, "wam_");
    return neo_pg_run(pg,
                      NEO_BIND(receive, .items = items.ptr, .numbers = format_array(numbers, pool),
                               .conversations = conversations, .messages = messages),
                      pool, rows);
}
