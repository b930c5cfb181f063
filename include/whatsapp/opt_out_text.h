/* SPDX-License-Identifier: Apache-2.0 */
/* The texts with which a contact opts out of messages, or in again. */
#ifndef NEO_WHATSAPP_OPT_OUT_TEXT_H
#define NEO_WHATSAPP_OPT_OUT_TEXT_H

#include <apr_tables.h>

#define NEO_OPT_OUT_TEXT_MAX 200 /* bytes; a longer text is not one of them */

/* The text without case, accents of Latin letters, punctuation and symbols, with single spaces between words. A question mark
 * is kept: a question is no request. NULL if it is longer than NEO_OPT_OUT_TEXT_MAX. */
const char *neo_opt_out_normalize(const char *text, apr_pool_t *pool);

/* "stop" if the whole text is one of the built-in texts or of `more` (elements: const char *, plain), "resume" if it is one of
 * those; otherwise NULL. `more` may be NULL. */
const char *neo_preference_of_text(const char *text, const apr_array_header_t *more, apr_pool_t *pool);

#endif
