/* SPDX-License-Identifier: Apache-2.0 */
/* Sends responses and problems through httpd (see httpd/response.h). */
#include "httpd/response.h"

#include <apr_strings.h>
#include <http_core.h>
#include <http_protocol.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <util_filter.h>

#include "api/routing.h"
#include "core/clock.h"
#include "httpd/slow_clients.h"

#define FILTER         "NEOAPI_ERROR"
#define MAX_SMALL_BODY 32768 /* bytes that httpd accepts at once, whether or not the client reads them */

/* A client must take a piece of a stream in PIECE_MS. */
#define PIECE_BYTES 16384
#define PIECE_MS    30000
#define FLUSH_MS    500
#define WAIT_MS     200 /* the pause after NEO_STREAM_WAIT */

/* ---------------------------------------------------------------- streams */

static atomic_int are_stopping; /* all streams */

void neo_streams_stop(void)
{
    atomic_store(&are_stopping, 1);
}

typedef struct {
    request_rec *r;
    apr_bucket_brigade *brigade;
    neo_ms end; /* when the time limit ends */
    neo_ms flushed_at;
    int is_flushed;  /* everything that was sent is flushed */
    const char *why; /* the cause of a failure, otherwise NULL */
} sending;

/* Passes the brigade on, which blocks until the client has taken most of it. */
static int pass(sending *s)
{
    int failed = ap_pass_brigade(s->r->output_filters, s->brigade) != APR_SUCCESS || s->r->connection->aborted;
    int is_late = neo_steady_ms() > s->end, is_stopping = atomic_load(&are_stopping);
    apr_brigade_cleanup(s->brigade);
    if (failed || is_late || is_stopping)
        s->why = is_stopping                                     ? "httpd stops"
                 : is_late                                       ? "it took longer than NeoAPIExportTimeout"
                 : neo_slow_clients_is_refused(s->r->connection) ? "the client read too slowly"
                                                                 : "the client disconnected";
    return !s->why;
}

static void add_bucket(sending *s, apr_bucket *bucket)
{
    APR_BRIGADE_INSERT_TAIL(s->brigade, bucket);
}

static int flush(sending *s)
{
    add_bucket(s, apr_bucket_flush_create(s->r->connection->bucket_alloc));
    s->flushed_at = neo_steady_ms();
    s->is_flushed = 1;
    return pass(s);
}

/* Flushes rarely, because each flush reduces compression. */
static int send_part(sending *s, neo_text part)
{
    s->is_flushed = 0;
    for (apr_size_t at = 0; at < part.len; at += PIECE_BYTES) {
        apr_size_t len = part.len - at < PIECE_BYTES ? part.len - at : PIECE_BYTES;
        add_bucket(s, apr_bucket_transient_create(part.ptr + at, len, s->r->connection->bucket_alloc));
        if (!pass(s))
            return 0;
    }
    return neo_steady_ms() - s->flushed_at < FLUSH_MS || flush(s);
}

/* Sends the parts; returns at the end, or after a failure, which sets s->why. */
static void send_parts(sending *s, neo_stream *stream)
{
    neo_text part;
    for (int is_sent = 1; is_sent;)
        switch (stream->next(stream, &part, &s->why)) {
        case NEO_STREAM_PART: is_sent = send_part(s, part); break;
        case NEO_STREAM_WAIT:
            is_sent = (s->is_flushed || flush(s)) && pass(s);
            if (is_sent)
                apr_sleep(apr_time_from_msec(WAIT_MS));
            break;
        default: return;
        }
}

/* After a failure httpd must not end the response itself: it would write the last chunk, or end the stream of HTTP/2. `aborted`
 * closes the connection of HTTP/1.1; a stream of HTTP/2 that does not end would keep its client waiting. */
static void end_stream(sending *s)
{
    if (s->why) {
        s->r->connection->aborted = 1;
        s->r->eos_sent = 1;
        if (s->r->connection->master)
            neo_slow_clients_disconnect(s->r->connection);
    } else {
        add_bucket(s, apr_bucket_eos_create(s->r->connection->bucket_alloc));
        ap_pass_brigade(s->r->output_filters, s->brigade);
    }
}

/* Sends response->stream after the head, and closes it. If it fails or takes too long, the connection is closed, over HTTP/2
 * with its other streams, so that the client does not take it for complete. */
