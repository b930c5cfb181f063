/* The references in a body: which resources it names, and where. */
#ifndef NEO_MODEL_REFERENCES_H
#define NEO_MODEL_REFERENCES_H

#include <apr_tables.h>

#include "model/resource.h"

typedef struct neo_reference {
    const char *path;   /* as `field` of an error names it: "broker_id", "owners[2].party_id", "proponent_ids[0]" */
    const char *target; /* the id that stands there */
} neo_reference;

/* Every reference in a body that neo_validate has checked, in the order of the fields: an array of neo_reference, empty where
 * there is none. */
apr_array_header_t *neo_references(const neo_resource *resource, const neo_json *clean, apr_pool_t *pool);

/* Whether the resource's table has references at all. */
int neo_has_references(const neo_resource *resource);

/* Whether the resource's table can refer to that one. */
int neo_can_refer_to(const neo_resource *resource, const neo_resource *target);

/* Whether the table of any resource can refer to this one. */
int neo_is_referred_to(const neo_resource *resource);

#endif
