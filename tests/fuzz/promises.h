/* What the fuzzers share: a promise that is not kept ends the process, so that libFuzzer keeps the input. */
#ifndef NEO_FUZZ_PROMISES_H
#define NEO_FUZZ_PROMISES_H

#include <apr_general.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"

#define PROMISED(condition)                                                                                                    \
    do {                                                                                                                       \
        if (!(condition))                                                                                                      \
            broken(#condition, __FILE__, __LINE__);                                                                            \
    } while (0)

static inline void broken(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    abort();
}

/* The pool of all inputs, cleared after each. */
static inline apr_pool_t *the_pool(void)
{
    static apr_pool_t *pool;
    if (!pool && (apr_initialize() != APR_SUCCESS || apr_pool_create(&pool, NULL) != APR_SUCCESS))
        abort();
    return pool;
}

/* What nobody who reads a text may be surprised by, nor PostgreSQL. */
static inline void check_text(const char *text)
{
    if (!text)
        return;
    PROMISED(*text && neo_utf8_is_valid(text, strlen(text)));
    for (const char *c = text; *c; c++)
        PROMISED((unsigned char)*c >= ' ' || *c == '\n' || *c == '\t');
}

static inline void check_digits(const char *id)
{
    PROMISED(!id || (*id && strspn(id, "0123456789") == strlen(id)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
