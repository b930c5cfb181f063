/* SPDX-License-Identifier: Apache-2.0 */
/* Timestamps and dates: formatting and parsing agree, and nothing else is accepted. */
#include "unit.h"

#include "core/clock.h"

#define DAY 86400000LL

typedef struct {
    const char *text;
    neo_ms ms;
} timestamp;

static void assert_parses(const char *text, neo_ms expected)
{
    neo_ms ms = -1;
    if (!neo_ms_parse(text, &ms) || ms != expected)
        fail_msg("%s gave %lld, not %lld", text, ms, expected);
}

static void assert_refused(const char *text)
{
    neo_ms ms;
    if (neo_ms_parse(text, &ms))
        fail_msg("%s was taken for %lld", text, ms);
}

TEST(a_timestamp_is_written_with_milliseconds)
{
    static const timestamp cases[] = {
        {"1800-01-01T00:00:00.000Z", NEO_MS_FIRST},
        {"1888-05-13T12:00:00.250Z", -2576145599750LL},
        {"1969-12-31T23:59:59.999Z", -1},
        {"1970-01-01T00:00:00.000Z", 0},
        {"1970-01-01T00:00:00.001Z", 1},
        {"2000-02-29T12:34:56.789Z", 951827696789LL},
        {"2026-01-31T13:45:10.123Z", 1769867110123LL},
        {"9999-12-31T23:59:59.999Z", NEO_MS_LAST},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        char text[NEO_MS_TEXT_SIZE];
        neo_ms_format(text, cases[i].ms);
        assert_string_equal(text, cases[i].text);
        assert_parses(text, cases[i].ms);
    }
}

TEST(every_day_of_four_centuries_is_parsed_as_written)
{
    for (neo_ms ms = NEO_MS_FIRST; ms < NEO_MS_FIRST + 146097 * DAY; ms += DAY + 61001) {
        char text[NEO_MS_TEXT_SIZE];
        neo_ms_format(text, ms);
        assert_parses(text, ms);
    }
}

TEST(the_clock_is_now)
{
    neo_ms before = neo_now_ms(), read;
    char text[NEO_MS_TEXT_SIZE];
    assert_in_range(before, 1735689600000LL, NEO_MS_LAST); /* 2025 at least */
    neo_ms_format(text, before);
    assert_true(neo_ms_parse(text, &read));
    assert_int_equal(read, before);
    long long steady = neo_steady_seconds();
    assert_true(steady >= 0 && neo_steady_seconds() >= steady);
}

TEST(a_fraction_of_any_length_is_cut_at_the_millisecond)
{
    assert_parses("1970-01-01T00:00:01Z", 1000);
    assert_parses("1970-01-01T00:00:01.5Z", 1500);
    assert_parses("1970-01-01T00:00:01.05Z", 1050);
    assert_parses("1970-01-01T00:00:01.0009Z", 1000);
    assert_parses("1970-01-01T00:00:01.9999999999999999999999999999Z", 1999);
    assert_refused("1970-01-01T00:00:01.Z");
    assert_refused("1970-01-01T00:00:01,5Z");
    assert_refused("1970-01-01T00:00:01.5");
    assert_refused("1970-01-01T00:00:01.5.5Z");
    assert_refused("1970-01-01T00:00:01.-5Z");
}

TEST(an_offset_is_taken_into_account)
{
    assert_parses("2026-01-31T13:45:10.123+00:00", 1769867110123LL);
    assert_parses("2026-01-31T13:45:10.123-00:00", 1769867110123LL);
    assert_parses("2026-01-31T10:45:10.123-03:00", 1769867110123LL);
    assert_parses("2026-02-01T03:30:10.123+13:45", 1769867110123LL);
    assert_parses("2026-01-30T13:46:10.123-23:59", 1769867110123LL);
    assert_parses("2026-01-31t13:45:10.123z", 1769867110123LL);
    static const char *const error[] = {"+24:00",  "+00:60", "+1:00",  "+0100", "+01",    "+01:0", "+01:000",
                                        "-",       "+",      "Z ",     " Z",    "ZZ",     "UTC",   "",
                                        "+01:00Z", "+-1:00", "+01:-1", "+:",    "+01:0a", "+a1:00"};
    for (int i = 0; i < COUNT(error); i++) {
        char text[64];
        snprintf(text, sizeof text, "2026-01-31T13:45:10%s", error[i]);
        assert_refused(text);
        snprintf(text, sizeof text, "2026-01-31T13:45:10.123%s", error[i]);
        assert_refused(text);
    }
}

TEST(an_invalid_date_time_is_refused)
{
    static const char *const error[] = {
        "",
        "now",
        "2026",
        "2026-01-31",
        "2026-01-31T13:45Z",
        "2026-01-31 13:45:10Z",
        "2026-01-31T13:45:10",
        "2026-01-31T24:00:00Z",
        "2026-01-31T13:60:10Z",
        "2026-01-31T13:45:60Z",
        "2016-12-31T23:59:60Z", /* a real leap second */
        "2026-1-31T13:45:10.00Z",
        "26-01-31T13:45:10.000Z",
        "02026-01-31T13:45:10Z",
        "2026/01/31T13:45:10Z",
        "2026-01-31T13.45.10Z",
        "2026-01-31T-1:45:10Z",
        "2026-01-31T 3:45:10Z",
        " 2026-01-31T13:45:10Z",
        "2026-01-31T13:45:10Z\n",
        "2026-W05-6T13:45:10Z",
        "20260131T134510Z00000",
        "\xD9\xA2\xD9\xA0\xD9\xA2\xD9\xA6-01-31T13:45:10Z",
    };
    for (int i = 0; i < COUNT(error); i++)
        assert_refused(error[i]);
}

