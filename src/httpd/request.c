/* Reads requests and gives the service access to httpd (see httpd/request.h). */
#include "httpd/request.h"

#include <apr_strings.h>
#include <http_protocol.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "delivery/sender.h"
#include "httpd/request_id.h"
#include "httpd/shared_metrics.h"

#define CHUNK_BYTES     65536  /* of a read */
#define MAX_DRAIN_BYTES 262144 /* of an unread body */
#define DRAIN_POLL_US   5000
#define MAX_DRAIN_POLLS 40
#define PRINCIPAL_KEY   "neoapi_principal" /* of the request's pool */

static const char *header(void *context, const char *name)
{
    return apr_table_get(((neo_exchange *)context)->r->headers_in, name);
}

static void on_authenticated(void *context, const neo_credential *principal)
{
    neo_exchange *exchange = context;
    exchange->log_context.principal = principal->id;
    apr_pool_userdata_setn(principal, PRINCIPAL_KEY, NULL, exchange->r->pool);
}

const neo_credential *neo_exchange_principal(request_rec *r)
{
    void *principal = NULL;
    apr_pool_userdata_get(&principal, PRINCIPAL_KEY, r->pool);
    return principal;
}

static neo_pg *acquire(void *context)
{
    neo_exchange *exchange = context;
    neo_pg *pg = neo_database_acquire(exchange->database, &exchange->lease, &exchange->log_context, exchange->r->pool);
    if (!pg)
        neo_log(NEO_LOG_NO_CONNECTION, &exchange->log_context, "no connection to the database");
    return pg;
}

static void release(void *context, neo_pg *pg)
{
    neo_database_release(((neo_exchange *)context)->database, pg);
}

static void notify_dispatcher(void *context)
{
    neo_dispatcher *dispatcher = ((neo_exchange *)context)->dispatcher;
    if (dispatcher)
        neo_dispatcher_wake(dispatcher);
}

static void post_to_provider(void *context, const char *path, const char *token, neo_text body, neo_provider_response *response)
{
    neo_exchange *exchange = context;
    apr_pool_t *pool = exchange->r->pool;
    neo_provider_request request = {neo_config_provider_url(exchange->config, path, pool), token, body,
                                    neo_config_provider_timeout(exchange->config)};
    neo_sender_post_once(&request, pool, response);
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
        return neo_problem_make(pool, NEO_VALIDATION_REQUEST_TIMEOUT, "The body was not received in time.");
    case HTTP_REQUEST_ENTITY_TOO_LARGE: return too_large(exchange, max);
    default:
        neo_problem_field(&problem, pool, NEO_VALIDATION_MALFORMED_REQUEST, "", "body", "is truncated or has invalid framing");
        return problem;
    }
}

/* Appends a brigade's bytes. Returns APR_EOF at the end of the body, APR_ENOSPC beyond `max` bytes. */
static apr_status_t append(apr_bucket_brigade *brigade, apr_size_t max, neo_buf *out)
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
        if (out->len + len > max)
            return APR_ENOSPC;
        neo_buf_add(out, data, len);
    }
    return APR_SUCCESS;
}

/* Reads a part of the body. Returns APR_EOF at its end, APR_EAGAIN if a non-blocking read finds nothing. */
static apr_status_t read_chunk(request_rec *r, apr_bucket_brigade *brigade, apr_read_type_e how, apr_size_t max, neo_buf *out)
{
    apr_status_t rv = ap_get_brigade(r->input_filters, brigade, AP_MODE_READBYTES, how, CHUNK_BYTES);
    if (rv == APR_SUCCESS && how == APR_NONBLOCK_READ && APR_BRIGADE_EMPTY(brigade))
        rv = APR_EAGAIN;
    if (rv == APR_SUCCESS)
        rv = append(brigade, max, out);
    apr_brigade_cleanup(brigade);
    return rv;
}

static apr_status_t read_body(neo_exchange *exchange, apr_size_t max, neo_buf *out)
{
    request_rec *r = exchange->r;
    apr_bucket_brigade *brigade = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_status_t rv = APR_SUCCESS;
    exchange->has_read_body = 1;
    while (rv == APR_SUCCESS)
        rv = read_chunk(r, brigade, APR_BLOCK_READ, max, out);
    apr_brigade_destroy(brigade);
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
    apr_status_t rv = read_body(exchange, max, &out);
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
    neo_buf ignored;
    neo_buf_init(&ignored, r->pool, 4096);
    apr_bucket_brigade *brigade = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    while (rv == APR_SUCCESS || (APR_STATUS_IS_EAGAIN(rv) && polls-- > 0)) {
        if (rv != APR_SUCCESS)
            apr_sleep(DRAIN_POLL_US);
        rv = read_chunk(r, brigade, APR_NONBLOCK_READ, MAX_DRAIN_BYTES, &ignored);
    }
    apr_brigade_destroy(brigade);
    return rv == APR_EOF;
}

/* Over HTTP/1.1 a request without these headers has no body. */
static int may_have_body(const request_rec *r)
{
    return apr_table_get(r->headers_in, "Content-Length") || apr_table_get(r->headers_in, "Transfer-Encoding");
}

/* Without a valid credential there is no wait, because anybody could occupy threads. Over HTTP/1.1 the connection is closed
 * unless the body was complete, because httpd would wait for the rest. A client that expects 100 (Continue) does not get it. */
void neo_exchange_drain(neo_exchange *exchange, const neo_response *response)
{
    request_rec *r = exchange->r;
    int is_multiplexed = r->proto_num >= HTTP_VERSION(2, 0);
    int may_wait = response->principal && response->status != HTTP_TOO_MANY_REQUESTS;
    if (exchange->has_read_body || !(is_multiplexed || may_have_body(r)))
        return;
    int is_at_end = (is_multiplexed || !r->expecting_100) && drain(r, may_wait ? MAX_DRAIN_POLLS : 0);
    if (!is_at_end && !is_multiplexed)
        r->connection->keepalive = AP_CONN_CLOSE;
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

neo_exchange *neo_exchange_make(request_rec *r, const neo_server_config *config, const char *root)
{
    static const neo_host host = {header, body, on_authenticated, acquire, release, notify_dispatcher, post_to_provider};
    neo_exchange *exchange = apr_pcalloc(r->pool, sizeof *exchange);
    size_t root_len = strlen(root);
    exchange->r = r;
    exchange->config = config;
    exchange->log_context = (neo_log_context){.r = r, .server = r->server};
    exchange->database = config->database;
    exchange->dispatcher = config->dispatcher;
    exchange->request = (neo_request){
        .pool = r->pool,
        .id = neo_request_id(r),
        .method = r->method,
        .path = r->uri && strlen(r->uri) >= root_len ? r->uri + root_len : "",
        .instance = instance_path(r),
        .query = r->args,
        .address = r->useragent_ip,
        .host = &host,
        .context = exchange,
        .log_context = &exchange->log_context,
    };
    return exchange;
}

void neo_exchange_count(const neo_exchange *exchange, const neo_response *response)
{
    const request_rec *r = exchange->r;
    apr_time_t now = apr_time_now();
    if (exchange->lease.spent)
        apr_table_setn(r->subprocess_env, "NEOAPI_DB_TIME", apr_ltoa(r->pool, (long)exchange->lease.spent));
    if (response->is_unknown_number)
        neo_metrics_unknown_number(neo_shared_metrics_get()->metrics);
    neo_metrics_request(neo_shared_metrics_get()->metrics, response->route, response->status, now - r->request_time, now);
}
