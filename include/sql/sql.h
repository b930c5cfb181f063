/* SPDX-License-Identifier: Apache-2.0 */
/* Statements with named parameters: {organization} in the text becomes $1 and so on; {id[]} is an array of the values of
 * several rows; {{ is a brace. */
#ifndef NEO_SQL_SQL_H
#define NEO_SQL_SQL_H

#include "pg/pg.h"

/* clang-format off */
/* The parameters that describe a request. */
#define NEO_REQUEST_PARAMETERS(X) X(organization) X(tenant) X(actor) X(request) X(credential) X(key) X(hash)

/* All parameters, except {field0}, {field1}, …, which are a resource's writable fields in order. */
#define NEO_PARAMETERS(X)                                                                                                      \
    NEO_REQUEST_PARAMETERS(X) X(id) X(item_number) X(now) X(id_block) X(timestamp_field) X(times) X(secret) X(version)         \
    X(private_key) X(public_key)                               /* a subscription's, see neo_key_pair */                       \
    X(representation) X(payload)                               /* a new row's, and its event's */                            \
    X(numbers) X(paths) X(targets)                             /* references, see sql/reference.h; or external ids */          \
    X(target) X(target_version) X(target_status) X(target_id_block)                         /* an effect's, see neo_target */ \
    X(limit) X(before) X(since) X(address)
/* clang-format on */

#define NEO_PARAMETER_VALUE(name) const char *name;
typedef struct neo_values {
    NEO_PARAMETERS(NEO_PARAMETER_VALUE)
    const char *field[64];
} neo_values;

typedef enum neo_sql_effect {
    NEO_READS,
    NEO_WRITES,
    NEO_WRITES_GROUP, /* rows of different requests: {organization} is the column item_organization, and so on */
} neo_sql_effect;

typedef struct neo_sql neo_sql;

/* Makes a statement; call it at start-up, from one thread (see neo_statement_make). */
neo_sql *neo_sql_make(apr_pool_t *pool, const char *text, neo_sql_effect effect);

NEO_MUSTCHECK neo_pg_status neo_sql_run(neo_pg *pg, const neo_sql *sql, const neo_values *values, apr_pool_t *pool,
                                        neo_rows *rows);

/* A statement about several rows with its parameters, for neo_pg_run. `each` has the values of `count` rows. */
typedef struct neo_bound_sql {
    const neo_statement *statement;
    const char *const *values;
} neo_bound_sql;
neo_bound_sql neo_sql_bind(const neo_sql *sql, const neo_values *values, const neo_values *each, int count, apr_pool_t *pool);

#endif
