/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a report as text, and as the section of mod_status (see status/report.h). */
#include "parts.h"

#include <apr_strings.h>

#include "core/clock.h"

void neo_report_route_lines(const neo_report *report, neo_buf *out)
{
    for (int i = 0; i < report->route_count; i++) {
        const neo_report_route *one = &report->routes[i];
        neo_histogram ever = neo_report_all(one->total.times);
        if (!neo_histogram_count(&ever))
            continue;
        neo_buf_printf(out, "Route %s %s:", one->route->method, one->route->path);
        for (int s = 0; s < NEO_STATUSES; s++)
            if (one->total.statuses[s])
                neo_buf_printf(out, " %d=%llu", neo_statuses[s], (unsigned long long)one->total.statuses[s]);
        neo_buf_printf(out, " p50=%.3f p95=%.3f p99=%.3f\n", neo_histogram_quantile(&one->times, 0.5) / 1000,
                       neo_histogram_quantile(&one->times, 0.95) / 1000, neo_histogram_quantile(&one->times, 0.99) / 1000);
    }
}

void neo_report_receiver_lines(const neo_report *report, neo_buf *out)
{
    for (int i = 0; i < report->slowest_count; i++) {
        const neo_receiver *one = &report->slowest[i];
        neo_buf_printf(out, "WebhookReceiver %s: attempts=%llu failures=%llu mean=%.3f longest=%.3f\n", one->host,
                       (unsigned long long)one->attempts, (unsigned long long)one->failures, one->mean / 1000,
                       (double)one->longest / 1000);
    }
}

void neo_report_job_lines(const neo_report *report, neo_buf *out)
{
    for (int i = 0; i < report->backlog.job_count; i++) {
        const neo_job_status *job = &report->backlog.jobs[i];
        neo_buf_printf(out, "Job %s: runs=%lld failures=%lld last_success_seconds_ago=%lld last_duration_ms=%lld\n", job->name,
                       job->runs, job->failures, job->succeeded < 0 ? -1 : (report->now / 1000 - job->succeeded) / 1000,
                       job->duration);
    }
}

static void put_key(const neo_report *report, const neo_metric *metric, const char *prefix, neo_buf *out)
{
    const char *key = apr_pstrcat(out->pool, prefix, metric->key, NULL);
    if (metric->string) {
        if (neo_metric_string(metric, report))
            neo_buf_printf(out, "%s: %s\n", key, neo_metric_string(metric, report));
    } else if (metric->times && metric->unit != NEO_TOTAL) {
        neo_histogram hour = neo_metric_times(metric, &report->hour);
        neo_buf_printf(out, "%sP50: %.3f\n%sP95: %.3f\n%sP99: %.3f\n", key, neo_histogram_quantile(&hour, 0.5) / 1000, key,
                       neo_histogram_quantile(&hour, 0.95) / 1000, key, neo_histogram_quantile(&hour, 0.99) / 1000);
    } else {
        double value = metric->value(report, &report->minutes[NEO_MINUTES]);
        if (metric->unit == NEO_MILLISECONDS)
            neo_buf_printf(out, "%s: %.3f\n", key, value / 1000);
        else
            neo_buf_printf(out, "%s: %llu\n", key, (unsigned long long)value);
    }
}

static void put_text_lines(const neo_report *report, const neo_metric *metric, neo_buf *out)
{
    if (metric->put_lines)
        metric->put_lines(report, out);
    else if (metric->key && !(metric->is_queue && report->backlog_error))
        put_key(report, metric, "", out);
}

void neo_report_text(const neo_report *report, neo_buf *out)
{
    char started[NEO_MS_TEXT_SIZE];
    neo_ms_format(started, report->started / 1000);
    neo_buf_printf(out, "Version: %s\nHost: %s\nCountedSince: %s\n", NEO_VERSION, report->host, started);
    neo_metric_put_all(report, out, put_text_lines);
}

/* ---------------------------------------------------------------- in mod_status */

static void put_section_row(const neo_report *report, const neo_metric *metric, neo_buf *out)
{
    if (!metric->section)
        return;
    neo_histogram times = neo_metric_times(metric, &report->hour);
    neo_buf_printf(out, "<tr><td>%s</td><td>", metric->section);
    neo_report_count(out, neo_histogram_count(&times));
    for (int i = 0; i < 3; i++) {
        static const double parts[] = {0.5, 0.95, 0.99};
        neo_buf_puts(out, "</td><td>");
        if (neo_histogram_count(&times))
            neo_report_time(out, neo_histogram_quantile(&times, parts[i]));
    }
    neo_buf_puts(out, "</td></tr>\n");
}

static void put_short(const neo_report *report, const neo_metric *metric, neo_buf *out)
{
    if (metric->is_short)
        put_key(report, metric, "NeoAPI", out);
}

void neo_report_section(const neo_report *report, int is_short, neo_buf *out)
{
    if (is_short) {
        neo_metric_put_all(report, out, put_short);
        return;
    }
    neo_buf_puts(out,
                 "<hr />\n<h2>Public Integration API (mod_neoapi " NEO_VERSION ")</h2>\n<table border=\"0\">\n<tr><th>last "
                 "hour</th><th>count</th><th>median</th><th>p95</th><th>p99</th></tr>\n");
    neo_metric_put_all(report, out, put_section_row);
    neo_report_expand(out, report,
                      "</table>\n<p>{RATE_LIMITED} requests rate-limited; {DELIVERED} webhooks delivered, {FAILED} failed, "
                      "{in_flight} in flight; {in_use} of {connections} connections in use.</p>\n");
}
