/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a report as an HTML page (see status/report.h). */
#include "parts.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/crypto.h"
#include "core/encode.h"
#include "jobs/jobs.h"

#define ICON                                                                                                                   \
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='7' fill='%s'/>"              \
    "<path d='M6.5 16.5 16 8l9.5 8.5M9.5 14.5V24h13v-9.5' fill='none' stroke='%s' stroke-width='2.6'"                          \
    " stroke-linecap='round' stroke-linejoin='round'/><path d='m14 16.5-2.5 2.5 2.5 2.5m4-5 2.5 2.5-2.5 2.5' fill='none'"      \
    " stroke='%s' stroke-width='2' stroke-linecap='round' stroke-linejoin='round'/></svg>"

const char *neo_report_policy(apr_pool_t *pool)
{
    return neo_style_policy(neo_report_style, pool);
}

/* ---------------------------------------------------------------- parts */

static void put_page_head(const neo_report *report, int refresh, neo_buf *out)
{
    neo_buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
                      "<meta name=\"robots\" content=\"noindex\">\n<title>Status of ");
    neo_buf_html(out, report->host);
    neo_buf_puts(out, "</title>\n<link rel=\"icon\" href=\"data:image/svg+xml,");
    neo_buf_printf(out, ICON, "%230f6b5c", "%23fff", "%23fff");
    neo_buf_printf(out, "\">\n<style>%s</style>\n</head>\n<body>\n<header><p class=\"brand\">", neo_report_style);
    neo_buf_printf(out, ICON, "#0f6b5c", "#fff", "#fff");
    neo_buf_puts(out, " Public Integration API</p><p class=\"where\">");
    neo_buf_html(out, report->host);
    neo_buf_puts(out, "</p><nav aria-label=\"Formats\">");
    if (refresh)
        neo_buf_printf(out, "<span>Reloads every %d s</span><a href=\"?\">Stop</a>", refresh);
    else
        neo_buf_puts(out, "<a href=\"?refresh=5\">Reload every 5 s</a>");
    neo_buf_puts(out, "<a href=\"?auto\">Text</a></nav></header>\n<main>\n<h1>Status</h1>\n<p class=\"lead\">Figures of host ");
    neo_buf_html(out, report->host_name);
    neo_buf_puts(out, " for the last ");
    neo_report_age(out, report->now - report->started);
    neo_buf_printf(out, ", %d %s. The webhook queue is the whole deployment's.</p>\n", report->processes,
                   report->processes == 1 ? "process" : "processes");
}

static void put_tile(const neo_report *report, const neo_metric *metric, neo_buf *out)
{
    int is_set = metric->alarm && metric->value(report, &report->hour) > 0;
    if (!metric->tile || (metric->alarm == NEO_SHOWN_IF_SET && !is_set) || (metric->is_queue && report->backlog_error))
        return;
    neo_buf_printf(out, "<div%s><dt>%s</dt><dd><b>", metric->alarm && is_set ? " class=\"bad\"" : "", metric->tile);
    neo_report_expand(out, report, metric->text);
    neo_buf_puts(out, "</dd></div>\n");
}

/* ---------------------------------------------------------------- tables */

static void put_td(neo_buf *out, const char *name, double value, void (*put)(neo_buf *out, double value))
{
    neo_buf_printf(out, "<td data-name=\"%s\">", name);
    if (value >= 0)
        put(out, value);
    else
        neo_buf_puts(out, "–");
    neo_buf_puts(out, "</td>");
}

static void put_count(neo_buf *out, double value)
{
    neo_report_count(out, (uint64_t)value);
}

static void put_quantiles(neo_buf *out, const neo_histogram *histogram)
{
    static const struct {
        const char *name;
        double quantile;
    } columns[] = {{"median", 0.5}, {"p95", 0.95}, {"p99", 0.99}};
    for (int i = 0; i < 3; i++) {
        neo_buf_printf(out, "<td data-name=\"%s\">", columns[i].name);
        neo_report_quantile(out, histogram, columns[i].quantile);
        neo_buf_puts(out, "</td>");
    }
}

