/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the clocks, formatting and parsing RFC 3339 (see core/clock.h). */
#include "core/clock.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/log.h"

#define MAX_READ_MS 50 /* between two readings of one clock: the thread was not suspended in between */
#define JITTER_MS   10

/* The time minus the boot clock, which never steps and, unlike CLOCK_MONOTONIC, counts while the machine sleeps. 0: unknown. */
static atomic_llong clock_offset;
static long long *shared_offset; /* shared by this host's processes, which have the same boot clock; NULL if not shared */
static atomic_int is_apart;      /* the system clock differs from the time by more than NEO_MAX_CLOCK_STEP_MS */
static atomic_int steps;
static atomic_llong last_step; /* milliseconds; 0 if no step is to be recorded */

static neo_ms read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (neo_ms)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns the system clock's time minus the boot clock's, which it stores in *boot. */
static neo_ms read_offset(neo_ms *boot)
{
    neo_ms system, before;
    do {
        before = read_clock(CLOCK_BOOTTIME);
        system = read_clock(CLOCK_REALTIME);
        *boot = read_clock(CLOCK_BOOTTIME);
    } while (*boot - before > MAX_READ_MS);
    return system - *boot;
}

neo_ms neo_now_ms(void)
{
    neo_ms boot, system = read_offset(&boot);
    long long known = atomic_load(&clock_offset);
    if (known && llabs(system - known) > NEO_MAX_CLOCK_STEP_MS) {
        if (!atomic_exchange(&is_apart, 1)) {
            atomic_fetch_add(&steps, 1);
            atomic_store(&last_step, system - known);
            neo_log(NEO_LOG_CLOCK_STEP, NULL, "the system clock is %lld ms %s the time", llabs(system - known),
                    system > known ? "ahead of" : "behind");
        }
        return boot + known;
    }
    if (atomic_load_explicit(&is_apart, memory_order_relaxed))
        atomic_store(&is_apart, 0);
    if (!known || llabs(system - known) > JITTER_MS)
        (void)atomic_compare_exchange_strong(&clock_offset, &known, system);
    return boot + system;
}

void neo_clock_start(long long *shared)
{
    neo_ms boot, system = read_offset(&boot);
    long long known = shared ? __atomic_load_n(shared, __ATOMIC_RELAXED) : 0;
    shared_offset = shared;
    atomic_store(&clock_offset, known && llabs(system - known) > NEO_MAX_CLOCK_STEP_MS ? known : system);
}

void neo_clock_compare(neo_ms reference, neo_ms age)
{
    neo_ms boot, system = read_offset(&boot), expected = reference + age - boot;
    if (age > NEO_MAX_CLOCK_STEP_MS / 2)
        return;
    long long offset = llabs(system - expected) > NEO_MAX_CLOCK_STEP_MS ? expected : system;
    atomic_store(&clock_offset, offset);
    if (shared_offset)
        __atomic_store_n(shared_offset, offset, __ATOMIC_RELAXED);
}

int neo_clock_take_steps(void)
{
    return atomic_load_explicit(&steps, memory_order_relaxed) ? atomic_exchange(&steps, 0) : 0;
}

neo_ms neo_clock_last_step(void)
{
    return atomic_load_explicit(&last_step, memory_order_relaxed);
}

void neo_clock_forget_step(neo_ms step)
{
    long long known = step;
    (void)atomic_compare_exchange_strong(&last_step, &known, 0);
}

long long neo_steady_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec;
}

long long neo_steady_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void put_digits(char *out, int width, long long value)
{
    for (int i = width - 1; i >= 0; i--) {
        out[i] = (char)('0' + value % 10);
        value /= 10;
    }
}

