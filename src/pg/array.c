/* SPDX-License-Identifier: Apache-2.0 */
/* Builds PostgreSQL array literals (see pg/array.h). */
#include "pg/array.h"

#include <string.h>

static void begin_element(neo_buf *array)
{
    neo_buf_putc(array, array->len ? ',' : '{');
}

void neo_array_add_plain(neo_buf *array, const char *text)
{
    begin_element(array);
    neo_buf_puts(array, text);
}

void neo_array_add_number(neo_buf *array, long long number)
{
    begin_element(array);
    neo_buf_printf(array, "%lld", number);
}

void neo_array_add(neo_buf *array, const char *text)
{
    if (!text) {
        neo_array_add_plain(array, "NULL");
        return;
    }
    begin_element(array);
    neo_buf_putc(array, '"');
    for (apr_size_t plain; (plain = strcspn(text, "\"\\")), text[plain]; text += plain + 1) {
        neo_buf_add(array, text, plain);
        neo_buf_putc(array, '\\');
        neo_buf_putc(array, text[plain]);
    }
    neo_buf_puts(array, text);
    neo_buf_putc(array, '"');
}

const char *neo_array_end(neo_buf *array)
{
    neo_buf_puts(array, array->len ? "}" : "{}");
    return array->ptr;
}
