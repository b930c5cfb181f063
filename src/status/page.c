/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a report as an HTML page (see status/report.h). */
#include "parts.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/crypto.h"
#include "core/encode.h"

#define LOG_LAG_SHOWN_MS 1000 /* shorter transactions are ordinary */
#define ICON                                                                                                                   \
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='7' fill='%s'/>"              \
    "<path d='M6.5 16.5 16 8l9.5 8.5M9.5 14.5V24h13v-9.5' fill='none' stroke='%s' stroke-width='2.6'"                          \
    " stroke-linecap='round' stroke-linejoin='round'/><path d='m14 16.5-2.5 2.5 2.5 2.5m4-5 2.5 2.5-2.5 2.5' fill='none'"      \
    " stroke='%s' stroke-width='2' stroke-linecap='round' stroke-linejoin='round'/></svg>"

const char *neo_report_policy(apr_pool_t *pool)
{
    unsigned char digest[NEO_SHA256_SIZE];
    neo_sha256(neo_report_style, strlen(neo_report_style), digest);
    return apr_psprintf(pool,
                        "default-src 'none'; style-src 'sha256-%s'; img-src data:; base-uri 'none'; form-action 'none'; "
                        "frame-ancestors 'none'",
                        neo_base64(digest, sizeof digest, pool));
}

/* ---------------------------------------------------------------- parts */

static void put_quantile(neo_buf *out, const neo_histogram *histogram, double quantile)
{
    if (neo_histogram_count(histogram))
        neo_report_time(out, neo_histogram_quantile(histogram, quantile));
    else
        neo_buf_puts(out, "–");
}

static void put_head(const neo_report *report, int refresh, neo_buf *out)
{
    neo_buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
                      "<meta name=\"robots\" content=\"noindex\">\n<title>Status of ");
    neo_report_html(out, report->host);
    neo_buf_puts(out, "</title>\n<link rel=\"icon\" href=\"data:image/svg+xml,");
    neo_buf_printf(out, ICON, "%230f6b5c", "%23fff", "%23fff");
    neo_buf_printf(out, "\">\n<style>%s</style>\n</head>\n<body>\n<header><p class=\"brand\">", neo_report_style);
    neo_buf_printf(out, ICON, "#0f6b5c", "#fff", "#fff");
    neo_buf_puts(out, " Public Integration API</p><p class=\"where\">");
    neo_report_html(out, report->host);
    neo_buf_puts(out, "</p><nav aria-label=\"Formats\">");
    if (refresh)
        neo_buf_printf(out, "<span>Reloads every %d s</span><a href=\"?\">Stop</a>", refresh);
    else
        neo_buf_puts(out, "<a href=\"?refresh=5\">Reload every 5 s</a>");
    neo_buf_puts(
        out,
        "<a href=\"?auto\">Text</a></nav></header>\n<main>\n<h1>Status</h1>\n<p class=\"lead\">Figures of this host for the "
        "last ");
    neo_report_age(out, report->now - report->started);
    neo_buf_printf(out, ", %d %s. The webhook queue is the whole deployment's.</p>\n", report->processes,
                   report->processes == 1 ? "process" : "processes");
}

/* The caller writes the value, "</b>" and a note before close_tile. */
static void open_tile(neo_buf *out, const char *label, int is_bad)
{
    neo_buf_printf(out, "<div%s><dt>%s</dt><dd><b>", is_bad ? " class=\"bad\"" : "", label);
}

static void close_tile(neo_buf *out)
{
    neo_buf_puts(out, "</dd></div>\n");
}

