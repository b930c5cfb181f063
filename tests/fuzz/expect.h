/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the fuzzers share. A failed one aborts the process, so that libFuzzer saves the input. */
#ifndef NEO_FUZZ_EXPECT_H
#define NEO_FUZZ_EXPECT_H

#include <apr_general.h>
#include <apr_strings.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "core/json.h"
#include "core/problem.h"

#define EXPECT(condition)                                                                                                      \
    do {                                                                                                                       \
        if (!(condition))                                                                                                      \
            expectation_failed(#condition, __FILE__, __LINE__);                                                                \
    } while (0)

static inline void expectation_failed(const char *condition, const char *file, int line)
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

static inline int is_one_of(const char *text, const char *const *words)
{
    while (*words && strcmp(*words, text) != 0)
        words++;
    return *words != NULL;
}

static inline void check_digits(const char *id)
{
    EXPECT(!id || (*id && strspn(id, "0123456789") == strlen(id)));
}

/* Valid UTF-8, also with control characters. */
static inline void check_utf8(const char *text)
{
    EXPECT(text && neo_utf8_is_valid(text, strlen(text)));
}

/* The text must be JSON in UTF-8. Returns its value. */
static inline neo_json *check_json(neo_text text, apr_pool_t *pool)
{
    const char *error = NULL;
    EXPECT(neo_utf8_is_valid(text.ptr, text.len));
    neo_json *value = neo_json_parse(text, pool, &error);
    EXPECT(value);
    return value;
}

/* Both values must have the same JSON text. */
static inline void check_equal(const neo_json *one, const neo_json *other, apr_pool_t *pool)
{
    EXPECT(strcmp(neo_json_text(one, pool).ptr, neo_json_text(other, pool).ptr) == 0);
}

/* A 400 lists at most 100 invalid fields, and its size does not depend on that of the input. */
static inline void check_problem(const neo_problem *problem, apr_pool_t *pool)
{
    const neo_problem_frame frame = {"/public/v1/x", "req_01jd3x00000000000000000000", "https://docs.example.com"};
    EXPECT(problem->status == 400 && problem->items && problem->items->nelts > 0 && problem->items->nelts <= 100);
    for (int i = 0; i < problem->items->nelts; i++) {
        const neo_problem_item *item = &APR_ARRAY_IDX(problem->items, i, neo_problem_item);
        check_utf8(item->field);
        check_text(item->message);
        check_text(item->code);
    }
    neo_text text = neo_problem_json(problem, &frame, pool);
    check_json(text, pool);
    EXPECT(text.len < 65536);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
