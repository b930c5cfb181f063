/* SPDX-License-Identifier: Apache-2.0 */
/* References between resources: a row of neoapi.reference for each reference in a body. The statement that writes the body also
 * looks them up and writes them.
 *
 * These functions add CTEs to such a statement. Those that follow a write begin with a comma; those before it end with one. */
#ifndef NEO_STORE_REFERENCE_H
#define NEO_STORE_REFERENCE_H

#include "model/resource.h"
#include "store/sql.h"

/* The column of neoapi.reference for ids with the prefix of this one ("broker_id"), or NULL. */
const char *neo_reference_column(const char *id, apr_pool_t *pool);

/* Sets the parameters {paths} and {targets}: the references in a validated body. */
void neo_reference_add_values(neo_values *values, const neo_resource *resource, const neo_json *body, apr_pool_t *pool);

/* `ref (path, target)`: the references; `missing (path)`: those to resources that the organization does not have. */
void neo_reference_add_lookup(neo_buf *sql, const neo_resource *resource);
/* The second one alone, with these columns of `ref`. */
void neo_reference_add_missing(neo_buf *sql, const neo_resource *resource, const char *columns);
#define NEO_REFERENCES_EXIST "not exists (select from missing)"

/* Write the references of the row {id} that the CTE `made` has created, updated or deleted. */
void neo_reference_add_created(neo_buf *sql, const char *made);
void neo_reference_add_updated(neo_buf *sql, const char *made);
void neo_reference_add_deleted(neo_buf *sql, const char *made);

/* `used (users)`, one row: the first resource of each kind that refers to {id}, or null. Commas separate them, each is its
 * kind, its id and the path of the reference: "party pty_… spouse_party_id,contract ctr_… parties[2].party_id". */
void neo_reference_add_used(neo_buf *sql, const neo_resource *resource, const char *but);
/* Its select alone, for `id`, which is SQL. `but` is a condition for the references r that count. */
void neo_reference_add_users(neo_buf *sql, const neo_resource *resource, const char *id, const char *but);
#define NEO_REFERENCE_NONE "(select users from used) is null"

#endif
