/* SPDX-License-Identifier: Apache-2.0 */
/* Builds PostgreSQL array literals: add elements to an empty buffer, then call neo_array_end. */
#ifndef NEO_PG_ARRAY_H
#define NEO_PG_ARRAY_H

#include "core/buf.h"

/* Any text; NULL for null. */
void neo_array_add(neo_buf *array, const char *text);

/* Text that needs no quotes, such as an id or a name from our tables. */
void neo_array_add_plain(neo_buf *array, const char *text);
void neo_array_add_number(neo_buf *array, long long number);

/* Completes the array and returns the buffer's text. */
const char *neo_array_end(neo_buf *array);

#endif