static void put_request_tiles(const neo_report *report, neo_buf *out)
{
    neo_histogram all = neo_report_all(report->hour.requests);
    uint64_t count = neo_histogram_count(&all), bad = neo_histogram_count(&report->hour.requests[NEO_CLASSES - 1]);
    neo_counters minute = neo_report_difference(&report->minutes[NEO_MINUTES - 2], &report->minutes[NEO_MINUTES - 1]);
    neo_histogram last = neo_report_all(minute.requests);
    open_tile(out, "Requests, last hour", 0);
    neo_report_count(out, count);
    neo_buf_printf(out, "</b> %.3g/s in the last full minute", (double)neo_histogram_count(&last) / 60);
    close_tile(out);
    open_tile(out, "Response time p95, last hour", 0);
    put_quantile(out, &all, 0.95);
    neo_buf_puts(out, "</b> median ");
    put_quantile(out, &all, 0.5);
    neo_buf_puts(out, ", p99 ");
    put_quantile(out, &all, 0.99);
    close_tile(out);
    open_tile(out, "Server errors, last hour", bad > 0);
    neo_report_count(out, bad);
    neo_buf_printf(out, "</b> %.3g %% of requests", count ? 100 * (double)bad / (double)count : 0);
    close_tile(out);
    open_tile(out, "Rate-limited, last hour", 0);
    neo_report_count(out, report->hour.limited);
    neo_buf_puts(out, "</b> responses with 429");
    close_tile(out);
    if (report->hour.clock_steps) {
        open_tile(out, "Clock steps, last hour", 1);
        neo_report_count(out, report->hour.clock_steps);
        neo_buf_puts(out, "</b> noticed by processes; synchronize the clocks");
        close_tile(out);
    }
}

static void put_queue(const neo_report *report, neo_buf *out)
{
    const neo_backlog *queue = &report->backlog;
    open_tile(out, "Webhooks pending", report->backlog_error != NULL);
    if (report->backlog_error) {
        neo_buf_printf(out, "?</b> %s", report->backlog_error);
        close_tile(out);
        return;
    }
    neo_buf_puts(out, queue->is_estimated ? "≈&nbsp;" : "");
    neo_report_count(out, (uint64_t)queue->pending);
    neo_buf_puts(out, "</b> due: ");
    neo_report_count(out, (uint64_t)queue->due);
    neo_buf_puts(out, queue->is_more ? " or more" : "");
    if (queue->overdue) {
        neo_buf_puts(out, ", longest overdue ");
        neo_report_age(out, queue->overdue * 1000);
    }
    if (queue->oldest) {
        neo_buf_puts(out, "; oldest created ");
        neo_report_age(out, report->now - queue->oldest * 1000);
        neo_buf_puts(out, " ago");
    }
    if (queue->failing || queue->disabled)
        neo_buf_printf(out, "; subscriptions failing: %lld, inactive: %lld", queue->failing, queue->disabled);
    if (queue->log_lag >= LOG_LAG_SHOWN_MS) {
        neo_buf_puts(out, "; event log held back for ");
        neo_report_age(out, queue->log_lag * 1000);
    }
    close_tile(out);
}

static void put_creates(const neo_counters *hour, neo_buf *out)
{
    open_tile(out, "Creates per statement, last hour", 0);
    if (hour->create_statements)
        neo_buf_printf(out, "%.1f", (double)hour->create_rows / (double)hour->create_statements);
    else
        neo_buf_puts(out, "–");
    neo_buf_puts(out, "</b> wait p95 ");
    put_quantile(out, &hour->create_wait, 0.95);
    neo_buf_puts(out, ", executed alone again: ");
    neo_report_count(out, hour->create_repeated);
    close_tile(out);
}

static void put_database_and_webhook_tiles(const neo_report *report, neo_buf *out)
{
    open_tile(out, "Connections in use", report->sum.waiting > 0);
    neo_buf_printf(out, "%d</b> of %d; %d more listening; %d waiting; wait p95 ", report->sum.in_use, report->sum.connections,
                   report->sum.listening, report->sum.waiting);
    put_quantile(out, &report->hour.wait, 0.95);
    close_tile(out);
    if (report->write_error) {
        open_tile(out, "Database", 1);
        neo_buf_printf(out, "no writes</b> %s", report->write_error);
        close_tile(out);
    }
    put_creates(&report->hour, out);
    put_queue(report, out);
    open_tile(out, "Webhooks in flight", 0);
    neo_buf_printf(out, "%d</b> of at most %d", report->sum.in_flight, report->sum.concurrency);
    neo_buf_puts(out, report->sum.is_delivering ? "" : "; this host does not deliver");
    close_tile(out);
    open_tile(out, "Webhooks delivered, last hour", 0);
    neo_report_count(out, report->hour.delivered);
    neo_buf_puts(out, "</b> failed: ");
    neo_report_count(out, report->hour.failed);
    close_tile(out);
}

/* ---------------------------------------------------------------- tables */

