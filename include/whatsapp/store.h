/* SPDX-License-Identifier: Apache-2.0 */
/* WhatsApp conversations: started and continued by requests and by the provider's callbacks. Functions of the schema do the
 * work (sql/0004_whatsapp.sql), each in one round trip and one transaction. */
#ifndef NEO_WHATSAPP_STORE_H
#define NEO_WHATSAPP_STORE_H

#include "core/crypto.h"
#include "sql/idempotency.h"
#include "sql/page.h"

/* A message to send to a lead, or into a conversation. */
typedef struct neo_conversation_start {
    char conversation[NEO_ID_SIZE]; /* id for a new one */
    char message[NEO_ID_SIZE];
    const char *actor_type;
    const char *target; /* the conversation; NULL: that of the lead */
    const char *lead;
    const char *number;         /* NULL: the organization's only number */
    const neo_json *content;    /* the validated body of the request */
    const neo_json *definition; /* the template's (see whatsapp/template.h); NULL if it is not known */
} neo_conversation_start;

/* Commits the message as pending, and the idempotency key with the message's id as its response. One row, or none if the key
 * exists. */
enum {
    NEO_CONVERSATION_REFUSAL, /* no_conversation, no_lead, no_number, several_numbers, opted_out, no_phone, window_closed or
                                 no_message; if null, the other columns have values */
    NEO_CONVERSATION_DELIVERIES,
    NEO_CONVERSATION_CREATED,
    NEO_CONVERSATION_NUMBER,
    NEO_CONVERSATION_PHONE_NUMBER_ID,
    NEO_CONVERSATION_ACCESS_TOKEN, /* sealed */
    NEO_CONVERSATION_WA_ID,
    NEO_CONVERSATION_BSUID,
    NEO_CONVERSATION_REPLY_TO, /* the provider's id of the message that it is a reply or a reaction to */
    NEO_CONVERSATION_WINDOW_EXPIRES_AT,
};
NEO_MUSTCHECK neo_pg_status neo_whatsapp_begin(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                               const neo_conversation_start *start, apr_pool_t *pool, neo_rows *rows);

/* The result of sending it. After "refused", "opted_out", "unsent" and "busy" the idempotency key is removed. */
typedef struct neo_conversation_result {
    const char *outcome; /* one of these, or "accepted", "failed", "unknown" */
    const char *provider_id, *wa_id, *bsuid;
    int is_held;
    int code; /* the provider's error code; -1: none */
    const char *title;
    const char *body; /* the template's text with the parameters; NULL if it is not known */
    int is_start;     /* the response has the conversation, too */
} neo_conversation_result;

/* One row: the answer, or null. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_end(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                             const char *message, const neo_conversation_result *result, apr_pool_t *pool,
                                             neo_rows *rows);

/* One row: the answer to a request whose message is pending. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_answer(neo_pg *pg, const neo_actor *actor, const char *message, int is_start,
                                                apr_pool_t *pool, neo_rows *rows);

/* ---------------------------------------------------------------- reading */

/* A page of the organization's conversations, and of a conversation's messages (see neo_page_sql). */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_list(neo_pg *pg, const neo_actor *actor, const neo_selection *selection,
                                              apr_pool_t *pool, neo_rows *rows);
NEO_MUSTCHECK neo_pg_status neo_whatsapp_list_messages(neo_pg *pg, const neo_actor *actor, const char *conversation,
                                                       const neo_selection *selection, apr_pool_t *pool, neo_rows *rows);

/* One row, or none. */
enum { NEO_READ_CONVERSATION, NEO_READ_VERSION };
NEO_MUSTCHECK neo_pg_status neo_whatsapp_read(neo_pg *pg, const neo_actor *actor, const char *id, apr_pool_t *pool,
                                              neo_rows *rows);

