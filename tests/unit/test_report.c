/* SPDX-License-Identifier: Apache-2.0 */
/* Reports: the status page, its text format and the metrics for given counters. */
#include "unit.h"

#include <apr_strings.h>

#include "core/crypto.h"
#include "core/encode.h"
#include "status/deployment.h"
#include "status/report.h"

#define SECOND 1000000LL
#define MINUTE (60 * SECOND)
#define NOW    1800000000000000LL
#define BROKER "/brokers/{id}"

typedef struct {
    neo_metrics *metrics;
    neo_receivers *receivers;
    neo_report *report;
    apr_pool_t *pool;
    int broker; /* the number of the route GET /brokers/{id} */
} fixture;

static fixture *new_fixture(apr_pool_t *pool)
{
    fixture *h = apr_pcalloc(pool, sizeof *h);
    neo_routes_make(pool);
    h->pool = pool;
    char *memory = apr_pcalloc(pool, neo_metrics_size(neo_routes_count(), 2) + 64);
    memory += (64 - (uintptr_t)memory % 64) % 64; /* the alignment of the counters */
    h->metrics = neo_metrics_attach(memory, neo_routes_count(), 2, NOW - 90 * MINUTE);
    while (strcmp(neo_route_at(h->broker)->path, BROKER) != 0 || strcmp(neo_route_at(h->broker)->method, "GET") != 0)
        assert_true(++h->broker < neo_routes_count());
    h->receivers = neo_receivers_attach(apr_pcalloc(pool, neo_receivers_size()));
    h->report = apr_pcalloc(pool, sizeof *h->report);
    h->report->now = NOW;
    h->report->host = "api.example.com";
    h->report->host_name = "host1";
    h->report->backlog_read_at = NOW;
    return h;
}

static void read_counters(fixture *h)
{
    neo_report_read(h->report, h->metrics, h->receivers, h->pool);
}

static const char *written(fixture *h, void (*write)(const neo_report *report, neo_buf *out))
{
    neo_buf out;
    neo_buf_init(&out, h->pool, 1000);
    read_counters(h);
    write(h->report, &out);
    return out.ptr;
}

static void write_page(const neo_report *report, neo_buf *out)
{
    neo_report_page(report, 0, out);
}

static void write_section(const neo_report *report, neo_buf *out)
{
    neo_report_section(report, 0, out);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" in:\n%s", part, text);
}

/* ---------------------------------------------------------------- the page */

TEST(a_page_without_requests_is_complete)
{
    fixture *h = new_fixture(*state);
    const char *page = written(h, write_page);
    assert_has(page, "<!DOCTYPE html>");
    assert_has(page, "No requests.");
    assert_has(page, "No attempts.");
    assert_has(page, "No run is known.");
    assert_lacks(page, "nan");
    assert_lacks(page, "inf");
    assert_has(page, "</html>\n");
}

TEST(a_page_shows_the_counters)
{
    fixture *h = new_fixture(*state);
    for (int i = 0; i < 1234; i++)
        neo_metrics_request(h->metrics, h->broker, i < 34 ? 404 : 200, 300, NOW - 10 * MINUTE);
    neo_metrics_request(h->metrics, h->broker, 500, 300, NOW);
    neo_metrics_request(h->metrics, 0, 429, 300, NOW);
    const char *page = written(h, write_page);
    assert_has(page, "<dt>Requests, last hour</dt><dd><b>1,236</b>");
    assert_has(page, "<div class=\"bad\"><dt>Server errors, last hour</dt><dd><b>1</b>");
    assert_has(page, "<dt>Rate-limited, last hour</dt><dd><b>1</b>");
    assert_has(page, "<b>GET</b> " BROKER "</th><td data-name=\"requests\">1,235</td>");
    assert_has(page, "<span class=\"caller\">404 <i>34</i></span>");
    assert_has(page, "no route");
    assert_has(page, "<title>10 min ago; 2xx, 3xx: 1200; 4xx: 34; 5xx: 0</title>");
    assert_lacks(page, "DELETE"); /* no request used it */
}

TEST(entries_older_than_an_hour_are_left_out)
{
    fixture *h = new_fixture(*state);
    neo_metrics_request(h->metrics, 0, 500, 300, NOW - 89 * MINUTE);
    const char *page = written(h, write_page);
    assert_has(page, "<dt>Requests, last hour</dt><dd><b>0</b>");
    assert_lacks(page, "class=\"bad\"");
    assert_has(written(h, neo_report_text), "\nRequests: 1\n");
    assert_has(written(h, neo_report_text), "\nRequestsLastHour: 0\n");
}

