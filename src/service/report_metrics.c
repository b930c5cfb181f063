/* A report for Prometheus (see service/report.h). Names and units follow its conventions: base units, counters that end in
 * _total. */
#include "report_parts.h"

static void begin(neo_buf *out, const char *name, const char *type, const char *help)
{
    neo_buf_printf(out, "# HELP neoapi_%s %s\n# TYPE neoapi_%s %s\n", name, help, name, type);
}

static void put_number(neo_buf *out, const char *name, const char *type, const char *help, double value)
{
    begin(out, name, type, help);
    neo_buf_printf(out, "neoapi_%s %.15g\n", name, value);
}

/* `labels` ends in a comma, or is empty. */
static void put_histogram(neo_buf *out, const char *name, const char *labels, const neo_histogram *histogram)
{
    unsigned long long count = 0;
    int len = labels[0] ? (int)strlen(labels) - 1 : 0;
    for (int i = 0; i < NEO_BUCKETS; i++) {
        count += histogram->count[i];
        if (i < NEO_BUCKETS - 1 && neo_histogram_is_coarse(i))
            neo_buf_printf(out, "neoapi_%s_bucket{%sle=\"%g\"} %llu\n", name, labels, (double)neo_histogram_bound(i) / 1e6,
                           count);
    }
    neo_buf_printf(out, "neoapi_%s_bucket{%sle=\"+Inf\"} %llu\n", name, labels, count);
    const char *open = len ? "{" : "", *close = len ? "}" : "";
    neo_buf_printf(out, "neoapi_%s_sum%s%.*s%s %.15g\n", name, open, len, labels, close, (double)histogram->sum / 1e6);
    neo_buf_printf(out, "neoapi_%s_count%s%.*s%s %llu\n", name, open, len, labels, close, count);
}

/* A route's labels; none of what is in them has to be escaped. */
static void put_route(neo_buf *out, const neo_route *route)
{
    neo_buf_printf(out, "method=\"%s\",route=\"%s\",", route->method, route->path);
}

static void put_requests(const neo_report *report, neo_buf *out)
{
    begin(
        out, "http_requests_total", "counter",
        "Requests answered; route and method are \"-\" where the request led to no operation; callbacks are neoapi-whatsapp.");
    for (int i = 0; i < report->route_count; i++)
        for (int s = 0; s < NEO_STATUSES; s++) {
            const neo_report_route *one = &report->routes[i];
            if (one->total.statuses[s] == 0)
                continue;
            neo_buf_puts(out, "neoapi_http_requests_total{");
            put_route(out, one->route);
            neo_buf_printf(out, "code=\"%d\"} %llu\n", neo_statuses[s], (unsigned long long)one->total.statuses[s]);
        }
}

static void put_durations(const neo_report *report, neo_buf *out)
{
    begin(out, "http_request_duration_seconds", "histogram", "From a request's first line to the end of its answer.");
    for (int i = 0; i < report->route_count; i++)
        for (int c = 0; c < NEO_CLASSES; c++) {
            neo_buf labels;
            if (neo_histogram_count(&report->routes[i].total.times[c]) == 0)
                continue;
            neo_buf_init(&labels, out->pool, 128);
            put_route(&labels, report->routes[i].route);
            neo_buf_printf(&labels, "status=\"%dxx\",", c + 2);
            put_histogram(out, "http_request_duration_seconds", labels.ptr, &report->routes[i].total.times[c]);
        }
}

static void put_database(const neo_report *report, neo_buf *out)
{
    const neo_counters *total = &report->minutes[NEO_MINUTES];
    put_number(out, "database_connections_in_use", "gauge", "Connections in use, those that listen included.",
               report->sum.in_use);
    put_number(out, "database_connections_waiting", "gauge", "Threads that wait for a connection.", report->sum.waiting);
    put_number(out, "database_connections_max", "gauge", "Connections that there can be: DBDMax of every process.",
               report->sum.connections);
    put_number(out, "database_unavailable_total", "counter", "Times that no connection could be had.",
               (double)total->no_connection);
    begin(out, "database_wait_seconds", "histogram", "Waiting for a connection.");
    put_histogram(out, "database_wait_seconds", "", &total->wait);
    begin(out, "database_use_seconds", "histogram", "Having a connection: the time of the statements.");
    put_histogram(out, "database_use_seconds", "", &total->held);
}

