/* Conversations over WhatsApp, as requests begin them and as the provider's callbacks continue them. What is done is written in
 * functions of the schema (sql/0006_whatsapp_send.sql, sql/0007_whatsapp_receive.sql), each one round trip and one transaction.
 */
#ifndef NEO_STORE_WHATSAPP_H
#define NEO_STORE_WHATSAPP_H

#include "core/crypto.h"
#include "store/idempotency.h"

void neo_whatsapp_make_statements(apr_pool_t *pool);

/* A message that is to be sent to a lead. */
typedef struct neo_conversation_start {
    char conversation[NEO_ID_SIZE]; /* its id, should it be new */
    char message[NEO_ID_SIZE];
    const char *actor_type;
    const char *lead;
    const char *number; /* NULL: the organization's only one */
    const char *template_name, *template_language;
} neo_conversation_start;

/* Commits the message as pending, and the idempotency key with the message's id in the place of an answer. One row, or none
 * where the key is there already. */
enum {
    NEO_CONVERSATION_REFUSAL, /* why there is no message: no_lead, no_number, several_numbers, opted_out; else null, and the
                                 rest: */
    NEO_CONVERSATION_DELIVERIES,
    NEO_CONVERSATION_CREATED,
    NEO_CONVERSATION_NUMBER,
    NEO_CONVERSATION_PHONE_NUMBER_ID,
    NEO_CONVERSATION_ACCESS_TOKEN, /* sealed */
    NEO_CONVERSATION_WA_ID,
    NEO_CONVERSATION_BSUID,
};
NEO_MUSTCHECK neo_pg_status neo_whatsapp_begin(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                               const neo_conversation_start *start, apr_pool_t *pool, neo_rows *rows);

/* What became of it. After "refused", "opted_out" and "unsent" the idempotency key is free again. */
typedef struct neo_conversation_result {
    const char *outcome; /* or "accepted", "failed", "unknown" */
    const char *provider_id, *wa_id, *bsuid;
    int is_held;
    int code; /* of an error; -1 for none */
    const char *title;
} neo_conversation_result;

/* One row: the answer, null where there is none. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_end(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                             const char *message, const neo_conversation_result *result, apr_pool_t *pool,
                                             neo_rows *rows);

/* The answer to a request whose message is still pending: one row. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_answer(neo_pg *pg, const neo_actor *actor, const char *message, apr_pool_t *pool,
                                                neo_rows *rows);

/* ---------------------------------------------------------------- callbacks */

/* The numbers that the provider calls so, by their own id or their account's. */
enum { NEO_NUMBER_ID, NEO_NUMBER_PHONE_NUMBER_ID, NEO_NUMBER_APP_SECRET };
NEO_MUSTCHECK neo_pg_status neo_whatsapp_numbers(neo_pg *pg, const char *const *ids, apr_pool_t *pool, neo_rows *rows);

/* One row if a number has the verify token with this hash. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_verify(neo_pg *pg, const unsigned char hash[NEO_SHA256_SIZE], apr_pool_t *pool,
                                                neo_rows *rows);

/* Takes what facts (see model/callback.h) tell of these numbers; told again, it changes nothing. One row: how many messages and
 * how many statuses are new. `numbers` is ended by NULL. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_receive(neo_pg *pg, neo_text facts, const char *const *numbers, apr_pool_t *pool,
                                                 neo_rows *rows);

#endif
