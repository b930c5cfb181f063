/* SPDX-License-Identifier: Apache-2.0 */
/* Makes spans of requests (see httpd/request_span.h). */
#include "httpd/request_span.h"

#include <apr_strings.h>
#include <string.h>

#include "api/routing.h"

void neo_request_span_begin(neo_exchange *exchange)
{
    request_rec *r = exchange->r;
    exchange->exporter = exchange->config->exporter;
    if (!exchange->exporter)
        return;
    exchange->parent = exchange->log_context.trace;
    char *trace = apr_palloc(r->pool, NEO_TRACEPARENT_LEN + 1);
    if (!neo_span_exporter_begin(exchange->exporter, exchange->parent, trace)) {
        exchange->exporter = NULL;
        return;
    }
    exchange->log_context.trace = trace;
    if (!exchange->parent)
        apr_table_setn(r->subprocess_env, "NEOAPI_TRACE_ID", neo_trace_id(trace, r->pool));
}

/* The semantic conventions have no other methods. */
static const char *known_method(const char *method)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (apr_size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(method, methods[i]) == 0)
            return methods[i];
    return "_OTHER";
}

void neo_request_span_end(const neo_exchange *exchange, const neo_response *response, apr_time_t now)
{
    const neo_route *route = neo_route_at(response->route);
    if (!exchange->exporter)
        return;
    neo_span span = {
        .start = exchange->r->request_time,
        .end = now,
        .method = known_method(exchange->r->method),
        .route = *route->path == '/' ? route->path : NULL,
        .http_status = response->status,
    };
    span.name = route->name ? route->name : span.method;
    apr_cpystrn(span.trace, exchange->log_context.trace, sizeof span.trace);
    apr_cpystrn(span.parent, exchange->parent ? exchange->parent : "", sizeof span.parent);
    apr_cpystrn(span.id, exchange->request.id, sizeof span.id);
    neo_span_exporter_add(exchange->exporter, &span);
}
