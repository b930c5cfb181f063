/* SPDX-License-Identifier: Apache-2.0 */
/* Passes httpd's requests to the service. */
#ifndef NEO_HTTPD_REQUEST_H
#define NEO_HTTPD_REQUEST_H

#include "httpd/config.h"
#include "httpd/log.h"

typedef struct neo_exchange {
    neo_request request;
    request_rec *r;
    neo_log_context log_context;
    const neo_server_config *config;
    neo_database *database;
    neo_db_lease lease;
    neo_db_lease long_lease; /* held while the client reads */
    neo_pg *replica;         /* the connection to a replica in use; NULL: none */
    neo_read_connection *read_connection;
    int is_long_read;      /* it is held while the client reads */
    int is_read_confirmed; /* what is read of a replica is current */
    neo_dispatcher *dispatcher;
    neo_span_exporter *exporter;  /* exports the request's span; NULL if it is not exported */
    const char *parent;           /* the span's parent: the traceparent that was sent, or NULL */
    int has_read_body, is_at_end; /* the body was read; it has ended or cannot be read further */
} neo_exchange;

/* `root` is the path of the API's location. */
neo_exchange *neo_exchange_make(request_rec *r, const neo_server_config *config, const char *root);

/* The credential that the request was counted for; NULL if there is none. httpd detects some errors while the handler reads the
 * body. */
const neo_credential *neo_exchange_principal(request_rec *r);

/* Discards a body that was not read over HTTP/1.1, before `response` is sent: what has arrived, and if the request had a valid
 * credential and was within its rate limit, what arrives within 200 ms. The connection is closed if the body is not complete.
 */
void neo_exchange_drain(neo_exchange *exchange, const neo_response *response);

/* Discards the rest of a body over HTTP/2, after the response was sent. When the handler returns earlier, httpd resets the
 * stream, and some clients then lose the response. */
void neo_exchange_discard(neo_exchange *exchange);

/* For the logs and mod_status: the verification of a callback has a secret in its query, the path of a feed a token. Its id
 * remains. */
void neo_request_hide_query(request_rec *r);
void neo_request_hide_token(request_rec *r);

/* Before a request is logged: removes the tokens of feeds wherever they are, for instance if httpd refused the request. */
int neo_request_cut_tokens(request_rec *r);

/* Counts the request and its response, and sets NEOAPI_DB_TIME for the access log. */
void neo_exchange_count(const neo_exchange *exchange, const neo_response *response);

#endif
