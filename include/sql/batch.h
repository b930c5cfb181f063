/* SPDX-License-Identifier: Apache-2.0 */
/* Writes several rows of a resource in one statement (see sql/write.h).
 *
 * The caller has begun a transaction (see pg/pg.h). A call must not name a row twice. */
#ifndef NEO_SQL_BATCH_H
#define NEO_SQL_BATCH_H

#include "schema/batch.h"
#include "sql/statements.h"
#include "sql/table.h"

typedef struct neo_batch_row {
    int number; /* unique in the call; rows are written in the order of their numbers */
    char id[NEO_ID_SIZE];
    neo_ms now;                         /* a creation's: the time in the id */
    const neo_json *body;               /* validated; NULL for a deletion */
    const char *timestamp_field;        /* see neo_change */
    neo_target target;                  /* only of a row that is alone in its call */
    const neo_actor *actor;             /* only for neo_batch_group_make */
    const neo_idempotency *idempotency; /* only for neo_batch_group_make; NULL if there is none */
} neo_batch_row;

/* Serializes the batches of a resource in an organization: waits for a lock that the transaction holds until it ends. */
NEO_MUSTCHECK neo_pg_status neo_batch_lock_organization(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                                        apr_pool_t *pool, neo_rows *rows);

/* NEO_SQL_LOCK_ROWS locks rows against changes by others until the transaction ends. One row for each that exists: its number
 * and its representation. Rows without a number are locked because a deletion may clear their reference (see sql/reference.h).
 *
 * NEO_SQL_LOCK_TARGETS locks the rows that the effects of updates may change, in the order of their ids and before the rows
 * themselves, as single writes do: those that the rows refer to, and those that `target` of a row names. */
enum { NEO_LOCKED_NUMBER, NEO_LOCKED_ANSWER };
NEO_MUSTCHECK neo_pg_status neo_batch_lock(neo_pg *pg, neo_sql_kind kind, const neo_resource *resource, const neo_actor *actor,
                                           const neo_batch_row *rows, int count, apr_pool_t *pool, neo_rows *found);

/* Writes rows; those to update or delete must be locked. Returns the columns of neo_written. A created row that is in neither
 * violates a unique index. With `is_strict`, and for updates, such a violation makes the whole fail with
 * NEO_PG_UNIQUE_VIOLATION.
 *
 * A deletion ignores references from rows that are deleted before it in the same call, and from later ones that it refers to
 * itself, as spouses do. If one of these is not deleted, the whole fails with NEO_PG_FK_VIOLATION. */
NEO_MUSTCHECK neo_pg_status neo_batch_write(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, neo_method method,
                                            int is_strict, const neo_batch_row *rows, int count, apr_pool_t *pool,
                                            neo_rows *written);

/* The parameters of neo_batch_create_group: copies in the pool, so that the rows are not needed any more. */
neo_bound_sql neo_batch_group_make(const neo_resource *resource, const neo_batch_row *rows, int count, apr_pool_t *pool);

/* Creates rows of different requests in one statement, which is its own transaction, also with their idempotency keys. Returns
 * the columns of neo_written for the rows that were created. Each of the others violates a unique index, has a missing
 * reference, or its key exists. NEO_PG_RETRY: nothing was created. */
NEO_MUSTCHECK neo_pg_status neo_batch_create_group(neo_pg *pg, const neo_bound_sql *group, apr_pool_t *pool, neo_rows *written);

#endif
