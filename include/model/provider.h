/* WhatsApp's provider (Meta's Cloud API): what it is asked to send, and what its answers mean. Bytes alone; who carries them is
 * the host's matter. */
#ifndef NEO_MODEL_PROVIDER_H
#define NEO_MODEL_PROVIDER_H

#include "core/buf.h"
#include "core/json.h"

/* A message made of a template. */
typedef struct neo_outgoing {
    const char *id;    /* ours; the provider brings it back with every status */
    const char *wa_id; /* whom it is to; NULL where only `bsuid` is known */
    const char *bsuid;
    const char *template_name;
    const char *template_language;
    const neo_json *parameters; /* an array of strings; NULL for none */
} neo_outgoing;

/* The body of the request that sends it. */
neo_text neo_outgoing_json(const neo_outgoing *message, apr_pool_t *pool);

/* How the attempt to ask the provider went. */
typedef enum neo_provider_outcome {
    NEO_PROVIDER_NOT_SENT,    /* surely nothing of the request went out */
    NEO_PROVIDER_NO_RESPONSE, /* it may have arrived, and no whole answer came */
    NEO_PROVIDER_RESPONDED,
} neo_provider_outcome;

typedef struct neo_provider_response {
    neo_provider_outcome outcome;
    const char *error; /* of the first two, a word: "timeout" */
    int http_status;   /* of an answer */
    neo_text body;
    const char *token; /* what was shown to the provider, which may cite it; nothing that is read has it. NULL: nothing was */
} neo_provider_response;

/* What it means for the message. */
typedef enum neo_verdict {
    NEO_VERDICT_ACCEPTED,
    NEO_VERDICT_UNKNOWN,   /* it may have been accepted: never to be sent again */
    NEO_VERDICT_LATER,     /* nothing was sent; it can be tried again */
    NEO_VERDICT_FORBIDDEN, /* likewise, once the administrator has mended something: a token, a right; without a title, an
                              address that is not the provider's */
    NEO_VERDICT_TEMPLATE,  /* nothing was sent: the template or its parameters are wrong */
    NEO_VERDICT_OPTED_OUT, /* nothing was sent: the contact wants nothing */
    NEO_VERDICT_FAILED,    /* nothing was sent, nor will be */
} neo_verdict;

/* NULL for what is not told. */
typedef struct neo_reply {
    neo_verdict verdict;
    const char *id; /* the provider's, of the message */
    const char *wa_id, *bsuid;
    int is_held; /* accepted, and kept back by the provider for the time being */
    int code;    /* of an error; 0 is one, too, so look at `title` */
    const char *title;
    const char *details;
    const char *trace;       /* by which the provider finds the request again */
    int is_about_parameters; /* of NEO_VERDICT_TEMPLATE */
} neo_reply;

/* Decides by what came back. */
void neo_reply_read(const neo_provider_response *answer, apr_pool_t *pool, neo_reply *reply);

#endif
