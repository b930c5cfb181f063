/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an organization's data in one snapshot, in portions, so that the memory needed does not depend on its size. Functions
 * return NULL, or an error message. */
#ifndef NEO_ADMIN_EXPORT_H
#define NEO_ADMIN_EXPORT_H

#include "pg/pg.h"
#include "schema/resource.h"

/* Begins a read-only transaction that neo_export_end ends. Sets *head to {"at", "schema", "tenant": {"id", "name", "plan"},
 * "organization": {"id", "name"}, "left_out": {"whatsapp_number": 2}}; "left_out" counts rows that an export does not
 * contain. */
const char *neo_export_begin(neo_pg *pg, const char *organization, apr_pool_t *pool, neo_json **head);
void neo_export_end(neo_pg *pg, apr_pool_t *pool);

/* Counts the rows of a resource. */
const char *neo_export_count(neo_pg *pg, const neo_resource *resource, const char *organization, apr_pool_t *pool,
                             long long *count);

/* Opens a cursor over a resource's representations, oldest first, and reads its next rows; no row: the end. */
const char *neo_export_open(neo_pg *pg, const neo_resource *resource, const char *organization, apr_pool_t *pool);
const char *neo_export_next(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);

#endif
