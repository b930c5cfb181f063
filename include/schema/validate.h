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

/* Validates like neo_validate_patch a body that already has the changes of the patch. */
NEO_MUSTCHECK neo_problem *neo_validate_merged(const neo_resource *resource, neo_json *merged, neo_json *patch,
                                               apr_pool_t *pool, neo_json **clean);

/* ---------------------------------------------------------------- one value */

/* Returns the error of a value that is not null ("must be …"), or NULL. Of lists and objects it checks the type and the size,
 * not the elements. `beside`: the checked members of the same object, those before this one; NULL if there are none. */
const char *neo_check(const neo_field *field, const neo_json *value, const neo_json *beside, apr_pool_t *pool);

/* Converts a checked timestamp to UTC and milliseconds, the form that responses have. */
neo_json *neo_normalize_timestamp(const neo_json *value, apr_pool_t *pool);

/* Checks the name and the value of a member of a map like neo_check. */
const char *neo_check_member(const neo_field *field, const char *key, const neo_json *value, apr_pool_t *pool);

/* Whether the name is one of these, which NULL ends. No list has the name NULL. */
int neo_has_name(const char *const *names, const char *name);

/* "private, restricted or public", from values that end with NULL. */
const char *neo_join_alternatives(const char *const *values, apr_pool_t *pool);

/* The resource that a reference refers to. NULL if its kind is in the member `type` beside it and that names none. */
const neo_resource *neo_referenced_resource(const neo_field *field, const neo_json *beside);

#endif
