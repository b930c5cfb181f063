/* SPDX-License-Identifier: Apache-2.0 */
/* The header traceparent (see core/trace.h). */
#include "core/trace.h"

#include <apr_strings.h>
#include <string.h>

#include "core/crypto.h"
#include "core/encode.h"

#define TRACE_AT  3
#define SPAN_AT   36
#define SPAN_LEN  16
#define FLAGS_AT  53
#define FLAGS_LEN 2

/* Whether `len` characters are lower-case hexadecimal digits. */
static int is_hex(const char *text, size_t len)
{
    return strspn(text, "0123456789abcdef") >= len;
}

static int is_id(const char *text, size_t len)
{
    return is_hex(text, len) && strspn(text, "0") < len;
}

const char *neo_trace_read(const char *header, apr_pool_t *pool)
{
    size_t len = header ? strlen(header) : 0;
    if (len < NEO_TRACEPARENT_LEN || !is_hex(header, 2) || strncmp(header, "ff", 2) == 0 || header[TRACE_AT - 1] != '-' ||
        !is_id(header + TRACE_AT, NEO_TRACE_ID_LEN) || header[SPAN_AT - 1] != '-' || !is_id(header + SPAN_AT, SPAN_LEN) ||
        header[FLAGS_AT - 1] != '-' || !is_hex(header + FLAGS_AT, FLAGS_LEN))
        return NULL;
    if (len > NEO_TRACEPARENT_LEN && (strncmp(header, "00", 2) == 0 || header[NEO_TRACEPARENT_LEN] != '-'))
        return NULL;
    return apr_pstrcat(pool, "00", apr_pstrmemdup(pool, header + 2, NEO_TRACEPARENT_LEN - 2), NULL);
}

const char *neo_trace_id(const char *traceparent, apr_pool_t *pool)
{
    return apr_pstrmemdup(pool, traceparent + TRACE_AT, NEO_TRACE_ID_LEN);
}

const char *neo_trace_child(const char *traceparent, apr_pool_t *pool)
{
    unsigned char span[SPAN_LEN / 2];
    char text[SPAN_LEN + 1];
    do
        neo_random(span, sizeof span);
    while (memcmp(span, (unsigned char[SPAN_LEN / 2]){0}, sizeof span) == 0);
    neo_hex(span, sizeof span, text);
    return apr_pstrcat(pool, apr_pstrmemdup(pool, traceparent, SPAN_AT), text, traceparent + SPAN_AT + SPAN_LEN, NULL);
}
