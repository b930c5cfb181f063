/* SPDX-License-Identifier: Apache-2.0 */
/* Routing: from a path and a method to an operation, and to the number that its metrics have. */
#ifndef NEO_API_ROUTING_H
#define NEO_API_ROUTING_H

#include "schema/operation.h"

/* All operations, ended by NULL. */
const neo_operation *const *neo_operations(void);

/* What a request's path and method lead to. */
typedef struct neo_match {
    int is_found;                   /* there is such a path */
    int is_public;                  /* all operations of the path are public */
    const neo_operation *operation; /* NULL: the path does not have the method, or it is OPTIONS */
    const neo_resource *resource;   /* NULL if the path has none */
    const char *id;                 /* as sent, even if malformed; NULL if the path has none */
    const char *subresource_id;     /* as sent, even if malformed; or the external id; NULL if the path has neither */
    const char *allow; /* "GET, HEAD, OPTIONS, POST", if the path is found and has no such method; otherwise NULL */
} neo_match;

/* Routes a path below the base URL, "brokers/brk_…". HEAD is routed as GET. */
void neo_operation_match(const char *path, const char *method, apr_pool_t *pool, neo_match *match);

/* A route is an operation of a resource. Its number is an index of the counters in shared memory. */
typedef struct neo_route {
    const char *method; /* "GET"; "-" for requests that matched no operation */
    const char *path;   /* "/brokers/{id}"; "-" for requests that matched no operation */
    const char *name;   /* "getBroker", as in the OpenAPI document, or the handler's; NULL if it has none */
} neo_route;

/* Builds the list. Call it once per process, at start-up. */
void neo_routes_make(apr_pool_t *pool);

int neo_routes_count(void);
const neo_route *neo_route_at(int route);

/* The route of a request; 0 if it was refused before routing, or matched no operation. */
int neo_route_number(const neo_match *match);

/* The route of WhatsApp's callbacks, whatever path they are configured for. */
int neo_callback_route_number(void);
/* The same of feeds of listings. */
int neo_listings_route_number(void);
/* The same for leads of portals. */
int neo_leads_route_number(void);

/* The same for the metadata of the authorization server. */
int neo_oauth_route_number(void);

/* Differs if the list of routes does: shared memory of another version must not be reused. */
unsigned int neo_routes_fingerprint(void);

#endif