static void put_route_row(const neo_report_route *one, neo_buf *out)
{
    if (one->route == neo_route_at(0))
        neo_buf_puts(out, "<tr><th scope=\"row\">no route</th>");
    else
        neo_buf_printf(out, "<tr><th scope=\"row\"><b>%s</b> %s</th>", one->route->method, one->route->path);
    put_td(out, "requests", (double)neo_histogram_count(&one->times), put_count);
    put_quantiles(out, &one->times);
    neo_buf_puts(out, "<td class=\"statuses\">");
    for (int s = 0; s < NEO_STATUSES; s++)
        if (one->recent.statuses[s]) {
            int class = neo_statuses[s] / 100;
            neo_buf_printf(out, "<span class=\"%s\">%d <i>",
                           class == 5   ? "ours"
                           : class == 4 ? "caller"
                                        : "good",
                           neo_statuses[s]);
            neo_report_count(out, one->recent.statuses[s]);
            neo_buf_puts(out, "</i></span> ");
        }
    neo_buf_puts(out, "</td></tr>\n");
}

/* Sorts by the number of requests; requests without a route come last. */
static int compare_routes(const void *a, const void *b)
{
    const neo_report_route *const *one = a, *const *other = b;
    uint64_t count = neo_histogram_count(&(*one)->times), counted = neo_histogram_count(&(*other)->times);
    int is_none = (*one)->route == neo_route_at(0), is_other_none = (*other)->route == neo_route_at(0);
    return is_none != is_other_none ? is_none - is_other_none : (count < counted) - (count > counted);
}

static void put_routes(const neo_report *report, neo_buf *out)
{
    const neo_report_route **shown = apr_palloc(out->pool, (apr_size_t)report->route_count * sizeof *shown);
    int count = 0;
    for (int i = 0; i < report->route_count; i++)
        if (neo_histogram_count(&report->routes[i].times))
            shown[count++] = &report->routes[i];
    qsort(shown, (size_t)count, sizeof *shown, compare_routes);
    neo_buf_puts(out, "<section><h2>Requests by route</h2>\n<p class=\"lead\">In the last ");
    neo_report_age(out, report->now - report->since);
    neo_buf_puts(out, ". Requests without a route have an unknown path or method, or were rejected before routing.</p>\n");
    neo_buf_puts(out, count ? "<table class=\"routes\"><thead><tr><th scope=\"col\">Route</th><th "
                              "scope=\"col\">Requests</th><th scope=\"col\">Median</th>"
                              "<th scope=\"col\">p95</th><th scope=\"col\">p99</th><th "
                              "scope=\"col\">Statuses</th></tr></thead>\n<tbody>\n"
                            : "<p class=\"none\">No requests.</p>\n");
    for (int i = 0; i < count; i++)
        put_route_row(shown[i], out);
    neo_buf_puts(out, count ? "</tbody></table></section>\n" : "</section>\n");
}

static void put_times_row(const neo_report *report, const neo_metric *metric, neo_buf *out)
{
    if (!metric->row || !metric->times)
        return;
    neo_histogram times = neo_metric_times(metric, &report->hour);
    neo_buf_printf(out, "<tr><th scope=\"row\">%s</th>", metric->row);
    put_td(out, "count", (double)neo_histogram_count(&times), put_count);
    put_quantiles(out, &times);
    neo_buf_puts(out, "</tr>\n");
}

static void put_counter_row(const neo_report *report, const neo_metric *metric, neo_buf *out)
{
    if (!metric->row || metric->times)
        return;
    neo_buf_printf(out, "<tr><th scope=\"row\">%s</th>", metric->row);
    put_td(out, "last hour", metric->value(report, &report->hour), put_count);
    put_td(out, "since start", metric->value(report, &report->minutes[NEO_MINUTES]), put_count);
    neo_buf_puts(out, "</tr>\n");
}

static void put_receivers(const neo_report *report, neo_buf *out)
{
    neo_buf_puts(out, "<h3>Slowest receivers</h3>\n<p class=\"lead\">By mean duration, over the last 30 to 60 minutes.</p>\n");
    if (!report->slowest_count)
        neo_buf_puts(out, "<p class=\"none\">No attempts.</p>\n");
    else
        neo_buf_puts(out, "<table><thead><tr><th scope=\"col\">Host</th><th scope=\"col\">Mean</th><th "
                          "scope=\"col\">Longest</th><th scope=\"col\">Attempts</th>"
                          "<th scope=\"col\">Failed</th></tr></thead>\n<tbody>\n");
    for (int i = 0; i < report->slowest_count; i++) {
        const neo_receiver *one = &report->slowest[i];
        neo_buf_puts(out, "<tr><th scope=\"row\">");
        neo_buf_html(out, one->host);
        neo_buf_puts(out, "</th>");
        put_td(out, "mean", one->mean, neo_report_time);
        put_td(out, "longest", (double)one->longest, neo_report_time);
        put_td(out, "attempts", (double)one->attempts, put_count);
        put_td(out, "failed", (double)one->failures, put_count);
        neo_buf_puts(out, "</tr>\n");
    }
    neo_buf_puts(out, report->slowest_count ? "</tbody></table>\n" : "");
}

