/* SPDX-License-Identifier: Apache-2.0 */
/* Message templates. What is stored of one is its definition, a JSON object with the text of its `body`, if it has one, and
 * its `parameters`, if it has any: a list of objects with
 *
 *     field      the field of a request that has the value; absent if the parameter cannot be sent
 *     component  "header", "body" or "button"
 *     type       "text", "image", "video", "document", "url" or another one of the provider's
 *     name       of a text: its number or name
 *     index      of a button: its position, from 0
 *     text       of a button: its label */
#ifndef NEO_WHATSAPP_TEMPLATE_H
#define NEO_WHATSAPP_TEMPLATE_H

#include "core/problem.h"
#include "whatsapp/provider.h"

/* The path of the list of an account's templates with this name: "<waba_id>/message_templates?…". */
const char *neo_template_path(const char *account, const char *name, apr_pool_t *pool);
/* The path of a page of all templates of the account; `after`: the cursor of the page before, NULL for the first one. */
const char *neo_templates_path(const char *account, const char *after, apr_pool_t *pool);

/* The templates in a response: a list of objects with `name`, `language`, `status`, `category` and `definition`. Sets *after to
 * the cursor for the next page, NULL if there is none. Returns NULL if the response has no list; then *error says why. */
neo_json *neo_templates_read(const neo_provider_response *response, apr_pool_t *pool, const char **after, const char **error);

/* The definition of the template in this language in such a list; NULL if there is none. */
const neo_json *neo_template_find(const neo_json *rows, const char *name, const char *language);

/* Adds an error for each parameter that is missing in the validated body `content` of a request, or superfluous. */
void neo_template_check(const neo_json *definition, const neo_json *content, neo_problem **problem, apr_pool_t *pool);

/* Whether the request only has parameters that can be sent without the definition. */
int neo_template_is_plain(const neo_json *content);

/* The components that are sent to the provider; NULL if there are none. Without a definition those of the body. */
neo_json *neo_template_components(const neo_json *definition, const neo_json *content, apr_pool_t *pool);

/* The text as the contact reads it, with the parameters in `content`; a placeholder without a parameter stays. */
const char *neo_template_fill(const char *text, const neo_json *content, apr_pool_t *pool);

#endif
