/* The statements that write a resource's row, made from its table of fields: the row, its references, what its new status does
 * to others, the idempotency key, and a delivery for each subscription that wants to know, in one. A creation does nothing to
 * others: no status that does can be had from the start.
 *
 * What they answer: one row for what was written (see neo_written), or none where there is nothing to be written: no such row,
 * or not in this version, or the idempotency key is there already. Where something is in the way, nothing is written and the
 * rows say what it is, with NEO_WRITTEN_ANSWER null. */
#ifndef NEO_STORE_WRITE_H
#define NEO_STORE_WRITE_H

#include "model/resource.h"
#include "store/sql.h"

typedef enum neo_written {
    NEO_WRITTEN_ANSWER,     /* as the API sends it; of a deletion, the id */
    NEO_WRITTEN_DELIVERIES, /* how many are to be sent */
    NEO_WRITTEN_REFUSAL, /* the path of a reference to what there is not, a row each; or the kinds that refer to what was to be
                            deleted, separated by commas */
} neo_written;

/* `idempotency`: with an idempotency key. `versioned`: only where the row has the version. */
neo_sql *neo_write_create(const neo_resource *resource, int idempotency, apr_pool_t *pool);
neo_sql *neo_write_update(const neo_resource *resource, int versioned, apr_pool_t *pool);
neo_sql *neo_write_delete(const neo_resource *resource, int versioned, apr_pool_t *pool);

/* What of a resource is a parameter of theirs, in the order of its fields: {field0} and so on. */
int neo_write_is_parameter(const neo_field *field);

const char *neo_table_of(const neo_resource *resource);

/* Adds what a write of the table t gives to the steps after it: its id, the answer, what events tell, what effects ask for. */
void neo_write_add_returning(neo_buf *sql, const neo_resource *resource);

/* Adds the steps told<number> and queued<number>: one delivery for each active subscription that wants to know what `happened`
 * to the rows r of the step `from`. `id_block`, the block of its id, and `now` are SQL; no two rows may have the same block. */
void neo_write_add_deliveries(neo_buf *sql, const neo_resource *resource, const char *happened, const char *from,
                              const char *number, const char *id_block, const char *now);

#endif
