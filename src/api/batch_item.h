/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a batch while it is executed, and their results. Private to this layer. */
#ifndef NEO_API_BATCH_ITEM_H
#define NEO_API_BATCH_ITEM_H

#include "call.h"
#include "sql/batch.h"

/* An operation and its outcome. */
typedef struct {
    const neo_batch_operation *operation;
    neo_method method; /* how it is executed: an upsert or merge creates or updates */
    const char *id; /* the id of the resource that had the operation's external id when the batch began; NULL if none had it */
    neo_batch_row row;
    int first;        /* the number of the first operation on the same resource; a create's own number */
    neo_text current; /* in the first one: the representation so far; a NULL pointer if the resource does not exist */
    neo_json *before; /* the same when the turn of this operation comes; NULL if it does not matter */
    neo_json *body;   /* to be validated; NULL for a deletion */
    neo_text answer;  /* a NULL pointer until it is written */
    neo_problem *problem;
    int frees_value; /* it changes or clears a unique value, which a later operation may use */
} neo_item;

typedef struct {
    neo_call *call;
    const neo_resource *resource;
    neo_pg *pg;
    neo_batch batch;
    neo_item *items;
    int is_first;         /* attempt; later ones lock the organization, so that batches run one after the other */
    int is_saved;         /* nothing was executed since the savepoint */
    int queued;           /* there are new deliveries */
    neo_rows failure;     /* the rows of the statement that failed */
    neo_problem *refusal; /* the credential's, if it was refused during the transaction; otherwise NULL */
} neo_work;

/* Prepares items that share a statement. Their references by external id are found together. */
NEO_MUSTCHECK neo_pg_status neo_batch_prepare(neo_work *w, neo_item *first, int count);
/* Writes prepared items. */
NEO_MUSTCHECK neo_pg_status neo_batch_write_items(neo_work *w, neo_item *first, int count);

/* NULL if all operations succeeded. */
const neo_item *neo_batch_first_problem(const neo_work *w);
/* The response of a batch that is not atomic, or has succeeded. */
neo_text neo_batch_response(neo_work *w);
/* The problem of an atomic batch: that of its first failed operation, with the results of all failed operations. */
neo_problem *neo_batch_problem(neo_work *w);

#endif
