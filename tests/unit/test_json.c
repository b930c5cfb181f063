/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: parsing, order of members, merge patches (RFC 7396). */
#include "unit.h"

#include <limits.h>

#include "core/encode.h"
#include "core/json.h"

static const char *error_of(neo_text text, apr_pool_t *pool)
{
    const char *error = NULL;
    if (neo_json_parse(text, pool, &error))
        fail_msg("%.60s was accepted", text.ptr);
    assert_non_null(error);
    return error;
}

static const char *text_of_json(const neo_json *value, apr_pool_t *pool)
{
    neo_text text = neo_json_text(value, pool);
    assert_int_equal(text.ptr[text.len], '\0');
    return text.ptr;
}

/* Reading. */

static neo_text repeat(const char *text, int count, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 1024);
    for (int i = 0; i < count; i++)
        neo_buf_puts(&out, text);
    return neo_buf_text(&out);
}

TEST(a_text_is_costly_if_it_has_more_values_than_a_large_batch)
{
    assert_false(neo_json_is_costly(repeat("{},", NEO_JSON_MAX_COST / 6, *state)));
    assert_true(neo_json_is_costly(repeat("{},", NEO_JSON_MAX_COST / 6 + 1, *state)));
    assert_true(neo_json_is_costly(repeat("[],", NEO_JSON_MAX_COST / 6 + 1, *state)));
    assert_false(neo_json_is_costly(repeat("1,", NEO_JSON_MAX_COST - 1, *state)));
    assert_true(neo_json_is_costly(repeat("1,", NEO_JSON_MAX_COST, *state)));
    assert_false(neo_json_is_costly(repeat("\"{[,\\\"\" ", NEO_JSON_MAX_COST, *state)));
    assert_false(neo_json_is_costly(repeat("x", NEO_JSON_MAX_COST, *state)));
}

