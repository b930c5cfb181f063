/* SPDX-License-Identifier: Apache-2.0 */
/* Finds resources by their external ids. */
#ifndef NEO_SQL_EXTERNAL_ID_H
#define NEO_SQL_EXTERNAL_ID_H

#include "schema/resource.h"
#include "sql/table.h"

typedef struct neo_external_id {
    const neo_resource *resource; /* which has the field external_id */
    const char *external_id;
    const char *id; /* of the resource that has it */
} neo_external_id;

/* Generates the statement; called once in a process. */
void neo_external_id_make_statement(apr_pool_t *pool);

/* Sets the ids of those that exist, with one statement. */
NEO_MUSTCHECK neo_pg_status neo_external_id_find(neo_pg *pg, const neo_actor *actor, neo_external_id *all, int count,
                                                 apr_pool_t *pool, neo_rows *rows);

#endif
