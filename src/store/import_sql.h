/* The statements of an import, made from the resources' tables. */
#ifndef NEO_STORE_IMPORT_SQL_H
#define NEO_STORE_IMPORT_SQL_H

#include "model/resource.h"
#include "store/sql.h"

/* What is collected, until the session ends. `id_block` is of the block of ids for deliveries. */
#define NEO_IMPORT_TABLES                                                                                                      \
    "create temp table import_line (number bigint primary key, kind text not null, id text collate \"C\" not null,"            \
    " id_block text, body json);"                                                                                              \
    "create temp table import_reference (number bigint not null, path text not null, target text collate \"C\" not null)"

/* $1 organization, $2 wishes. Rows: their number and the id. */
const char *neo_import_find_sql(const neo_resource *const *kinds, apr_pool_t *pool);

/* $1 organization. Rows: the number of the line, the path. */
const char *neo_import_missing_sql(const neo_resource *const *kinds, apr_pool_t *pool);

/* $1 organization. Rows: the number of the line, that of an earlier one with the same key or null, else the id of the row that
 * has it. `columns` and `predicate` are those of a unique index. */
const char *neo_import_duplicates_sql(const neo_resource *kind, const char *columns, const char *present, const char *predicate,
                                      apr_pool_t *pool);

#define NEO_IMPORT_BATCH_ROWS "500" /* rows of a transaction; a constant, so that plans are made for that many */

/* Writes the next portion of the lines of a kind behind {before}. One row: the number of the last line (null: there was
 * none), and how many lines, creations and updates. */
neo_sql *neo_import_write_sql(const neo_resource *kind, int sends_webhooks, apr_pool_t *pool);

/* Keeps the references of the lines of a kind behind {before} up to {since}: those to what is written by then, and all of them
 * where everything is. `kind` points into the kinds in their order, ended by NULL. */
neo_sql *neo_import_references_sql(const neo_resource *const *kind, int is_resolving, apr_pool_t *pool);

#endif
