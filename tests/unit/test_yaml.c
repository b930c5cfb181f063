/* SPDX-License-Identifier: Apache-2.0 */
/* YAML: what is written is read back as the same value by every reader. (tests/openapi/roundtrip.py reads back what is made
 * here of thousands of values; these tests pin the form.) */
#include "unit.h"

#include <apr_strings.h>

#include "model/yaml.h"

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

static void members_and_items_are_written_in_blocks_and_in_their_order(void **state)
{
    assert_string_equal(
        yaml_of("{\"b\": {\"d\": 1, \"c\": [true, {\"e\": \"1\\n2\", \"f\": [[2, \"3\\n4\"]]}]}, \"a\": \"x\"}", *state),
        "b:\n"
        "  d: 1\n"
        "  c:\n"
        "    - true\n"
        "    - e: |-\n"
        "        1\n"
        "        2\n"
        "      f:\n"
        "        - - 2\n"
        "          - |-\n"
        "            3\n"
        "            4\n"
        "a: x\n");
}

static void short_collections_have_flow_style(void **state)
{
    assert_string_equal(
        yaml_of("{\"b\": {\"d\": 1, \"c\": [true, {\"e\": null, \"f\": [[2, {}]]}]}, \"a\": [{\"x\": \"y z\"}]}", *state),
        "b: {d: 1, c: [true, {e: null, f: [[2, {}]]}]}\na: [{x: y z}]\n");
    assert_string_equal(yaml_of("[[\"a,b\", \"a:b\", \"{a\", \"a]\", \"200\", \"#/a\", {\"a,b\": 1e300}]]", *state),
                        "- [\"a,b\", \"a:b\", \"{a\", \"a]\", \"200\", \"#/a\", {\"a,b\": 1.0e+300}]\n");
}

static void empty_collections_have_flow_style(void **state)
{
    assert_string_equal(yaml_of("{\"a\": {}, \"b\": [], \"c\": [{}, \"\"]}", *state), "a: {}\nb: []\nc: [{}, \"\"]\n");
    assert_string_equal(yaml_of("{}", *state), "{}\n");
}

static void numbers_stay_numbers(void **state)
{
    assert_string_equal(yaml_of("[0, -9223372036854775808, 0.5, 1e300, -1.5e-7]", *state),
                        "- 0\n- -9223372036854775808\n- 0.5\n- 1.0e+300\n- -1.5e-7\n");
}

static void words_and_paths_are_plain(void **state)
{
    static const char *const plain[] = {"brokers",
                                        "Itaú Unibanco",
                                        "/brokers/{id}",
                                        "$ref",
                                        "3.1.0",
                                        "a:b",
                                        "a#b",
                                        "it's",
                                        "say \"a\"",
                                        "null value",
                                        "https://api.example.com/docs",
                                        "back\\slash",
                                        "ends in a dash -"};
    for (int i = 0; i < COUNT(plain); i++)
        assert_string_equal(yaml_of_text(plain[i], *state), apr_pstrcat(*state, plain[i], "\n", NULL));
}

static void ambiguous_scalars_are_quoted(void **state)
{
    static const char *const quoted[] = {"",      "true",       "False", "YES", "no",  "On",   "off", "y",   "N",
                                         "null",  "NULL",       "~",     "200", "-1",  "0x1F", "3.1", "1e3", ".5",
                                         "12:30", "2026-01-31", ".inf",  "<<",  "=",   "- a",  "? a", ": a", "#a",
                                         "a: b",  "a #b",       "a:",    "&a",  "*a",  "!a",   "|",   ">",   "%a",
                                         "@a",    "`a`",        "[a]",   "{a}", "'a'", " a",   "a ",  "---"};
    for (int i = 0; i < COUNT(quoted); i++)
        assert_string_equal(yaml_of_text(quoted[i], *state), apr_psprintf(*state, "\"%s\"\n", quoted[i]));
}

static void keys_are_quoted_by_the_same_rules(void **state)
{
    assert_string_equal(yaml_of("{\"200\": {\"on\": 1, \"a: b\": 2}, \"x\\ny\": 3}", *state),
                        "\"200\": {\"on\": 1, \"a: b\": 2}\n\"x\\ny\": 3\n");
}

static void unprintable_characters_are_escaped(void **state)
{
    static const struct {
        const char *text, *yaml;
    } cases[] = {
        {"\"\\", "\"\\\"\\\\\"\n"},
        {"a\tb", "\"a\\u0009b\"\n"},
        {"a\r\nb", "\"a\\u000d\\nb\"\n"},
        {"\x1b\x7f", "\"\\u001b\\u007f\"\n"},
        {"a\xC2\x85", "\"a\\u0085\"\n"},
        {"a\xE2\x80\xA8", "\"a\\u2028\"\n"},
        {"\xEF\xBB\xBF", "\"\\ufeff\"\n"},
        {"\xEF\xBF\xBF", "\"\\uffff\"\n"},
        {"a\xC2\xA0\xEF\xBF\xBD\xF0\x9F\x8F\xA0", "a\xC2\xA0\xEF\xBF\xBD\xF0\x9F\x8F\xA0\n"},
    };
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(yaml_of_text(cases[i].text, *state), cases[i].yaml);
}

