/* SPDX-License-Identifier: Apache-2.0 */
/* Reads requests and gives the service access to httpd (see httpd/request.h). */
#include "httpd/request.h"

#include <apr_portable.h>
#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>
#include <poll.h>
#include <scoreboard.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "core/secret.h"
#include "httpd/event_waiters.h"
#include "httpd/request_span.h"
#include "httpd/shared_memory.h"
#include "httpd/slow_clients.h"
#include "webhooks/sender.h"

#define CHUNK_BYTES       65536      /* the most that one read returns */
#define MAX_DRAIN_BYTES   262144     /* the most that is read of an unwanted body over HTTP/1.1 */
#define MAX_DISCARD_BYTES (64 << 20) /* the same over HTTP/2 */
#define DRAIN_POLL_US     5000
#define MAX_DRAIN_POLLS   40
#define SOCKET_POLL_MS    100
#define STREAM_POLL_US    1000
#define PRINCIPAL_KEY     "neoapi_principal" /* a key in the request's pool */

/* The time for a body over HTTP/2, as in conf/neoapi.conf for HTTP/1.1: body=10-60,MinRate=500 */
#define HTTP2_BODY_S     10
#define HTTP2_MAX_BODY_S 60
#define HTTP2_MIN_RATE   500 /* bytes per second */

APLOG_USE_MODULE(neoapi);

static const char *header(void *context, const char *name)
{
    return apr_table_get(((neo_exchange *)context)->r->headers_in, name);
}

static void on_authenticated(void *context, const neo_credential *principal)
{
    neo_exchange *exchange = context;
    exchange->log_context.principal = principal->id;
    neo_slow_clients_set_credential(exchange->r->connection, principal->id);
    apr_pool_userdata_setn(principal, PRINCIPAL_KEY, NULL, exchange->r->pool);
}

const neo_credential *neo_exchange_principal(request_rec *r)
{
    void *principal = NULL;
    apr_pool_userdata_get(&principal, PRINCIPAL_KEY, r->pool);
    return principal;
}

/* Each process logs it at most once a second, because it happens under load. */
static int may_log_busy(void)
{
    static atomic_llong last;
    long long now = neo_steady_seconds() + 1, before = atomic_load(&last);
    return now != before && atomic_compare_exchange_strong(&last, &before, now);
}

static void log_no_connection(neo_exchange *exchange)
{
    const neo_pg_error *error = neo_database_error(exchange->database);
    neo_log(*error->class ? error->message : NEO_LOG_NO_CONNECTION, &exchange->log_context, "no connection: %s",
            error->sentence);
}

/* With LogLevel debug, responses say which server was read. */
static void show_source(const neo_exchange *exchange)
{
    if (APLOGrdebug(exchange->r))
        apr_table_setn(exchange->r->headers_out, "X-Read-From",
                       exchange->replica || exchange->is_read_confirmed ? "replica" : "primary");
}

static neo_pg *acquire(void *context)
{
    neo_exchange *exchange = context;
    show_source(exchange);
    neo_pg *pg = neo_database_acquire(exchange->database, &exchange->lease, &exchange->log_context, exchange->r->pool);
    if (!pg && !exchange->lease.was_busy)
        log_no_connection(exchange);
    else if (!pg && may_log_busy())
        neo_log(NEO_LOG_BUSY, &exchange->log_context, "all database connections are in use");
    return pg;
}

static neo_pg *acquire_long(void *context, int *is_full)
{
    neo_exchange *exchange = context;
    exchange->is_read_confirmed = 0;
    show_source(exchange);
    exchange->long_lease.is_long_held = 1;
    neo_pg *pg = neo_database_acquire(exchange->database, &exchange->long_lease, &exchange->log_context, exchange->r->pool);
    *is_full = exchange->long_lease.was_full;
    if (!pg && !*is_full)
        log_no_connection(exchange);
    return pg;
}

static void count_read(neo_counter server)
{
    neo_metrics_count(neo_shared_metrics_get()->metrics, server, 1);
}

