/* SPDX-License-Identifier: Apache-2.0 */
/* Routes: every operation of every resource has a number, for metrics. */
#ifndef NEO_MODEL_ROUTE_H
#define NEO_MODEL_ROUTE_H

#include "model/operation.h"

typedef struct neo_route {
    const char *method; /* "GET"; "-" if the request matched no operation */
    const char *path;   /* "/brokers/{id}"; likewise */
} neo_route;

/* Builds the list. Call it once per process, at start-up. */
void neo_routes_make(apr_pool_t *pool);

int neo_routes_count(void);
const neo_route *neo_route_at(int route);

/* The route of a request. `operation`: of neo_operations, neo_operation_docs, or NULL for route 0, that of requests that were
 * refused before routing or matched no operation. */
int neo_route_of(const neo_operation *operation, const neo_resource *resource);

/* The route of WhatsApp's callbacks, whatever path they are configured for. */
int neo_route_of_callbacks(void);

/* Differs if the list of routes does: shared memory of another version must not be reused. */
unsigned int neo_routes_fingerprint(void);

#endif
