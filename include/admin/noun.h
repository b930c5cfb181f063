/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that an administrator creates: tenants, organizations, users, plans and credentials. Permissions are PostgreSQL's;
 * values are checked by the schema's constraints.
 *
 * Every function returns NULL, or an error message for people; then nothing was changed. New ids are written to `id`. Triggers
 * of the schema notify the processes that cache credentials. */
#ifndef NEO_ADMIN_NOUN_H
#define NEO_ADMIN_NOUN_H

#include <apr_tables.h>

#include "core/json.h"
#include "core/secret.h"
#include "pg/pg.h"
#include "resources/noun.h"

/* A column and its value in PostgreSQL's text format; NULL is null. "allowed_organization_ids" of a token are rows of another
 * table: the value is an array of ids, in the order of display. */
typedef struct neo_admin_setting {
    const char *column;
    const char *value;
} neo_admin_setting;

/* An array of settings: columns and values, terminated by a NULL column. */
apr_array_header_t *neo_admin_settings(apr_pool_t *pool, ...);
void neo_admin_set(apr_array_header_t *settings, const char *column, const char *value);

/* Sets *list to a JSON array of objects, oldest first: of the rows that have the filter's value, or all if that is NULL. */
const char *neo_admin_list(neo_pg *pg, const neo_noun *noun, neo_admin_setting filter, apr_pool_t *pool, neo_json **list);

/* Inserts a row. Its key is among the settings. */
const char *neo_admin_create(neo_pg *pg, const neo_noun *noun, const apr_array_header_t *settings, apr_pool_t *pool);

/* Inserts an API key, token or feed with a secret; its id and hash are added to the settings. The caller's transaction must
 * roll back an error. */
const char *neo_admin_create_credential(neo_pg *pg, const neo_noun *noun, apr_array_header_t *settings, apr_pool_t *pool,
                                        char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE]);

/* A new secret for a key or token that is not revoked; the current one stays valid for `seconds`. If the one before that is
 * still valid, it would end: that is refused unless `seconds` is 0 or `ends_previous`. */
const char *neo_admin_rotate(neo_pg *pg, const char *id, const char *seconds, int ends_previous, apr_pool_t *pool,
                             char secret[NEO_SECRET_SIZE]);

/* A hash as the value of a column. */
const char *neo_admin_hash_text(const unsigned char hash[NEO_SHA256_SIZE], apr_pool_t *pool);

/* Revokes a key, token or feed; if it is revoked already, revoked_at does not change. */
const char *neo_admin_revoke(neo_pg *pg, const neo_noun *noun, const char *id, apr_pool_t *pool);

/* Changes one row: all settings or none. A plan's `id` is its name. */
const char *neo_admin_change(neo_pg *pg, const neo_noun *noun, const char *id, const apr_array_header_t *settings,
                             apr_pool_t *pool);

/* Removes one row, unless others depend on it: the error message names them. The conversations of a number or a lead can be
 * removed with it. */
const char *neo_admin_remove(neo_pg *pg, const neo_noun *noun, const char *id, int with_conversations, apr_pool_t *pool);

/* Runs a statement. Returns NULL, or an error message that says what a violated constraint means. */
const char *neo_admin_exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                           neo_rows *rows);

/* Runs a statement that ends with "returning true"; returns `missing` if it affects no row. */
const char *neo_admin_exec_on_one(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                                  const char *missing);

#endif
