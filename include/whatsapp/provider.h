/* SPDX-License-Identifier: Apache-2.0 */
/* WhatsApp's provider (Meta's Cloud API): builds request bodies and interprets responses. The host sends them. */
#ifndef NEO_WHATSAPP_PROVIDER_H
#define NEO_WHATSAPP_PROVIDER_H

#include "core/buf.h"
#include "core/json.h"

typedef struct neo_outgoing {
    const char *id;    /* our id; the provider returns it with every status */
    const char *wa_id; /* the recipient; NULL if only `bsuid` is known */
    const char *bsuid;
    const char *reply_to;    /* the provider's id of the message that it is a reply or a reaction to; NULL if there is none */
    const neo_json *content; /* the validated body of the request; without a `type` it is a template */
    const neo_json *definition; /* the template's (see whatsapp/template.h); NULL if it is not known */
} neo_outgoing;

/* The request body. */
neo_text neo_outgoing_json(const neo_outgoing *message, apr_pool_t *pool);

/* The request body that marks a message of the contact, by the provider's id, and all before it as read. */
neo_text neo_read_receipt_json(const char *provider_id, apr_pool_t *pool);

/* The outcome of a request to the provider. */
typedef enum neo_provider_outcome {
    NEO_PROVIDER_NOT_SENT,    /* nothing was sent */
    NEO_PROVIDER_NO_RESPONSE, /* it may have arrived, but there is no complete response */
    NEO_PROVIDER_RESPONDED,
} neo_provider_outcome;

typedef struct neo_provider_response {
    neo_provider_outcome outcome;
    const char *error; /* without a response: "timeout" */
    int http_status;
    neo_text body;
    const char *token; /* the access token, removed from all texts, since the provider can quote it; NULL if there is none */
} neo_provider_response;

/* What the response means for the message. */
typedef enum neo_verdict {
    NEO_VERDICT_ACCEPTED,
    NEO_VERDICT_UNKNOWN,   /* it may have been accepted: never send it again */
    NEO_VERDICT_LATER,     /* not sent; can be retried */
    NEO_VERDICT_FORBIDDEN, /* not sent; the administrator must fix the token or its permissions, or, if there is no
                              title, the provider's URL */
    NEO_VERDICT_TEMPLATE,  /* not sent: the template, its parameters, or what else the request has is wrong */
    NEO_VERDICT_OPTED_OUT, /* not sent: the contact opted out */
    NEO_VERDICT_FAILED,    /* not sent, permanently */
} neo_verdict;

/* Members that the response does not have are NULL. */
typedef struct neo_reply {
    neo_verdict verdict;
    const char *id; /* the provider's id of the message */
    const char *wa_id, *bsuid;
    int http_status; /* 0 if there was no response */
    int is_held;     /* accepted, but held by the provider for now */
    int is_success;  /* a request without a message was executed */
    int code;        /* error code; 0 is a valid one: there is an error if `title` is set */
    const char *title;
    const char *details;
    const char *trace;       /* id of the request at the provider */
    int is_about_parameters; /* the template's parameters are wrong, not the template */
} neo_reply;

/* Interprets the response. */
void neo_reply_read(const neo_provider_response *answer, apr_pool_t *pool, neo_reply *reply);

#endif
