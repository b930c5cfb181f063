/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the library's log messages to httpd's error log, with the ids of requests. */
#ifndef NEO_HTTPD_LOG_H
#define NEO_HTTPD_LOG_H

#include <httpd.h>

#include "core/log.h"

/* The `log_context` of neo_log: a request, or else a server. */
typedef struct neo_log_context {
    request_rec *r;
    server_rec *server;
    const char *principal; /* the request's; NULL if unknown */
    const char *trace;     /* neo_request_trace */
} neo_log_context;

/* Installs the error log. Messages without a context are logged for `main_server`. */
void neo_log_to_httpd(server_rec *main_server);

/* Returns the request's id. The first call creates it, and sets NEOAPI_REQUEST_ID and httpd's log id. */
const char *neo_request_id(request_rec *r);

/* Returns the request's traceparent (see core/trace.h), and sets NEOAPI_TRACE_ID; NULL if it has no valid one. */
const char *neo_request_trace(request_rec *r);

#endif
