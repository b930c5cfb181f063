/* SPDX-License-Identifier: Apache-2.0 */
/* The event log as the API has it: types of events and the scopes that read them, filters. */
#ifndef NEO_RESOURCES_EVENT_H
#define NEO_RESOURCES_EVENT_H

#include "resources/scope.h"

/* Routes and the OpenAPI document use it; its schema is in src/openapi/document.json. */
extern const neo_resource neo_event_log;

extern const neo_filter neo_event_filters[];

/* The values of filters by type, ended by NULL: "broker.*", "broker.created", … */
extern const char *const neo_event_type_values[];

/* Expands "broker.*" to the types that begin with "broker.", ended by NULL. Returns NULL if there are none, or for other
 * values. */
const char *const *neo_event_type_expand(const char *value, apr_pool_t *pool);

/* The types that a credential with these scopes may read, as a PostgreSQL array; NULL: all. */
const char *neo_event_types_readable(neo_scopes scopes, apr_pool_t *pool);

#endif
