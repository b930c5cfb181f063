/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the statements that write a resource's row, from its table of fields. One statement writes the row, its references,
 * the effects of its new status on other rows, the idempotency key, the event, and a delivery for each matching subscription. A
 * creation has no effects, because no initial status has any.
 *
 * A statement returns one row if it wrote (see neo_written) or if the row already has the values, in which case it writes
 * nothing; and none if the row does not exist or has another version, or if the idempotency key exists. If it is refused, it
 * writes nothing and returns the reasons, with NEO_WRITTEN_ANSWER null. */
#ifndef NEO_STORE_WRITE_H
#define NEO_STORE_WRITE_H

#include "model/resource.h"
#include "store/sql.h"

typedef enum neo_written {
    NEO_WRITTEN_ANSWER,     /* as the API sends it; of a deletion, the id */
    NEO_WRITTEN_DELIVERIES, /* number of queued deliveries */
    NEO_WRITTEN_REFUSAL, /* the path of a reference to a missing resource, a row each; or the kinds that refer to the row that
                            was to be deleted, separated by commas */
} neo_written;

/* `idempotency`: with an idempotency key. `is_import`: with the timestamps of {times}; its event is in the log, without
 * deliveries. `versioned`: only if the row has the version. */
neo_sql *neo_write_create(const neo_resource *resource, int idempotency, int is_import, apr_pool_t *pool);
neo_sql *neo_write_update(const neo_resource *resource, int versioned, apr_pool_t *pool);
neo_sql *neo_write_delete(const neo_resource *resource, int versioned, apr_pool_t *pool);

/* Whether a field is a parameter; they are numbered in the order of the fields: {field0}, {field1}, … */
int neo_write_is_parameter(const neo_field *field);

const char *neo_table_of(const neo_resource *resource);

/* Adds the `returning` of a write of the table t: the columns that the CTEs after it need. */
void neo_write_add_returning(neo_buf *sql, const neo_resource *resource);

#endif
