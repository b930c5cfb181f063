/* SPDX-License-Identifier: Apache-2.0 */
/* A resource as JSON, exactly as the API returns it, is the column `representation`. The module makes it for new rows. Trigger
 * functions, which are generated from the tables of fields, make the same text in every update and for rows that are inserted
 * without it. Conversations and messages, which depend on other rows and the clock, have functions that make it instead
 * (has_json_function). `neoapictl migrate` installs the functions that the database does not have in this form. */
#ifndef NEO_SQL_REPRESENTATION_H
#define NEO_SQL_REPRESENTATION_H

#include "schema/resource.h"
#include "sql/idempotency.h"

/* How the values of a field type are stored, compared, passed as parameters and written as JSON. */
typedef struct neo_column {
    const char *type;                      /* PostgreSQL's name */
    const char *json_prefix, *json_suffix; /* around a value: its JSON text */
    const char *comparable;                /* cast to a type that has equality, of a column or an untyped parameter */
    const char *(*parameter)(const neo_json *value, apr_pool_t *pool); /* the text of a parameter */
} neo_column;

extern const neo_column neo_columns[NEO_TYPES];

/* Adds SQL of a value of the field as JSON text, which is null if the value is. `prefix` and `name` form the value's SQL. */
void neo_column_add_json(neo_buf *sql, const neo_field *field, const char *prefix, const char *name);

/* What a new row consists of. */
typedef struct neo_new_values {
    const char *id, *now;
    const neo_actor *actor;
    const neo_json *body;        /* validated */
    const char *timestamp_field; /* see neo_new */
    const neo_json *times;       /* see neo_new */
} neo_new_values;

/* Whether the module knows all values of a new row: the database sets none. */
int neo_representation_is_made(const neo_resource *resource);

/* Sets {representation} and {payload} of a new row of such a resource. */
void neo_representation_set(neo_values *values, const neo_resource *resource, const neo_new_values *row, apr_pool_t *pool);

/* SQL of the exported line of the row t. */
const char *neo_representation_exported(const neo_resource *resource, apr_pool_t *pool);

/* Installs the function of a resource, and its triggers. */
typedef struct neo_script {
    const char *name, *sql;
} neo_script;
neo_script neo_representation_script(const neo_resource *resource, apr_pool_t *pool);

/* The resources, ended by NULL, whose function is not that of this build, or is not run by its triggers. */
NEO_MUSTCHECK neo_pg_status neo_representation_outdated(neo_pg *pg, apr_pool_t *pool, const neo_resource ***outdated,
                                                        neo_rows *rows);

/* Compares representations of about ten thousand rows of each resource with the rows' columns. One row: the id of a row that
 * differs; or none. */
NEO_MUSTCHECK neo_pg_status neo_representation_check(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);

#endif
