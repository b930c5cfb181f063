/* SPDX-License-Identifier: Apache-2.0 */
/* The event log as the API has it: types of events and the scopes that read them, filters. */
#ifndef NEO_MODEL_EVENT_H
#define NEO_MODEL_EVENT_H

#include "model/resource.h"

#define NEO_SAMPLE_EVENT "evt_35357c0000001f4a7a00003a91"

/* For routes and the OpenAPI document; its schema is in openapi_event.c. */
extern const neo_resource neo_event_log;

extern const neo_filter neo_event_filters[];

/* The types that a credential with these scopes may read, as a PostgreSQL array; NULL: all. */
const char *neo_event_types_readable(neo_scopes scopes, apr_pool_t *pool);

#endif
