/* SPDX-License-Identifier: Apache-2.0 */
/* The growing buffer, and JSON strings from any text. */
#include "unit.h"

static const char *json_of(const char *text, apr_pool_t *pool)
{
    neo_buf buf;
    neo_buf_init(&buf, pool, 0);
    neo_buf_json(&buf, text);
    assert_int_equal(buf.len, strlen(buf.ptr));
    return buf.ptr;
}

TEST(a_new_buffer_is_an_empty_text)
{
    neo_buf buf;
    neo_buf_init(&buf, *state, 0);
    assert_int_equal(neo_buf_text(&buf).len, 0);
    assert_string_equal(neo_buf_text(&buf).ptr, "");
}

TEST(additions_are_appended)
{
    neo_buf buf;
    neo_buf_init(&buf, *state, 8);
    neo_buf_puts(&buf, "one");
    neo_buf_putc(&buf, ',');
    neo_buf_add(&buf, "two-and-more", 3);
    neo_buf_printf(&buf, ",%d%s", 3, "");
    neo_buf_puts(&buf, "");
    neo_buf_printf(&buf, "%s", "");
    assert_string_equal(buf.ptr, "one,two,3");
    assert_int_equal(buf.len, 9);
}

TEST(growth_keeps_every_byte_and_the_nul_at_the_end)
{
    neo_buf buf;
    neo_buf_init(&buf, *state, 1);
    for (int i = 0; i < 10000; i++) {
        neo_buf_putc(&buf, (char)('a' + i % 26));
        assert_int_equal(buf.ptr[buf.len], '\0');
    }
    assert_int_equal(buf.len, 10000);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(buf.ptr[i], 'a' + i % 26);
}

TEST(an_addition_can_exceed_the_capacity_many_times)
{
    static const char block[100000] = {'x'};
    neo_buf buf;
    neo_buf_init(&buf, *state, 16);
    neo_buf_puts(&buf, "before");
    neo_buf_add(&buf, block, sizeof block);
    assert_int_equal(buf.len, 6 + sizeof block);
    assert_memory_equal(buf.ptr + 6, block, sizeof block);
    neo_buf_printf(&buf, "%0100000d", 7);
    assert_int_equal(buf.len, 6 + sizeof block + 100000);
    assert_int_equal(buf.ptr[buf.len - 1], '7');
}

TEST(an_exact_capacity_is_not_exceeded)
{
    for (int len = 0; len < 140; len++) {
        neo_buf buf;
        neo_buf_init(&buf, *state, 32);
        neo_buf_printf(&buf, "%*s", len, "");
        assert_int_equal(buf.len, len);
        neo_buf_putc(&buf, '!');
        assert_int_equal(buf.ptr[len], '!');
        assert_true(buf.capacity > buf.len);
    }
}

TEST(bytes_may_include_nul)
{
    neo_buf buf;
    neo_buf_init(&buf, *state, 0);
    neo_buf_add(&buf, "a\0b", 3);
    assert_int_equal(neo_buf_text(&buf).len, 3);
    assert_memory_equal(neo_buf_text(&buf).ptr, "a\0b", 4);
}

TEST(json_escapes_quotes_and_backslashes)
{
    assert_string_equal(json_of("", *state), "\"\"");
    assert_string_equal(json_of("say \"yes\"", *state), "\"say \\\"yes\\\"\"");
    assert_string_equal(json_of("C:\\dir\\", *state), "\"C:\\\\dir\\\\\"");
    assert_string_equal(json_of("</script>", *state), "\"</script>\"");
}

TEST(json_escapes_every_control_character)
{
    static const char *const short_forms[0x20] = {
        ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t"};
    for (int c = 1; c < 0x20; c++) {
        char text[] = {'a', (char)c, 'z', '\0'}, expected[16], number[8];
        snprintf(number, sizeof number, "\\u%04x", c);
        snprintf(expected, sizeof expected, "\"a%sz\"", short_forms[c] ? short_forms[c] : number);
        assert_string_equal(json_of(text, *state), expected);
    }
    assert_string_equal(json_of("\n\n", *state), "\"\\n\\n\"");
}

TEST(json_does_not_escape_other_characters)
{
    static const char text[] = " ~\x7F São Paulo – \xE2\x80\xA8 \xF0\x9F\x8F\xA0";
    char expected[sizeof text + 2];
    snprintf(expected, sizeof expected, "\"%s\"", text);
    assert_string_equal(json_of(text, *state), expected);
}