static void send_stream(request_rec *r, const neo_response *response)
{
    neo_log_context log_context = {.r = r, .server = r->server, .principal = response->principal};
    neo_ms now = neo_steady_ms();
    neo_ms limit = now + 1000LL * neo_get_server_config(r->server)->site->export_timeout;
    sending s = {.r = r, .end = limit, .flushed_at = now};
    s.brigade = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    neo_slow_clients_set_times(r->connection, PIECE_MS, limit);
    if (!r->header_only)
        send_parts(&s, response->stream);
    response->stream->close(response->stream);
    end_stream(&s);
    if (s.why)
        neo_log(NEO_LOG_STREAM_ABORTED, &log_context, "response aborted after %" APR_OFF_T_FMT " bytes: %s", r->bytes_sent,
                s.why);
}

/* ---------------------------------------------------------------- responses */

/* The headers are set already: response->headers is r->headers_out. */
static void set_head(request_rec *r, const neo_response *response)
{
    r->status = response->status;
    r->status_line = NULL;
    if (response->media_type)
        ap_set_content_type(r, response->media_type);
    else
        r->content_type = NULL;
}

/* A bucket with the body. It is not copied, unless the bucket outlives the request's pool; then APR copies it. */
static apr_bucket *make_bucket(request_rec *r, const neo_response *response)
{
    return apr_bucket_pool_create(response->body.ptr, response->body.len, r->pool, r->connection->bucket_alloc);
}

static int accepts_gzip(const request_rec *r, const char *codings)
{
    for (const char *item; (item = ap_get_list_item(r->pool, &codings));) {
        const char *weight = strstr(item, ";q=");
        size_t len = strcspn(item, ";");
        int is_gzip = (len == 4 && strncmp(item, "gzip", len) == 0) || (len == 1 && *item == '*');
        if (is_gzip && !(weight && strtod(weight + 3, NULL) <= 0))
            return 1;
    }
    return 0;
}

/* Chooses the compressed form of a document. As mod_deflate does, it adds a suffix to the tag. */
static void use_gzip(request_rec *r, neo_response *response)
{
    const char *codings = apr_table_get(r->headers_in, "Accept-Encoding"), *etag = apr_table_get(r->headers_out, "ETag");
    if (!response->gzip.ptr)
        return;
    apr_table_mergen(r->headers_out, "Vary", "Accept-Encoding");
    if (!codings || !accepts_gzip(r, codings))
        return;
    if (etag)
        apr_table_setn(r->headers_out, "ETag", apr_psprintf(r->pool, "%.*s-gzip\"", (int)strlen(etag) - 1, etag));
    if (response->media_type)
        apr_table_setn(r->headers_out, "Content-Encoding", "gzip");
    response->body = response->gzip;
}

/* A small response is sent without waiting for its client, which may send its next request as soon as it has this one's
 * response. So the request is no longer in progress then. */
int neo_response_send(request_rec *r, neo_response *response)
{
    apr_bucket_brigade *out = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_table_unset(r->headers_in, "Range"); /* the API serves no ranges, but httpd would */
    apr_table_unset(r->headers_in, "Request-Range");
    set_head(r, response);
    if (response->principal) { /* for the access log: %u and %{NEOAPI_PRINCIPAL}e */
        r->user = apr_pstrdup(r->pool, response->principal);
        r->ap_auth_type = (char *)(response->is_token ? "personal_access_token" : "api_key");
        apr_table_setn(r->subprocess_env, "NEOAPI_PRINCIPAL", r->user);
    }
    use_gzip(r, response);
    if (response->stream) {
        send_stream(r, response);
        neo_concurrency_leave(&response->place);
        return OK;
    }
    if (response->media_type) {
        ap_set_content_length(r, (apr_off_t)response->body.len);
        APR_BRIGADE_INSERT_TAIL(out, make_bucket(r, response));
    }
    APR_BRIGADE_INSERT_TAIL(out, apr_bucket_eos_create(r->connection->bucket_alloc));
    if (response->body.len <= MAX_SMALL_BODY)
        neo_concurrency_leave(&response->place);
    ap_pass_brigade(r->output_filters, out); /* fails only if the client has disconnected */
    neo_concurrency_leave(&response->place);
    return OK;
}

/* ---------------------------------------------------------------- httpd's errors */