TEST(every_type_of_value_is_a_document)
{
    static const struct {
        const char *text;
        neo_json_kind kind;
        const char *name;
    } cases[] = {
        {"null", NEO_JSON_NULL, "null"},          {"true", NEO_JSON_BOOLEAN, "a boolean"},
        {"false", NEO_JSON_BOOLEAN, "a boolean"}, {"-12", NEO_JSON_INTEGER, "an integer"},
        {"1.5", NEO_JSON_REAL, "a number"},       {"\"x\"", NEO_JSON_STRING, "a string"},
        {"[1]", NEO_JSON_ARRAY, "an array"},      {" {\"a\":1}\n", NEO_JSON_OBJECT, "an object"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        neo_json *value = parse_json(cases[i].text, *state);
        assert_int_equal(neo_json_get_kind(value), cases[i].kind);
        assert_string_equal(neo_json_kind_name(cases[i].kind), cases[i].name);
    }
}

TEST(values_are_parsed)
{
    neo_json *value =
        parse_json("{\"s\":\"\\u00e9\\ud83c\\udfe0\\n\",\"i\":42,\"r\":2.5,\"t\":true,\"f\":false,\"a\":[1,2,3]}", *state);
    assert_string_equal(neo_json_string(neo_json_get(value, "s")), "\xC3\xA9\xF0\x9F\x8F\xA0\n");
    assert_int_equal(neo_json_integer(neo_json_get(value, "i")), 42);
    assert_true(neo_json_real(neo_json_get(value, "r")) == 2.5);
    assert_true(neo_json_real(neo_json_get(value, "i")) == 42.0);
    assert_true(neo_json_is_true(neo_json_get(value, "t")));
    assert_false(neo_json_is_true(neo_json_get(value, "f")));
    assert_int_equal(neo_json_size(value), 6);
    assert_int_equal(neo_json_size(neo_json_get(value, "a")), 3);
    assert_int_equal(neo_json_integer(neo_json_at(neo_json_get(value, "a"), 2)), 3);
    assert_null(neo_json_at(neo_json_get(value, "a"), 3));
    assert_null(neo_json_get(value, "S"));
    assert_null(neo_json_string(neo_json_get(value, "i")));
}

/* clang-format off */
static const char *const malformed[] = {
    "", " ", "{", "}", "[1", "[1,]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{'a':1}", "{1:1}", "tru", "True", "nul",
    "NaN", "Infinity", "-Infinity", "01", "+1", ".5", "1.", "1e", "0x10", "--1", "\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"",
    "\"a\nb\"", "\"\t\"", "\"\x01\"", "1 2", "{} {}", "[]x", "{}//remark", "/**/1", "[1 2]", "\xEF\xBB\xBF{}", "{\"a\":1;}",
    "\"\\ud83c\"", "\"\\udfe0\"", "\"\\ud83c\\u0041\"", "\"\\ud83cx\"", "{\"a\"", "{\"a\":", "{\"a\":1", "{,}", "{\"a\" 1}",
    "{\"a\":1}}", "undefined", "{\"a\":-}", "//\n{}", "\"\\udc00\\ud800\"",
};
/* clang-format on */

/* A text inside more arrays than the fast reader accepts, so that jansson reads it; NULL if it has an error. */
static const char *read_by_jansson(const char *text, apr_pool_t *pool)
{
    enum { DEPTH = 40 };
    const char *error;
    neo_buf nested;
    neo_buf_init(&nested, pool, 256);
    for (int i = 0; i < DEPTH; i++)
        neo_buf_putc(&nested, '[');
    neo_buf_puts(&nested, text);
    for (int i = 0; i < DEPTH; i++)
        neo_buf_putc(&nested, ']');
    neo_json *value = neo_json_parse(neo_buf_text(&nested), pool, &error);
    for (int i = 0; i < DEPTH && value; i++)
        value = neo_json_at(value, 0);
    return value ? text_of_json(value, pool) : NULL;
}

/* clang-format off */
static const char *const fragments[] = {
    "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"\"", "\"b\":", "{\"a\":1", ",\"a\":", " ", "\n", "\t", "\r", "0", "1", "-", "12", ".5",
    "e3", "E-2", "true", "false", "null", "\\", "\\\"", "\\n", "\\/", "\\u00e9", "\\u0041", "\\u0000", "\\ud83c", "\\udfe0", "\\u12", "\\x",
    "\xC3\xA9", "\xFF", "\xED\xA0\x80", "\xC0\x80", "\x01", "x", "9223372036854775807", "9223372036854775808", "1e400", "1e-400",
};
/* clang-format on */

TEST(both_readers_make_the_same_values)
{
    unsigned int seed = 1;
    int accepted = 0;
    for (int n = 0; n < 60000; n++) {
        apr_pool_clear(*state);
        neo_buf text;
        neo_buf_init(&text, *state, 64);
        int is_string = n % 3 == 0;
        neo_buf_puts(&text, is_string ? "\"" : "");
        for (unsigned int i = 0, count = 1 + (seed >> 16) % 6; i < count; i++) {
            seed = seed * 1103515245U + 12345U;
            neo_buf_puts(&text, fragments[(seed >> 16) % COUNT(fragments)]);
        }
        neo_buf_puts(&text, is_string ? "\"" : "");
        const char *error;
        neo_json *value = neo_json_parse(neo_buf_text(&text), *state, &error);
        if (!value)
            continue;
        const char *other = read_by_jansson(text.ptr, *state);
        assert_non_null(other);
        assert_string_equal(text_of_json(value, *state), other);
        accepted++;
    }
    assert_true(accepted > 3000);
}

TEST(malformed_json_is_refused)
{
    for (int i = 0; i < COUNT(malformed); i++)
        assert_non_null(strstr(error_of(text_of(malformed[i]), *state), "(line "));
}

TEST(an_error_has_line_and_column_and_no_input)
{
    static const char text[] = "{\n  \"name\": \"Ana\",\n  \"creci\" \"<script>near\xFF\"\n}";
    const char *error = error_of(text_of(text), *state);
    assert_non_null(strstr(error, "line 3"));
    assert_non_null(strstr(error, "column"));
    assert_null(strstr(error, "near"));
    assert_null(strstr(error, "script"));
    assert_true(neo_utf8_is_valid(error, strlen(error)));
}

TEST(a_repeated_key_is_refused_at_any_depth)
{
    static const char *const error[] = {"{\"a\":1,\"a\":1}", "{\"a\":{\"b\":1,\"c\":2,\"b\":3}}", "[{\"a\":null,\"a\":null}]",
                                        "{\"a\":1,\"\\u0061\":2}", "{\"\":1,\"\":2}"};
    for (int i = 0; i < COUNT(error); i++)
        assert_non_null(strstr(error_of(text_of(error[i]), *state), "duplicate object key"));
    parse_json("{\"a\":1,\"A\":2,\"b\":{\"a\":3}}", *state);
}

TEST(nul_is_refused_everywhere)
{
    static const char *const escaped[] = {"\"\\u0000\"", "\"a\\u0000b\"", "{\"\\u0000\":1}", "{\"a\\u0000b\":1}"};
    static const char raw[] = "{\"a\":\"b\0c\"}";
    for (int i = 0; i < COUNT(escaped); i++)
        assert_memory_equal(error_of(text_of(escaped[i]), *state), "\\u0000 is not allowed in strings (", 33);
    error_of((neo_text){raw, sizeof raw - 1}, *state);
    error_of((neo_text){"{}\0", 3}, *state);
    error_of((neo_text){"\0{}", 3}, *state);
    error_of((neo_text){"{\"a\0b\":1}", 9}, *state);
    error_of((neo_text){"{\0}\0", 4}, *state);
    error_of((neo_text){"", 0}, *state);
}

TEST(a_document_that_is_cut_off_anywhere_is_refused)
{
    static const char whole[] = "{\"name\":\"S\xC3\xA3o\",\"n\":[-1.5e3,true,null],\"o\":{\"\\u00e9\":\"\"}}";
    parse_json(whole, *state);
    for (apr_size_t len = 0; len < sizeof whole - 1; len++)
        error_of((neo_text){whole, len}, *state);
}

TEST(invalid_utf8_is_refused)
{
    static const char *const error[] = {"\"\xFF\"",
                                        "\"\xC0\x80\"",
                                        "\"\xE0\x80\xAF\"",
                                        "\"\xED\xA0\x80\"",
                                        "\"\xF4\x90\x80\x80\"",
                                        "\"\xC0\xAF\"",
                                        "\"\xED\xA0\xBD\xED\xB8\x80\"",
                                        "\"\xF8\x88\x80\x80\x80\"",
                                        "\"\xE2\x82\"",
                                        "\"S\xE3o\"",
                                        "\"\xC3\"",
                                        "{\"\xFF\":1}",
                                        "\xFF\xFE{\0}\0",
                                        "\"\xF0\x9F\x8F\"",
                                        "\x80"};
    for (int i = 0; i < COUNT(error); i++) {
        const char *message = error_of(text_of(error[i]), *state);
        assert_true(neo_utf8_is_valid(message, strlen(message)));
    }
}

static neo_text nested(int depth, apr_pool_t *pool)
{
    neo_buf buf;
    neo_buf_init(&buf, pool, 64);
    for (int i = 0; i < depth; i++)
        neo_buf_puts(&buf, i % 2 ? "{\"a\":" : "[");
    neo_buf_puts(&buf, "1");
    for (int i = depth - 1; i >= 0; i--)
        neo_buf_putc(&buf, i % 2 ? '}' : ']');
    return neo_buf_text(&buf);
}

TEST(deep_nesting_is_parsed_or_refused)
{
    const char *error = NULL;
    neo_text deep = nested(1000, *state);
    neo_json *value = neo_json_parse(deep, *state, &error);
    assert_non_null(value);
    assert_string_equal(text_of_json(value, *state), deep.ptr);
    assert_non_null(strstr(error_of(nested(3000, *state), *state), "depth"));
    assert_non_null(strstr(error_of(nested(1000000, *state), *state), "depth"));
}

TEST(any_number_of_unclosed_brackets_is_refused)
{
    static const int counts[] = {1, 1000, 2047, 2048, 2049, 1000000};
    static const char *const openings[] = {"[", "{\"a\":", "[{\"a\":"};
    for (int i = 0; i < COUNT(counts); i++)
        for (int o = 0; o < COUNT(openings); o++) {
            neo_buf text;
            neo_buf_init(&text, *state, 1024);
            for (int n = 0; n < counts[i]; n++)
                neo_buf_puts(&text, openings[o]);
            error_of(neo_buf_text(&text), *state);
        }
}

TEST(integers_keep_all_63_bits)
{
    static const struct {
        const char *text;
        long long value;
    } cases[] = {
        {"9007199254740993", 9007199254740993LL}, /* 2^53 + 1 */
        {"9223372036854775807", LLONG_MAX},
        {"-9223372036854775808", LLONG_MIN},
        {"0", 0},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        neo_json *value = parse_json(cases[i].text, *state);
        assert_int_equal(neo_json_get_kind(value), NEO_JSON_INTEGER);
        assert_true(neo_json_integer(value) == cases[i].value);
        assert_string_equal(text_of_json(value, *state), cases[i].text);
    }
    assert_int_equal(neo_json_get_kind(parse_json("1E3", *state)), NEO_JSON_REAL);
    assert_int_equal(neo_json_get_kind(parse_json("1.0", *state)), NEO_JSON_REAL);
}

TEST(a_number_out_of_range_becomes_one_that_no_field_accepts)
{
    static const char *const large[][2] = {
        {"9223372036854775808", "1e300"},
        {"-9223372036854775809", "-1e300"},
        {"[100000000000000000000000000000, 1]", "[1e300,1]"},
        {"{\"9223372036854775808\":1e999,\"b\":\"1e999 \\\"9223372036854775808\"}",
         "{\"9223372036854775808\":1e300,\"b\":\"1e999 \\\"9223372036854775808\"}"},
        {"[0.1, -1e999 , -1.5e3, 9223372036854775807, -9223372036854775808, 1E400, 0, -0]",
         "[0.1,-1e300,-1500.0,9223372036854775807,-9223372036854775808,1e300,0,0]"},
        {"1e-999", "0.0"},
    };
    for (int i = 0; i < COUNT(large); i++)
        assert_string_equal(text_of_json(parse_json(large[i][0], *state), *state), large[i][1]);
}

TEST(malformed_json_is_refused_beside_a_large_number)
{
    static const char *const error[] = {"[1e999",
                                        "[1e999,]",
                                        "[1e999 1e999]",
                                        "1e999x",
                                        "1e999e1",
                                        "[1e999,\"",
                                        "[1e999,\"\\",
                                        "[1e999,\"\\\"",
                                        "01e999",
                                        "--1e999",
                                        "{\"a\":1e999,\"a\":1}",
                                        "[1e999,\"\xFF\"]",
                                        "[1e999,\"a\nb\"]",
                                        "1e999 2",
                                        "[1e999]\""};
    for (int i = 0; i < COUNT(error); i++)
        error_of(text_of(error[i]), *state);
    error_of((neo_text){"[1e999]\0", 8}, *state);
}

TEST(a_decimal_is_written_as_it_was_read_up_to_fifteen_digits)
{
    static const char *const same[] = {"0.1",  "72.3",   "-23.58934", "999999999999.999",  "0.000123456789012345",
                                       "92.5", "148.75", "-0.5",      "123456789012345.0", "-46.6348112345678"};
    for (int i = 0; i < COUNT(same); i++)
        assert_string_equal(text_of_json(parse_json(same[i], *state), *state), same[i]);
    assert_string_equal(text_of_json(parse_json("-23.561414999999997", *state), *state), "-23.561415");
}

/* PostgreSQL's numeric prints them so, too: a representation has the text of the column. */
TEST(a_decimal_is_written_without_an_exponent)
{
    static const char *const cases[][2] = {
        {"1e-5", "0.00001"},       {"1.50e-7", "0.00000015"},
        {"-2.5E-05", "-0.000025"}, {"1.5e3", "1500.0"},
        {"-0.0", "0.0"},           {"1E14", "100000000000000.0"},
        {"0.00012", "0.00012"},    {"1.23456789012345678e-10", "0.000000000123456789012346"}};
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(text_of_json(parse_json(cases[i][0], *state), *state), cases[i][1]);
}

/* Members, making and writing. */

TEST(members_keep_their_order)
{
    static const char text[] = "{\"z\":1,\"a\":{\"y\":[],\"b\":{}},\"m\":\"\",\"0\":null}";
    static const char *const keys[] = {"z", "a", "m", "0"};
    neo_json *value = parse_json(text, *state);
    int n = 0;
    for (void *m = neo_json_first(value); m; m = neo_json_next(value, m), n++) {
        assert_string_equal(neo_json_member_key(m), keys[n]);
        assert_ptr_equal(neo_json_member_value(m), neo_json_get(value, keys[n]));
    }
    assert_int_equal(n, 4);
    assert_string_equal(text_of_json(value, *state), text);
    assert_null(neo_json_first(parse_json("{}", *state)));
}

TEST(json_is_unchanged_by_parsing_and_writing)
{
    static const char text[] = "{\"a key\\\"\\\\\\n\\u0001\":[true,false,null,[],{},[[-1]],\"\\b\\f\\r\\t\\u001f\x7F/\",0.5,"
                               "9223372036854775807],\"\":{\"\xC3\xA9\":{\"x\":\"\"}}}";
    assert_string_equal(text_of_json(parse_json(text, *state), *state), text);
}

TEST(new_values_are_written_compactly_in_order)
{
    neo_json *object = neo_json_make_object(*state), *array = neo_json_make_array(*state);
    neo_json_set(object, "name", neo_json_make_string("S\xC3\xA3o \"Paulo\"\n", *state));
    neo_json_set(object, "gone", neo_json_make_integer(1, *state));
    neo_json_set(object, "list", array);
    neo_json_append(array, neo_json_make_integer(LLONG_MIN, *state));
    neo_json_append(array, neo_json_make_boolean(1, *state));
    neo_json_append(array, neo_json_make_boolean(0, *state));
    neo_json_remove(object, "gone");
    neo_json_remove(object, "never there");
    assert_string_equal(text_of_json(object, *state),
                        "{\"name\":\"S\xC3\xA3o \\\"Paulo\\\"\\n\",\"list\":[-9223372036854775808,true,false]}");
    neo_json_set(object, "list", neo_json_make_integer(2, *state));
    assert_string_equal(text_of_json(neo_json_get(object, "list"), *state), "2");
}

TEST(a_value_is_freed_with_its_pool)
{
    apr_pool_t *pool, *inner;
    apr_pool_create(&pool, *state);
    neo_json *object = neo_json_make_object(pool);
    apr_pool_create(&inner, *state);
    neo_json_set(object, "kept", neo_json_make_string("shared", inner));
    apr_pool_destroy(inner);
    assert_string_equal(text_of_json(object, *state), "{\"kept\":\"shared\"}");
    apr_pool_destroy(pool);
}

/* Merge patches. */

static const char *merged(const char *target, const char *patch, apr_pool_t *pool)
{
    neo_json *target_value = parse_json(target, pool), *patch_value = parse_json(patch, pool);
    const char *before = text_of_json(target_value, pool), *patch_before = text_of_json(patch_value, pool);
    const char *after = text_of_json(neo_json_merge_patch(target_value, patch_value, pool), pool);
    assert_string_equal(text_of_json(target_value, pool), before);
    assert_string_equal(text_of_json(patch_value, pool), patch_before);
    return after;
}

TEST(merge_patches_are_those_of_the_rfc)
{
    /* RFC 7396, appendix A, in its order */
    static const char *const examples[][3] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
        {"{\"a\":\"foo\"}", "null", "null"},
        {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    };
    for (int i = 0; i < COUNT(examples); i++)
        assert_string_equal(merged(examples[i][0], examples[i][1], *state), examples[i][2]);
}

TEST(a_merge_patch_keeps_other_members_and_their_order)
{
    assert_string_equal(merged("{\"z\":1,\"y\":{\"b\":1,\"a\":2},\"x\":3}", "{\"y\":{\"b\":9},\"w\":4}", *state),
                        "{\"z\":1,\"y\":{\"b\":9,\"a\":2},\"x\":3,\"w\":4}");
    assert_string_equal(merged("{\"a\":1}", "{}", *state), "{\"a\":1}");
    assert_string_equal(merged("{\"a\":{\"b\":{\"c\":1,\"d\":2}}}", "{\"a\":{\"b\":{\"c\":null}}}", *state),
                        "{\"a\":{\"b\":{\"d\":2}}}");
}

TEST(a_merge_patch_may_be_deep)
{
    neo_buf patch;
    neo_buf_init(&patch, *state, 8192);
    for (int i = 0; i < 1000; i++)
        neo_buf_puts(&patch, "{\"a\":");
    neo_buf_puts(&patch, "1");
    for (int i = 0; i < 1000; i++)
        neo_buf_putc(&patch, '}');
    assert_string_equal(merged("{}", patch.ptr, *state), patch.ptr);
}