/* Changes the version of the conversation to the whole body that the patch results in. One row. */
enum {
    NEO_CHANGED_CONVERSATION, /* as it is now; null if it was not changed: without a refusal, it has another version */
    NEO_CHANGED_DELIVERIES,
    NEO_CHANGED_REFUSAL, /* opted_out, opted_in or no_broker */
};
NEO_MUSTCHECK neo_pg_status neo_whatsapp_change(neo_pg *pg, const neo_actor *actor, const char *id, const char *version,
                                                const neo_json *changes, apr_pool_t *pool, neo_rows *rows);

/* Merges the lead `other` into the one with the id. One row, or none if the idempotency key exists. */
enum {
    NEO_MERGED_LEAD, /* as it is now; null if there is a refusal */
    NEO_MERGED_DELIVERIES,
    NEO_MERGED_REFUSAL, /* no_target or no_lead */
};
NEO_MUSTCHECK neo_pg_status neo_whatsapp_merge_leads(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                                     const char *id, const char *other, apr_pool_t *pool, neo_rows *rows);

/* The last message of the contact among those stored up to the message `up_to`, with what marking it as read at the provider
 * needs. One row, or none if there is no such conversation; its message is null if none of them is unread. */
enum {
    NEO_RECEIVED_NUMBER,
    NEO_RECEIVED_PHONE_NUMBER_ID,
    NEO_RECEIVED_ACCESS_TOKEN, /* sealed */
    NEO_RECEIVED_MESSAGE,
    NEO_RECEIVED_PROVIDER_ID,
    NEO_RECEIVED_SEEN,     /* the number of the contact's messages up to `up_to` */
    NEO_RECEIVED_IS_KNOWN, /* whether `up_to` is a message of the conversation */
};
NEO_MUSTCHECK neo_pg_status neo_whatsapp_last_received(neo_pg *pg, const neo_actor *actor, const char *id, const char *up_to,
                                                       apr_pool_t *pool, neo_rows *rows);

/* Marks these messages as read. One row with the conversation, or none. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_mark_read(neo_pg *pg, const neo_actor *actor, const char *id, const neo_rows *received,
                                                   apr_pool_t *pool, neo_rows *rows);

/* A message, with what reading its attachment from the provider needs. One row, or none. */
enum {
    NEO_MEDIA_NUMBER,
    NEO_MEDIA_PHONE_NUMBER_ID,
    NEO_MEDIA_ACCESS_TOKEN, /* sealed */
    NEO_MEDIA_ID,           /* the provider's; null without an attachment from the contact */
    NEO_MEDIA_TYPE,         /* as the provider has reported it */
    NEO_MEDIA_FILENAME,
    NEO_MEDIA_IS_KEPT, /* "t" or "f": the message is not older than the provider keeps attachments */
};
NEO_MUSTCHECK neo_pg_status neo_whatsapp_media(neo_pg *pg, const neo_actor *actor, const char *conversation,
                                               const char *message, apr_pool_t *pool, neo_rows *rows);

/* ---------------------------------------------------------------- callbacks */

/* Numbers, found by phone_number_id or waba_id. `ids` is terminated by NULL. */
enum { NEO_NUMBER_ID, NEO_NUMBER_PHONE_NUMBER_ID, NEO_NUMBER_APP_SECRET };
NEO_MUSTCHECK neo_pg_status neo_whatsapp_numbers(neo_pg *pg, const char *const *ids, apr_pool_t *pool, neo_rows *rows);

/* The 16 numbers that were added last, with the same columns. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_newest_numbers(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);

/* One row if a number has the verify token with this hash. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_verify(neo_pg *pg, const unsigned char hash[NEO_SHA256_SIZE], apr_pool_t *pool,
                                                neo_rows *rows);

/* Stores the items (see whatsapp/callback.h) about these numbers; duplicates change nothing. One row: the counts of new
 * messages, deliveries of events, and new statuses. `numbers` is terminated by NULL. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_receive(neo_pg *pg, neo_text items, const char *const *numbers, apr_pool_t *pool,
                                                 neo_rows *rows);

#endif
