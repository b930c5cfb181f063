/* SPDX-License-Identifier: Apache-2.0 */
/* Makes OTLP's JSON of spans and posts it (see webhooks/span_exporter.h). The encoding is that of
 * opentelemetry.io/docs/specs/otlp: ids are hexadecimal, 64-bit integers are strings. Attributes follow the semantic
 * conventions for HTTP spans, without url.path, url.full and client.address, which can be personal data. */
#include "webhooks/span_exporter.h"

#include <apr_strings.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/crypto.h"
#include "core/log.h"

#define BATCH        512  /* spans of one request to the collector */
#define INTERVAL_MS  1000 /* between two requests, unless there are more spans than one takes */
#define PAUSE_MS     5000 /* after a failure, as long as the buffer has room for more spans */
#define TIMEOUT_S    10
#define FINISH_MS    1000
#define SPAN_BYTES   640 /* about the length of its JSON */
#define SAMPLED_FLAG 1

struct neo_span_exporter {
    neo_span_exporter_settings settings;
    neo_spans *spans;
    neo_sender *sender;
    apr_pool_t *scratch;
    const char *url;
    neo_text head;     /* the JSON before the spans */
    int in_flight;     /* spans in the request that waits for its response; 0: there is none */
    int is_failing;    /* the last request failed */
    neo_ms next_batch; /* neo_steady_ms */
    atomic_int is_stopped;
};

/* ---------------------------------------------------------------- JSON */

static void add_text(neo_buf *out, const char *key, const char *value)
{
    neo_buf_printf(out, "%s{\"key\":\"%s\",\"value\":{\"stringValue\":", out->ptr[out->len - 1] == '[' ? "" : ",", key);
    neo_buf_json(out, value);
    neo_buf_puts(out, "}}");
}

static void add_number(neo_buf *out, const char *key, int value)
{
    neo_buf_printf(out, "%s{\"key\":\"%s\",\"value\":{\"intValue\":\"%d\"}}", out->ptr[out->len - 1] == '[' ? "" : ",", key,
                   value);
}

/* "example.com:8443" or "[2001:db8::1]:8443" */
static void add_server(neo_buf *out, const char *host)
{
    char address[NEO_HOST_SIZE];
    apr_cpystrn(address, host, sizeof address);
    char *colon = strrchr(address, ':'), *bracket = strrchr(address, ']');
    long long port = 0;
    if (colon && colon > bracket && neo_integer_parse(colon + 1, &port))
        *colon = '\0';
    add_text(out, "server.address", address);
    if (port > 0 && port <= 65535)
        add_number(out, "server.port", (int)port);
}

static void add_attributes(neo_buf *out, const neo_span *span, int is_error)
{
    neo_buf_puts(out, ",\"attributes\":[");
    add_text(out, "http.request.method", span->method);
    if (span->route)
        add_text(out, "http.route", span->route);
    if (span->http_status)
        add_number(out, "http.response.status_code", span->http_status);
    if (span->is_attempt)
        add_server(out, span->host);
    if (span->number > 1)
        add_number(out, "http.request.resend_count", span->number - 1);
    if (is_error)
        add_text(out, "error.type", span->error ? span->error : apr_itoa(out->pool, span->http_status));
    add_text(out, span->is_attempt ? "neoapi.delivery_id" : "neoapi.request_id", span->id);
    neo_buf_puts(out, "]");
}

/* Errors of clients are not errors of a server's span, but of a client's. */
static void add_span(neo_buf *out, const neo_span *span)
{
    int is_error = span->error || span->http_status >= (span->is_attempt ? 300 : 500);
    neo_buf_printf(out, "{\"traceId\":\"%.*s\",\"spanId\":\"%.*s\"", NEO_TRACE_ID_LEN, span->trace + NEO_TRACE_AT,
                   NEO_SPAN_ID_LEN, span->trace + NEO_SPAN_AT);
    if (*span->parent)
        neo_buf_printf(out, ",\"parentSpanId\":\"%.*s\"", NEO_SPAN_ID_LEN, span->parent + NEO_SPAN_AT);
    neo_buf_puts(out, ",\"name\":");
    neo_buf_json(out, span->name);
    neo_buf_printf(out, ",\"kind\":%d,\"startTimeUnixNano\":\"%lld000\",\"endTimeUnixNano\":\"%lld000\"",
                   span->is_attempt ? 3 : 2, span->start, span->end);
    add_attributes(out, span, is_error);
    neo_buf_puts(out, is_error ? ",\"status\":{\"code\":2}}" : ",\"status\":{}}");
}

static neo_text make_head(const neo_span_exporter_settings *settings, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 512);
    neo_buf_puts(&out, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
    add_text(&out, "service.name", "neoapi");
    add_text(&out, "service.version", NEO_VERSION);
    add_text(&out, "host.name", settings->host_name);
    add_number(&out, "process.pid", (int)getpid());
    neo_buf_puts(&out, "]},\"scopeSpans\":[{\"scope\":{\"name\":\"mod_neoapi\",\"version\":\"" NEO_VERSION "\"},\"spans\":[");
    return neo_buf_text(&out);
}

/* ---------------------------------------------------------------- sending */

