/* SPDX-License-Identifier: Apache-2.0 */
/* What the admin*.c files share. */
#ifndef NEO_STORE_ADMIN_EXEC_H
#define NEO_STORE_ADMIN_EXEC_H

#include "store/admin.h"

/* Runs a statement. Returns NULL, or an error message that says what a violated constraint means. */
const char *neo_admin_exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                           neo_rows *rows);

/* Runs a statement that ends with "returning true"; returns `missing` if it affects no row. */
const char *neo_admin_exec_on_one(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                                  const char *missing);

/* The error message for a row that does not exist. */
const char *neo_admin_missing(neo_admin_listing what);

/* A secret's hash as bytea's text. */
const char *neo_admin_hash_text(const unsigned char hash[NEO_SHA256_SIZE], apr_pool_t *pool);

#endif