TEST(a_day_that_the_month_does_not_have_is_refused)
{
    static const char *const error[] = {"2026-00-10", "2026-13-10", "2026-01-00", "2026-01-32", "2026-02-29", "2024-02-30",
                                        "2100-02-29", "2026-04-31", "2026-06-31", "2026-09-31", "2026-11-31"};
    static const char *const right[] = {"2024-02-29", "2000-02-29", "2400-02-29", "2026-02-28",
                                        "2026-01-31", "2026-12-31", "2026-04-30"};
    char text[64];
    for (int i = 0; i < COUNT(error); i++) {
        snprintf(text, sizeof text, "%sT00:00:00Z", error[i]);
        assert_refused(text);
        assert_false(neo_date_is_valid(error[i]));
    }
    for (int i = 0; i < COUNT(right); i++) {
        neo_ms ms;
        snprintf(text, sizeof text, "%sT00:00:00Z", right[i]);
        assert_true(neo_ms_parse(text, &ms));
        assert_true(neo_date_is_valid(right[i]));
    }
}

TEST(a_timestamp_before_1970_is_negative)
{
    assert_parses("1970-01-01T01:00:00+01:00", 0);
    assert_parses("1970-01-01T00:00:00+00:01", -60000);
    assert_parses("1969-12-31T23:59:59Z", -1000);
    assert_parses("1969-12-31T23:59:59.999-01:00", 3599999);
}

TEST(a_timestamp_before_the_first_year_is_refused)
{
    assert_parses("1799-12-31T23:00:00-01:00", NEO_MS_FIRST);
    assert_refused("1799-12-31T23:59:59.999Z");
    assert_refused("1800-01-01T00:00:00+00:01");
    assert_refused("0000-01-01T00:00:00Z");
    assert_refused("0001-01-01T00:00:00Z");
}

TEST(a_timestamp_after_the_year_9999_is_refused)
{
    assert_parses("9999-12-31T23:59:59.999Z", NEO_MS_LAST);
    assert_parses("9999-12-31T23:59:59.999+01:00", NEO_MS_LAST - 3600000);
    assert_refused("9999-12-31T23:59:59.999-00:01");
    assert_refused("9999-12-31T23:59:59-23:59");
}

TEST(a_date_is_ten_characters_and_nothing_else)
{
    static const char *const error[] = {"",           "2026-02-2",  "2026-02-28T", "2026-02-28 ", "2026-2-28", "20260228",
                                        "28-02-2026", "2026-02_28", "1799-12-31",  "+026-02-28",  "2026-02-2x"};
    for (int i = 0; i < COUNT(error); i++)
        assert_false(neo_date_is_valid(error[i]));
    assert_true(neo_date_is_valid("1800-01-01"));
    assert_true(neo_date_is_valid("1969-07-20"));
    assert_true(neo_date_is_valid("9999-12-31"));
}

TEST(a_clock_that_differs_from_the_reference_by_more_than_a_second_is_not_followed)
{
    neo_ms now = neo_now_ms();
    neo_clock_compare(now - 900, 0); /* within the tolerance: the system clock's */
    assert_true(neo_now_ms() >= now);
    neo_clock_compare(now - 60000, NEO_MAX_CLOCK_STEP_MS); /* too old to be used */
    assert_true(neo_now_ms() >= now);
    assert_int_equal(neo_clock_take_steps(), 0);
    neo_clock_compare(now - 60000, 0);
    assert_in_range(neo_now_ms(), now - 60000, now - 50000);
    assert_in_range(neo_now_ms(), now - 60000, now - 50000);
    assert_int_equal(neo_clock_take_steps(), 1);
    neo_clock_compare(now, 0);
    assert_true(neo_now_ms() >= now);
    assert_int_equal(neo_clock_take_steps(), 0);
}

/* So that a step is not lost if the connection over which it is recorded is. */
TEST(a_clock_step_is_kept_until_it_is_recorded)
{
    neo_ms now = neo_now_ms();
    neo_clock_compare(now - 60000, 0);
    (void)neo_now_ms();
    neo_ms step = neo_clock_last_step();
    assert_in_range(step, 50000, 61000);
    assert_int_equal(neo_clock_last_step(), step);
    neo_clock_forget_step(step + 1);
    assert_int_equal(neo_clock_last_step(), step);
    neo_clock_forget_step(step);
    assert_int_equal(neo_clock_last_step(), 0);
    neo_clock_compare(now, 0);
    (void)neo_now_ms();
    (void)neo_clock_take_steps();
}

TEST(a_process_that_starts_during_a_clock_step_has_the_corrected_time)
{
    long long shared = 0;
    neo_ms now = neo_now_ms();
    neo_clock_start(&shared);
    assert_true(neo_now_ms() >= now); /* no comparison yet */
    neo_clock_compare(now - 60000, 0);
    neo_clock_start(NULL);
    assert_true(neo_now_ms() >= now);
    neo_clock_start(&shared);
    assert_in_range(neo_now_ms(), now - 60000, now - 50000);
    neo_clock_compare(now, 0);
    neo_clock_start(&shared);
    assert_true(neo_now_ms() >= now);
    (void)neo_clock_take_steps();
    neo_clock_start(NULL);
}