static void end_batch(neo_span_exporter *e, int is_success, const char *why)
{
    if (e->settings.metrics)
        neo_metrics_count(e->settings.metrics, is_success ? NEO_COUNT_SPANS_EXPORTED : NEO_COUNT_SPANS_DROPPED, e->in_flight);
    if (!is_success && !e->is_failing)
        neo_log(NEO_LOG_SPANS_DROPPED, NULL, "the trace collector %s: %s", e->settings.url, why);
    e->is_failing = !is_success;
    e->in_flight = 0;
    e->next_batch = neo_steady_ms() + (is_success ? INTERVAL_MS : PAUSE_MS);
}

static void on_response(void *baton, const neo_send_result *result)
{
    char status[32];
    apr_snprintf(status, sizeof status, "HTTP status %d", result->http_status);
    end_batch(baton, neo_send_is_success(result), result->error ? result->error : status);
}

static void send_batch(neo_span_exporter *e)
{
    static const char *const headers[] = {"Content-Type: application/json"};
    neo_span span;
    neo_buf out;
    apr_pool_clear(e->scratch);
    neo_buf_init(&out, e->scratch, BATCH * SPAN_BYTES);
    neo_buf_add(&out, e->head.ptr, e->head.len);
    for (; e->in_flight < BATCH && neo_spans_take(e->spans, &span); e->in_flight++) {
        if (e->in_flight)
            neo_buf_puts(&out, ",");
        add_span(&out, &span);
    }
    neo_buf_puts(&out, "]}]}]}");
    if (e->in_flight && !neo_sender_post(e->sender, e->url, headers, 1, neo_buf_text(&out), 0, e))
        end_batch(e, 0, "not_sent");
}

/* A full batch is due at once, unless the collector fails. */
static int is_due(const neo_span_exporter *e, neo_ms now)
{
    int count = neo_spans_count(e->spans);
    return !e->in_flight && count > 0 && (now >= e->next_batch || (count >= BATCH && !e->is_failing));
}

/* Spans that are added do not wake the thread until there are many. */
static void work(neo_span_exporter *e, neo_ms until)
{
    if (is_due(e, neo_steady_ms()))
        send_batch(e);
    neo_ms wait = until - neo_steady_ms();
    neo_sender_work(e->sender, wait > 0 ? (int)wait : 0, -1);
}

void neo_span_exporter_run(neo_span_exporter *e)
{
    while (!atomic_load(&e->is_stopped)) {
        neo_ms now = neo_steady_ms();
        work(e, e->next_batch > now ? neo_earlier(e->next_batch, now + INTERVAL_MS) : now + INTERVAL_MS);
    }
    neo_ms until = neo_steady_ms() + FINISH_MS;
    while (!e->is_failing && (e->in_flight || neo_spans_count(e->spans) > 0) && neo_steady_ms() < until) {
        e->next_batch = 0;
        work(e, until);
    }
}

void neo_span_exporter_stop(neo_span_exporter *e)
{
    atomic_store(&e->is_stopped, 1);
    neo_sender_wake(e->sender);
}

/* ---------------------------------------------------------------- spans */

int neo_span_exporter_begin(const neo_span_exporter *e, const char *parent, char trace[NEO_TRACEPARENT_LEN + 1])
{
    unsigned int chance;
    if (parent) {
        if (!neo_trace_is_sampled(parent))
            return 0;
        neo_trace_child(parent, trace);
        return 1;
    }
    neo_random(&chance, sizeof chance);
    if ((int)(chance % 100) >= e->settings.share)
        return 0;
    neo_trace_begin(trace);
    return 1;
}

void neo_span_exporter_add(neo_span_exporter *e, const neo_span *span)
{
    if (neo_spans_add(e->spans, span))
        neo_sender_wake(e->sender);
}

void neo_span_exporter_attempt(neo_span_exporter *e, const neo_in_flight_delivery *delivery, const neo_send_result *result)
{
    if (!e || !*delivery->trace || !neo_trace_is_sampled(delivery->trace))
        return;
    neo_span span = {
        .is_attempt = 1,
        .start = result->started * 1000,
        .end = (result->started + result->duration) * 1000,
        .name = "deliverWebhook",
        .method = "POST",
        .http_status = result->http_status,
        .error = result->error,
        .number = delivery->number,
    };
    memcpy(span.trace, delivery->trace, sizeof span.trace);
    memcpy(span.parent, delivery->parent, sizeof span.parent);
    apr_cpystrn(span.id, delivery->id, sizeof span.id);
    apr_cpystrn(span.host, delivery->host, sizeof span.host);
    neo_span_exporter_add(e, &span);
}

/* ---------------------------------------------------------------- creation */

neo_span_exporter *neo_span_exporter_make(const neo_span_exporter_settings *settings, apr_pool_t *pool)
{
    neo_span_exporter *e = apr_pcalloc(pool, sizeof *e);
    const neo_sender_settings sending = {.timeout = TIMEOUT_S, .max = 1, .allows_http = 1};
    e->settings = *settings;
    e->url = apr_pstrcat(pool, settings->url, "/v1/traces", NULL);
    e->head = make_head(settings, pool);
    e->spans = neo_spans_make(settings->metrics, pool);
    apr_pool_create(&e->scratch, pool);
    e->sender = neo_sender_make(&sending, on_response, pool);
    return e->sender ? e : NULL;
}
