/* The library's messages in httpd's error log. */
#ifndef NEO_HTTPD_LOG_H
#define NEO_HTTPD_LOG_H

#include <httpd.h>

#include "core/log.h"

/* What a message is about, for neo_log's `log_context`: a request, or else a server. */
typedef struct neo_log_context {
    request_rec *r;
    server_rec *server;
    const char *principal; /* of the request, once it is known */
} neo_log_context;

/* Sends messages to the error log; those that are about nothing belong to `main_server`. */
void neo_log_to_httpd(server_rec *main_server);

#endif
