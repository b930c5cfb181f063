/* SPDX-License-Identifier: Apache-2.0 */
/* PostgreSQL array literals: quoting. (That PostgreSQL parses them is tested end to end.) */
#include "unit.h"

#include "pg/pg.h"

static neo_buf empty(apr_pool_t *pool)
{
    neo_buf array;
    neo_buf_init(&array, pool, 0);
    return array;
}

TEST(an_array_without_elements_is_empty)
{
    neo_buf array = empty(*state);
    assert_string_equal(neo_array_end(&array), "{}");
}

TEST(plain_elements_and_numbers_are_not_quoted)
{
    neo_buf array = empty(*state);
    neo_array_add_plain(&array, "brk_01");
    neo_array_add_number(&array, -9223372036854775807LL - 1);
    neo_array_add_number(&array, 0);
    assert_string_equal(neo_array_end(&array), "{brk_01,-9223372036854775808,0}");
}

TEST(null_differs_from_the_text_null)
{
    neo_buf array = empty(*state);
    neo_array_add(&array, NULL);
    neo_array_add(&array, "NULL");
    neo_array_add(&array, "");
    assert_string_equal(neo_array_end(&array), "{NULL,\"NULL\",\"\"}");
}

TEST(quotes_and_backslashes_are_escaped_at_any_position)
{
    neo_buf array = empty(*state);
    neo_array_add(&array, "\"");
    neo_array_add(&array, "\\\\a\"b\\");
    neo_array_add(&array, "{a, b}\n'S\xC3\xA3o'");
    assert_string_equal(neo_array_end(&array), "{\"\\\"\",\"\\\\\\\\a\\\"b\\\\\",\"{a, b}\n'S\xC3\xA3o'\"}");
}
