/* SPDX-License-Identifier: Apache-2.0 */
/* Sends streams (see httpd/stream.h). */
#include "httpd/stream.h"

#include <apr_strings.h>
#include <http_core.h>
#include <http_protocol.h>
#include <stdatomic.h>

#include "core/clock.h"
#include "httpd/slow_clients.h"

#define PIECE_BYTES 16384
#define PIECE_MS    30000
#define FLUSH_MS    500
#define WAIT_MS     200 /* for NEO_STREAM_WAIT */

static atomic_int are_stopping; /* all streams */

void neo_streams_stop(void)
{
    atomic_store(&are_stopping, 1);
}

typedef struct {
    request_rec *r;
    apr_bucket_brigade *brigade;
    neo_ms end; /* of the time limit */
    neo_ms flushed_at;
    int is_flushed;  /* all that was sent */
    const char *why; /* it failed */
} sending;

static const char *failure_cause(const sending *s)
{
    neo_ms now = neo_steady_ms();
    return atomic_load(&are_stopping)                      ? "httpd stops"
           : now > s->end                                  ? "it took longer than NeoAPIExportTimeout"
           : neo_slow_clients_is_refused(s->r->connection) ? "the client read too slowly"
                                                           : "the client disconnected";
}

/* Passes the brigade on, which blocks until the client has taken most of it. */
static int pass(sending *s)
{
    int failed = ap_pass_brigade(s->r->output_filters, s->brigade) != APR_SUCCESS || s->r->connection->aborted;
    apr_brigade_cleanup(s->brigade);
    if (failed || neo_steady_ms() > s->end || atomic_load(&are_stopping))
        s->why = failure_cause(s);
    return !s->why;
}

static void add(sending *s, apr_bucket *bucket)
{
    APR_BRIGADE_INSERT_TAIL(s->brigade, bucket);
}

static int flush(sending *s)
{
    add(s, apr_bucket_flush_create(s->r->connection->bucket_alloc));
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
        add(s, apr_bucket_transient_create(part.ptr + at, len, s->r->connection->bucket_alloc));
        if (!pass(s))
            return 0;
    }
    return neo_steady_ms() - s->flushed_at < FLUSH_MS || flush(s);
}

static int flush_and_wait(sending *s)
{
    if (!(s->is_flushed || flush(s)) || !pass(s))
        return 0;
    apr_sleep(apr_time_from_msec(WAIT_MS));
    return 1;
}

/* Sends the parts; returns at the end, or after a failure, which sets s->why. */
static void send_parts(sending *s, neo_stream *stream)
{
    neo_text part;
    for (int is_sent = 1; is_sent;)
        switch (stream->next(stream, &part, &s->why)) {
        case NEO_STREAM_PART: is_sent = send_part(s, part); break;
        case NEO_STREAM_WAIT: is_sent = flush_and_wait(s); break;
        default: return;
        }
}

/* After a failure httpd must not end the response itself: it would write the last chunk, or end the stream of HTTP/2. `aborted`
 * closes the connection of HTTP/1.1; a stream of HTTP/2 that does not end would keep its client waiting. */
static void end(sending *s)
{
    if (s->why) {
        s->r->connection->aborted = 1;
        s->r->eos_sent = 1;
        if (s->r->connection->master)
            neo_slow_clients_disconnect(s->r->connection);
    } else {
        add(s, apr_bucket_eos_create(s->r->connection->bucket_alloc));
        ap_pass_brigade(s->r->output_filters, s->brigade);
    }
}

void neo_stream_send(request_rec *r, const neo_response *response)
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
    end(&s);
    if (s.why)
        neo_log(NEO_LOG_STREAM_ABORTED, &log_context, "export aborted after %" APR_OFF_T_FMT " bytes: %s", r->bytes_sent,
                s.why);
}
