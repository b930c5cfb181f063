/* One value against one field of a table. The walk over a whole body is validate's. */
#ifndef NEO_MODEL_CHECK_H
#define NEO_MODEL_CHECK_H

#include "model/resource.h"

/* What is wrong with a value that is not null ("must be …"), or NULL. Of lists and objects only the kind and the size are
 * looked at here. `beside` is what is right of the object that it is a member of, up to here. */
const char *neo_check(const neo_field *field, const neo_json *value, const neo_json *beside, apr_pool_t *pool);

/* The kind of resource that a reference is to, NULL where the member `type` beside it names none. */
const neo_resource *neo_referenced_resource(const neo_field *field, const neo_json *beside);

#endif