static void put_times(neo_buf *out, const neo_histogram *histogram)
{
    static const struct {
        const char *name;
        double quantile;
    } columns[] = {{"median", 0.5}, {"p95", 0.95}, {"p99", 0.99}};
    for (int i = 0; i < 3; i++) {
        neo_buf_printf(out, "<td data-name=\"%s\">", columns[i].name);
        put_quantile(out, histogram, columns[i].quantile);
        neo_buf_puts(out, "</td>");
    }
}

static void put_route(const neo_report_route *one, neo_buf *out)
{
    neo_histogram all = neo_report_all(one->recent.times);
    if (one->route == neo_route_at(0))
        neo_buf_puts(out, "<tr><th scope=\"row\">no route</th>");
    else
        neo_buf_printf(out, "<tr><th scope=\"row\"><b>%s</b> %s</th>", one->route->method, one->route->path);
    neo_buf_puts(out, "<td data-name=\"requests\">");
    neo_report_count(out, neo_histogram_count(&all));
    neo_buf_puts(out, "</td>");
    put_times(out, &all);
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

/* By number of requests; requests without a route last. */
static int compare(const void *a, const void *b)
{
    const neo_report_route *const *one = a, *const *other = b;
    neo_histogram times = neo_report_all((*one)->recent.times), others = neo_report_all((*other)->recent.times);
    uint64_t count = neo_histogram_count(&times), counted = neo_histogram_count(&others);
    int is_none = (*one)->route == neo_route_at(0), is_other_none = (*other)->route == neo_route_at(0);
    return is_none != is_other_none ? is_none - is_other_none : (count < counted) - (count > counted);
}

static void put_routes(const neo_report *report, neo_buf *out)
{
    const neo_report_route **shown = apr_palloc(out->pool, (apr_size_t)report->route_count * sizeof *shown);
    int count = 0;
    for (int i = 0; i < report->route_count; i++) {
        neo_histogram all = neo_report_all(report->routes[i].recent.times);
        if (neo_histogram_count(&all))
            shown[count++] = &report->routes[i];
    }
    qsort(shown, (size_t)count, sizeof *shown, compare);
    neo_buf_puts(out, "<section><h2>Requests by route</h2>\n<p class=\"lead\">In the last ");
    neo_report_age(out, report->now - report->since);
    neo_buf_puts(out, ". Requests without a route have an unknown path or method, or were rejected before routing.</p>\n");
    neo_buf_puts(out, count ? "<table class=\"routes\"><thead><tr><th scope=\"col\">Route</th><th "
                              "scope=\"col\">Requests</th><th scope=\"col\">Median</th>"
                              "<th scope=\"col\">p95</th><th scope=\"col\">p99</th><th "
                              "scope=\"col\">Statuses</th></tr></thead>\n<tbody>\n"
                            : "<p class=\"none\">No requests.</p>\n");
    for (int i = 0; i < count; i++)
        put_route(shown[i], out);
    neo_buf_puts(out, count ? "</tbody></table></section>\n" : "</section>\n");
}

static void put_row(neo_buf *out, const char *name, const neo_histogram *histogram)
{
    neo_buf_printf(out, "<tr><th scope=\"row\">%s</th><td data-name=\"count\">", name);
    neo_report_count(out, neo_histogram_count(histogram));
    neo_buf_puts(out, "</td>");
    put_times(out, histogram);
    neo_buf_puts(out, "</tr>\n");
}

static void put_database(const neo_report *report, neo_buf *out)
{
    neo_buf_puts(out, "<section><h2>Database</h2>\n<table><thead><tr><th scope=\"col\">Last hour</th><th "
                      "scope=\"col\">Count</th><th scope=\"col\">Median</th>"
                      "<th scope=\"col\">p95</th><th scope=\"col\">p99</th></tr></thead>\n<tbody>\n");
    put_row(out, "Waiting for a connection", &report->hour.wait);
    put_row(out, "Using a connection", &report->hour.held);
    neo_buf_puts(out, "</tbody></table>\n<p class=\"lead\">Failures to get a connection: ");
    neo_report_count(out, report->hour.no_connection);
    neo_buf_puts(out, ". Each process uses one connection to listen for credential changes.</p></section>\n");
}

static void put_attempts(const neo_report *report, neo_buf *out)
{
    static const char *const names[NEO_ATTEMPT_KINDS] = {"Succeeded",         "Error response",     "Timeout",
                                                         "Connection failed", "Address not public", "Not sent"};
    const neo_counters *total = &report->minutes[NEO_MINUTES];
    neo_buf_puts(out, "<section><h2>Webhooks</h2>\n<table><thead><tr><th scope=\"col\">Attempts</th><th scope=\"col\">Last "
                      "hour</th><th scope=\"col\">Since "
                      "start</th></tr></thead>\n<tbody>\n");
    for (int i = 0; i < NEO_ATTEMPT_KINDS; i++) {
        neo_buf_printf(out, "<tr><th scope=\"row\">%s</th><td data-name=\"last hour\">", names[i]);
        neo_report_count(out, report->hour.outcomes[i]);
        neo_buf_puts(out, "</td><td data-name=\"since start\">");
        neo_report_count(out, total->outcomes[i]);
        neo_buf_puts(out, "</td></tr>\n");
    }
    neo_buf_puts(out, "</tbody></table>\n");
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
        neo_report_html(out, one->host);
        neo_buf_puts(out, "</th><td data-name=\"mean\">");
        neo_report_time(out, one->mean);
        neo_buf_puts(out, "</td><td data-name=\"longest\">");
        neo_report_time(out, (double)one->longest);
        neo_buf_puts(out, "</td><td data-name=\"attempts\">");
        neo_report_count(out, one->attempts);
        neo_buf_puts(out, "</td><td data-name=\"failed\">");
        neo_report_count(out, one->failures);
        neo_buf_puts(out, "</td></tr>\n");
    }
    neo_buf_puts(out, report->slowest_count ? "</tbody></table>\n" : "");
}

