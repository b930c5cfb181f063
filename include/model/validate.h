/* A body against its resource's table: everything that is wrong is found in one pass. */
#ifndef NEO_MODEL_VALIDATE_H
#define NEO_MODEL_VALIDATE_H

#include "model/resource.h"

/* Checks a body for create or replace. On success returns NULL and sets *clean to a new object with just the writable fields
 * that have a value, in the table's order, presets filled in: what the row will hold. Otherwise returns a 400 that names every
 * wrong field. */
NEO_MUSTCHECK neo_problem *neo_validate(const neo_resource *resource, neo_json *body, apr_pool_t *pool, neo_json **clean);

/* `current` (a resource as it is answered) changed by a merge patch, then checked as by neo_validate. Names that the resource
 * does not have are wrong in the patch also where it sets them to null. */
NEO_MUSTCHECK neo_problem *neo_validate_patch(const neo_resource *resource, neo_json *current, neo_json *patch,
                                              apr_pool_t *pool, neo_json **clean);

#endif
