/* SPDX-License-Identifier: Apache-2.0 */
/* What the admin*.c files share. */
#ifndef NEO_STORE_ADMIN_EXEC_H
#define NEO_STORE_ADMIN_EXEC_H

#include "store/admin.h"

/* Of each noun: its table, the column that identifies a row, a condition of its rows, the message if there is no such row, and
 * how it is listed: a statement, or the columns that follow the fields. */
typedef struct neo_admin_row {
    const char *table, *key, *condition, *missing, *listing, *listed_last;
} neo_admin_row;
extern const neo_admin_row neo_admin_rows[NEO_ADMIN_NOUNS];

/* Runs a statement. Returns NULL, or an error message that says what a violated constraint means. */
const char *neo_admin_exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                           neo_rows *rows);

/* Runs a statement that ends with "returning true"; returns `missing` if it affects no row. */
const char *neo_admin_exec_on_one(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                                  const char *missing);

/* A secret's hash as bytea's text. */
const char *neo_admin_hash_text(const unsigned char hash[NEO_SHA256_SIZE], apr_pool_t *pool);

#endif
