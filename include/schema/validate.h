/* SPDX-License-Identifier: Apache-2.0 */
/* Validates a body against the resource's table of fields, and finds all errors in one pass. */
#ifndef NEO_SCHEMA_VALIDATE_H
#define NEO_SCHEMA_VALIDATE_H

#include "schema/resource.h"

/* Validates the body of a create or replace. Returns NULL, and sets *clean to a new object with the writable fields that have a
 * value, normalized, with defaults, in the table's order; or a 400 with all wrong fields. */
NEO_MUSTCHECK neo_problem *neo_validate(const neo_resource *resource, neo_json *body, apr_pool_t *pool, neo_json **clean);

/* Applies a merge patch to `current` (a resource as in responses) and validates the result like neo_validate. Unknown fields in
 * the patch are errors even if they are null. */
NEO_MUSTCHECK neo_problem *neo_validate_patch(const neo_resource *resource, neo_json *current, neo_json *patch,
                                              apr_pool_t *pool, neo_json **clean);

/* The same for a body that has the changes of the patch already. */
NEO_MUSTCHECK neo_problem *neo_validate_merged(const neo_resource *resource, neo_json *merged, neo_json *patch,
                                               apr_pool_t *pool, neo_json **clean);

#endif
