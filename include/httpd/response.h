/* SPDX-License-Identifier: Apache-2.0 */
/* Sends responses, also bodies of any length while they are produced, and replaces httpd's error pages by problems. */
#ifndef NEO_HTTPD_RESPONSE_H
#define NEO_HTTPD_RESPONSE_H

#include "httpd/request.h"

/* Sends a response; the request is no longer in progress then. Returns OK, for handlers. A client that reads a stream slowly is
 * disconnected: it must take a piece of 16 KB in 30 seconds, and all of it in NeoAPIExportTimeout. */
int neo_response_send(request_rec *r, neo_response *response);

/* httpd stops without waiting for requests: aborts all streams. */
void neo_streams_stop(void);

/* Registers the filter for errors that httpd detects itself, such as a header that is too long. */
void neo_response_register_filter(void);

/* The insert_error_filter hook: replaces the error pages of requests to the API. */
void neo_response_replace_error(request_rec *r);

#endif
