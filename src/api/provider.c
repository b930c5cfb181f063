/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to WhatsApp's provider for a number (see provider.h). */
#include "provider.h"

#include "core/log.h"
#include "core/secret.h"

neo_sender_number neo_call_open_number(const neo_call *call, const neo_rows *rows, int row, int column)
{
    neo_sender_number from = {.id = neo_rows_value(rows, row, column),
                              .phone_number_id = neo_rows_value(rows, row, column + 1)};
    from.token = neo_secret_open(&call->site->keys, from.id, neo_rows_value(rows, row, column + 2), call->pool);
    if (!from.token)
        neo_log(NEO_LOG_ACCESS_TOKEN_SEALED, call->request->log_context,
                "cannot decrypt the access token of %s with any key in the key file", from.id);
    return from;
}

void neo_call_read_provider(const neo_call *call, const char *path, const char *token, neo_provider_response *answer)
{
    *answer = (neo_provider_response){
        .outcome = NEO_PROVIDER_NOT_SENT, .error = "the access token cannot be decrypted", .body = {"", 0}};
    if (token)
        call->request->host->call_provider(call->request->context, path, token, (neo_text){NULL, 0}, answer);
}
