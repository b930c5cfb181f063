/* SPDX-License-Identifier: Apache-2.0 */
/* What SetHandler can name outside the API. */
#ifndef NEO_HTTPD_HANDLER_H
#define NEO_HTTPD_HANDLER_H

#include <httpd.h>

#include "api/service.h"

typedef void neo_handler_function(const neo_site *site, const neo_request *request, neo_response *response);

typedef struct neo_handler {
    const char *name;
    neo_handler_function *answer;
    int has_token; /* the last segment of the path is a secret, which logs must not contain */
} neo_handler;

/* Returns NULL if there is none of that name, which may be NULL. */
const neo_handler *neo_handler_find(const char *name);
/* Finds the handler of the request's location, before httpd has set that of the request. Returns NULL if there is none. */
const neo_handler *neo_handler_find_by_location(request_rec *r);

#endif
