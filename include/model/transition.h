/* State machines: the rows of neo_transition, read. */
#ifndef NEO_MODEL_TRANSITION_H
#define NEO_MODEL_TRANSITION_H

#include "model/resource.h"

/* Whether a resource may get from one status to another, or be created with it (`from` NULL). Returns NULL and sets *moment to
 * the server's field that is set to the time of the change (NULL for none); or a 409 that names the statuses that can follow.
 */
NEO_MUSTCHECK neo_problem *neo_transition_check(const neo_resource *resource, const char *from, const char *to,
                                                apr_pool_t *pool, const char **timestamp_field);

/* The status from which a change began, as its effects are concerned: "" where what it is about has become another, or itself
 * of another kind, so that it reaches its status anew. */
const char *neo_transition_start(const neo_resource *resource, const neo_json *before, const neo_json *after);

/* Whether a field is one that transitions set. */
int neo_transition_sets(const neo_resource *resource, const neo_field *field);

#endif