static void several_lines_are_a_literal_block(void **state)
{
    assert_string_equal(yaml_of("{\"a\": \"- x: 1\\n\\n  # y\\n\", \"b\": [\"x\\ny\"]}", *state), "a: |\n"
                                                                                                  "  - x: 1\n"
                                                                                                  "\n"
                                                                                                  "    # y\n"
                                                                                                  "b:\n"
                                                                                                  "  - |-\n"
                                                                                                  "    x\n"
                                                                                                  "    y\n");
}

static void lines_that_a_literal_block_would_change_are_quoted(void **state)
{
    static const char *const texts[] = {"\n", "\na", " a\nb", "a \nb", "a\nb ", "a\n\n", "a\n  "};
    for (int i = 0; i < COUNT(texts); i++)
        assert_int_equal(*yaml_of_text(texts[i], *state), '"');
}

static const char *words(int count, const char *last, apr_pool_t *pool)
{
    const char *text = last;
    while (count--)
        text = apr_pstrcat(pool, "word ", text, NULL);
    return text;
}

/* A list of texts of 64 characters: two of them fit on a line. */
static const char *list_of(int count, apr_pool_t *pool)
{
    const char *list = "";
    for (int i = 0; i < count; i++)
        list = apr_psprintf(pool, "%s%s\"%s\"", list, i ? "," : "", words(11, "word end", pool));
    return apr_psprintf(pool, "{\"a\": [%s]}", list);
}

static void flow_style_is_wrapped_and_has_at_most_eight_lines(void **state)
{
    const char *text = words(11, "word end", *state), *yaml = yaml_of(list_of(3, *state), *state);
    assert_string_equal(yaml, apr_psprintf(*state, "a: [%s,\n  %s,\n  %s]\n", text, text, text));
    assert_memory_equal(yaml_of(list_of(8, *state), *state), "a: [word", 8);
    assert_memory_equal(yaml_of(list_of(9, *state), *state), "a:\n  - word", 11);
}

static void long_collections_have_block_style(void **state)
{
    const char *text = words(25, "end", *state), *yaml = yaml_of(apr_psprintf(*state, "{\"a\": [\"%s\", 1]}", text), *state);
    assert_memory_equal(yaml, "a:\n  - ", 7);
    assert_non_null(strstr(yaml, "\n  - 1\n"));
}

/* Folding turns each break into a space: doing so here gives the text back. */
static void a_long_line_is_folded_between_words(void **state)
{
    const char *text = words(60, "end", *state);
    char *yaml = apr_pstrdup(*state, yaml_of_text(text, *state));
    assert_memory_equal(yaml, ">-\n  word", 9);
    yaml += 5;
    for (char *at = yaml, *line = yaml; (at = strstr(at, "\n  ")); line = ++at) {
        assert_in_range(at - line, 108, 126);
        *at = ' ';
        memmove(at + 1, at + 3, strlen(at + 3) + 1);
    }
    yaml[strlen(yaml) - 1] = '\0';
    assert_string_equal(yaml, text);
}

static void a_long_line_that_folding_would_change_is_not_folded(void **state)
{
    assert_int_equal(*yaml_of_text(words(60, " two blanks", *state), *state), 'w');
    assert_int_equal(*yaml_of_text(words(60, "", *state), *state), '"');
    assert_int_equal(*yaml_of_text(apr_pstrcat(*state, "# ", words(60, "  end", *state), NULL), *state), '"');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        pool_test(members_and_items_are_written_in_blocks_and_in_their_order),
        pool_test(short_collections_have_flow_style),
        pool_test(flow_style_is_wrapped_and_has_at_most_eight_lines),
        pool_test(long_collections_have_block_style),
        pool_test(empty_collections_have_flow_style),
        pool_test(numbers_stay_numbers),
        pool_test(words_and_paths_are_plain),
        pool_test(ambiguous_scalars_are_quoted),
        pool_test(keys_are_quoted_by_the_same_rules),
        pool_test(unprintable_characters_are_escaped),
        pool_test(several_lines_are_a_literal_block),
        pool_test(lines_that_a_literal_block_would_change_are_quoted),
        pool_test(a_long_line_is_folded_between_words),
        pool_test(a_long_line_that_folding_would_change_is_not_folded),
    };
    return run_test_group("yaml", tests);
}
