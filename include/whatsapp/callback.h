/* SPDX-License-Identifier: Apache-2.0 */
/* Parses WhatsApp's callbacks (webhooks of Meta's Cloud API) into a list of items. Any member can be missing, new, or of
 * another type: what cannot be understood is skipped, the rest is used. */
#ifndef NEO_WHATSAPP_CALLBACK_H
#define NEO_WHATSAPP_CALLBACK_H

#include <apr_tables.h>

#include "core/buf.h"
#include "core/clock.h"

#define NEO_CALLBACK_MAX_BYTES (4 << 20) /* the provider sends up to 3 MB */

typedef enum neo_callback_item_kind {
    NEO_ITEM_MESSAGE,
    NEO_ITEM_STATUS,
    NEO_ITEM_PREFERENCE,
    NEO_ITEM_NUMBER_CHANGED, /* the contact has a new number */
    NEO_ITEM_ACCOUNT,        /* a change of an account: it has no phone_number_id */
    NEO_ITEM_KINDS
} neo_callback_item_kind;

/* Texts are valid UTF-8 without control characters other than line breaks and tabs; NULL if the callback has none. */
typedef struct neo_callback_item {
    neo_callback_item_kind kind;
    const char *phone_number_id; /* the number that the callback is for: digits */
    const char *id;              /* the provider's id of the message */
    const char *message;         /* our id of the message that a status is about, which was sent with it */
    const char *wa_id;           /* the contact: digits */
    const char *bsuid;           /* the contact's business-scoped id */
    const char *name;
    const char *type; /* the message's type, such as "text" */
    const char *body;
    const char *mime_type;
    const char *filename;
    const char *media_id; /* the provider's id of the attachment */
    int has_media;
    int is_group;          /* sent to a group */
    int is_outbound;       /* a message that the business has sent with its telephone; then it has a status */
    int is_history;        /* an old message of the telephone */
    const char *refers_to; /* the id of the message that an edit or a revocation changes */
    const char *reply_to;  /* the id of the message that it is a reply or a reaction to */
    const char *status;    /* sent, delivered, read, failed */
    int has_error;
    int error_code;
    const char *error_title;
    const char *pricing;    /* a status's: a JSON object with `billable`, `category` and, if reported, others */
    const char *preference; /* "stop" or "resume"; also of a message that says only that */
    const char *new_wa_id, *new_bsuid;
    const char *account;                           /* the account that has changed: digits */
    const char *report;                            /* what has changed: "templates" or "numbers" */
    const char *template_name, *template_language; /* NULL unless a template has changed */
    const char *template_status;                   /* its new status; NULL if that has not changed */
    neo_ms at;                                     /* 0 if the callback has none */
} neo_callback_item;

/* Possible ids of the number whose callback this is, found without parsing, since the sender is not authenticated yet: at most
 * 16 of numbers, then at most 16 of accounts, ended by NULL. */
const char *const *neo_callback_candidates(neo_text raw, apr_pool_t *pool);

/* The items of a callback, in order: an array of neo_callback_item. On error NULL, and *error is set. *dropped: the number of
 * messages, statuses and preferences that could not be understood. `stop_texts`: see neo_read_preference. */
apr_array_header_t *neo_callback_read(neo_text raw, const apr_array_header_t *stop_texts, apr_pool_t *pool, const char **error,
                                      int *dropped);

/* At most `count` items from `first` on as JSON for the database (see sql/0004_whatsapp.sql). */
neo_text neo_callback_items_json(const apr_array_header_t *items, int first, int count, apr_pool_t *pool);

/* At most `max` bytes of a text, cut between characters, with spaces for control characters other than those in `kept`; NULL if
 * the text is empty. */
const char *neo_clip(const char *text, apr_size_t max, const char *kept, apr_pool_t *pool);

/* The texts with which a contact opts out of messages, or in again. */
#define NEO_OPT_OUT_TEXT_MAX 200 /* bytes; a longer text is not one of them */

/* The text without case, accents of Latin letters, punctuation and symbols, with single spaces between words. A question mark
 * is kept: a question is no request. NULL if it is longer than NEO_OPT_OUT_TEXT_MAX. */
const char *neo_opt_out_normalize(const char *text, apr_pool_t *pool);

/* "stop" if the whole text is one of the built-in texts or of `more` (elements: const char *, plain), "resume" if it is one of
 * those; otherwise NULL. `more` may be NULL. */
const char *neo_read_preference(const char *text, const apr_array_header_t *more, apr_pool_t *pool);

#endif
