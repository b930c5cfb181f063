/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the schema's functions for WhatsApp (see whatsapp/store.h). */
#include "whatsapp/store.h"

#include <apr_strings.h>

#include "core/encode.h"
#include "pg/array.h"

#define CONVERSATION "neoapi.whatsapp_conversation_json(t)"
#define CONVERSATIONS                                                                                                          \
    "neoapi.whatsapp_conversation t where t.organization_id = $1 and not (t.is_provisional and t.opted_out_at is null)"

static neo_statement *begin, *end, *store_template, *answer, *read_one, *change, *find_numbers, *newest_numbers, *verify,
    *receive;

void neo_whatsapp_make_statements(apr_pool_t *pool)
{
    begin = neo_statement_make(pool,
                               "select refusal, deliveries, created, number_id, phone_number_id, access_token, wa_id, bsuid,"
                               " account, has_template, template_text"
                               " from neoapi.whatsapp_start($1, $2, $3, decode($4, 'hex'), $5, $6, $7, $8, $9, $10, $11, $12)",
                               12, 1);
    end = neo_statement_make(pool, "select neoapi.whatsapp_finish($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)", 12, 1);
    store_template = neo_statement_make(pool, "select neoapi.whatsapp_store_template($1, $2, $3, $4, $5)", 5, 1);
    answer = neo_statement_make(pool, "select neoapi.whatsapp_response($1, $2)", 2, 0);
    read_one = neo_statement_make(pool, "select " CONVERSATION ", t.xmin from " CONVERSATIONS " and t.id = $2", 2, 0);
    change =
        neo_statement_make(pool, "select body, deliveries, refusal from neoapi.whatsapp_change($1, $2, $3, $4, $5, $6)", 6, 1);
    find_numbers = neo_statement_make(pool,
                                      "select id, phone_number_id, app_secret from neoapi.whatsapp_number"
                                      " where phone_number_id = any ($1) or waba_id = any ($1) limit 1000",
                                      1, 0);
    newest_numbers = neo_statement_make(
        pool, "select id, phone_number_id, app_secret from neoapi.whatsapp_number order by id desc limit 16", 0, 0);
    verify = neo_statement_make(
        pool, "select true from neoapi.whatsapp_number where verify_token_hash = decode($1, 'hex') limit 1", 1, 0);
    receive = neo_statement_make(
        pool, "select message_count, delivery_count, status_count from neoapi.whatsapp_receive($1, $2, $3, $4)", 4, 1);
}

static const char *format_hex(const unsigned char *hash, apr_size_t len, apr_pool_t *pool)
{
    char *hex = apr_palloc(pool, 2 * len + 1);
    neo_hex(hash, len, hex);
    return hex;
}

neo_pg_status neo_whatsapp_begin(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                 const neo_conversation_start *start, apr_pool_t *pool, neo_rows *rows)
{
    const char *values[] = {actor->organization,
                            actor->credential,
                            idempotency ? idempotency->key : NULL,
                            idempotency ? format_hex(idempotency->hash, sizeof idempotency->hash, pool) : NULL,
                            actor->name,
                            start->actor_type,
                            start->lead,
                            start->number,
                            start->template_name,
                            start->template_language,
                            start->conversation,
                            start->message};
    return neo_pg_run(pg, begin, values, pool, rows);
}

neo_pg_status neo_whatsapp_end(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency, const char *message,
                               const neo_conversation_result *result, apr_pool_t *pool, neo_rows *rows)
{
    const char *values[] = {actor->organization,
                            actor->credential,
                            idempotency ? idempotency->key : NULL,
                            message,
                            result->outcome,
                            result->provider_id,
                            result->wa_id,
                            result->bsuid,
                            result->is_held ? "true" : "false",
                            result->code >= 0 ? apr_itoa(pool, result->code) : NULL,
                            result->title,
                            result->body};
    return neo_pg_run(pg, end, values, pool, rows);
}

void neo_whatsapp_store_template(neo_pg *pg, const neo_actor *actor, const char *account, const neo_conversation_start *start,
                                 const char *text, apr_pool_t *pool)
{
    neo_rows rows;
    const char *values[] = {actor->organization, account, start->template_name, start->template_language, text};
    neo_pg_status status = neo_pg_run(pg, store_template, values, pool, &rows);
    (void)status;
}

neo_pg_status neo_whatsapp_answer(neo_pg *pg, const neo_actor *actor, const char *message, apr_pool_t *pool, neo_rows *rows)
{
    const char *values[] = {actor->organization, message};
    return neo_pg_run(pg, answer, values, pool, rows);
}

neo_pg_status neo_whatsapp_list(neo_pg *pg, const neo_actor *actor, const neo_selection *selection, apr_pool_t *pool,
                                neo_rows *rows)
{
    static const neo_listed listed = {.answer = CONVERSATION, .from = CONVERSATIONS, .prefix = "wac_"};
    return neo_page_run(pg, &listed, &actor->organization, 1, selection, pool, rows);
}

neo_pg_status neo_whatsapp_read(neo_pg *pg, const neo_actor *actor, const char *id, apr_pool_t *pool, neo_rows *rows)
{
    const char *values[] = {actor->organization, id};
    return neo_pg_run(pg, read_one, values, pool, rows);
}

neo_pg_status neo_whatsapp_change(neo_pg *pg, const neo_actor *actor, const char *id, const char *version,
                                  const neo_json *changes, apr_pool_t *pool, neo_rows *rows)
{
    const char *values[] = {actor->organization, id, version, neo_json_text(changes, pool).ptr, actor->name, actor->request};
    return neo_pg_run(pg, change, values, pool, rows);
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
    const char *values[] = {format_array(ids, pool)};
    return neo_pg_run(pg, find_numbers, values, pool, rows);
}

neo_pg_status neo_whatsapp_newest_numbers(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, newest_numbers, NULL, pool, rows);
}

neo_pg_status neo_whatsapp_verify(neo_pg *pg, const unsigned char hash[NEO_SHA256_SIZE], apr_pool_t *pool, neo_rows *rows)
{
    const char *values[] = {format_hex(hash, NEO_SHA256_SIZE, pool)};
    return neo_pg_run(pg, verify, values, pool, rows);
}

neo_pg_status neo_whatsapp_receive(neo_pg *pg, neo_text items, const char *const *numbers, apr_pool_t *pool, neo_rows *rows)
{
    char conversations[NEO_ID_BLOCK_SIZE], messages[NEO_ID_BLOCK_SIZE];
    neo_id_issue_block(conversations, "wac_");
    neo_id_issue_block(messages, "wam_");
    const char *values[] = {items.ptr, format_array(numbers, pool), conversations, messages};
    return neo_pg_run(pg, receive, values, pool, rows);
}
