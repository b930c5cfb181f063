/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that the provider returns: those of an account's numbers, and what all lists share. */
#ifndef NEO_WHATSAPP_REPORTED_H
#define NEO_WHATSAPP_REPORTED_H

#include "whatsapp/provider.h"

/* The response with its list `data`; NULL if it has none, then *error says why. */
neo_json *neo_provider_list(const neo_provider_response *response, apr_pool_t *pool, const char **error);

/* A word of the provider's in lower case: "tier_1k" for "TIER_1K". NULL if it is missing, empty or longer than `max` bytes. */
const char *neo_provider_word(const neo_json *object, const char *name, apr_size_t max, apr_pool_t *pool);

/* The path of the list of an account's numbers; `is_reduced`: only with the fields that all versions of the API have. */
const char *neo_numbers_path(const char *account, int is_reduced, apr_pool_t *pool);

/* The numbers in a response: a list of objects with `phone_number_id` and, if reported, `verified_name`, `quality_rating` and
 * `messaging_limit`. Returns NULL if the response has no list; then *error says why. */
neo_json *neo_numbers_read(const neo_provider_response *response, apr_pool_t *pool, const char **error);

#endif