static neo_pg *acquire_read(void *context, int is_long)
{
    neo_exchange *exchange = context;
    neo_read_pool *reads = exchange->config->reads;
    if (!reads || (is_long && !neo_database_enter_long_held(exchange->database)))
        return NULL;
    exchange->replica = neo_read_pool_acquire(reads, &exchange->read_connection, exchange->r->pool);
    exchange->is_long_read = exchange->replica && is_long;
    if (is_long && !exchange->replica)
        neo_database_leave_long_held(exchange->database);
    if (!exchange->replica)
        count_read(NEO_COUNT_PRIMARY_READS);
    show_source(exchange);
    return exchange->replica;
}

static int confirm_read(void *context)
{
    neo_exchange *exchange = context;
    int is_confirmed =
        neo_read_pool_is_confirmed(exchange->config->reads, exchange->read_connection, &exchange->lease, exchange->r->pool);
    exchange->is_read_confirmed = is_confirmed;
    count_read(is_confirmed ? NEO_COUNT_REPLICA_READS : NEO_COUNT_PRIMARY_READS);
    return is_confirmed;
}

static void release(void *context, neo_pg *pg)
{
    neo_exchange *exchange = context;
    if (pg != exchange->replica) {
        neo_database_release(exchange->database, pg);
        return;
    }
    neo_read_pool_release(exchange->config->reads, exchange->read_connection);
    exchange->replica = NULL;
    if (exchange->is_long_read)
        neo_database_leave_long_held(exchange->database);
}

static int await_event(void *context, const neo_event_wait *wait)
{
    return neo_event_waiters_wait(((neo_exchange *)context)->config->event_waiters, wait);
}

static void notify_dispatcher(void *context)
{
    neo_dispatcher *dispatcher = ((neo_exchange *)context)->dispatcher;
    if (dispatcher)
        neo_dispatcher_wake(dispatcher);
}

static void call_provider(void *context, const char *path, const char *token, neo_text body, neo_provider_response *response)
{
    neo_exchange *exchange = context;
    apr_pool_t *pool = exchange->r->pool;
    neo_provider_request request = {
        .url = neo_config_provider_url(exchange->config, path, pool),
        .token = token,
        .body = body,
        .timeout = neo_config_provider_timeout(exchange->config),
    };
    neo_sender_request_once(&request, pool, response);
}

static int start_download(void *context, neo_download *download, const char *url, const char *token, neo_download_head *head)
{
    neo_exchange *exchange = context;
    apr_pool_t *pool = exchange->r->pool;
    const neo_download_request request = {
        .url = url,
        .provider_url = neo_config_provider_url(exchange->config, "", pool),
        .token = token,
        .guard = neo_config_guard(exchange->config, pool),
        .timeout = neo_config_provider_timeout(exchange->config),
    };
    return neo_download_start(download, &request, head);
}

/* ---------------------------------------------------------------- the body */

static neo_problem *too_large(neo_exchange *exchange, apr_size_t max)
{
    return neo_problem_make(exchange->r->pool, NEO_VALIDATION_BODY_TOO_LARGE,
                            "The body is larger than the limit of %" APR_SIZE_T_FMT " bytes.", max);
}

static neo_problem *read_failure(neo_exchange *exchange, apr_status_t rv, apr_size_t max)
{
    apr_pool_t *pool = exchange->r->pool;
    neo_problem *problem = NULL;
    switch (APR_STATUS_IS_TIMEUP(rv) ? HTTP_REQUEST_TIME_OUT : ap_map_http_request_error(rv, HTTP_BAD_REQUEST)) {
    case HTTP_REQUEST_TIME_OUT:
        return neo_problem_make(pool, NEO_VALIDATION_REQUEST_TIMEOUT,
                                "The body was not received in time, or too many requests wait for theirs.");
    case HTTP_REQUEST_ENTITY_TOO_LARGE: return too_large(exchange, max);
    default:
        neo_problem_field(&problem, pool, NEO_VALIDATION_MALFORMED_REQUEST, "", "body", "is truncated or has invalid framing");
        return problem;
    }
}

