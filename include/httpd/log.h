/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the library's log messages to httpd's error log. */
#ifndef NEO_HTTPD_LOG_H
#define NEO_HTTPD_LOG_H

#include <httpd.h>

#include "core/log.h"

/* The `log_context` of neo_log: a request, or else a server. */
typedef struct neo_log_context {
    request_rec *r;
    server_rec *server;
    const char *principal; /* of the request; NULL if unknown */
} neo_log_context;

/* Installs the error log. Messages without a context are logged for `main_server`. */
void neo_log_to_httpd(server_rec *main_server);

#endif
