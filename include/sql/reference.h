/* SPDX-License-Identifier: Apache-2.0 */
/* References between resources: a row of neoapi.reference for each reference in a body. The statement that writes the body also
 * looks them up and writes them.
 *
 * These functions add CTEs to such a statement. Those that follow a write begin with a comma; those before it end with one. */
#ifndef NEO_SQL_REFERENCE_H
#define NEO_SQL_REFERENCE_H

#include "core/buf.h"
#include "schema/resource.h"
#include "sql/idempotency.h"

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

/* The parts of a deletion that clear a mutual reference (NEO_MUTUAL): of two parties that are each other's spouse, one can be
 * deleted, and the other one changes. For a resource without such a field the functions add nothing. */

/* For the deletion of {id} in {version}. Adds the CTEs locked, with this row and its partner, locked in the order of their ids,
 * so that the deletions of two partners do not deadlock; and partner. `locked` lacks the row if it has another version. */
void neo_mutual_add_partner(neo_buf *sql, const neo_resource *resource);

/* For a batch, whose lock includes the partners: adds the CTE partner, with the item_number of the row that is deleted. */
void neo_mutual_add_partners(neo_buf *sql, const neo_resource *resource);

/* A condition on references r to the row, beginning with " and": r is not the partner's, which is cleared. */
const char *neo_mutual_exclude_partner(const neo_resource *resource, apr_pool_t *pool);

/* Adds the CTEs that clear the reference if the CTE deleted has the row, with event and deliveries. */
void neo_mutual_add_cleared(neo_buf *sql, const neo_resource *resource);

/* The number of all queued deliveries of a deletion. */
const char *neo_mutual_deliveries(const neo_resource *resource);

/* ---------------------------------------------------------------- external ids */

typedef struct neo_external_id {
    const neo_resource *resource; /* which has the field external_id */
    const char *external_id;
    const char *id; /* the id of the resource that has it */
} neo_external_id;

/* Generates the statement; called once in a process. */
void neo_external_id_make_statement(apr_pool_t *pool);

/* Sets the ids of those that exist, with one statement. */
NEO_MUSTCHECK neo_pg_status neo_external_id_find(neo_pg *pg, const neo_actor *actor, neo_external_id *all, int count,
                                                 apr_pool_t *pool, neo_rows *rows);

#endif
