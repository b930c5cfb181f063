/* SPDX-License-Identifier: Apache-2.0 */
/* References between resources: a row of neoapi.reference for each reference in a body. The statement that writes the body also
 * looks them up and writes them.
 *
 * These functions add CTEs to such a statement. Those that follow a write begin with a comma; those before it end with one. */
#ifndef NEO_SQL_REFERENCE_H
#define NEO_SQL_REFERENCE_H

#include "core/buf.h"
#include "schema/resource.h"
#include "sql/sql.h"

/* The column of neoapi.reference for ids with the prefix of this one ("broker_id"), or NULL. */
const char *neo_reference_column(const char *id, apr_pool_t *pool);

/* The parameters {numbers}, {paths} and {targets}: the references in validated bodies, each with its row's item_number. */
typedef struct neo_reference_values {
    neo_buf numbers, paths, targets;
} neo_reference_values;
void neo_references_begin(neo_reference_values *all, apr_pool_t *pool);
void neo_references_add(neo_reference_values *all, const neo_resource *resource, const neo_json *body, int number);
void neo_references_end(neo_reference_values *all, neo_values *values);

/* `ref (item_number, path, target)`: the references; `missing (item_number, path)`: those to resources that the organization
 * does not have. `from` is ref, or joins it with the CTE that has each row's organization. */
void neo_reference_add_lookup(neo_buf *sql, const neo_resource *resource, const char *from);
#define NEO_REFERENCES_EXIST "not exists (select from missing where missing.item_number = item.item_number)"

/* Write the references of the rows of the CTE `created`, `updated` or `deleted`. */
void neo_reference_add_created(neo_buf *sql);
void neo_reference_add_updated(neo_buf *sql);
void neo_reference_add_deleted(neo_buf *sql);

/* `used (item_number, users)`, a row for each item: the first resource of each kind that refers to it, or null. Commas separate
 * them, each is its kind, its id and the path of the reference: "party pty_… spouse_party_id,contract ctr_…
 * parties[2].party_id". References from items with a lower number, and from those that the item refers to itself, do not
 * count. */
void neo_reference_add_used(neo_buf *sql, const neo_resource *resource, const char *but);
#define NEO_REFERENCE_USED "exists (select from used where used.item_number = item.item_number and users is not null)"

#endif
