/* Leads that an administrator brings in, many at a time. SQL alone, as in store/admin.h: every function returns NULL, or a
 * sentence for people that says why nothing was done. The caller has begun a transaction. */
#ifndef NEO_STORE_LEAD_ADMIN_H
#define NEO_STORE_LEAD_ADMIN_H

#include "store/admin.h"

/* Rows are a JSON array of objects: line, and the columns of a lead (see model/lead.h), in their final form. */

/* Sets *problems to a JSON array of objects with line and message: rows that cannot be, because of what the organization has
 * and has not. */
const char *neo_admin_check_leads(neo_pg *pg, const char *organization, neo_text rows, apr_pool_t *pool, neo_json **problems);

/* Writes rows. */
const char *neo_admin_add_leads(neo_pg *pg, const char *organization, neo_text rows, apr_pool_t *pool);

/* Whether there is such an organization. */
const char *neo_admin_find_organization(neo_pg *pg, const char *organization, apr_pool_t *pool);

#endif