void neo_ms_format(char out[NEO_MS_TEXT_SIZE], neo_ms ms)
{
    int fraction = (int)((ms % 1000 + 1000) % 1000); /* not negative before 1970 either */
    time_t seconds = (time_t)((ms - fraction) / 1000);
    struct tm at;
    gmtime_r(&seconds, &at);
    memcpy(out, "0000-00-00T00:00:00.000Z", NEO_MS_TEXT_SIZE);
    put_digits(out, 4, at.tm_year + 1900);
    put_digits(out + 5, 2, at.tm_mon + 1);
    put_digits(out + 8, 2, at.tm_mday);
    put_digits(out + 11, 2, at.tm_hour);
    put_digits(out + 14, 2, at.tm_min);
    put_digits(out + 17, 2, at.tm_sec);
    put_digits(out + 20, 3, fraction);
}

/* Reads exactly `width` digits; -1 if there are fewer. */
static int get_digits(const char *text, int width)
{
    int value = 0;
    for (int i = 0; i < width; i++) {
        if (!isdigit((unsigned char)text[i]))
            return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

/* Reads the full-date at the start of `text`. */
static int parse_date(const char *text, struct tm *at)
{
    int year = get_digits(text, 4);
    if (year < 0 || text[4] != '-')
        return 0;
    int month = get_digits(text + 5, 2);
    if (month < 1 || month > 12 || text[7] != '-')
        return 0;
    int day = get_digits(text + 8, 2);
    if (day < 1 || day > days_in_month(year, month))
        return 0;
    at->tm_year = year - 1900;
    at->tm_mon = month - 1;
    at->tm_mday = day;
    return 1;
}

int neo_date_is_valid(const char *text)
{
    struct tm at;
    return strlen(text) == 10 && parse_date(text, &at) && at.tm_year >= NEO_FIRST_YEAR - 1900;
}

/* Reads "Z" or "+hh:mm" to the end of the text, in seconds east of UTC. */
static int parse_offset(const char *text, int *seconds)
{
    if ((*text == 'Z' || *text == 'z') && text[1] == '\0') {
        *seconds = 0;
        return 1;
    }
    if (*text != '+' && *text != '-')
        return 0;
    int hours = get_digits(text + 1, 2);
    if (hours < 0 || hours > 23 || text[3] != ':')
        return 0;
    int minutes = get_digits(text + 4, 2);
    if (minutes < 0 || minutes > 59 || text[6] != '\0')
        return 0;
    *seconds = (hours * 60 + minutes) * 60 * (*text == '-' ? -1 : 1);
    return 1;
}

/* Reads an optional ".123456" as milliseconds. Returns the text after it, NULL if no digit follows the dot. */
static const char *parse_fraction(const char *text, int *milliseconds)
{
    *milliseconds = 0;
    if (*text != '.')
        return text;
    int scale = 100;
    const char *digit = text + 1;
    for (; isdigit((unsigned char)*digit); digit++, scale /= 10)
        *milliseconds += (*digit - '0') * scale;
    return digit == text + 1 ? NULL : digit;
}

static int parse_time_of_day(const char *text, struct tm *at)
{
    at->tm_hour = get_digits(text, 2);
    if (at->tm_hour < 0 || at->tm_hour > 23 || text[2] != ':')
        return 0;
    at->tm_min = get_digits(text + 3, 2);
    if (at->tm_min < 0 || at->tm_min > 59 || text[5] != ':')
        return 0;
    at->tm_sec = get_digits(text + 6, 2);
    return at->tm_sec >= 0 && at->tm_sec <= 59;
}

int neo_ms_parse(const char *text, neo_ms *ms)
{
    struct tm at;
    memset(&at, 0, sizeof at);
    if (strlen(text) < 20 || !parse_date(text, &at) || (text[10] != 'T' && text[10] != 't') ||
        !parse_time_of_day(text + 11, &at))
        return 0;
    int milliseconds;
    const char *rest = parse_fraction(text + 19, &milliseconds);
    int offset;
    if (!rest || !parse_offset(rest, &offset))
        return 0;
    *ms = ((neo_ms)timegm(&at) - offset) * 1000 + milliseconds;
    return *ms >= NEO_MS_FIRST && *ms <= NEO_MS_LAST;
}
