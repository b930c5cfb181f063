/* SPDX-License-Identifier: Apache-2.0 */
/* What SetHandler can name outside the API. */
#ifndef NEO_HTTPD_HANDLER_H
#define NEO_HTTPD_HANDLER_H

#include <httpd.h>

#include "api/service.h"

typedef void neo_answerer(const neo_site *site, const neo_request *request, neo_response *response);

typedef struct neo_handler {
    const char *name;
    neo_answerer *answer;
    int has_token; /* the last segment of the path is a secret, which logs must not contain */
} neo_handler;

/* NULL if there is none of that name, which may be NULL. */
const neo_handler *neo_handler_find(const char *name);
/* That of the request's location, before httpd has set the request's handler. */
const neo_handler *neo_handler_of_location(request_rec *r);

#endif
