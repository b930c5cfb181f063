/* What the files of the administrator's SQL share. */
#ifndef NEO_STORE_ADMIN_EXEC_H
#define NEO_STORE_ADMIN_EXEC_H

#include "store/admin.h"

/* Runs a statement. Returns NULL, or a sentence for people that says what a violated constraint means. */
const char *neo_admin_exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                           neo_rows *rows);

/* Runs one that must hit a row and ends with "returning true"; `missing` is said where it hits none. */
const char *neo_admin_exec_on_one(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                                  const char *missing);

/* The sentence for each listing's row that is not there. */
const char *neo_admin_missing(neo_admin_listing what);

/* What is stored of a secret, as bytea's text. */
const char *neo_admin_hash_text(const unsigned char hash[NEO_SHA256_SIZE], apr_pool_t *pool);

#endif
