/* SPDX-License-Identifier: Apache-2.0 */
/* References between resources: in a body, and in the tables of fields. */
#ifndef NEO_SCHEMA_REFERENCES_H
#define NEO_SCHEMA_REFERENCES_H

#include <apr_tables.h>

#include "schema/resource.h"

typedef struct neo_reference {
    const char *path;   /* as in errors: "broker_id", "owners[2].party_id", "proponent_ids[0]" */
    const char *target; /* the id */
} neo_reference;

/* All references in a body from neo_validate, in the order of the fields: an array of neo_reference. */
apr_array_header_t *neo_references(const neo_resource *resource, const neo_json *clean, apr_pool_t *pool);

/* The path of the first reference by external id ({"external_id": "ERP-77"}) to a resource of `kind`, NULL: of any, in a body
 * as it was sent, which may be NULL. Returns NULL if there is none. */
const char *neo_reference_by_external_id(const neo_resource *resource, const neo_json *body, const neo_resource *kind,
                                         apr_pool_t *pool);

/* Returns the value that replaces a reference to a resource of `kind`; the value is as it was sent, perhaps malformed. */
typedef neo_json *(*neo_reference_replacer)(void *data, const neo_resource *kind, neo_json *value);

/* A copy of a body as it was sent, with its references replaced. */
neo_json *neo_references_replace(const neo_resource *resource, neo_json *body, neo_reference_replacer replace, void *data,
                                 apr_pool_t *pool);

/* Whether the resource has fields that are references. */
int neo_has_references(const neo_resource *resource);

/* Whether the resource has fields that can refer to `target`. */
int neo_can_refer_to(const neo_resource *resource, const neo_resource *target);

/* Whether any resource has fields that can refer to this one. */
int neo_is_referred_to(const neo_resource *resource);

/* The field with NEO_MUTUAL; NULL if the resource has none. */
const neo_field *neo_mutual_field(const neo_resource *resource);

#endif
