/* SPDX-License-Identifier: Apache-2.0 */
/* Transitions of a resource's status (see neo_transition). */
#ifndef NEO_SCHEMA_TRANSITION_H
#define NEO_SCHEMA_TRANSITION_H

#include "schema/resource.h"

/* Checks a change of status, or with `from` NULL the status of a create. Returns NULL, and sets *timestamp_field to the field
 * that gets the time of the change (NULL: none); or a 409 that names the allowed statuses. */
NEO_MUSTCHECK neo_problem *neo_transition_check(const neo_resource *resource, const char *from, const char *to,
                                                apr_pool_t *pool, const char **timestamp_field);

/* Whether transitions set the field. */
int neo_transition_sets(const neo_resource *resource, const neo_field *field);

/* Whether a resource with the status can have passed a transition that sets the field. */
int neo_transition_has_set(const neo_resource *resource, const neo_field *field, const char *status);

#endif
