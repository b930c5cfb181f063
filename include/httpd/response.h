/* The one writer of responses, and what takes the place of httpd's own error pages. */
#ifndef NEO_HTTPD_RESPONSE_H
#define NEO_HTTPD_RESPONSE_H

#include "httpd/request.h"

/* Sends a response; returns what a handler returns. */
int neo_response_send(request_rec *r, const neo_response *response);

/* Once, when hooks are registered: the filter for errors that httpd finds by itself (a header that is too long, say). */
void neo_response_register_filter(void);

/* Puts the filter in front of httpd's error page, where the request was for the API. */
void neo_response_replace_error(request_rec *r);

#endif
