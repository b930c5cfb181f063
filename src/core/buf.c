/* SPDX-License-Identifier: Apache-2.0 */
/* Growing byte buffers (see core/buf.h). */
#include "core/buf.h"

#include <apr_strings.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void neo_buf_init(neo_buf *buf, apr_pool_t *pool, apr_size_t capacity)
{
    buf->pool = pool;
    buf->len = 0;
    buf->capacity = capacity > 32 ? capacity : 32;
    buf->ptr = apr_palloc(pool, buf->capacity);
    buf->ptr[0] = '\0';
}

static void reserve(neo_buf *buf, apr_size_t more)
{
    if (buf->len + more + 1 <= buf->capacity)
        return;
    apr_size_t capacity = buf->capacity * 2;
    while (capacity < buf->len + more + 1)
        capacity *= 2;
    char *ptr = apr_palloc(buf->pool, capacity);
    memcpy(ptr, buf->ptr, buf->len + 1);
    buf->ptr = ptr;
    buf->capacity = capacity;
}

void neo_buf_add(neo_buf *buf, const char *ptr, apr_size_t len)
{
    reserve(buf, len);
    memcpy(buf->ptr + buf->len, ptr, len);
    buf->len += len;
    buf->ptr[buf->len] = '\0';
}

void neo_buf_puts(neo_buf *buf, const char *text)
{
    neo_buf_add(buf, text, strlen(text));
}

void neo_buf_putc(neo_buf *buf, char c)
{
    neo_buf_add(buf, &c, 1);
}

void neo_buf_printf(neo_buf *buf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    reserve(buf, 64); /* one vsnprintf is usually enough then */
    size_t capacity = buf->capacity - buf->len;
    int len = vsnprintf(buf->ptr + buf->len, capacity, fmt, args);
    if (len > 0 && (size_t)len >= capacity) {
        reserve(buf, (apr_size_t)len);
        vsnprintf(buf->ptr + buf->len, (size_t)len + 1, fmt, again);
    }
    if (len > 0)
        buf->len += (apr_size_t)len;
    va_end(again);
    va_end(args);
}

void neo_buf_json(neo_buf *buf, const char *text)
{
    static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    neo_buf_putc(buf, '"');
    for (const char *from = text;;) {
        apr_size_t plain = 0;
        while ((unsigned char)from[plain] >= 0x20 && from[plain] != '"' && from[plain] != '\\')
            plain++;
        neo_buf_add(buf, from, plain);
        unsigned char c = (unsigned char)from[plain];
        if (c == '\0')
            break;
        const char *place = strchr(escaped, c);
        if (place)
            neo_buf_printf(buf, "\\%c", letters[place - escaped]);
        else
            neo_buf_printf(buf, "\\u%04x", c);
        from += plain + 1;
    }
    neo_buf_putc(buf, '"');
}

void neo_buf_html(neo_buf *buf, const char *text)
{
    int in_code = 0;
    for (; *text; text++) {
        switch (*text) {
        case '&': neo_buf_puts(buf, "&amp;"); break;
        case '<': neo_buf_puts(buf, "&lt;"); break;
        case '>': neo_buf_puts(buf, "&gt;"); break;
        case '"': neo_buf_puts(buf, "&quot;"); break;
        case '`':
            in_code = !in_code;
            neo_buf_puts(buf, in_code ? "<code>" : "</code>");
            break;
        default: neo_buf_putc(buf, *text);
        }
    }
}

neo_text neo_buf_text(const neo_buf *buf)
{
    return (neo_text){buf->ptr, buf->len};
}