/* Where a body's bytes go. */
typedef struct {
    neo_buf *buf; /* NULL: they are discarded */
    apr_size_t max, received;
} body_sink;

/* Appends a brigade's bytes. Returns APR_EOF at the end of the body, APR_ENOSPC beyond the maximum. */
static apr_status_t append(apr_bucket_brigade *brigade, body_sink *sink)
{
    for (apr_bucket *b = APR_BRIGADE_FIRST(brigade); b != APR_BRIGADE_SENTINEL(brigade); b = APR_BUCKET_NEXT(b)) {
        const char *data;
        apr_size_t len;
        if (APR_BUCKET_IS_EOS(b))
            return APR_EOF;
        if (APR_BUCKET_IS_METADATA(b))
            continue;
        apr_status_t rv = apr_bucket_read(b, &data, &len, APR_BLOCK_READ);
        if (rv != APR_SUCCESS)
            return rv;
        if (sink->received + len > sink->max)
            return APR_ENOSPC;
        sink->received += len;
        if (sink->buf)
            neo_buf_add(sink->buf, data, len);
    }
    return APR_SUCCESS;
}

static int is_multiplexed(const request_rec *r)
{
    return r->proto_num >= HTTP_VERSION(2, 0);
}

/* Reads a part of the body, without waiting. Returns APR_EOF at its end, APR_EAGAIN if nothing has arrived. */
static apr_status_t read_chunk(request_rec *r, apr_bucket_brigade *brigade, body_sink *sink)
{
    apr_status_t rv = ap_get_brigade(r->input_filters, brigade, AP_MODE_READBYTES, APR_NONBLOCK_READ, CHUNK_BYTES);
    if (rv == APR_SUCCESS && APR_BRIGADE_EMPTY(brigade))
        rv = APR_EAGAIN;
    if (rv == APR_SUCCESS)
        rv = append(brigade, sink);
    apr_brigade_cleanup(brigade);
    return rv;
}

/* Waiting for a body. */
typedef struct {
    int is_begun;
    apr_time_t started, last; /* when the wait began, and when bytes last arrived */
    apr_size_t received;
} body_wait;

/* mod_reqtimeout limits the time of HTTP/1.1 only; without it, Timeout limits the time between two pieces. */
static int is_body_overdue(const request_rec *r, const body_wait *wait)
{
    apr_time_t now = apr_time_now();
    apr_time_t allowed = apr_time_from_sec(HTTP2_BODY_S) + (apr_time_t)(wait->received * APR_USEC_PER_SEC / HTTP2_MIN_RATE);
    apr_time_t most = apr_time_from_sec(HTTP2_MAX_BODY_S);
    return now - wait->last > r->server->timeout ||
           (is_multiplexed(r) && now - wait->started > (allowed < most ? allowed : most));
}

/* Waits briefly for more of the body. An HTTP/2 stream has no socket to poll. */
static void poll_connection(const request_rec *r)
{
    struct pollfd polled = {-1, POLLIN, 0};
    if (is_multiplexed(r)) {
        apr_sleep(STREAM_POLL_US);
        return;
    }
    apr_os_sock_get(&polled.fd, ap_get_conn_socket(r->connection));
    poll(&polled, 1, SOCKET_POLL_MS);
}

/* Returns APR_TIMEUP if the thread must not wait any longer. */
static apr_status_t wait_for_body(const request_rec *r, body_wait *wait)
{
    if (!wait->is_begun)
        neo_slow_clients_begin_body(r->connection);
    wait->is_begun = 1;
    if (is_body_overdue(r, wait) || neo_slow_clients_is_refused(r->connection))
        return APR_TIMEUP;
    poll_connection(r);
    return APR_SUCCESS;
}

/* httpd itself sends it only before a blocking read. */
static void send_continue(request_rec *r)
{
    int status = r->status;
    if (!r->expecting_100)
        return;
    r->status = HTTP_CONTINUE;
    ap_send_interim_response(r, 0);
    r->status = status;
}

