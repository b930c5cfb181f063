/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a report as text, and as the section of mod_status (see status/report.h). */
#include "parts.h"

#include "core/clock.h"

static void put(neo_buf *out, const char *key, uint64_t value)
{
    neo_buf_printf(out, "%s: %llu\n", key, (unsigned long long)value);
}

/* In milliseconds. */
static void put_times(neo_buf *out, const char *key, const neo_histogram *histogram)
{
    neo_buf_printf(out, "%sP50: %.3f\n%sP95: %.3f\n%sP99: %.3f\n", key, neo_histogram_quantile(histogram, 0.5) / 1000, key,
                   neo_histogram_quantile(histogram, 0.95) / 1000, key, neo_histogram_quantile(histogram, 0.99) / 1000);
}

static void put_route(neo_buf *out, const neo_report_route *one)
{
    neo_histogram all = neo_report_all(one->recent.times);
    neo_buf_printf(out, "Route %s %s:", one->route->method, one->route->path);
    for (int s = 0; s < NEO_STATUSES; s++)
        if (one->total.statuses[s])
            neo_buf_printf(out, " %d=%llu", neo_statuses[s], (unsigned long long)one->total.statuses[s]);
    neo_buf_printf(out, " p50=%.3f p95=%.3f p99=%.3f\n", neo_histogram_quantile(&all, 0.5) / 1000,
                   neo_histogram_quantile(&all, 0.95) / 1000, neo_histogram_quantile(&all, 0.99) / 1000);
}

static void put_requests(const neo_report *report, neo_buf *out)
{
    const neo_counters *total = &report->minutes[NEO_MINUTES];
    neo_histogram all = neo_report_all(total->requests), hour = neo_report_all(report->hour.requests);
    put(out, "Requests", neo_histogram_count(&all));
    for (int c = 0; c < NEO_CLASSES; c++)
        neo_buf_printf(out, "Requests%dxx: %llu\n", c + 2, (unsigned long long)neo_histogram_count(&total->requests[c]));
    put(out, "RequestsLastHour", neo_histogram_count(&hour));
    put(out, "RateLimited", total->limited);
    put(out, "WhatsAppCallbacksUnknownNumber", total->unknown_numbers);
    put(out, "ClockSteps", total->clock_steps);
    put_times(out, "RequestMsLastHour", &hour);
    for (int i = 0; i < report->route_count; i++) {
        neo_histogram ever = neo_report_all(report->routes[i].total.times);
        if (neo_histogram_count(&ever))
            put_route(out, &report->routes[i]);
    }
}

static void put_webhooks(const neo_report *report, neo_buf *out)
{
    const neo_counters *total = &report->minutes[NEO_MINUTES];
    put(out, "WebhooksInFlight", (uint64_t)report->sum.in_flight);
    put(out, "WebhooksInFlightMax", (uint64_t)report->sum.concurrency);
    for (int i = 0; i < NEO_ATTEMPT_KINDS; i++)
        neo_buf_printf(out, "WebhookAttempts %s: %llu\n", neo_attempt_name((neo_attempt)i),
                       (unsigned long long)total->outcomes[i]);
    put(out, "WebhooksDelivered", total->delivered);
    put(out, "WebhooksFailed", total->failed);
    for (int i = 0; i < report->slowest_count; i++) {
        const neo_receiver *one = &report->slowest[i];
        neo_buf_printf(out, "WebhookReceiver %s: attempts=%llu failures=%llu mean=%.3f longest=%.3f\n", one->host,
                       (unsigned long long)one->attempts, (unsigned long long)one->failures, one->mean / 1000,
                       (double)one->longest / 1000);
    }
}

static void put_queue(const neo_report *report, neo_buf *out)
{
    const neo_backlog *queue = &report->backlog;
    if (report->write_error)
        neo_buf_printf(out, "WriteError: %s\n", report->write_error);
    if (report->backlog_error) {
        neo_buf_printf(out, "QueueError: %s\n", report->backlog_error);
        return;
    }
    put(out, "QueuePending", (uint64_t)queue->pending);
    neo_buf_printf(out, "QueuePendingIsEstimate: %d\n", queue->is_estimated);
    put(out, "QueueDue", (uint64_t)queue->due);
    neo_buf_printf(out, "QueueDueIsMinimum: %d\n", queue->is_more);
    neo_buf_printf(out, "QueueOverdueSeconds: %.3f\n", (double)queue->overdue / 1000);
    neo_buf_printf(out, "EventLogLagSeconds: %.3f\n", (double)queue->log_lag / 1000);
    neo_buf_printf(out, "QueueOldestSeconds: %lld\n", queue->oldest ? (report->now / 1000 - queue->oldest) / 1000 : 0);
    put(out, "WebhooksFailing", (uint64_t)queue->failing);
    put(out, "WebhooksDisabled", (uint64_t)queue->disabled);
    put(out, "WhatsAppMessagesStalled", (uint64_t)queue->messages_stalled);
}

