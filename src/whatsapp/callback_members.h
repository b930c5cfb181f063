/* SPDX-License-Identifier: Apache-2.0 */
/* Members of callbacks, which are not validated otherwise. A path is "interactive.button_reply.title". Private to this layer.
 */
#ifndef NEO_WHATSAPP_CALLBACK_MEMBERS_H
#define NEO_WHATSAPP_CALLBACK_MEMBERS_H

#include "core/json.h"
#include "whatsapp/callback.h"

#define MAX_NAME 200
#define MAX_WORD 40

/* Repairs invalid UTF-8, lone surrogates and control characters, so that one broken message does not lose the others. */
neo_text neo_callback_repaired(neo_text raw, apr_pool_t *pool);

/* Each returns NULL if there is no such member, or another one. A text is clipped at `max` bytes; an id has no spaces or
 * control characters and at most 255 bytes; a word, such as "marketing_lite", has only letters and underscores; digits are 5
 * to 20. */
const char *neo_text_at(const neo_json *value, const char *path, apr_size_t max, apr_pool_t *pool);
const char *neo_id_at(const neo_json *value, const char *path, apr_pool_t *pool);
const char *neo_word_at(const neo_json *value, const char *path, apr_pool_t *pool);
const char *neo_digits_at(const neo_json *value, const char *path, apr_pool_t *pool);

/* The member `timestamp`, which is seconds since 1970, as a string or as a number; 0 if there is none. */
neo_ms neo_timestamp_at(const neo_json *value);

#endif
