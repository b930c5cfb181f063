/* Filters' values on their way into SQL. (The statements themselves are tested end to end, where there is a database.) */
#include "unit.h"

#include "core/encode.h"
#include "store/table.h"

/* The value as it is compared; the test fails where it is refused. */
static const char *value_of(const char *filter, const char *text, apr_pool_t *pool)
{
    const char *value = NULL;
    const char *wrong = neo_condition_value(neo_filter_named(&neo_broker, filter), "brk_", text, pool, &value);
    if (wrong)
        fail_msg("%s=%s was refused: %s", filter, text, wrong);
    return value;
}

static const char *refusal_of(const char *filter, const char *text, apr_pool_t *pool)
{
    const char *value = NULL;
    const char *wrong = neo_condition_value(neo_filter_named(&neo_broker, filter), "brk_", text, pool, &value);
    if (!wrong)
        fail_msg("%s=%s was taken", filter, text);
    assert_memory_equal(wrong, "must ", 5);
    assert_true(neo_utf8_is_valid(wrong, strlen(wrong)));
    return wrong;
}

static void a_text_is_compared_as_it_is(void **state)
{
    static const char *const texts[] = {"1", "' or 1=1 --", "%", "\\", "S\xC3\xA3o", " "};
    for (int i = 0; i < COUNT(texts); i++) {
        assert_string_equal(value_of("creci", texts[i], *state), texts[i]);
        assert_string_equal(value_of("email", texts[i], *state), texts[i]);
    }
}

static void a_part_of_a_text_is_found_anywhere_and_has_no_wildcards(void **state)
{
    static const char *const known[][2] = {
        {"ana", "%ana%"},     {"100%", "%100\\%%"},     {"a_b", "%a\\_b%"},
        {"a\\b", "%a\\\\b%"}, {"%_\\", "%\\%\\_\\\\%"}, {"\xC3\xA9", "%\xC3\xA9%"},
    };
    for (int i = 0; i < COUNT(known); i++)
        assert_string_equal(value_of("q", known[i][0], *state), known[i][1]);
}

static void a_moment_of_creation_becomes_an_id_and_another_a_text(void **state)
{
    assert_string_equal(value_of("created_gte", "1970-01-01T00:00:00.001Z", *state), "brk_00000000010000000000000000");
    assert_string_equal(value_of("created_lte", "1970-01-01T00:00:00.001Z", *state), "brk_0000000001zzzzzzzzzzzzzzzz");
    assert_string_equal(value_of("updated_gte", "2026-01-31T10:45:10.1239-03:00", *state), "2026-01-31T13:45:10.123Z");
    assert_string_equal(value_of("updated_lte", "9999-12-31T23:59:59.999Z", *state), "9999-12-31T23:59:59.999Z");
}

static void what_is_no_moment_is_refused(void **state)
{
    static const char *const filters[] = {"created_gte", "created_lte", "updated_gte", "updated_lte"};
    static const char *const texts[] = {
        "", "now", "2026-01-31", "2026-02-30T00:00:00Z", "2026-01-31T10:45:10 03:00", "infinity", "9999-12-31T23:59:59-23:59"};
    for (int f = 0; f < COUNT(filters); f++)
        for (int t = 0; t < COUNT(texts); t++)
            refusal_of(filters[f], texts[t], *state);
    assert_non_null(strstr(refusal_of("created_gte", "2026-01-31T10:45:10 03:00", *state), "%2B"));
}

static void a_value_of_an_enumeration_is_one_of_them(void **state)
{
    assert_string_equal(value_of("visibility", "public", *state), "public");
    assert_string_equal(refusal_of("visibility", "Public", *state), "must be one of private, restricted, public");
    refusal_of("visibility", "private,public", *state);
}

static void an_empty_value_is_refused_by_every_filter(void **state)
{
    for (const neo_filter *f = neo_broker.filters; f->name; f++)
        refusal_of(f->name, "", *state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        pool_test(a_text_is_compared_as_it_is),
        pool_test(a_part_of_a_text_is_found_anywhere_and_has_no_wildcards),
        pool_test(a_moment_of_creation_becomes_an_id_and_another_a_text),
        pool_test(what_is_no_moment_is_refused),
        pool_test(a_value_of_an_enumeration_is_one_of_them),
        pool_test(an_empty_value_is_refused_by_every_filter),
    };
    return run_room("table", tests);
}