static neo_code status_code(int status)
{
    static const struct {
        int status;
        neo_code code;
    } table[] = {
        {HTTP_FORBIDDEN, NEO_FORBIDDEN_BY_SERVER},
        {HTTP_UNAUTHORIZED, NEO_FORBIDDEN_BY_SERVER},
        {HTTP_NOT_FOUND, NEO_NOT_FOUND_ROUTE},
        {HTTP_METHOD_NOT_ALLOWED, NEO_VALIDATION_METHOD_NOT_ALLOWED},
        {HTTP_REQUEST_TIME_OUT, NEO_VALIDATION_REQUEST_TIMEOUT},
        {HTTP_REQUEST_ENTITY_TOO_LARGE, NEO_VALIDATION_BODY_TOO_LARGE},
        {HTTP_SERVICE_UNAVAILABLE, NEO_INTERNAL_UNAVAILABLE},
    };
    for (apr_size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].status == status)
            return table[i].code;
    return status >= 500 ? NEO_INTERNAL_UNEXPECTED : NEO_VALIDATION_MALFORMED_REQUEST;
}

/* The API's location that the request is for. If the request line cannot be parsed, it is the virtual host's first one. */
static const char *find_root(const request_rec *r, const neo_server_config *config)
{
    const char *first = config->roots->nelts ? APR_ARRAY_IDX(config->roots, 0, const char *) : NULL;
    if (!r->uri || *r->uri != '/' || !r->parsed_uri.path)
        return first;
    for (int i = 0; i < config->roots->nelts; i++) {
        const char *root = APR_ARRAY_IDX(config->roots, i, const char *);
        size_t len = strlen(root);
        if (strncmp(r->uri, root, len) == 0 || (strlen(r->uri) == len - 1 && strncmp(r->uri, root, len - 1) == 0))
            return root;
    }
    return NULL;
}

void neo_response_replace_error(request_rec *r)
{
    const neo_server_config *config = neo_get_server_config(r->server);
    int is_off = neo_get_location_config(r)->is_on == 0; /* a location below the API's with NeoAPI Off */
    if (r->status >= 400 && !is_off && config->site && find_root(r, config))
        ap_add_output_filter(FILTER, NULL, r, r->connection);
}

/* The problem contains nothing of the request, unlike httpd's page. */
static neo_problem *make_status_problem(request_rec *r)
{
    neo_code code = status_code(r->status);
    neo_problem *problem = NULL;
    if (r->status == HTTP_BAD_REQUEST)
        neo_problem_field(&problem, r->pool, code, "", "request", "has an invalid header, path encoding or body framing");
    else
        problem = neo_problem_make(r->pool, code, "%s", neo_code_row(code)->meaning);
    problem->status = r->status;
    if (code == NEO_INTERNAL_UNAVAILABLE)
        problem->retry_after = 5;
    return problem;
}

/* Discards httpd's page, and sends the problem at its end. */
static apr_status_t replace(ap_filter_t *filter, apr_bucket_brigade *brigade)
{
    request_rec *r = filter->r;
    apr_bucket *last = APR_BRIGADE_EMPTY(brigade) ? NULL : APR_BRIGADE_LAST(brigade);
    if (!last || !APR_BUCKET_IS_EOS(last)) {
        apr_brigade_cleanup(brigade);
        return APR_SUCCESS;
    }
    const neo_server_config *config = neo_get_server_config(r->server);
    neo_exchange *exchange = neo_exchange_make(r, config, find_root(r, config));
    neo_response response = {.headers = r->headers_out};
    neo_service_refuse(config->site, &exchange->request, neo_exchange_principal(r), make_status_problem(r), &response);
    neo_exchange_count(exchange, &response);
    if (response.status == HTTP_METHOD_NOT_ALLOWED) { /* httpd does not know the path's methods when it refuses TRACE */
        neo_match match;
        neo_operation_match(exchange->request.path, r->method, r->pool, &match);
        if (match.allow)
            apr_table_setn(response.headers, "Allow", match.allow);
    }
    apr_table_unset(r->headers_out, "Content-Length");
    set_head(r, &response);
    apr_brigade_cleanup(brigade);
    APR_BRIGADE_INSERT_TAIL(brigade, make_bucket(r, &response));
    APR_BRIGADE_INSERT_TAIL(brigade, apr_bucket_eos_create(r->connection->bucket_alloc));
    ap_set_content_length(r, (apr_off_t)response.body.len);
    ap_remove_output_filter(filter);
    return ap_pass_brigade(filter->next, brigade);
}

void neo_response_register_filter(void)
{
    ap_register_output_filter(FILTER, replace, NULL, AP_FTYPE_RESOURCE);
}