static apr_status_t read_body(neo_exchange *exchange, body_sink *sink)
{
    request_rec *r = exchange->r;
    apr_time_t now = apr_time_now();
    body_wait wait = {.started = now, .last = now};
    apr_bucket_brigade *brigade = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_status_t rv = APR_SUCCESS;
    while (rv == APR_SUCCESS) {
        rv = read_chunk(r, brigade, sink);
        if (sink->received > wait.received)
            wait.last = apr_time_now();
        wait.received = sink->received;
        if (APR_STATUS_IS_EAGAIN(rv))
            rv = wait_for_body(r, &wait);
    }
    if (wait.is_begun)
        neo_slow_clients_end_body(r->connection);
    if (APR_STATUS_IS_TIMEUP(rv) && !is_multiplexed(r))
        r->connection->keepalive = AP_CONN_CLOSE;
    apr_brigade_destroy(brigade);
    exchange->has_read_body = 1;
    exchange->is_at_end = rv != APR_ENOSPC;
    return rv == APR_EOF ? APR_SUCCESS : rv;
}

static neo_problem *body(void *context, apr_size_t max, neo_text *text)
{
    neo_exchange *exchange = context;
    const char *declared = apr_table_get(exchange->r->headers_in, "Content-Length");
    apr_off_t length = 0;
    neo_buf out;
    if (declared && ap_parse_strict_length(&length, declared) && length > (apr_off_t)max)
        return too_large(exchange, max);
    neo_buf_init(&out, exchange->r->pool, length ? (apr_size_t)length + 1 : 4096);
    body_sink sink = {&out, max, 0};
    send_continue(exchange->r);
    apr_status_t rv = read_body(exchange, &sink);
    if (rv == APR_ENOSPC)
        return too_large(exchange, max);
    if (rv != APR_SUCCESS)
        return read_failure(exchange, rv, max);
    *text = neo_buf_text(&out);
    return NULL;
}

/* Discards what has arrived of the body, and what arrives within `polls`. Returns true at its end. */
static int drain(request_rec *r, int polls)
{
    apr_status_t rv = APR_SUCCESS;
    body_sink ignored = {.max = MAX_DRAIN_BYTES};
    apr_bucket_brigade *brigade = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    while (rv == APR_SUCCESS || (APR_STATUS_IS_EAGAIN(rv) && polls-- > 0)) {
        if (rv != APR_SUCCESS)
            apr_sleep(DRAIN_POLL_US);
        rv = read_chunk(r, brigade, &ignored);
    }
    apr_brigade_destroy(brigade);
    return rv == APR_EOF;
}

/* Without a valid credential there is no wait, because any client could occupy threads. The connection is closed unless the
 * body was complete, because httpd would wait for the rest. A client that expects 100 (Continue) does not get it. */
void neo_exchange_drain(neo_exchange *exchange, const neo_response *response)
{
    request_rec *r = exchange->r;
    int may_wait = response->principal && response->status != HTTP_TOO_MANY_REQUESTS;
    int has_body = apr_table_get(r->headers_in, "Content-Length") || apr_table_get(r->headers_in, "Transfer-Encoding");
    if (exchange->has_read_body || is_multiplexed(r) || !has_body)
        return;
    if (r->expecting_100 || !drain(r, may_wait ? MAX_DRAIN_POLLS : 0))
        r->connection->keepalive = AP_CONN_CLOSE;
}

void neo_exchange_discard(neo_exchange *exchange)
{
    body_sink ignored = {.max = MAX_DISCARD_BYTES};
    if (is_multiplexed(exchange->r) && !exchange->is_at_end && !exchange->r->expecting_100)
        read_body(exchange, &ignored);
}

/* ---------------------------------------------------------------- the exchange */

/* The path for a problem's `instance`, a URI reference: as it was sent, if it is UTF-8, as JSON requires. */
static const char *instance_path(request_rec *r)
{
    const char *unparsed = r->unparsed_uri, *path = r->uri;
    if (unparsed && *unparsed == '/')
        path = apr_pstrmemdup(r->pool, unparsed, strcspn(unparsed, "?"));
    return !path || neo_utf8_is_valid(path, strlen(path)) ? path : ap_escape_uri(r->pool, path);
}