TEST(host_names_are_escaped_in_the_page)
{
    fixture *h = new_fixture(*state);
    char host[NEO_HOST_SIZE];
    neo_receivers_host("https://u:p@<script>alert(\"1&2\")</script>/x", host);
    assert_true(neo_receivers_attempt(h->receivers, "<i>\"&.example", 1, 5, NOW));
    h->report->host = "<b>";
    const char *page = written(h, write_page);
    assert_has(page, "&lt;i&gt;&quot;&amp;.example");
    assert_has(page, "Status of &lt;b&gt;</title>");
    assert_lacks(page, "<i>\"&.example");
    assert_lacks(page, "<script");
}

/* The browser applies the style sheet only if the policy has its hash. */
TEST(the_policy_permits_the_pages_style_and_nothing_else)
{
    fixture *h = new_fixture(*state);
    unsigned char digest[NEO_SHA256_SIZE];
    const char *page = written(h, write_page), *policy = neo_report_policy(h->pool);
    const char *start = strstr(page, "<style>") + 7, *end = strstr(page, "</style>");
    neo_sha256(start, (apr_size_t)(end - start), digest);
    assert_has(policy, apr_pstrcat(h->pool, "style-src 'sha256-", neo_base64(digest, sizeof digest, h->pool), "'", NULL));
    assert_has(policy, "default-src 'none'");
    assert_lacks(policy, "unsafe");
    assert_lacks(page, " style=");
}

TEST(the_queue_length_is_exact_or_a_lower_bound)
{
    fixture *h = new_fixture(*state);
    neo_backlog *queue = &h->report->backlog;
    *queue = (neo_backlog){.pending = 12, .due = 3, .overdue = 95000, .oldest = NOW / 1000 - 3 * 3600 * 1000};
    assert_has(written(h, write_page), "<b>12</b> due: 3, longest overdue 95&nbsp;s; oldest created 3&nbsp;h ago");
    assert_lacks(written(h, write_page), "event log");
    queue->log_lag = 75500;
    assert_has(written(h, write_page), "3&nbsp;h ago; event log held back for ");
    assert_has(written(h, neo_report_text), "EventLogLagSeconds: 75.500\n");
    assert_has(written(h, neo_report_metrics), "neoapi_event_log_lag_seconds 75.5\n");
    queue->pending = 2000000;
    queue->is_estimated = queue->is_more = 1;
    assert_has(written(h, write_page), "<b>≈&nbsp;2,000,000</b> due: 3 or more");
    h->report->backlog_error = "the database is away";
    assert_has(written(h, write_page), "<b>?</b> the database is away");
    assert_lacks(written(h, write_page), "2,000,000");
    assert_has(written(h, neo_report_text), "QueueError: the database is away\n");
    assert_lacks(written(h, neo_report_metrics), "queue_pending");
    assert_has(written(h, neo_report_metrics), "neoapi_webhook_queue_up 0\n");
}

TEST(durations_and_ages_have_readable_units)
{
    static const struct {
        long long longest, ago;
        const char *time, *age;
    } rows[] = {
        {340, 5, "0.34&nbsp;ms", "5&nbsp;s"},        {5600, 119, "5.6&nbsp;ms", "119&nbsp;s"},
        {78000, 120, "78&nbsp;ms", "2&nbsp;min"},    {999400, 7200, "999&nbsp;ms", "2&nbsp;h"},
        {1200000, 86400, "1.2&nbsp;s", "24&nbsp;h"}, {14000000, 172800, "14&nbsp;s", "2&nbsp;days"},
    };
    for (int i = 0; i < COUNT(rows); i++) {
        fixture *h = new_fixture(*state);
        assert_true(neo_receivers_attempt(h->receivers, "a.example", 1, rows[i].longest, NOW));
        h->report->backlog.jobs[0] = (neo_job_status){"expire", 3, 1, NOW / 1000 - rows[i].ago * 1000, -1, 20};
        h->report->backlog.job_count = 1;
        const char *page = written(h, write_page);
        assert_has(page, "<b>expire</b> expires proposals and contracts after their last day");
        assert_has(page, apr_pstrcat(h->pool, "<td data-name=\"longest\">", rows[i].time, "</td>", NULL));
        assert_has(page, apr_pstrcat(h->pool, "<td data-name=\"last success\">", rows[i].age, "</td>", NULL));
    }
}

/* ---------------------------------------------------------------- the other forms */