void neo_report_text(const neo_report *report, neo_buf *out)
{
    const neo_counters *total = &report->minutes[NEO_MINUTES];
    char started[NEO_MS_TEXT_SIZE];
    neo_ms_format(started, report->started / 1000);
    neo_buf_printf(out, "Version: %s\nHost: %s\nCountedSince: %s\n", NEO_VERSION, report->host, started);
    put(out, "Processes", (uint64_t)report->processes);
    put_requests(report, out);
    put(out, "ConnectionsInUse", (uint64_t)report->sum.in_use);
    put(out, "ConnectionsListening", (uint64_t)report->sum.listening);
    put(out, "ConnectionsWaiting", (uint64_t)report->sum.waiting);
    put(out, "ConnectionsMax", (uint64_t)report->sum.connections);
    put(out, "ConnectionsFailed", total->no_connection);
    put_times(out, "ConnectionWaitMsLastHour", &report->hour.wait);
    put_times(out, "ConnectionUseMsLastHour", &report->hour.held);
    put(out, "CreateStatements", total->create_statements);
    put(out, "CreateRows", total->create_rows);
    put(out, "CreateRowsRepeated", total->create_repeated);
    put_times(out, "CreateWaitMsLastHour", &report->hour.create_wait);
    put_webhooks(report, out);
    put_queue(report, out);
    for (int i = 0; i < report->backlog.job_count; i++) {
        const neo_job_status *job = &report->backlog.jobs[i];
        neo_buf_printf(out, "Job %s: runs=%lld failures=%lld last_success_seconds_ago=%lld last_duration_ms=%lld\n", job->name,
                       job->runs, job->failures, job->succeeded < 0 ? -1 : (report->now / 1000 - job->succeeded) / 1000,
                       job->duration);
    }
}

/* ---------------------------------------------------------------- in mod_status */

static void put_row(neo_buf *out, const char *name, const neo_histogram *histogram)
{
    neo_buf_printf(out, "<tr><td>%s</td><td>", name);
    neo_report_count(out, neo_histogram_count(histogram));
    for (int i = 0; i < 3; i++) {
        static const double parts[] = {0.5, 0.95, 0.99};
        neo_buf_puts(out, "</td><td>");
        if (neo_histogram_count(histogram))
            neo_report_time(out, neo_histogram_quantile(histogram, parts[i]));
    }
    neo_buf_puts(out, "</td></tr>\n");
}

static void put_short(const neo_report *report, neo_buf *out)
{
    const neo_counters *total = &report->minutes[NEO_MINUTES];
    neo_histogram all = neo_report_all(total->requests), hour = neo_report_all(report->hour.requests);
    put(out, "NeoAPIRequests", neo_histogram_count(&all));
    put(out, "NeoAPIRequests5xx", neo_histogram_count(&total->requests[NEO_CLASSES - 1]));
    put(out, "NeoAPIRateLimited", total->limited);
    put_times(out, "NeoAPIRequestMsLastHour", &hour);
    put(out, "NeoAPIConnectionsInUse", (uint64_t)report->sum.in_use);
    put(out, "NeoAPIWebhooksInFlight", (uint64_t)report->sum.in_flight);
    put(out, "NeoAPIWebhooksDelivered", total->delivered);
    put(out, "NeoAPIWebhooksFailed", total->failed);
}

void neo_report_section(const neo_report *report, int is_short, neo_buf *out)
{
    neo_histogram all = neo_report_all(report->hour.requests);
    if (is_short) {
        put_short(report, out);
        return;
    }
    neo_buf_puts(out,
                 "<hr />\n<h2>Public Integration API (mod_neoapi " NEO_VERSION ")</h2>\n<table border=\"0\">\n<tr><th>last "
                 "hour</th><th>count</th><th>median</th><th>p95</th><th>p99</th></tr>\n");
    put_row(out, "requests", &all);
    put_row(out, "requests with 4xx", &report->hour.requests[2]);
    put_row(out, "requests with 5xx", &report->hour.requests[3]);
    put_row(out, "database connection waits", &report->hour.wait);
    put_row(out, "database connection uses", &report->hour.held);
    put_row(out, "webhook attempts", &report->hour.attempts);
    neo_buf_puts(out, "</table>\n<p>");
    neo_report_count(out, report->hour.limited);
    neo_buf_puts(out, " requests rate-limited; ");
    neo_report_count(out, report->hour.delivered);
    neo_buf_puts(out, " webhooks delivered, ");
    neo_report_count(out, report->hour.failed);
    neo_buf_printf(out, " failed, %d in flight; %d of %d connections in use.</p>\n", report->sum.in_flight, report->sum.in_use,
                   report->sum.connections);
}
