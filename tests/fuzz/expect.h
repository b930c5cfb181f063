/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the fuzzers share. A failed one aborts the process, so that libFuzzer saves the input. */
#ifndef NEO_FUZZ_EXPECT_H
#define NEO_FUZZ_EXPECT_H

#include <apr_general.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"

#define EXPECT(condition)                                                                                                      \
    do {                                                                                                                       \
        if (!(condition))                                                                                                      \
            fail(#condition, __FILE__, __LINE__);                                                                              \
    } while (0)

static inline void fail(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, condition);
    abort();
}

/* A pool, to be cleared after each input. */
static inline apr_pool_t *input_pool(void)
{
    static apr_pool_t *pool;
    if (!pool && (apr_initialize() != APR_SUCCESS || apr_pool_create(&pool, NULL) != APR_SUCCESS))
        abort();
    return pool;
}

/* A text is NULL or not empty, valid UTF-8, and has no control characters except line breaks and tabs. */
static inline void check_text(const char *text)
{
    if (!text)
        return;
    EXPECT(*text && neo_utf8_is_valid(text, strlen(text)));
    for (const char *c = text; *c; c++)
        EXPECT((unsigned char)*c >= ' ' || *c == '\n' || *c == '\t');
}

static inline void check_digits(const char *id)
{
    EXPECT(!id || (*id && strspn(id, "0123456789") == strlen(id)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