static void put_webhooks(const neo_report *report, neo_buf *out)
{
    const neo_counters *total = &report->minutes[NEO_MINUTES];
    begin(out, "webhook_attempts_total", "counter", "Attempts to deliver, by how they ended.");
    for (int i = 0; i < NEO_ATTEMPT_KINDS; i++)
        neo_buf_printf(out, "neoapi_webhook_attempts_total{outcome=\"%s\"} %llu\n", neo_attempt_name((neo_attempt)i),
                       (unsigned long long)total->outcomes[i]);
    begin(out, "webhook_deliveries_total", "counter", "Deliveries that came to their end.");
    neo_buf_printf(out, "neoapi_webhook_deliveries_total{outcome=\"success\"} %llu\n", (unsigned long long)total->delivered);
    neo_buf_printf(out, "neoapi_webhook_deliveries_total{outcome=\"failed\"} %llu\n", (unsigned long long)total->failed);
    begin(out, "webhook_attempt_duration_seconds", "histogram", "How long attempts took.");
    put_histogram(out, "webhook_attempt_duration_seconds", "", &total->attempts);
    put_number(out, "webhook_in_flight", "gauge", "Attempts under way.", report->sum.in_flight);
    put_number(out, "webhook_in_flight_max", "gauge", "Attempts that can be under way at a time.", report->sum.concurrency);
}

/* Without an answer of the database there is nothing to say but that there is none. */
static void put_queue(const neo_report *report, neo_buf *out)
{
    const neo_backlog *queue = &report->backlog;
    put_number(out, "webhook_queue_up", "gauge",
               "Whether the database told of the queue; the figures of the deployment follow.", !report->backlog_error);
    if (report->backlog_error)
        return;
    double age = queue->oldest ? ((double)report->now / 1000 - (double)queue->oldest) / 1000 : 0;
    put_number(out, "webhook_queue_pending", "gauge", "Deliveries that wait; beyond 10000 an estimate.",
               (double)queue->pending);
    put_number(out, "webhook_queue_due", "gauge", "Of these, those that could be sent now; at most 10000 are counted.",
               (double)queue->due);
    put_number(out, "webhook_queue_overdue_seconds", "gauge", "For how long the one that waits longest has been due.",
               (double)queue->overdue / 1000);
    put_number(out, "webhook_queue_oldest_seconds", "gauge", "Age of the oldest delivery that waits.", age > 0 ? age : 0);
}

void neo_report_metrics(const neo_report *report, neo_buf *out)
{
    begin(out, "build_info", "gauge", "The module's version.");
    neo_buf_printf(out, "neoapi_build_info{version=\"%s\"} 1\n", NEO_VERSION);
    put_number(out, "start_time_seconds", "gauge", "When counting began, in seconds since 1970.",
               (double)report->started / 1e6);
    put_number(out, "processes", "gauge", "Processes of this Apache that serve requests.", report->processes);
    put_requests(report, out);
    put_durations(report, out);
    put_number(out, "rate_limited_requests_total", "counter", "Requests answered with 429.",
               (double)report->minutes[NEO_MINUTES].limited);
    put_database(report, out);
    put_webhooks(report, out);
    put_queue(report, out);
    put_number(out, "cleanup_runs_total", "counter", "Rounds of the queue's housekeeping.", (double)report->cleanup.runs);
    put_number(out, "cleanup_failures_total", "counter", "Rounds that failed.", (double)report->cleanup.failures);
    put_number(out, "cleanup_last_run_timestamp_seconds", "gauge", "When the last one that succeeded ended; 0: none yet.",
               (double)report->cleanup.last / 1e6);
}
