/* SPDX-License-Identifier: Apache-2.0 */
/* The header traceparent is validated as W3C Trace Context requires, and a child has the same trace. */
#include "unit.h"

#include "core/trace.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define VALID "00-" TRACE "-00f067aa0ba902b7-01"

TEST(a_valid_header_is_read_as_version_00)
{
    static const char *const later[] = {VALID, "cc-" TRACE "-00f067aa0ba902b7-01",
                                        "01-" TRACE "-00f067aa0ba902b7-01-what-the-future"};
    for (int i = 0; i < COUNT(later); i++)
        assert_string_equal(neo_trace_read(later[i], *state), VALID);
    assert_string_equal(neo_trace_id(VALID, *state), TRACE);
}

TEST(an_invalid_header_is_ignored)
{
    static const char *const invalid[] = {
        "",
        "00",
        "ff-" TRACE "-00f067aa0ba902b7-01",
        "00-" TRACE "-00f067aa0ba902b7",
        VALID "-",
        VALID " ",
        VALID ", " VALID,
        "01-" TRACE "-00f067aa0ba902b7-01.x",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-" TRACE "-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-" TRACE "-00f067aa0ba902b7-0x",
        "00_" TRACE "-00f067aa0ba902b7-01",
        "00-" TRACE "_00f067aa0ba902b7-01",
        "00-" TRACE "-00f067aa0ba902b7;01",
        "0;-" TRACE "-00f067aa0ba902b7-01",
    };
    assert_null(neo_trace_read(NULL, *state));
    for (int i = 0; i < COUNT(invalid); i++)
        if (neo_trace_read(invalid[i], *state))
            fail_msg("%s is accepted", invalid[i]);
}

TEST(a_child_has_another_span_of_the_same_trace)
{
    char one[NEO_TRACEPARENT_LEN + 1], other[NEO_TRACEPARENT_LEN + 1];
    neo_trace_child(VALID, one);
    neo_trace_child(VALID, other);
    assert_string_equal(neo_trace_read(one, *state), one);
    assert_memory_equal(one, VALID, 36);
    assert_string_equal(one + 52, "-01");
    assert_memory_not_equal(one + 36, VALID + 36, 16);
    assert_memory_not_equal(one + 36, other + 36, 16);
}
