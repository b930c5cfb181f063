/* SPDX-License-Identifier: Apache-2.0 */
/* References between resources: in a body, and in the tables of fields. */
#ifndef NEO_MODEL_REFERENCES_H
#define NEO_MODEL_REFERENCES_H

#include <apr_tables.h>

#include "model/resource.h"

typedef struct neo_reference {
    const char *path;   /* as in errors: "broker_id", "owners[2].party_id", "proponent_ids[0]" */
    const char *target; /* the id */
} neo_reference;

/* All references in a body from neo_validate, in the order of the fields: an array of neo_reference. */
apr_array_header_t *neo_references(const neo_resource *resource, const neo_json *clean, apr_pool_t *pool);

/* Whether the resource has fields that are references. */
int neo_has_references(const neo_resource *resource);

/* Whether the resource has fields that can refer to `target`. */
int neo_can_refer_to(const neo_resource *resource, const neo_resource *target);

/* Whether any resource has fields that can refer to this one. */
int neo_is_referred_to(const neo_resource *resource);

/* The field with NEO_MUTUAL; NULL: the resource has none. */
const neo_field *neo_mutual_field(const neo_resource *resource);

#endif
