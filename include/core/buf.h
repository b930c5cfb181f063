/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer in a pool, for text that is sent or stored. */
#ifndef NEO_CORE_BUF_H
#define NEO_CORE_BUF_H

#include <apr_pools.h>

#define NEO_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define NEO_MUSTCHECK         __attribute__((warn_unused_result))

/* Bytes that something else owns (a pool, a PGresult). Not terminated by a NUL unless the function that returns it says so. */
typedef struct neo_text {
    const char *ptr;
    apr_size_t len;
} neo_text;

typedef struct neo_buf {
    apr_pool_t *pool;
    char *ptr; /* terminated by a NUL, which `len` does not count */
    apr_size_t len;
    apr_size_t capacity;
} neo_buf;

/* Starts an empty buffer with `capacity` bytes. Growing copies, so reserve enough. */
void neo_buf_init(neo_buf *buf, apr_pool_t *pool, apr_size_t capacity);
void neo_buf_add(neo_buf *buf, const char *ptr, apr_size_t len);
void neo_buf_puts(neo_buf *buf, const char *text);
void neo_buf_putc(neo_buf *buf, char c);
void neo_buf_printf(neo_buf *buf, const char *fmt, ...) NEO_PRINTF(2, 3);
/* Adds `text` as a JSON string with its quotes (RFC 8259, section 7). `text` must be valid UTF-8. */
void neo_buf_json(neo_buf *buf, const char *text);
/* Adds `text` escaped for HTML; words in backticks become code. */
void neo_buf_html(neo_buf *buf, const char *text);
neo_text neo_buf_text(const neo_buf *buf);

#endif
