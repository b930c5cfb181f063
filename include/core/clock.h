/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, and dates and timestamps as text: 2026-01-31T13:45:10.123Z. */
#ifndef NEO_CORE_CLOCK_H
#define NEO_CORE_CLOCK_H

#include <apr_general.h>

#include "core/buf.h"

/* Milliseconds since 1970-01-01T00:00:00Z; negative before. */
typedef long long neo_ms;

static inline neo_ms neo_earlier(neo_ms one, neo_ms other)
{
    return one < other ? one : other;
}

static inline neo_ms neo_later(neo_ms one, neo_ms other)
{
    return one > other ? one : other;
}

/* The years, in UTC, of every date and date-time that the API accepts. RFC 3339 has years of four digits; an earlier one is a
 * typing error rather than the date of a deed or a birth. */
#define NEO_FIRST_YEAR 1800
#define NEO_LAST_YEAR  9999
#define NEO_MS_FIRST   (-5364662400000LL) /* 1800-01-01T00:00:00.000Z */
#define NEO_MS_LAST    253402300799999LL  /* 9999-12-31T23:59:59.999Z */

/* The same range, for messages. */
#define NEO_TIMESTAMP_FORM                                                                                                     \
    "an RFC 3339 date-time from " APR_STRINGIFY(NEO_FIRST_YEAR) " to " APR_STRINGIFY(                                          \
        NEO_LAST_YEAR) ", such as 2026-01-31T13:45:10.123Z"
#define NEO_DATE_FORM                                                                                                          \
    "a date from " APR_STRINGIFY(NEO_FIRST_YEAR) "-01-01 to " APR_STRINGIFY(NEO_LAST_YEAR) "-12-31, such as 2026-01-31"

#define NEO_MS_TEXT_SIZE 25 /* "2026-01-31T13:45:10.123Z" and its NUL */

/* The largest difference of the system clock that is not treated as a step. */
#define NEO_MAX_CLOCK_STEP_MS 1000

/* The time: that of the system clock, unless it has stepped by more than NEO_MAX_CLOCK_STEP_MS. Then the time continues with
 * the monotonic clock until the system clock is right again, or neo_clock_compare confirms the step. Logs a step once. */
neo_ms neo_now_ms(void);

/* Call it when a process starts. It resets the time to the system clock's, even if the parent process has corrected it.
 * *shared, which the processes of a host share, is what neo_clock_compare found last, or 0; `shared` may be NULL. If the system
 * clock differs from that by more than NEO_MAX_CLOCK_STEP_MS, it has stepped. */
void neo_clock_start(long long *shared);

/* Compares the system clock with a reference, the database's time, which was read `age` milliseconds ago. If they agree to
 * NEO_MAX_CLOCK_STEP_MS, the time is the system clock's, otherwise the reference. */
void neo_clock_compare(neo_ms reference, neo_ms age);

/* The number of steps of the system clock since the last call. */
int neo_clock_take_steps(void);

/* How far the system clock was ahead of the time at its last step; negative: behind it; 0 if there was none or it was
 * forgotten. */
neo_ms neo_clock_last_step(void);
void neo_clock_forget_step(neo_ms step); /* it was recorded; a later one is kept */

/* The monotonic clock: for lifetimes and timeouts within one process. */
long long neo_steady_seconds(void);
long long neo_steady_ms(void);

/* `ms` must be from NEO_MS_FIRST to NEO_MS_LAST. */
void neo_ms_format(char out[NEO_MS_TEXT_SIZE], neo_ms ms);

/* Parses a date-time (RFC 3339, section 5.6) with any offset; digits beyond the millisecond are cut off. Returns false for
 * anything else: a leap second, a day that the month does not have, a time outside NEO_MS_FIRST to NEO_MS_LAST. */
NEO_MUSTCHECK int neo_ms_parse(const char *text, neo_ms *ms);

/* Returns true for a full-date (RFC 3339, section 5.6) that exists, from NEO_FIRST_YEAR to NEO_LAST_YEAR. */
NEO_MUSTCHECK int neo_date_is_valid(const char *text);

#endif
