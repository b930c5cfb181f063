/* SPDX-License-Identifier: Apache-2.0 */
/* Values of filters and references in SQL. (The statements are tested end to end.) */
#include "unit.h"

#include <apr_strings.h>

#include "core/encode.h"
#include "resources/list.h"
#include "sql/reference.h"
#include "sql/table.h"

/* The value that is compared; the test fails if it is refused. */
static const char *value_of(const char *filter, const char *text, apr_pool_t *pool)
{
    const char *value = NULL;
    const char *error = neo_condition_value(neo_filter_named(&neo_broker, filter), "brk_", text, pool, &value);
    if (error)
        fail_msg("%s=%s was refused: %s", filter, text, error);
    return value;
}

static const char *error_of(const char *filter, const char *text, apr_pool_t *pool)
{
    const char *value = NULL;
    const char *error = neo_condition_value(neo_filter_named(&neo_broker, filter), "brk_", text, pool, &value);
    if (!error)
        fail_msg("%s=%s was taken", filter, text);
    assert_memory_equal(error, "must ", 5);
    assert_true(neo_utf8_is_valid(error, strlen(error)));
    return error;
}

TEST(a_text_is_compared_unchanged)
{
    static const char *const texts[] = {"1", "' or 1=1 --", "%", "\\", "S\xC3\xA3o", " "};
    for (int i = 0; i < COUNT(texts); i++) {
        assert_string_equal(value_of("creci", texts[i], *state), texts[i]);
        assert_string_equal(value_of("email", texts[i], *state), texts[i]);
        const char *part = apr_pstrcat(*state, "ab", texts[i], "c", NULL);
        assert_string_equal(value_of("q", part, *state), part);
    }
}

TEST(created_at_is_compared_as_an_id_and_other_times_as_texts)
{
    assert_string_equal(value_of("created_gte", "1970-01-01T00:00:00.001Z", *state), "brk_00000000010000000000000000");
    assert_string_equal(value_of("created_lte", "1970-01-01T00:00:00.001Z", *state), "brk_0000000001zzzzzzzzzzzzzzzz");
    assert_string_equal(value_of("updated_gte", "2026-01-31T10:45:10.1239-03:00", *state), "2026-01-31T13:45:10.123Z");
    assert_string_equal(value_of("updated_lte", "9999-12-31T23:59:59.999Z", *state), "9999-12-31T23:59:59.999Z");
}

TEST(an_invalid_timestamp_is_refused)
{
    static const char *const filters[] = {"created_gte", "created_lte", "updated_gte", "updated_lte"};
    static const char *const texts[] = {
        "", "now", "2026-01-31", "2026-02-30T00:00:00Z", "2026-01-31T10:45:10 03:00", "infinity", "9999-12-31T23:59:59-23:59"};
    for (int f = 0; f < COUNT(filters); f++)
        for (int t = 0; t < COUNT(texts); t++)
            error_of(filters[f], texts[t], *state);
    assert_non_null(strstr(error_of("created_gte", "2026-01-31T10:45:10 03:00", *state), "%2B"));
}

TEST(an_enumeration_accepts_only_its_values)
{
    assert_string_equal(value_of("visibility", "public", *state), "public");
    assert_string_equal(error_of("visibility", "Public", *state), "must be private, restricted or public");
    error_of("visibility", "private,public", *state);
}

/* Whether a filter of another resource accepts the value. */
static int accepts(const neo_resource *resource, const char *filter, const char *text, apr_pool_t *pool)
{
    const char *value = NULL;
    const char *error = neo_condition_value(neo_filter_named(resource, filter), resource->prefix, text, pool, &value);
    assert_true(error ? strncmp(error, "must ", 5) == 0 : strcmp(value, text) == 0);
    return !error;
}

TEST(an_integer_is_one_that_the_database_can_hold)
{
    static const char *const right[] = {"0", "-1", "9223372036854775807"};
    static const char *const error[] = {"", "x", "1.0", "1e3", " 1", "+1", "0x1", "9223372036854775808"};
    for (int i = 0; i < COUNT(right); i++)
        assert_true(accepts(&neo_property, "sale_price_gte", right[i], *state));
    for (int i = 0; i < COUNT(error); i++)
        assert_false(accepts(&neo_property, "bedrooms_gte", error[i], *state));
}

TEST(a_date_is_one_of_the_calendar)
{
    static const char *const right[] = {"2026-02-28", "2028-02-29", "9999-12-31"};
    static const char *const error[] = {"", "2026-02-29", "2026-1-1", "28/02/2026", "today", "2026-01-31T00:00:00Z"};
    for (int i = 0; i < COUNT(right); i++)
        assert_true(accepts(&neo_proposal, "valid_until_lte", right[i], *state));
    for (int i = 0; i < COUNT(error); i++)
        assert_false(accepts(&neo_contract, "end_date_lte", error[i], *state));
}

TEST(an_empty_value_is_refused_by_every_filter)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (const neo_filter *f = (*r)->filters; f && f->name; f++)
            assert_false(accepts(*r, f->name, "", *state));
}

TEST(every_reference_target_has_a_column)
{
    static const char *const cases[][2] = {{"brk_x", "broker_id"},
                                           {"prp_", "property_id"},
                                           {"pty_0", "party_id"},
                                           {"pps_1", "proposal_id"},
                                           {"ctr_2", "contract_id"}};
    static const char *const unknown[] = {"doc_x", "whs_x", "org_x", "", "brk", "x"};
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(neo_reference_column(cases[i][0], *state), cases[i][1]);
    for (int i = 0; i < COUNT(unknown); i++)
        assert_null(neo_reference_column(unknown[i], *state));
}

TEST(references_become_three_arrays)
{
    const char *text = "{\"broker_id\":\"brk_1\",\"owners\":[{\"party_id\":\"pty_1\"},{\"party_id\":\"pty_2\"}]}";
    neo_values values = {0};
    neo_reference_values all;
    const neo_json *body = parse_json(text, *state);
    neo_references_begin(&all, *state);
    neo_references_add(&all, &neo_property, body, 1);
    neo_references_add(&all, &neo_property, neo_json_make_object(*state), 2);
    neo_references_add(&all, &neo_property, body, 3);
    neo_references_end(&all, &values);
    assert_string_equal(values.numbers, "{1,1,1,3,3,3}");
    assert_string_equal(values.paths, "{\"owners[0].party_id\",\"owners[1].party_id\",\"broker_id\","
                                      "\"owners[0].party_id\",\"owners[1].party_id\",\"broker_id\"}");
    assert_string_equal(values.targets, "{\"pty_1\",\"pty_2\",\"brk_1\",\"pty_1\",\"pty_2\",\"brk_1\"}");
    neo_references_begin(&all, *state);
    neo_references_end(&all, &values);
    assert_string_equal(values.paths, "{}");
    assert_string_equal(values.targets, "{}");
}
