/* SPDX-License-Identifier: Apache-2.0 */
/* What the admin*.c files share. */
#ifndef NEO_ADMIN_EXEC_H
#define NEO_ADMIN_EXEC_H

#include "admin/noun.h"

typedef struct neo_admin_row {
    const char *table, *key; /* the column that identifies a row */
    const char *condition;   /* of the noun's rows, if the table has others; or NULL */
    const char *missing;     /* the error message if a row does not exist */
    const char *listing;     /* the statement that lists the rows; NULL: the table's columns that are fields */
    const char *listed_last; /* columns after the fields; or NULL */
    const char *parent;      /* the column that refers to the row from which tenant_id is taken; or NULL */
    neo_admin_noun parent_noun;
} neo_admin_row;
extern const neo_admin_row neo_admin_rows[NEO_ADMIN_NOUNS];

/* Runs a statement. Returns NULL, or an error message that says what a violated constraint means. */
const char *neo_admin_exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                           neo_rows *rows);

/* Runs a statement that ends with "returning true"; returns `missing` if it affects no row. */
const char *neo_admin_exec_on_one(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                                  const char *missing);

#endif
