/* What WhatsApp's callbacks tell (webhooks of Meta's Cloud API): bytes in, a list of facts out. Nothing is taken for granted:
 * any member may be missing, of another type, or new. What makes no sense is left out, and all the rest is taken. */
#ifndef NEO_MODEL_CALLBACK_H
#define NEO_MODEL_CALLBACK_H

#include <apr_tables.h>

#include "core/buf.h"
#include "core/clock.h"

#define NEO_CALLBACK_MAX_BYTES (4 << 20) /* bytes; the provider sends up to 3 MB */

typedef enum neo_fact_kind {
    NEO_FACT_MESSAGE,
    NEO_FACT_STATUS,
    NEO_FACT_PREFERENCE,
    NEO_FACT_MOVED, /* the contact has another number now */
    NEO_FACT_KINDS
} neo_fact_kind;

/* Well-formed UTF-8 without control characters but line breaks and tabs; NULL for what is not told. */
typedef struct neo_fact {
    neo_fact_kind kind;
    const char *phone_number_id; /* whose callback it is: digits */
    const char *id;              /* of a message, the provider's; of a move, of the message that tells of it */
    const char *message;         /* of a status: what was sent along with the message */
    const char *wa_id;           /* the contact: digits */
    const char *bsuid;           /* the contact's business-scoped id */
    const char *name;
    const char *type; /* of a message: "text" */
    const char *body;
    const char *mime_type;
    const char *filename;
    int has_media;
    const char *status; /* sent, delivered, read, failed */
    int has_error;
    int error_code;
    const char *error_title;
    const char *preference; /* "stop" or "resume", also of a message that says just that */
    const char *new_wa_id, *new_bsuid;
    neo_ms at; /* 0 where it is not told */
} neo_fact;

/* Ids under which the number may be known whose callback this is, before anything is known of who sent it: those of numbers,
 * then those of accounts. A few at most; ended by NULL. */
const char *const *neo_callback_candidates(neo_text raw, apr_pool_t *pool);

/* The facts of a callback, in their order: an array of neo_fact. NULL, and *wrong a sentence, where it is none. *dropped: how
 * many messages, statuses and preferences made no sense. */
apr_array_header_t *neo_callback_read(neo_text raw, apr_pool_t *pool, const char **wrong, int *dropped);

/* The facts as the database is given them (see sql/0007_whatsapp_receive.sql). */
neo_text neo_facts_json(const apr_array_header_t *facts, apr_pool_t *pool);

#endif
