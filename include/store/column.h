/* SPDX-License-Identifier: Apache-2.0 */
/* How the values of each field type are stored and written as JSON. */
#ifndef NEO_STORE_COLUMN_H
#define NEO_STORE_COLUMN_H

#include "model/resource.h"

typedef struct neo_column {
    const char *type;                      /* of PostgreSQL */
    const char *json_prefix, *json_suffix; /* around a column's name: its value as JSON text */
} neo_column;

extern const neo_column neo_columns[NEO_TYPES];

#endif
