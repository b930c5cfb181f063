/* The body of POST …/batch: operations on resources of one kind. */
#ifndef NEO_MODEL_BATCH_H
#define NEO_MODEL_BATCH_H

#include "model/resource.h"

#define NEO_BATCH_MAX_OPERATIONS 100 /* operations */

typedef enum neo_method { NEO_METHOD_CREATE, NEO_METHOD_UPDATE, NEO_METHOD_DELETE, NEO_METHODS } neo_method;

/* "create", "update", "delete", NULL */
extern const char *const neo_methods[NEO_METHODS + 1];

typedef struct neo_batch_operation {
    neo_method method;
    const char *id; /* as it was sent, also where it is no id at all; NULL of a creation */
    neo_json *data; /* an object; NULL of a deletion */
} neo_batch_operation;

typedef struct neo_batch {
    int is_atomic;
    int count; /* from 1 to NEO_BATCH_MAX_OPERATIONS */
    neo_batch_operation *operations;
} neo_batch;

/* Reads a body. Returns NULL, or a 400 that names everything that is wrong beside the data, which is the resource's own matter:
 * "operations[3].method". */
NEO_MUSTCHECK neo_problem *neo_batch_read(const neo_resource *resource, neo_json *body, apr_pool_t *pool, neo_batch *batch);

/* What a body can be wrong in beside the data, for the page of errors. */
extern const neo_field neo_batch_fields[];

/* Whether resources of this kind can be written in a batch at all: what a write does beside the row, its references and its
 * event is left to single writes. */
int neo_batch_is_possible(const neo_resource *resource);

#endif
