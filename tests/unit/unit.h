/* SPDX-License-Identifier: Apache-2.0 */
/* Included by every unit test: cmocka, a pool for each test, and JSON from text. */
#ifndef NEO_TESTS_UNIT_H
#define NEO_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <apr_general.h>
#include <apr_pools.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static inline int open_pool(void **state)
{
    return apr_pool_create((apr_pool_t **)state, NULL) == APR_SUCCESS ? 0 : -1;
}

static inline int close_pool(void **state)
{
    apr_pool_destroy(*state);
    return 0;
}

static inline int start_apr(void **state)
{
    (void)state;
    return apr_initialize() == APR_SUCCESS ? 0 : -1;
}

static inline int stop_apr(void **state)
{
    (void)state;
    apr_terminate();
    return 0;
}

/* The fuzzers include this file, and have a main of their own. */
#ifndef NEO_NO_MAIN

static struct CMUnitTest tests[100];
static size_t test_count;

/* TEST(name) { … } is a test of its program. *state is a pool; it is destroyed after the test, so that sanitizers detect leaks
 * and uses after free. */
#define TEST(name)                                                                                                             \
    static void name(void **state);                                                                                            \
    __attribute__((constructor)) static void add_##name(void)                                                                  \
    {                                                                                                                          \
        assert_in_range(test_count, 0, COUNT(tests) - 1);                                                                      \
        tests[test_count++] = (struct CMUnitTest){#name, name, open_pool, close_pool, NULL};                                   \
    }                                                                                                                          \
    static void name(__attribute__((unused)) void **state)

int main(void)
{
    return _cmocka_run_group_tests(__BASE_FILE__, tests, test_count, start_apr, stop_apr);
}

#endif

static inline neo_text text_of(const char *text)
{
    return (neo_text){text, strlen(text)};
}

static inline neo_json *parse_json(const char *text, apr_pool_t *pool)
{
    const char *error = NULL;
    neo_json *value = neo_json_parse(text_of(text), pool, &error);
    if (!value)
        fail_msg("%s was refused: %s", text, error);
    return value;
}

#endif