static void put_age(neo_buf *out, double milliseconds)
{
    neo_report_age(out, (long long)milliseconds * 1000);
}

/* The milliseconds since a time; -1 if it never was. */
static double age(const neo_report *report, neo_ms time)
{
    neo_ms since = report->now / 1000 - time;
    return time < 0 ? -1 : since > 0 ? (double)since : 0;
}

static void put_jobs_table(const neo_report *report, neo_buf *out)
{
    neo_buf_puts(out, "<h3>Background jobs of the deployment</h3>\n");
    if (report->backlog.job_count)
        neo_buf_puts(out,
                     "<table><thead><tr><th>Job</th><th>Last success</th><th>Duration</th><th>Last failure</th><th>Runs</th>"
                     "<th>Failed</th></tr></thead><tbody>\n");
    for (int i = 0; i < report->backlog.job_count; i++) {
        const neo_job_status *job = &report->backlog.jobs[i];
        neo_buf_printf(out, "<tr><th scope=\"row\"><b>%s</b> %s</th>", job->name, neo_job_description(job->name));
        put_td(out, "last success", age(report, job->succeeded), put_age);
        put_td(out, "duration", (double)job->duration * 1000, neo_report_time);
        put_td(out, "last failure", age(report, job->failed), put_age);
        put_td(out, "runs", (double)job->runs, put_count);
        put_td(out, "failed", (double)job->failures, put_count);
        neo_buf_puts(out, "</tr>\n");
    }
    neo_buf_puts(out, report->backlog.job_count ? "</tbody></table></section>\n" : "<p>No run is known.</p></section>\n");
}

void neo_report_page(const neo_report *report, int refresh, neo_buf *out)
{
    char now[NEO_MS_TEXT_SIZE], started[NEO_MS_TEXT_SIZE];
    neo_ms_format(now, report->now / 1000);
    neo_ms_format(started, report->started / 1000);
    put_page_head(report, refresh, out);
    neo_buf_puts(out, "<dl class=\"tiles\">\n");
    neo_metric_put_all(report, out, put_tile);
    neo_buf_puts(out, "</dl>\n");
    neo_report_charts(report, out);
    neo_report_deployment(report, out);
    put_routes(report, out);
    neo_buf_puts(out, "<section><h2>Database</h2>\n<table><thead><tr><th scope=\"col\">Last hour</th><th "
                      "scope=\"col\">Count</th><th scope=\"col\">Median</th>"
                      "<th scope=\"col\">p95</th><th scope=\"col\">p99</th></tr></thead>\n<tbody>\n");
    neo_metric_put_all(report, out, put_times_row);
    neo_report_expand(
        out, report,
        "</tbody></table>\n<p class=\"lead\">Failures to get a connection: {NO_CONNECTION}. Each process uses one "
        "connection to listen for credential changes.</p></section>\n");
    neo_buf_puts(out, "<section><h2>Webhooks</h2>\n<table><thead><tr><th scope=\"col\">Attempts</th>"
                      "<th scope=\"col\">Last hour</th><th scope=\"col\">Since start</th></tr></thead>\n<tbody>\n");
    neo_metric_put_all(report, out, put_counter_row);
    neo_buf_puts(out, "</tbody></table>\n");
    put_receivers(report, out);
    put_jobs_table(report, out);
    neo_buf_printf(out,
                   "</main>\n<footer><p>mod_neoapi %s, %.19sZ. Counted since %.19sZ, including graceful restarts. "
                   "Percentiles are accurate to about 20 %%. Pending deliveries above %s are PostgreSQL's estimate; "
                   "due deliveries are counted in 1,000 subscriptions. The queue is read at most once a second.</p></footer>\n"
                   "</body>\n</html>\n",
                   NEO_VERSION, now, started, "10,000");
}
