/* The one clock, and the one way a moment is written: 2026-01-31T13:45:10.123Z. */
#ifndef NEO_CORE_CLOCK_H
#define NEO_CORE_CLOCK_H

#include <apr_pools.h>

#include "core/buf.h"

/* Milliseconds since 1970-01-01T00:00:00Z: what ids and timestamps are made of. */
typedef long long neo_ms;

#define NEO_MS_TEXT_SIZE 25                /* "2026-01-31T13:45:10.123Z" and its NUL */
#define NEO_MS_LAST      253402300799999LL /* 9999-12-31T23:59:59.999Z, the last that has such a text */

neo_ms neo_now_ms(void);

/* A clock that never steps: for lifetimes and waits within one process, not for showing. */
long long neo_steady_seconds(void);
long long neo_steady_ms(void);

void neo_ms_format(char out[NEO_MS_TEXT_SIZE], neo_ms ms);

/* Reads an RFC 3339 date-time (section 5.6) with any offset and any precision; digits beyond the millisecond are cut off.
 * Returns false for anything else: a leap second, a day that the month does not have, a moment that is before 1970 or after
 * NEO_MS_LAST. */
NEO_MUSTCHECK int neo_ms_parse(const char *text, neo_ms *ms);

/* True for a full-date of RFC 3339 that exists in the calendar: 2026-02-28. */
NEO_MUSTCHECK int neo_date_is_valid(const char *text);

#endif
