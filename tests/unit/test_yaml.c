/* SPDX-License-Identifier: Apache-2.0 */
/* YAML: what is written is read back as the same value by every reader. (tests/openapi/roundtrip.py reads back what is made
 * here of thousands of values; these tests pin what libyaml leaves to its caller.) */
#include "unit.h"

#include <apr_strings.h>

#include "openapi/openapi.h"

static const char *yaml_of(const char *json, apr_pool_t *pool)
{
    neo_text text = neo_yaml_text(parse_json(json, pool), pool);
    assert_int_equal(strlen(text.ptr), text.len);
    return text.ptr;
}

static const char *yaml_of_text(const char *text, apr_pool_t *pool)
{
    return neo_yaml_text(neo_json_make_string(text, pool), pool).ptr;
}

TEST(members_and_items_keep_their_order)
{
    assert_string_equal(yaml_of("{\"b\": {\"d\": 1, \"c\": [true, null, {}, []]}, \"a\": \"x\"}", *state),
                        "{b: {d: 1, c: [true, null, {}, []]}, a: x}\n");
}

TEST(what_has_several_lines_or_is_long_is_written_in_blocks)
{
    assert_string_equal(yaml_of("{\"b\": {\"c\": [\"1\\n2\"]}, \"a\": \"x\"}", *state), "b:\n"
                                                                                        "  c:\n"
                                                                                        "  - |-\n"
                                                                                        "    1\n"
                                                                                        "    2\n"
                                                                                        "a: x\n");
    const char *item = "\"word\"";
    for (int i = 0; i < 8; i++)
        item = apr_pstrcat(*state, item, ", ", item, NULL);
    assert_memory_equal(yaml_of(apr_psprintf(*state, "{\"a\": [%s]}", item), *state), "a:\n- word\n- word\n", 17);
}

TEST(numbers_stay_numbers)
{
    assert_string_equal(yaml_of("[0, -9223372036854775808, 0.5, 1e300, -1.5e-7, false]", *state),
                        "[0, -9223372036854775808, 0.5, 1.0e+300, -0.00000015, false]\n");
}

TEST(words_and_paths_are_plain)
{
    static const char *const plain[] = {"brokers", "Itaú Unibanco", "/brokers/{id}",
                                        "$ref",    "3.1.0",         "https://api.example.com/docs"};
    for (int i = 0; i < COUNT(plain); i++)
        assert_string_equal(yaml_of_text(plain[i], *state), apr_pstrcat(*state, plain[i], "\n", NULL));
}

TEST(ambiguous_texts_are_quoted)
{
    static const char *const quoted[] = {"",      "true",       "False", "YES", "no",  "On",   "off", "y",   "N",
                                         "null",  "NULL",       "~",     "200", "-1",  "0x1F", "3.1", "1e3", ".5",
                                         "12:30", "2026-01-31", ".inf",  "<<",  "=",   "- a",  "? a", ": a", "#a",
                                         "a: b",  "a #b",       "a:",    "&a",  "*a",  "!a",   "|",   ">",   "%a",
                                         "@a",    "`a`",        "[a]",   "{a}", "'a'", " a",   "a ",  "---"};
    for (int i = 0; i < COUNT(quoted); i++) {
        const char *text = yaml_of_text(quoted[i], *state);
        assert_true(*text == '"' || *text == '\'');
    }
    assert_memory_equal(yaml_of("{\"200\": 1}", *state), "{\"200\": 1}", 10);
}