TEST(every_line_of_the_text_is_a_key_and_a_value)
{
    fixture *h = new_fixture(*state);
    neo_metrics_request(h->metrics, h->broker, 200, 300, NOW);
    assert_true(neo_receivers_attempt(h->receivers, "a.example", 0, 2000, NOW));
    char *last, *text = apr_pstrdup(h->pool, written(h, neo_report_text));
    assert_has(text, "Route GET " BROKER ": 200=1 p50=");
    assert_has(text, "WebhookReceiver a.example: attempts=1 failures=1 mean=2.000 longest=2.000\n");
    for (char *line = apr_strtok(text, "\n", &last); line; line = apr_strtok(NULL, "\n", &last))
        assert_true(strstr(line, ": ") != NULL && strchr(line, '<') == NULL);
}

TEST(mod_status_gets_a_section_in_either_form)
{
    fixture *h = new_fixture(*state);
    neo_buf out;
    neo_metrics_request(h->metrics, 0, 503, 300, NOW);
    assert_has(written(h, write_section), "<tr><td>requests with 5xx</td><td>1</td>");
    neo_buf_init(&out, h->pool, 1000);
    neo_report_section(h->report, 1, &out);
    assert_has(out.ptr, "NeoAPIRequests5xx: 1\n");
    assert_lacks(out.ptr, "<");
}

TEST(metrics_have_cumulative_buckets)
{
    fixture *h = new_fixture(*state);
    neo_metrics_request(h->metrics, h->broker, 200, 80, NOW);
    neo_metrics_request(h->metrics, h->broker, 200, 1500, NOW);
    neo_metrics_request(h->metrics, h->broker, 204, 99 * SECOND, NOW);
    const char *metrics = written(h, neo_report_metrics);
#define LABELS "{method=\"GET\",route=\"" BROKER "\",code=\"2xx\""
#define NAME   "\nneoapi_http_request_duration_seconds_"
    assert_has(metrics, NAME "bucket" LABELS ",le=\"5e-05\"} 0\n");
    assert_has(metrics, NAME "bucket" LABELS ",le=\"0.0001\"} 1\n");
    assert_has(metrics, NAME "bucket" LABELS ",le=\"0.001\"} 1\n");
    assert_has(metrics, NAME "bucket" LABELS ",le=\"0.002\"} 2\n");
    assert_has(metrics, NAME "bucket" LABELS ",le=\"30\"} 2\n");
    assert_has(metrics, NAME "bucket" LABELS ",le=\"+Inf\"} 3\n");
    assert_has(metrics, NAME "count" LABELS "} 3\n");
    assert_has(metrics, NAME "sum" LABELS "} 99.00158\n");
    assert_has(metrics, "\nneoapi_http_requests_total{method=\"GET\",route=\"" BROKER "\",code=\"204\"} 1\n");
    assert_has(metrics, "\nneoapi_http_requests_total{method=\"GET\",route=\"" BROKER "\",code=\"500\"} 0\n");
    assert_has(metrics, "\nneoapi_database_wait_seconds_count 0\n");
}

