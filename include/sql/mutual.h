/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the parts of a deletion that clear a mutual reference (NEO_MUTUAL): of two parties that are each other's spouse,
 * one can be deleted, and the other one changes. For a resource without such a field the functions add nothing. */
#ifndef NEO_SQL_MUTUAL_H
#define NEO_SQL_MUTUAL_H

#include "schema/resource.h"
#include "sql/sql.h"

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

#endif
