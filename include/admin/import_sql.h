/* SPDX-License-Identifier: Apache-2.0 */
/* Statements of an import, generated from the resources' tables; the others are in import.sql. */
#ifndef NEO_ADMIN_IMPORT_SQL_H
#define NEO_ADMIN_IMPORT_SQL_H

#include "admin/import.h"
#include "sql/sql.h"

/* $1 organization, $2 lookups. Rows: the number of a lookup and the id. */
const char *neo_import_find_sql(const neo_resource *const *kinds, apr_pool_t *pool);

/* $1 organization. Rows: a line and the path of a reference in it that refers to nothing. */
const char *neo_import_missing_sql(const neo_resource *const *kinds, apr_pool_t *pool);

/* $1 organization. Rows: a line, the earlier line with the same key or null, else the id of the row that has the key.
 * `columns`, `present` and `predicate` are those of a unique index (see unique_indexes in import.sql). */
const char *neo_import_duplicates_sql(const neo_resource *kind, const char *columns, const char *present, const char *predicate,
                                      apr_pool_t *pool);

/* Imports the next batch of a kind's lines after {before} with its import_function, which returns created, unchanged or
 * skipped. One row, as neo_write_import. */
neo_sql *neo_import_call_sql(const neo_resource *kind, apr_pool_t *pool);

/* Calls a kind's finish_function for its lines after {before} and up to {since}. */
neo_sql *neo_import_finish_sql(const neo_resource *kind, apr_pool_t *pool);

/* Writes the references of a kind's lines after {before} and up to {since}: those to rows that are written by then; with
 * `is_resolving`, all. `kind` points into the kinds in the order in which they are written, terminated by NULL. */
neo_sql *neo_import_references_sql(const neo_resource *const *kind, int is_resolving, apr_pool_t *pool);

/* Checks the rules between resources that apply to history, for proposals and contracts. Returns NULL, or an error message. */
const char *neo_import_check_rules(neo_pg *pg, const char *organization, neo_import_report report, void *data,
                                   apr_pool_t *pool);

/* Locks the properties of the next batch of lines after `before`, and checks again the rules that depend on what others have
 * written in the meantime. *refusal: the first error, or NULL. */
NEO_MUSTCHECK neo_pg_status neo_import_lock_properties(neo_pg *pg, const char *organization, const char *before,
                                                       apr_pool_t *pool, const char **refusal, neo_rows *rows);

#endif
