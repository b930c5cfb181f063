/* Several rows of a resource in one statement. It is made from the resource's table as those for one row are (see
 * store/write.h), and does the same to each: the row, its references, and a delivery for each subscription that wants to know.
 *
 * The caller has begun a transaction (see store/pg.h). No row may be there twice in one call. */
#ifndef NEO_STORE_BATCH_H
#define NEO_STORE_BATCH_H

#include "model/batch.h"
#include "store/idempotency.h"
#include "store/write.h"

typedef struct neo_batch_row {
    int number; /* by which it is told from the others; rows are written in the order of their numbers */
    char id[NEO_ID_SIZE];
    neo_ms now;           /* of a creation the moment that the id carries */
    const neo_json *body; /* checked; NULL of a deletion */
} neo_batch_row;

/* Makes the statements of every resource that has batches; once in a process. */
void neo_batch_make_statements(apr_pool_t *pool);

/* Waits for its turn among those who ask for one in the organization, and keeps it until the transaction ends. */
NEO_MUSTCHECK neo_pg_status neo_batch_lock_organization(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                                        apr_pool_t *pool, neo_rows *rows);

/* Locks rows against changes by others until the transaction ends. One row for each that there is: its number, and the resource
 * as it is. */
enum { NEO_LOCKED_NUMBER, NEO_LOCKED_ANSWER };
NEO_MUSTCHECK neo_pg_status neo_batch_lock(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                           const neo_batch_row *rows, int count, apr_pool_t *pool, neo_rows *found);

/* Writes rows; what is updated or deleted has been locked. Answers with the columns of neo_written, and with the number of the
 * row behind them: one for each row that was written, and those that say what is in the way of others. A row that is not among
 * them has a value that must be unique and is not. With `is_strict`, and where it is no creation, such a row makes the whole
 * fail with NEO_PG_UNIQUE_VIOLATION.
 *
 * A deletion takes no notice of references from rows that are before it in the same call. Should one of these not be deleted,
 * the whole fails with NEO_PG_FK_VIOLATION. */
#define NEO_BATCH_NUMBER (NEO_WRITTEN_REFUSAL + 1)
NEO_MUSTCHECK neo_pg_status neo_batch_write(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, neo_method method,
                                            int is_strict, const neo_batch_row *rows, int count, apr_pool_t *pool,
                                            neo_rows *written);

#endif
