/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a report, and formats its values (see status/report.h). */
#include "status/report.h"

#include "parts.h"

/* ---------------------------------------------------------------- reading */

void neo_report_read(neo_report *report, neo_metrics *metrics, const neo_receivers *receivers, apr_pool_t *pool)
{
    report->started = neo_metrics_started(metrics);
    neo_metrics_minutes(metrics, report->now, report->minutes);
    report->hour = neo_report_difference(&report->minutes[0], &report->minutes[NEO_MINUTES]);
    report->last_minute = neo_report_difference(&report->minutes[NEO_MINUTES - 2], &report->minutes[NEO_MINUTES - 1]);
    report->route_count = neo_routes_count();
    report->routes = apr_palloc(pool, (apr_size_t)report->route_count * sizeof *report->routes);
    for (int i = 0; i < report->route_count; i++) {
        neo_report_route *one = &report->routes[i];
        one->route = neo_route_at(i);
        neo_metrics_route_recent(metrics, i, report->now, &one->recent, &report->since);
        neo_metrics_route(metrics, i, &one->total);
        one->times = neo_report_all(one->recent.times);
    }
    neo_metrics_current(metrics, &report->sum, &report->processes);
    report->slowest_count = neo_receivers_slowest(receivers, report->now, report->slowest, NEO_REPORT_SLOWEST);
}

neo_histogram neo_report_all(const neo_histogram classes[NEO_CLASSES])
{
    neo_histogram all = classes[0];
    for (int i = 1; i < NEO_CLASSES; i++)
        neo_histogram_add(&all, &classes[i]);
    return all;
}

/* neo_counters consists of 64-bit numbers only. */
neo_counters neo_report_difference(const neo_counters *earlier, const neo_counters *later)
{
    neo_counters difference = *later;
    neo_metrics_subtract(&difference, earlier, sizeof difference);
    return difference;
}

/* ---------------------------------------------------------------- formatting */

void neo_report_count(neo_buf *out, uint64_t count)
{
    if (count >= 1000) {
        neo_report_count(out, count / 1000);
        neo_buf_printf(out, ",%03d", (int)(count % 1000));
    } else
        neo_buf_printf(out, "%d", (int)count);
}

/* Two significant digits: a histogram is not more precise. */
void neo_report_time(neo_buf *out, double microseconds)
{
    double ms = microseconds / 1000, value = ms < 1000 ? ms : ms / 1000;
    neo_buf_printf(out, value < 1 ? "%.2f" : value < 10 ? "%.1f" : "%.0f", value);
    neo_buf_puts(out, ms < 1000 ? "&nbsp;ms" : "&nbsp;s");
}

void neo_report_quantile(neo_buf *out, const neo_histogram *histogram, double quantile)
{
    if (neo_histogram_count(histogram))
        neo_report_time(out, neo_histogram_quantile(histogram, quantile));
    else
        neo_buf_puts(out, "–");
}

void neo_report_age(neo_buf *out, long long microseconds)
{
    static const struct {
        long long seconds, below;
        const char *unit;
    } steps[] = {{1, 120, "s"}, {60, 7200, "min"}, {3600, 172800, "h"}, {86400, 0, "days"}};
    long long seconds = microseconds > 0 ? microseconds / 1000000 : 0;
    int i = 0;
    while (steps[i].below && seconds >= steps[i].below)
        i++;
    neo_buf_printf(out, "%lld&nbsp;%s", seconds / steps[i].seconds, steps[i].unit);
}
