/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk import of leads by an administrator. Every function returns NULL, or an error message for people. The caller has begun a
 * transaction. */
#ifndef NEO_ADMIN_LEAD_H
#define NEO_ADMIN_LEAD_H

#include "admin/noun.h"

/* Rows are a JSON array of objects: line, and the columns of a lead (see resources/lead.h), in their final form. */

/* Sets *problems to a JSON array of objects with line and message: rows that conflict with the organization's data. */
const char *neo_admin_check_leads(neo_pg *pg, const char *organization, neo_text rows, apr_pool_t *pool, neo_json **problems);

/* Inserts rows. */
const char *neo_admin_add_leads(neo_pg *pg, const char *organization, neo_text rows, apr_pool_t *pool);

/* Fails if the organization does not exist. */
const char *neo_admin_find_organization(neo_pg *pg, const char *organization, apr_pool_t *pool);

#endif
