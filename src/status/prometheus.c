/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a report in Prometheus' format (see status/report.h), with its naming conventions: base units, _total. */
#include "parts.h"

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

/* A route's labels, which need no escaping. */
static void put_route(neo_buf *out, const neo_route *route)
{
    neo_buf_printf(out, "method=\"%s\",route=\"%s\",", route->method, route->path);
}

/* Server errors are shown before the first one, so that its increase is seen. */
static int is_always_shown(int status)
{
    return status == 500 || status == 503;
}

static void put_requests(const neo_report *report, neo_buf *out)
{
    begin(out, "http_requests_total", "counter",
          "Requests. method and route are \"-\" if no operation matched; route is neoapi-whatsapp for callbacks.");
    for (int i = 0; i < report->route_count; i++)
        for (int s = 0; s < NEO_STATUSES; s++) {
            const neo_report_route *one = &report->routes[i];
            if (one->total.statuses[s] == 0 && !is_always_shown(neo_statuses[s]))
                continue;
            neo_buf_puts(out, "neoapi_http_requests_total{");
            put_route(out, one->route);
            neo_buf_printf(out, "code=\"%d\"} %llu\n", neo_statuses[s], (unsigned long long)one->total.statuses[s]);
        }
}

static void put_durations(const neo_report *report, neo_buf *out)
{
    begin(out, "http_request_duration_seconds", "histogram", "Time from the request line to the end of the response.");
    for (int i = 0; i < report->route_count; i++)
        for (int c = 0; c < NEO_CLASSES; c++) {
            neo_buf labels;
            if (neo_histogram_count(&report->routes[i].total.times[c]) == 0)
                continue;
            neo_buf_init(&labels, out->pool, 128);
            put_route(&labels, report->routes[i].route);
            neo_buf_printf(&labels, "code=\"%dxx\",", c + 2);
            put_histogram(out, "http_request_duration_seconds", labels.ptr, &report->routes[i].total.times[c]);
        }
}

static void put_database(const neo_report *report, neo_buf *out)
{
    const neo_counters *total = &report->minutes[NEO_MINUTES];
    put_number(out, "database_connections_in_use", "gauge", "Connections in use by requests and webhook delivery.",
               report->sum.in_use);
    put_number(out, "database_connections_listening", "gauge", "Connections that listen for notifications, one per process.",
               report->sum.listening);
    put_number(out, "database_connections_waiting", "gauge", "Threads waiting for a connection.", report->sum.waiting);
    put_number(out, "database_connections_max", "gauge", "Maximum number of connections: DBDMax of all processes.",
               report->sum.connections);
    put_number(out, "database_unavailable_total", "counter", "Failures to get a connection.", (double)total->no_connection);
    begin(out, "database_wait_seconds", "histogram", "Time waiting for a connection.");
    put_histogram(out, "database_wait_seconds", "", &total->wait);
    begin(out, "database_use_seconds", "histogram", "Time using a connection.");
    put_histogram(out, "database_use_seconds", "", &total->held);
}

static void put_creates(const neo_report *report, neo_buf *out)
{
    const neo_counters *total = &report->minutes[NEO_MINUTES];
    put_number(out, "create_statements_total", "counter", "Statements of creates that can share one.",
               (double)total->create_statements);
    put_number(out, "create_rows_total", "counter", "Rows of these statements.", (double)total->create_rows);
    put_number(out, "create_rows_repeated_total", "counter",
               "Rows that a shared statement left out, so that they were executed alone.", (double)total->create_repeated);
    begin(out, "create_wait_seconds", "histogram", "Time of creates waiting for a statement.");
    put_histogram(out, "create_wait_seconds", "", &total->create_wait);
}

static void put_webhooks(const neo_report *report, neo_buf *out)
{
    const neo_counters *total = &report->minutes[NEO_MINUTES];
    begin(out, "webhook_attempts_total", "counter", "Delivery attempts by outcome.");
    for (int i = 0; i < NEO_ATTEMPT_KINDS; i++)
        neo_buf_printf(out, "neoapi_webhook_attempts_total{outcome=\"%s\"} %llu\n", neo_attempt_name((neo_attempt)i),
                       (unsigned long long)total->outcomes[i]);
    begin(out, "webhook_deliveries_total", "counter", "Completed deliveries by outcome.");
    neo_buf_printf(out, "neoapi_webhook_deliveries_total{outcome=\"success\"} %llu\n", (unsigned long long)total->delivered);
    neo_buf_printf(out, "neoapi_webhook_deliveries_total{outcome=\"failed\"} %llu\n", (unsigned long long)total->failed);
    begin(out, "webhook_attempt_duration_seconds", "histogram", "Duration of delivery attempts.");
    put_histogram(out, "webhook_attempt_duration_seconds", "", &total->attempts);
    put_number(out, "webhook_in_flight", "gauge", "Delivery attempts in flight.", report->sum.in_flight);
    put_number(out, "webhook_in_flight_max", "gauge", "Maximum number of delivery attempts in flight.",
               report->sum.concurrency);
}

