/* SPDX-License-Identifier: Apache-2.0 */
/* The table of metrics (see core/metric_list.h), and templates of the page with its values. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

/* ---------------------------------------------------------------- values */

static uint64_t request_count(const neo_counters *counters)
{
    neo_histogram all = neo_report_all(counters->times);
    return neo_histogram_count(&all);
}

static double ratio(uint64_t part, uint64_t whole, double none)
{
    return whole ? (double)part / (double)whole : none;
}

static double seconds_since(const neo_report *report, neo_ms time)
{
    double seconds = ((double)report->now / 1000 - (double)time) / 1000;
    return time && seconds > 0 ? seconds : 0;
}

/* A function for each row that has a value. */
#define VALUE_FUNCTION(id, expression, ...)                                                                                    \
    static double value_##id(const neo_report *report, const neo_counters *counters)                                           \
    {                                                                                                                          \
        (void)report, (void)counters;                                                                                          \
        return (double)(expression);                                                                                           \
    }
#define COUNTER_FUNCTION(id, ...)   VALUE_FUNCTION(id, counters->counts[NEO_COUNT_##id])
#define HISTOGRAM_FUNCTION(id, ...) VALUE_FUNCTION(id, neo_histogram_count(&counters->times[NEO_TIME_##id]))
#define GAUGE_FUNCTION(id, ...)     VALUE_FUNCTION(id, report->sum.id)
NEO_METRIC_LIST(COUNTER_FUNCTION, HISTOGRAM_FUNCTION, GAUGE_FUNCTION, VALUE_FUNCTION, NEO_METRIC_NONE)

/* ---------------------------------------------------------------- the table */

/* clang-format off */
#define COUNTER_ROW(id, ...)               ROW(id, __VA_ARGS__)
#define ROW(id_, name_, help_, key_, ...)  {.id = #id_, .value = value_##id_, .name = name_, .help = help_, .key = key_, __VA_ARGS__},
#define HISTOGRAM_ROW(id, ...)             ROW(id, __VA_ARGS__, .times = 1 + NEO_TIME_##id)
#define GAUGE_ROW(id, ...)                 ROW(id, __VA_ARGS__, .unit = NEO_PLAIN)
#define VALUE_ROW(id, expression, ...)     ROW(id, __VA_ARGS__)
#define OTHER_ROW(...)                     {__VA_ARGS__},
#define REQUESTS                           .times = 1 + NEO_TIMINGS
#define QUEUE                              .is_queue = 1
#define STRING(member)                     .string = offsetof(neo_report, member)
#define JOB(member)                        .job = offsetof(neo_job_status, member)
#define ROWS(rows_, member_)               .is_queue = 1, .rows = rows_, .member = member_
#define ATTEMPTS(outcome, help)            "webhook_attempts_total", help, "WebhookAttempts " outcome, OUTCOME(outcome)
#define OUTCOME(outcome)                   .labels = "outcome=\"" outcome "\""

static const neo_metric table[] = {NEO_METRIC_LIST(COUNTER_ROW, HISTOGRAM_ROW, GAUGE_ROW, VALUE_ROW, OTHER_ROW)};
/* clang-format on */
enum { COUNT = sizeof table / sizeof *table };

void neo_metric_put_all(const neo_report *report, neo_buf *out, neo_metric_put *put)
{
    for (int i = 0; i < COUNT; i++)
        put(report, &table[i], out);
}

neo_histogram neo_metric_times(const neo_metric *metric, const neo_counters *counters)
{
    return metric->times == 1 + NEO_TIMINGS ? neo_report_all(counters->times) : counters->times[metric->times - 1];
}

const char *neo_metric_string(const neo_metric *metric, const neo_report *report)
{
    return *(const char *const *)(const void *)((const char *)report + metric->string);
}

/* ---------------------------------------------------------------- templates */

static const neo_metric *find_metric(const char *id, size_t len)
{
    for (int i = 0; i < COUNT; i++)
        if (table[i].id && strlen(table[i].id) == len && memcmp(table[i].id, id, len) == 0)
            return &table[i];
    abort();
}

static void put_value(neo_buf *out, const neo_report *report, const neo_metric *metric, double value)
{
    if (metric->string)
        neo_buf_puts(out, neo_metric_string(metric, report));
    else if (metric->unit == NEO_PLAIN)
        neo_buf_printf(out, "%d", (int)value);
    else if (metric->unit == NEO_RATE)
        neo_buf_printf(out, "%.3g", value);
    else if (metric->unit == NEO_MEAN)
        neo_buf_printf(out, value < 0 ? "–" : "%.1f", value);
    else if (metric->unit == NEO_SECONDS || metric->unit == NEO_MILLISECONDS)
        neo_report_age(out, (long long)(value * (metric->unit == NEO_SECONDS ? 1e6 : 1e3)));
    else
        neo_report_count(out, (uint64_t)value);
}

/* Returns true if the value is not 0. */
static int put_placeholder(neo_buf *out, const neo_report *report, const char *text, size_t len)
{
    int is_hidden = *text == '-';
    size_t id = strcspn(text, " }");
    const neo_metric *metric = find_metric(text + is_hidden, id - (size_t)is_hidden);
    double value = metric->value(report, &report->hour);
    if (id < len) {
        neo_histogram times = neo_metric_times(metric, &report->hour);
        neo_report_quantile(out, &times, atoi(text + id) / 100.0);
    } else if (!is_hidden)
        put_value(out, report, metric, value);
    return value > 0;
}

static int expand(neo_buf *out, const neo_report *report, const char *text, const char *end)
{
    int is_any = 0;
    for (; text < end; text++) {
        const char *close = strchr(text, *text == '[' ? ']' : '}');
        apr_size_t len = out->len;
        if (*text == '[' && !expand(out, report, text + 1, close))
            out->len = len;
        else if (*text == '{')
            is_any |= put_placeholder(out, report, text + 1, (size_t)(close - text - 1));
        else if (*text != '[')
            neo_buf_putc(out, *text);
        text = *text == '[' || *text == '{' ? close : text;
    }
    return is_any;
}

void neo_report_expand(neo_buf *out, const neo_report *report, const char *text)
{
    (void)expand(out, report, text, text + strlen(text));
}
