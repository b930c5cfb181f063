/* Arrays as PostgreSQL reads them. A buffer that is empty at first takes the elements one by one; the end makes an array of it.
 */
#ifndef NEO_STORE_ARRAY_H
#define NEO_STORE_ARRAY_H

#include "core/buf.h"

/* Any text; NULL for an element without a value. */
void neo_array_add(neo_buf *array, const char *text);

/* What needs no quotes: an id, a name of ours, a number. */
void neo_array_add_plain(neo_buf *array, const char *text);
void neo_array_add_number(neo_buf *array, long long number);

/* Closes it; without elements it is the empty array. The buffer's text. */
const char *neo_array_end(neo_buf *array);

#endif