static void put_queue(const neo_report *report, neo_buf *out)
{
    const neo_backlog *queue = &report->backlog;
    put_number(out, "database_accepts_writes", "gauge",
               "Whether the database can execute writes: it is reachable, no standby, and its disk is not full.",
               !report->write_error);
    put_number(out, "webhook_queue_up", "gauge",
               "Whether the queue could be read. The other queue metrics are of the whole deployment.", !report->backlog_error);
    if (report->backlog_error)
        return;
    double age = queue->oldest ? ((double)report->now / 1000 - (double)queue->oldest) / 1000 : 0;
    put_number(out, "webhook_queue_pending", "gauge", "Pending deliveries; above 10000 an estimate.", (double)queue->pending);
    put_number(out, "webhook_queue_due", "gauge", "Pending deliveries that are due; at most 10000 are counted.",
               (double)queue->due);
    put_number(out, "webhook_queue_overdue_seconds", "gauge", "How long the most overdue delivery has been due.",
               (double)queue->overdue / 1000);
    put_number(out, "event_log_lag_seconds", "gauge",
               "How long the oldest writing transaction, which holds back the event log, runs.", (double)queue->log_lag / 1000);
    put_number(out, "webhook_queue_oldest_seconds", "gauge", "Age of the oldest pending delivery.", age > 0 ? age : 0);
    begin(out, "webhook_subscriptions_unhealthy", "gauge", "Subscriptions whose last attempt failed, and inactive ones.");
    neo_buf_printf(out, "neoapi_webhook_subscriptions_unhealthy{health=\"failing\"} %lld\n", queue->failing);
    neo_buf_printf(out, "neoapi_webhook_subscriptions_unhealthy{health=\"disabled\"} %lld\n", queue->disabled);
    put_number(out, "whatsapp_messages_stalled", "gauge", "WhatsApp messages that have been pending for over ten minutes.",
               (double)queue->messages_stalled);
}

/* `value` of each job, unless it is negative. */
static void put_job_values(const neo_report *report, neo_buf *out, const char *name, const char *type, const char *help,
                           double (*value)(const neo_job_status *job))
{
    begin(out, name, type, help);
    for (int i = 0; i < report->backlog.job_count; i++) {
        double number = value(&report->backlog.jobs[i]);
        if (number >= 0)
            neo_buf_printf(out, "neoapi_%s{name=\"%s\"} %.15g\n", name, report->backlog.jobs[i].name, number);
    }
}

static double job_runs(const neo_job_status *job)
{
    return (double)job->runs;
}

static double job_failures(const neo_job_status *job)
{
    return (double)job->failures;
}

static double job_last_success(const neo_job_status *job)
{
    return job->succeeded < 0 ? 0 : (double)job->succeeded / 1000;
}

static double job_duration(const neo_job_status *job)
{
    return (double)job->duration / 1000;
}

static void put_jobs(const neo_report *report, neo_buf *out)
{
    put_job_values(report, out, "job_runs_total", "counter", "Runs of a background job in the deployment.", job_runs);
    put_job_values(report, out, "job_failures_total", "counter", "Failed runs.", job_failures);
    put_job_values(report, out, "job_last_success_timestamp_seconds", "gauge", "End of the last successful run; 0: none yet.",
                   job_last_success);
    put_job_values(report, out, "job_last_duration_seconds", "gauge", "Duration of the last run.", job_duration);
}

void neo_report_metrics(const neo_report *report, neo_buf *out)
{
    begin(out, "build_info", "gauge", "The module's version.");
    neo_buf_printf(out, "neoapi_build_info{version=\"%s\"} 1\n", NEO_VERSION);
    put_number(out, "start_time_seconds", "gauge", "Start of counting, in seconds since 1970.", (double)report->started / 1e6);
    put_number(out, "processes", "gauge", "Processes that serve requests.", report->processes);
    put_requests(report, out);
    put_durations(report, out);
    put_number(out, "rate_limited_requests_total", "counter", "Responses with 429.",
               (double)report->minutes[NEO_MINUTES].limited);
    put_number(out, "whatsapp_callbacks_unknown_number_total", "counter",
               "Callbacks of WhatsApp numbers that have not been added.", (double)report->minutes[NEO_MINUTES].unknown_numbers);
    put_number(out, "clock_steps_total", "counter",
               "Steps of the system clock by more than a second, as each process noticed them.",
               (double)report->minutes[NEO_MINUTES].clock_steps);
    put_database(report, out);
    put_creates(report, out);
    put_webhooks(report, out);
    put_queue(report, out);
    put_jobs(report, out);
}
