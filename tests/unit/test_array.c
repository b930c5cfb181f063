/* SPDX-License-Identifier: Apache-2.0 */
/* PostgreSQL array literals: quoting. (That PostgreSQL parses them is tested end to end.) */
#include "unit.h"

#include "store/array.h"

static neo_buf empty(apr_pool_t *pool)
{
    neo_buf array;
    neo_buf_init(&array, pool, 0);
    return array;
}

static void without_elements_it_is_empty(void **state)
{
    neo_buf array = empty(*state);
    assert_string_equal(neo_array_end(&array), "{}");
}

static void plain_elements_and_numbers_stand_as_they_are(void **state)
{
    neo_buf array = empty(*state);
    neo_array_add_plain(&array, "brk_01");
    neo_array_add_number(&array, -9223372036854775807LL - 1);
    neo_array_add_number(&array, 0);
    assert_string_equal(neo_array_end(&array), "{brk_01,-9223372036854775808,0}");
}

static void no_value_is_told_from_a_text_of_that_name(void **state)
{
    neo_buf array = empty(*state);
    neo_array_add(&array, NULL);
    neo_array_add(&array, "NULL");
    neo_array_add(&array, "");
    assert_string_equal(neo_array_end(&array), "{NULL,\"NULL\",\"\"}");
}

static void quotes_and_backslashes_are_escaped_wherever_they_stand(void **state)
{
    neo_buf array = empty(*state);
    neo_array_add(&array, "\"");
    neo_array_add(&array, "\\\\a\"b\\");
    neo_array_add(&array, "{a, b}\n'S\xC3\xA3o'");
    assert_string_equal(neo_array_end(&array), "{\"\\\"\",\"\\\\\\\\a\\\"b\\\\\",\"{a, b}\n'S\xC3\xA3o'\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        pool_test(without_elements_it_is_empty),
        pool_test(plain_elements_and_numbers_stand_as_they_are),
        pool_test(no_value_is_told_from_a_text_of_that_name),
        pool_test(quotes_and_backslashes_are_escaped_wherever_they_stand),
    };
    return run_test_group("array", tests);
}
