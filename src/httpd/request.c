/* Reading requests (see httpd/request.h). */
#include "httpd/request.h"

#include <apr_strings.h>
#include <http_protocol.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "core/id.h"
#include "delivery/sender.h"

#define ID_NOTE    "neoapi-request-id"
#define PIECE      65536  /* bytes asked for at a time */
#define MOST_DRAIN 262144 /* bytes of a body that nobody wants */
#define NAP        5000   /* microseconds between looks whether more of it has come */
#define MOST_NAPS  40

const char *neo_request_id(request_rec *r)
{
    const char *known = apr_table_get(r->notes, ID_NOTE);
    if (known)
        return known;
    char *id = apr_palloc(r->pool, NEO_ID_SIZE);
    neo_id_issue(id, "req_");
    apr_table_setn(r->notes, ID_NOTE, id);
    apr_table_setn(r->subprocess_env, "NEOAPI_REQUEST_ID", id);
    r->log_id = id;
    return id;
}

static const char *header(void *context, const char *name)
{
    return apr_table_get(((neo_exchange *)context)->r->headers_in, name);
}

static void known(void *context, const char *principal)
{
    ((neo_exchange *)context)->about.principal = principal;
}

static neo_pg *borrow(void *context)
{
    neo_exchange *exchange = context;
    neo_pg *pg = neo_database_borrow(exchange->database, &exchange->loan, &exchange->about, exchange->r->pool);
    if (!pg)
        neo_log(NEO_LOG_NO_CONNECTION, &exchange->about, "there is no connection to the database");
    return pg;
}

static void give_back(void *context, neo_pg *pg)
{
    neo_database_give_back(((neo_exchange *)context)->database, pg);
}

static void told(void *context)
{
    neo_dispatcher *dispatcher = ((neo_exchange *)context)->dispatcher;
    if (dispatcher)
        neo_dispatcher_wake(dispatcher);
}

static void ask_provider(void *context, const char *path, const char *token, neo_text body, neo_provider_response *answer)
{
    neo_exchange *exchange = context;
    apr_pool_t *pool = exchange->r->pool;
    neo_provider_request question = {neo_config_provider_url(exchange->config, path, pool), token, body,
                                     neo_config_provider_timeout(exchange->config)};
    neo_sender_post_once(&question, pool, answer);
}

/* ---------------------------------------------------------------- the body */

static neo_problem *too_large(neo_exchange *exchange, apr_size_t most)
{
    return neo_problem_make(exchange->r->pool, NEO_VALIDATION_BODY_TOO_LARGE,
                            "The body is larger than the %" APR_SIZE_T_FMT " bytes that this server takes.", most);
}

/* What went wrong when a piece of the body was to be read. */
static neo_problem *broken(neo_exchange *exchange, apr_status_t rv, apr_size_t most)
{
    apr_pool_t *pool = exchange->r->pool;
    neo_problem *problem = NULL;
    switch (APR_STATUS_IS_TIMEUP(rv) ? HTTP_REQUEST_TIME_OUT : ap_map_http_request_error(rv, HTTP_BAD_REQUEST)) {
    case HTTP_REQUEST_TIME_OUT:
        return neo_problem_make(pool, NEO_VALIDATION_REQUEST_TIMEOUT, "The body did not arrive in time.");
    case HTTP_REQUEST_ENTITY_TOO_LARGE: return too_large(exchange, most);
    default:
        neo_problem_field(&problem, pool, NEO_VALIDATION_MALFORMED_REQUEST, "", "body", "is cut off, or its framing is broken");
        return problem;
    }
}

/* Takes the bytes of one brigade. Returns APR_EOF at the end of the body, APR_ENOSPC beyond `most` bytes. */
static apr_status_t take(apr_bucket_brigade *brigade, apr_size_t most, neo_buf *out)
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
        if (out->len + len > most)
            return APR_ENOSPC;
        neo_buf_add(out, data, len);
    }
    return APR_SUCCESS;
}

/* Reads some of the body; APR_EOF at its end. APR_EAGAIN where there is none yet and it is not waited for. */
static apr_status_t read_piece(request_rec *r, apr_bucket_brigade *brigade, apr_read_type_e how, apr_size_t most, neo_buf *out)
{
    apr_status_t rv = ap_get_brigade(r->input_filters, brigade, AP_MODE_READBYTES, how, PIECE);
    if (rv == APR_SUCCESS && how == APR_NONBLOCK_READ && APR_BRIGADE_EMPTY(brigade))
        rv = APR_EAGAIN;
    if (rv == APR_SUCCESS)
        rv = take(brigade, most, out);
    apr_brigade_cleanup(brigade);
    return rv;
}

