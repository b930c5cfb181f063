/* SPDX-License-Identifier: Apache-2.0 */
/* Message templates of WhatsApp's provider: reads a template's text from the provider's list, and fills in parameters. */
#ifndef NEO_WHATSAPP_TEMPLATE_H
#define NEO_WHATSAPP_TEMPLATE_H

#include "whatsapp/provider.h"

/* The path of the list of an account's templates with this name: "<waba_id>/message_templates?…". */
const char *neo_template_path(const char *account, const char *name, apr_pool_t *pool);

/* The text of the template's body, with its placeholders {{1}}, {{2}} and so on. NULL if the response does not have the
 * template; then *error says why. */
const char *neo_template_read(const neo_provider_response *response, const char *name, const char *language, apr_pool_t *pool,
                              const char **error);

/* The text as the contact reads it. `parameters`: an array of strings, or NULL; a placeholder without a parameter stays. */
const char *neo_template_fill(const char *text, const neo_json *parameters, apr_pool_t *pool);

#endif
