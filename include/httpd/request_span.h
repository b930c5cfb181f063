/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of requests, which are exported (see webhooks/span_exporter.h). */
#ifndef NEO_HTTPD_REQUEST_SPAN_H
#define NEO_HTTPD_REQUEST_SPAN_H

#include "httpd/request.h"

/* Begins the request's span, if it is exported: what it causes continues the trace from it. */
void neo_request_span_begin(neo_exchange *exchange);

/* Ends it, at `now` (microseconds since 1970). */
void neo_request_span_end(const neo_exchange *exchange, const neo_response *response, apr_time_t now);

#endif