static apr_status_t read_body(neo_exchange *exchange, apr_size_t most, neo_buf *out)
{
    request_rec *r = exchange->r;
    apr_bucket_brigade *brigade = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_status_t rv = APR_SUCCESS;
    exchange->has_read_body = 1;
    while (rv == APR_SUCCESS)
        rv = read_piece(r, brigade, APR_BLOCK_READ, most, out);
    apr_brigade_destroy(brigade);
    return rv == APR_EOF ? APR_SUCCESS : rv;
}

static neo_problem *body(void *context, apr_size_t most, neo_text *text)
{
    neo_exchange *exchange = context;
    const char *declared = apr_table_get(exchange->r->headers_in, "Content-Length");
    apr_off_t length = 0;
    neo_buf out;
    if (declared && ap_parse_strict_length(&length, declared) && length > (apr_off_t)most)
        return too_large(exchange, most);
    neo_buf_init(&out, exchange->r->pool, length ? (apr_size_t)length + 1 : 4096);
    apr_status_t rv = read_body(exchange, most, &out);
    if (rv == APR_ENOSPC)
        return too_large(exchange, most);
    if (rv != APR_SUCCESS)
        return broken(exchange, rv, most);
    *text = neo_buf_text(&out);
    return NULL;
}

/* Reads away what of the body has come, or comes within moments. True at its end. */
static int drain(request_rec *r)
{
    apr_status_t rv = APR_SUCCESS;
    neo_buf ignored;
    neo_buf_init(&ignored, r->pool, 4096);
    apr_bucket_brigade *brigade = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    for (int naps = 0; rv == APR_SUCCESS || (APR_STATUS_IS_EAGAIN(rv) && naps++ < MOST_NAPS);) {
        if (rv != APR_SUCCESS)
            apr_sleep(NAP);
        rv = read_piece(r, brigade, APR_NONBLOCK_READ, MOST_DRAIN, &ignored);
    }
    apr_brigade_destroy(brigade);
    return rv == APR_EOF;
}

/* Over HTTP/1.1, what has neither header has no body. */
static int may_have_body(const request_rec *r)
{
    return apr_table_get(r->headers_in, "Content-Length") || apr_table_get(r->headers_in, "Transfer-Encoding");
}

/* A thread that waited here for as long as httpd waits for a body could be held by anybody, without a credential. Over HTTP/1.1
 * httpd itself would wait for the rest after the answer, unless the connection ends with it. Who waits to be told to continue
 * is not told so. */
void neo_exchange_drain(neo_exchange *exchange)
{
    request_rec *r = exchange->r;
    int is_multiplexed = r->proto_num >= HTTP_VERSION(2, 0);
    if (exchange->has_read_body || !(is_multiplexed || may_have_body(r)))
        return;
    int is_at_end = (is_multiplexed || !r->expecting_100) && drain(r);
    if (!is_at_end && !is_multiplexed)
        r->connection->keepalive = AP_CONN_CLOSE;
}

/* ---------------------------------------------------------------- the whole */

/* The path as a problem repeats it: as it was sent, since `instance` is a URI reference. JSON takes nothing but UTF-8. */
static const char *shown_path(request_rec *r)
{
    const char *sent = r->unparsed_uri, *path = r->uri;
    if (sent && *sent == '/')
        path = apr_pstrmemdup(r->pool, sent, strcspn(sent, "?"));
    return !path || neo_utf8_is_valid(path, strlen(path)) ? path : ap_escape_uri(r->pool, path);
}

neo_exchange *neo_exchange_make(request_rec *r, const neo_server_config *config, const char *root)
{
    static const neo_host host = {header, body, known, borrow, give_back, told, ask_provider};
    neo_exchange *exchange = apr_pcalloc(r->pool, sizeof *exchange);
    size_t below = strlen(root);
    exchange->r = r;
    exchange->config = config;
    exchange->about = (neo_about){.r = r, .server = r->server};
    exchange->database = config->database;
    exchange->dispatcher = config->dispatcher;
    exchange->request = (neo_request){
        .pool = r->pool,
        .id = neo_request_id(r),
        .method = r->method,
        .path = r->uri && strlen(r->uri) >= below ? r->uri + below : "",
        .instance = shown_path(r),
        .query = r->args,
        .address = r->useragent_ip,
        .host = &host,
        .context = exchange,
        .about = &exchange->about,
    };
    return exchange;
}