/* Sets the deployment from JSON in which ' is written for ". */
static void set_deployment(fixture *h, const char *text)
{
    char *json = apr_pstrdup(h->pool, text);
    for (char *c = json; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    h->report->deployment = neo_deployment_parse((neo_text){json, strlen(json)}, h->pool);
    assert_non_null(h->report->deployment);
}

TEST(metrics_have_the_hosts_and_replicas_of_the_deployment)
{
    fixture *h = new_fixture(*state);
#define REPLICA "{'name': 'walreceiver', 'address': null, 'role': 'replica', 'state': 'streaming', 'sync_state': 'async', "
    set_deployment(
        h, "{'hosts': [{'name': 'a\\'\\\\', 'version': '0.1.0', 'seconds_since_contact': 7, 'delivers': true, "
           "'clock_ahead_ms': -250,"
           " 'drained': false}],"
           " 'servers': [{'name': 'db1', 'address': '10.0.0.1:5432', 'role': 'primary', 'state': null, 'sync_state': null,"
           " 'lag_bytes': null, 'lag_ms': null}, " REPLICA "'lag_bytes': 16384, 'lag_ms': 1500}, " REPLICA
           "'lag_bytes': 0, 'lag_ms': null}]}");
    const char *metrics = written(h, neo_report_metrics);
    assert_has(metrics, "\nneoapi_host_info{name=\"a\\\"\\\\\",version=\"0.1.0\"} 1\n");
    assert_has(metrics, "\nneoapi_host_contact_age_seconds{name=\"a\\\"\\\\\"} 7\n");
    assert_has(metrics, "\nneoapi_host_clock_ahead_seconds{name=\"a\\\"\\\\\"} -0.25\n");
    assert_has(metrics, "\nneoapi_host_delivers{name=\"a\\\"\\\\\"} 1\n");
    assert_has(metrics, "\nneoapi_host_drained{name=\"a\\\"\\\\\"} 0\n");
    assert_has(
        metrics,
        "\nneoapi_database_server_info{name=\"db1\",address=\"10.0.0.1:5432\",role=\"primary\"} 1\n"
        "neoapi_database_server_info{name=\"walreceiver\",role=\"replica\",state=\"streaming\",sync_state=\"async\"} 1\n#");
    assert_has(metrics, " gauge\nneoapi_database_replica_lag_bytes{name=\"walreceiver\"} 16384\n#"); /* no label set twice */
    assert_has(metrics, " gauge\nneoapi_database_replica_lag_seconds{name=\"walreceiver\"} 1.5\n");
}

TEST(the_page_shows_during_an_outage_what_was_known_before)
{
    fixture *h = new_fixture(*state);
    set_deployment(h, "{'hosts': [{'name': 'host1', 'version': '0.1.0', 'seconds_since_contact': 3, 'delivers': true,"
                      " 'clock_ahead_ms': 0, 'drained': false}], 'servers': [], 'event_epoch_since': '2026-11-25T16:47:44Z'}");
    const char *page = written(h, write_page);
    assert_has(page, "Figures of host host1 for the last ");
    assert_has(page, "The event log's epoch began at 2026-11-25T16:47:44Z.");
    assert_lacks(page, "What was known before");
    h->report->backlog_error = "the database does not respond";
    h->report->backlog_read_at = NOW - 12 * SECOND;
    page = written(h, write_page);
    assert_has(
        page,
        "<p class=\"warning\">the database does not respond</p>\n<p class=\"lead\">What was known before, 12&nbsp;s ago:</p>");
    assert_has(page, "<th scope=\"row\">host1</th>");
    assert_lacks(written(h, neo_report_text), "DeploymentHost");
    assert_lacks(written(h, neo_report_metrics), "neoapi_host_");
}

TEST(the_page_and_the_text_count_the_rows_that_are_left_out)
{
    fixture *h = new_fixture(*state);
    set_deployment(h, "{'hosts': [], 'servers': [], 'warnings': ['one'], 'more': {'hosts': 12, 'warnings': 3}}");
    const char *page = written(h, write_page);
    assert_has(page, "</table>\n<p class=\"lead\">12 more hosts; see: neoapictl status</p>");
    assert_has(page, ">one</p>\n<p class=\"lead\">3 more warnings; see: neoapictl status</p>");
    assert_lacks(page, "more servers");
    assert_has(written(h, neo_report_text), "\nDeploymentMore hosts: 12\n");
}

TEST(the_report_shows_how_creates_share_statements)
{
    fixture *h = new_fixture(*state);
    read_counters(h);
    assert_has(written(h, write_page), "Creates per statement, last hour</dt><dd><b>–</b> wait p95 –, executed alone again: 0");
    neo_metrics_count(h->metrics, NEO_COUNT_CREATE_STATEMENTS, 2);
    neo_metrics_count(h->metrics, NEO_COUNT_CREATE_ROWS, 9);
    neo_metrics_count(h->metrics, NEO_COUNT_CREATE_REPEATED, 2);
    for (int i = 0; i < 9; i++)
        neo_metrics_time(h->metrics, NEO_TIME_CREATE_WAIT, 900);
    read_counters(h);
    assert_has(written(h, write_page), "Creates per statement, last hour</dt><dd><b>4.5</b> wait p95 ");
    assert_has(written(h, write_page), ", executed alone again: 2</dd>");
    assert_has(written(h, neo_report_text),
               "\nCreateStatements: 2\nCreateRows: 9\nCreateRowsRepeated: 2\nCreateWaitMsLastHourP50: ");
    const char *metrics = written(h, neo_report_metrics);
    assert_has(metrics, "\nneoapi_create_statements_total 2\n");
    assert_has(metrics, "\nneoapi_create_rows_total 9\n");
    assert_has(metrics, "\nneoapi_create_rows_repeated_total 2\n");
    assert_has(metrics, "\nneoapi_create_wait_seconds_count 9\n");
}
