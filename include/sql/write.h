/* SPDX-License-Identifier: Apache-2.0 */
/* The statements that write rows, generated from a resource's table. They write sets: a row from parameters, rows from arrays,
 * or lines of an import. Each writes the rows, their references, an event for each change and a delivery for each
 * matching subscription.
 *
 * The parameters about a row are {id}, {id_block} (of its deliveries' ids), {now}, {timestamp_field} (see neo_change), the
 * fields of its body and, if it is new, {representation} and {payload} (see sql/representation.h). Several rows are arrays,
 * {id[]}, with {item_number[]}.
 *
 * A statement returns neo_written for each row that was written or would not change, and for each refusal. A refused row is not
 * written. */
#ifndef NEO_SQL_WRITE_H
#define NEO_SQL_WRITE_H

#include "schema/resource.h"
#include "sql/sql.h"

typedef enum neo_written {
    NEO_WRITTEN_ANSWER,     /* as the API sends it; of a deletion, the id; of a refusal, null */
    NEO_WRITTEN_DELIVERIES, /* number of queued deliveries, of all rows */
    NEO_WRITTEN_REFUSAL, /* the path of a reference to a missing resource, a row each; or the kinds that refer to the row that
                            was to be deleted, separated by commas */
    NEO_WRITTEN_NUMBER,  /* the row's item_number; 1 for a row from parameters */
} neo_written;

enum neo_write_options {
    NEO_WRITE_ROWS = 1,       /* several rows from arrays; else one row */
    NEO_WRITE_IDEMPOTENT = 2, /* a creation: with an idempotency key */
    NEO_WRITE_VERSION = 4,    /* a change: only if the row has the version */
    NEO_WRITE_LENIENT = 8,    /* a creation: leaves out rows that violate a unique index, instead of failing */
    NEO_WRITE_HISTORY = 16,   /* a creation: with the timestamps of {times}; its event is in the log, without deliveries */
    NEO_WRITE_GROUP = 32,     /* a creation, with ROWS, LENIENT and IDEMPOTENT: each row is that of another request, so that the
                                 parameters about requests are arrays, too. Returns the written rows only, and waits for the lock of
                                 a row only briefly. */
};

neo_sql *neo_write_create(const neo_resource *resource, unsigned int options, apr_pool_t *pool);
neo_sql *neo_write_update(const neo_resource *resource, unsigned int options, apr_pool_t *pool);
neo_sql *neo_write_delete(const neo_resource *resource, unsigned int options, apr_pool_t *pool);

#define NEO_IMPORT_BATCH_ROWS "500" /* rows of a transaction; a literal, so that the planner knows it */

/* What is recorded of every row that an import writes. */
typedef enum neo_import_events {
    NEO_IMPORT_NO_EVENTS,
    NEO_IMPORT_EVENTS,   /* an event in the log */
    NEO_IMPORT_WEBHOOKS, /* an event and its deliveries */
} neo_import_events;

/* Writes the next batch of a kind's lines after {before}: creates rows, and updates those that exist. References are written by
 * another statement. One row: the number of its last line (null: there is none left), and the counts of lines, created rows,
 * updated rows and skipped lines. */
neo_sql *neo_write_import(const neo_resource *kind, neo_import_events events, apr_pool_t *pool);

/* Sets {field0}, {field1}, …: the fields that a body can have, in their order. */
void neo_write_set_fields(neo_values *values, const neo_resource *resource, const neo_json *body, apr_pool_t *pool);

#endif
