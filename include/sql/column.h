/* SPDX-License-Identifier: Apache-2.0 */
/* How the values of each field type are stored, compared, passed as parameters and written as JSON. */
#ifndef NEO_SQL_COLUMN_H
#define NEO_SQL_COLUMN_H

#include "core/buf.h"
#include "schema/resource.h"

typedef struct neo_column {
    const char *type;                      /* of PostgreSQL */
    const char *json_prefix, *json_suffix; /* around a value: its JSON text */
    const char *comparable;                /* cast to a type that has equality, of a column or an untyped parameter */
    const char *(*parameter)(const neo_json *value, apr_pool_t *pool); /* the text of a parameter */
} neo_column;

extern const neo_column neo_columns[NEO_TYPES];

/* Adds SQL of a value of the field as JSON text, which is null if the value is. `prefix` and `name` form the value's SQL. */
void neo_column_add_json(neo_buf *sql, const neo_field *field, const char *prefix, const char *name);

#endif
