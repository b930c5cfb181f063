/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to WhatsApp's provider for a number, and the templates that messages use. Private to this layer. */
#ifndef NEO_API_PROVIDER_H
#define NEO_API_PROVIDER_H

#include "call.h"
#include "whatsapp/provider.h"
#include "whatsapp/store.h"

/* A number of the organization, with which the provider is called. */
typedef struct neo_sender_number {
    const char *id, *phone_number_id;
    const char *token; /* NULL if it cannot be decrypted */
} neo_sender_number;

/* `column`: that of the number's id, which its phone_number_id and its sealed token follow. */
neo_sender_number neo_call_open_number(const neo_call *call, const neo_rows *rows, int row, int column);

/* Reads a path of the provider's API. */
void neo_call_read_provider(const neo_call *call, const char *path, const char *token, neo_provider_response *answer);

/* Retry-After while the provider is unavailable. */
#define NEO_PROVIDER_RETRY_SECONDS 30

/* Checks the parameters of the message's template before anything is stored or sent, and sets start->definition. If the
 * template is not stored, or outdated, the provider is asked for it. */
neo_problem *neo_call_check_template(neo_call *call, neo_conversation_start *start);

#endif
