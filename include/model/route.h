/* Routes: every operation of every resource, numbered, for those who count by them. */
#ifndef NEO_MODEL_ROUTE_H
#define NEO_MODEL_ROUTE_H

#include "model/operation.h"

typedef struct neo_route {
    const char *method; /* "GET"; "-" where the request led to no operation of the API */
    const char *path;   /* "/brokers/{id}"; "-" likewise */
} neo_route;

/* Makes the list. Once in a process, at start-up. */
void neo_routes_make(apr_pool_t *pool);

int neo_routes_count(void);
const neo_route *neo_route_at(int route);

/* The route of what a request led to. Route 0 is that of requests that led to none: refused before it was looked for, or
 * without such a path or method. `operation` is of neo_operations, neo_operation_docs, or NULL. */
int neo_route_of(const neo_operation *operation, const neo_resource *resource);

/* The one route of what WhatsApp's provider tells, wherever its handler is. */
int neo_route_of_callbacks(void);

/* A number that other routes would not have. */
unsigned int neo_routes_fingerprint(void);

#endif
