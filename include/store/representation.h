/* SPDX-License-Identifier: Apache-2.0 */
/* The trigger functions that maintain the column `representation`: a resource as JSON, exactly as the API returns it. They are
 * generated from the tables of fields. `neoapictl migrate` installs those that the database does not have in this form. */
#ifndef NEO_STORE_REPRESENTATION_H
#define NEO_STORE_REPRESENTATION_H

#include "model/resource.h"
#include "store/migrate.h"

/* The function of a resource, and its trigger, as a migration without number. */
neo_migration neo_representation_script(const neo_resource *resource, apr_pool_t *pool);

/* The resources, ended by NULL, whose table has no trigger that runs the function of this build. */
NEO_MUSTCHECK neo_pg_status neo_representation_outdated(neo_pg *pg, apr_pool_t *pool, const neo_resource ***outdated,
                                                        neo_rows *rows);

#endif
