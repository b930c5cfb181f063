/* SPDX-License-Identifier: Apache-2.0 */
/* Checks one value against one field. schema/validate.h checks a whole body. */
#ifndef NEO_SCHEMA_CHECK_H
#define NEO_SCHEMA_CHECK_H

#include "schema/resource.h"

/* Returns the error of a value that is not null ("must be …"), or NULL. Of lists and objects it checks the type and the size,
 * not the elements. `beside`: the checked members of the same object, those before this one; NULL if there are none. */
const char *neo_check(const neo_field *field, const neo_json *value, const neo_json *beside, apr_pool_t *pool);

/* The same for a member of a map; its name and its value. */
const char *neo_check_member(const neo_field *field, const char *key, const neo_json *value, apr_pool_t *pool);

/* What a field accepts, without a full stop: "an integer from 0 to 10", "draft or active". A field's rule may accept less. */
const char *neo_field_accepts(const neo_field *field, apr_pool_t *pool);

/* "private, restricted or public", from values that end with NULL. */
const char *neo_one_of(const char *const *values, apr_pool_t *pool);

/* The resource that a reference refers to. NULL if its kind is in the member `type` beside it and that names none. */
const neo_resource *neo_referenced_resource(const neo_field *field, const neo_json *beside);

#endif
