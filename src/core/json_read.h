/* SPDX-License-Identifier: Apache-2.0 */
/* A fast reader of usual JSON. It makes the values that jansson makes. */
#ifndef NEO_CORE_JSON_READ_H
#define NEO_CORE_JSON_READ_H

#include "core/json.h"

/* Returns the value, whose reference the caller has; NULL if the text has an error or is unusual, and jansson must read it. */
neo_json *neo_json_read(neo_text text, apr_pool_t *pool);

/* The length of the number at `text` (RFC 8259, section 6), 0 if there is none. */
apr_size_t neo_json_number_length(const char *text, const char *end);

#endif
