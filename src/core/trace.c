/* SPDX-License-Identifier: Apache-2.0 */
/* The header traceparent (see core/trace.h). */
#include "core/trace.h"

#include <apr_strings.h>
#include <string.h>

#include "core/crypto.h"
#include "core/encode.h"

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
    if (len < NEO_TRACEPARENT_LEN || !is_hex(header, 2) || strncmp(header, "ff", 2) == 0 || header[NEO_TRACE_AT - 1] != '-' ||
        !is_id(header + NEO_TRACE_AT, NEO_TRACE_ID_LEN) || header[NEO_SPAN_AT - 1] != '-' ||
        !is_id(header + NEO_SPAN_AT, NEO_SPAN_ID_LEN) || header[FLAGS_AT - 1] != '-' || !is_hex(header + FLAGS_AT, FLAGS_LEN))
        return NULL;
    if (len > NEO_TRACEPARENT_LEN && (strncmp(header, "00", 2) == 0 || header[NEO_TRACEPARENT_LEN] != '-'))
        return NULL;
    return apr_pstrcat(pool, "00", apr_pstrmemdup(pool, header + 2, NEO_TRACEPARENT_LEN - 2), NULL);
}

const char *neo_trace_id(const char *traceparent, apr_pool_t *pool)
{
    return apr_pstrmemdup(pool, traceparent + NEO_TRACE_AT, NEO_TRACE_ID_LEN);
}

int neo_trace_is_sampled(const char *traceparent)
{
    return strchr("13579bdf", traceparent[FLAGS_AT + 1]) != NULL;
}

/* Writes a random id of `len` digits, which are not all 0. */
static void write_id(char *to, size_t len)
{
    unsigned char bytes[NEO_TRACE_ID_LEN / 2];
    char digits[NEO_TRACE_ID_LEN + 1];
    do
        neo_random(bytes, len / 2);
    while (memcmp(bytes, (unsigned char[sizeof bytes]){0}, len / 2) == 0);
    neo_hex(bytes, len / 2, digits);
    memcpy(to, digits, len);
}

void neo_trace_child(const char *traceparent, char child[NEO_TRACEPARENT_LEN + 1])
{
    memcpy(child, traceparent, NEO_TRACEPARENT_LEN + 1);
    write_id(child + NEO_SPAN_AT, NEO_SPAN_ID_LEN);
}

void neo_trace_begin(char traceparent[NEO_TRACEPARENT_LEN + 1])
{
    memcpy(traceparent, "00-00000000000000000000000000000000-0000000000000000-01", NEO_TRACEPARENT_LEN + 1);
    write_id(traceparent + NEO_TRACE_AT, NEO_TRACE_ID_LEN);
    write_id(traceparent + NEO_SPAN_AT, NEO_SPAN_ID_LEN);
}