static apr_status_t end_request(void *process)
{
    __atomic_fetch_sub(&((neo_process *)process)->serving, 1, __ATOMIC_RELAXED);
    return APR_SUCCESS;
}

static void set_logged_uri(request_rec *r, char *uri)
{
    r->args = NULL;
    r->uri = r->unparsed_uri = r->parsed_uri.path = uri;
    r->the_request = apr_pstrcat(r->pool, r->method, " ", uri, " ", r->protocol, NULL);
}

void neo_request_hide_query(request_rec *r)
{
    if (r->args)
        set_logged_uri(r, r->uri);
}

neo_exchange *neo_exchange_make(request_rec *r, const neo_server_config *config, const char *root)
{
    static const neo_host host = {header,       body,    on_authenticated,  acquire,       acquire_long,   acquire_read,
                                  confirm_read, release, notify_dispatcher, call_provider, start_download, await_event};
    neo_exchange *exchange = apr_pcalloc(r->pool, sizeof *exchange);
    size_t root_len = strlen(root);
    neo_process *process = neo_shared_metrics_get()->process;
    __atomic_fetch_add(&process->serving, 1, __ATOMIC_RELAXED);
    apr_pool_cleanup_register(r->pool, process, end_request, apr_pool_cleanup_null);
    exchange->r = r;
    exchange->config = config;
    exchange->log_context = (neo_log_context){.r = r, .server = r->server, .trace = neo_request_trace(r)};
    exchange->database = config->database;
    exchange->dispatcher = config->dispatcher;
    neo_request_span_begin(exchange);
    exchange->request = (neo_request){
        .pool = r->pool,
        .id = neo_request_id(r),
        .trace = exchange->log_context.trace,
        .method = r->method,
        .path = r->uri && strlen(r->uri) >= root_len ? r->uri + root_len : "",
        .instance = instance_path(r),
        .query = r->args,
        .address = r->useragent_ip,
        .can_stream = r->proto_num >= HTTP_VERSION(1, 1),
        .host = &host,
        .context = exchange,
        .log_context = &exchange->log_context,
    };
    if (neo_service_query_is_personal(r->args))
        neo_request_hide_query(r);
    return exchange;
}

void neo_request_hide_token(request_rec *r)
{
    const char *slash = strrchr(r->uri, '/');
    apr_size_t length = slash ? (apr_size_t)(slash + 1 - r->uri) : 0;
    set_logged_uri(r, apr_pstrndup(r->pool, r->uri, length + NEO_ID_LEN));
    ap_update_child_status(r->connection->sbh, SERVER_BUSY_WRITE, r); /* mod_status shows the request line */
}

int neo_request_cut_tokens(request_rec *r)
{
    for (; r; r = r->next) { /* and those that it was redirected to */
        char *const texts[] = {r->the_request, r->uri, r->unparsed_uri, r->args};
        for (int i = 0; i < 4; i++)
            neo_secret_cut_feeds(texts[i]);
    }
    return DECLINED;
}

void neo_exchange_count(const neo_exchange *exchange, const neo_response *response)
{
    const request_rec *r = exchange->r;
    apr_time_t now = apr_time_now();
    if (exchange->lease.spent)
        apr_table_setn(r->subprocess_env, "NEOAPI_DB_TIME", apr_ltoa(r->pool, (long)exchange->lease.spent));
    neo_metrics *metrics = neo_shared_metrics_get()->metrics;
    neo_metrics_count(metrics, NEO_COUNT_UNKNOWN_NUMBERS, response->is_unknown_number != 0);
    neo_metrics_count(metrics, NEO_COUNT_CLOCK_STEPS, neo_clock_take_steps());
    neo_metrics_request(metrics, response->route, response->status, now - r->request_time, now);
    neo_request_span_end(exchange, response, now);
}
