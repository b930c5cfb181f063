/* A request of httpd as the service wants it. */
#ifndef NEO_HTTPD_REQUEST_H
#define NEO_HTTPD_REQUEST_H

#include "httpd/config.h"
#include "httpd/log.h"

typedef struct neo_exchange {
    neo_request request; /* its context is this exchange */
    request_rec *r;
    neo_log_context log_context;
    const neo_server_config *config;
    neo_database *database;
    neo_db_lease lease;
    neo_dispatcher *dispatcher;
    int has_read_body;
} neo_exchange;

/* `root` is the location that the API is at. */
neo_exchange *neo_exchange_make(request_rec *r, const neo_server_config *config, const char *root);

/* Over HTTP/2, an answer that comes before the body was read resets the stream, and some clients then miss the answer: what is
 * small and comes soon is read first. Over HTTP/1.1 the answer ends the connection where more of a body is to come. */
void neo_exchange_drain(neo_exchange *exchange);

/* Counts the request and its response, and sets NEOAPI_DB_TIME for the access log. */
void neo_exchange_count(const neo_exchange *exchange, const neo_response *response);

#endif
