/* SPDX-License-Identifier: Apache-2.0 */
/* The statements of a resource that are generated once in a process, from its table of fields. `make sql RESOURCE=broker`
 * prints them. */
#ifndef NEO_SQL_STATEMENTS_H
#define NEO_SQL_STATEMENTS_H

#include "schema/resource.h"
#include "sql/sql.h"

typedef enum neo_sql_kind {
    NEO_SQL_READ,
    NEO_SQL_READ_VERSION,
    NEO_SQL_LIST,
    NEO_SQL_LIST_FURTHER,
    NEO_SQL_CREATE, /* a row; KEYED: with an idempotency key */
    NEO_SQL_CREATE_KEYED,
    NEO_SQL_IMPORT, /* only of resources with transitions */
    NEO_SQL_IMPORT_KEYED,
    NEO_SQL_UPDATE,         /* only of resources without references and preconditions, as is NEO_SQL_DELETE */
    NEO_SQL_UPDATE_VERSION, /* only if the row has the version */
    NEO_SQL_DELETE,
    NEO_SQL_DELETE_VERSION,
    NEO_SQL_LOCK_ORGANIZATION, /* this and the rest: only of resources with batches */
    NEO_SQL_LOCK_ROWS,
    NEO_SQL_LOCK_TARGETS, /* only of resources with effects */
    NEO_SQL_CREATE_ROWS,  /* leaves out rows that violate a unique index */
    NEO_SQL_CREATE_ROWS_STRICT,
    NEO_SQL_CREATE_GROUP,
    NEO_SQL_UPDATE_ROWS,
    NEO_SQL_DELETE_ROWS,
    NEO_SQL_KINDS
} neo_sql_kind;

/* Generates the statements of every resource; called once in a process. */
void neo_sql_make_all(apr_pool_t *pool);

/* Returns NULL if the resource does not have this statement. */
const neo_sql *neo_sql_find(const neo_resource *resource, neo_sql_kind kind);

/* The name of a kind, such as "create_keyed". */
const char *neo_sql_kind_name(neo_sql_kind kind);

#endif
