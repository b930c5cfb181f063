/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the body of POST …/batch: operations on resources of one kind. */
#ifndef NEO_SCHEMA_BATCH_H
#define NEO_SCHEMA_BATCH_H

#include "schema/resource.h"

#define NEO_BATCH_MAX_OPERATIONS         100
#define NEO_BATCH_OPERATIONS_PER_REQUEST 10 /* as the rate limit counts them */

typedef enum neo_method {
    NEO_METHOD_CREATE,
    NEO_METHOD_UPDATE,
    NEO_METHOD_DELETE,
    NEO_METHOD_UPSERT, /* replaces the resource with the external_id, or creates it */
    NEO_METHOD_MERGE,  /* like NEO_METHOD_UPSERT, but updates it */
    NEO_METHODS
} neo_method;

/* "create", "update", "delete", "upsert", "merge", NULL */
extern const char *const neo_methods[NEO_METHODS + 1];

typedef struct neo_batch_operation {
    neo_method method;
    const char *id;          /* an update's or delete's, as sent, even if malformed; NULL for others */
    const char *external_id; /* an upsert's or merge's, whose data has it as well; an update's or delete's if it has no id; or
                                NULL */
    const char *if_match;    /* the ETag that the resource must have, or a list as in If-Match; NULL: any */
    neo_json *data;          /* an object; NULL for a delete */
    neo_problem *problem; /* NULL, or what is malformed ("operations[3].id"); the method is then NEO_METHODS, the rest NULL */
} neo_batch_operation;

typedef struct neo_batch {
    int is_atomic;
    int count; /* from 1 to NEO_BATCH_MAX_OPERATIONS */
    neo_batch_operation *operations;
} neo_batch;

/* Whether the operation creates the resource if none has its external_id. */
int neo_batch_may_create(const neo_batch_operation *operation);

/* Whether the operation may change a related resource, because it sends a status (see neo_effect), or is a deletion, which is
 * refused if it would have to. */
int neo_batch_may_affect(const neo_resource *resource, const neo_batch_operation *operation);

/* How many requests a batch counts as, for the rate limit. */
int neo_batch_cost(int operations);

/* Parses a body. Returns NULL, or a 400 with all errors, except those of single operations, which are in their `problem`, and
 * those within `data`, which neo_validate checks. */
NEO_MUSTCHECK neo_problem *neo_batch_read(const neo_resource *resource, neo_json *body, apr_pool_t *pool, neo_batch *batch);

/* The fields of the body, for the documentation of errors. */
extern const neo_field neo_batch_fields[];

/* Whether a batch of the resource can have the method: upserts and merges need the field external_id. */
int neo_batch_has_method(const neo_resource *resource, neo_method method);

#endif