static void put_job_age(neo_buf *out, const neo_report *report, neo_ms time)
{
    if (time >= 0)
        neo_report_age(out, report->now - time * 1000);
    else
        neo_buf_puts(out, "\xE2\x80\x93");
}

static void put_jobs(const neo_report *report, neo_buf *out)
{
    neo_buf_puts(out, "<h3>Background jobs of the deployment</h3>\n");
    if (report->backlog.job_count)
        neo_buf_puts(out,
                     "<table><thead><tr><th>Job</th><th>Last success</th><th>Duration</th><th>Last failure</th><th>Runs</th>"
                     "<th>Failed</th></tr></thead><tbody>\n");
    for (int i = 0; i < report->backlog.job_count; i++) {
        const neo_job_status *job = &report->backlog.jobs[i];
        neo_buf_printf(out, "<tr><td>%s</td><td data-name=\"last success\">", job->name);
        put_job_age(out, report, job->succeeded);
        neo_buf_puts(out, "</td><td data-name=\"duration\">");
        if (job->duration >= 0)
            neo_report_time(out, (double)job->duration * 1000);
        neo_buf_puts(out, "</td><td data-name=\"last failure\">");
        put_job_age(out, report, job->failed);
        neo_buf_puts(out, "</td><td data-name=\"runs\">");
        neo_report_count(out, (uint64_t)job->runs);
        neo_buf_puts(out, "</td><td data-name=\"failed\">");
        neo_report_count(out, (uint64_t)job->failures);
        neo_buf_puts(out, "</td></tr>\n");
    }
    neo_buf_puts(out, report->backlog.job_count ? "</tbody></table></section>\n" : "<p>No run is known.</p></section>\n");
}

void neo_report_page(const neo_report *report, int refresh, neo_buf *out)
{
    char now[NEO_MS_TEXT_SIZE], started[NEO_MS_TEXT_SIZE];
    neo_ms_format(now, report->now / 1000);
    neo_ms_format(started, report->started / 1000);
    put_head(report, refresh, out);
    neo_buf_puts(out, "<dl class=\"tiles\">\n");
    put_request_tiles(report, out);
    put_database_and_webhook_tiles(report, out);
    neo_buf_puts(out, "</dl>\n");
    neo_report_charts(report, out);
    put_routes(report, out);
    put_database(report, out);
    put_attempts(report, out);
    put_receivers(report, out);
    put_jobs(report, out);
    neo_buf_printf(out,
                   "</main>\n<footer><p>mod_neoapi %s, %.19sZ. Counted since %.19sZ, including graceful restarts. Percentiles "
                   "are accurate to "
                   "about 20 %%. Pending deliveries above %s are PostgreSQL's estimate; due deliveries are counted in 1,000 "
                   "subscriptions. The queue is read at most once a second.</p></footer>\n"
                   "</body>\n</html>\n",
                   NEO_VERSION, now, started, "10,000");
}
