/* SPDX-License-Identifier: Apache-2.0 */
/* Request ids: in responses, log messages and the environment of a request. */
#ifndef NEO_HTTPD_REQUEST_ID_H
#define NEO_HTTPD_REQUEST_ID_H

#include <httpd.h>

/* Returns the request's id. The first call creates it, and sets NEOAPI_REQUEST_ID and httpd's log id. */
const char *neo_request_id(request_rec *r);

#endif
