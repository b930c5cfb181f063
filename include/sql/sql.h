/* SPDX-License-Identifier: Apache-2.0 */
/* Statements with named parameters: {organization} in the text becomes $1 and so on; {id[]} is an array of the values of
 * several rows. {{ is a brace. */
#ifndef NEO_SQL_SQL_H
#define NEO_SQL_SQL_H

#include "pg/pg.h"

/* The parameters of all statements. */
typedef enum neo_param {
    NEO_PARAM_ORGANIZATION,
    NEO_PARAM_TENANT,
    NEO_PARAM_ID,
    NEO_PARAM_NOW,        /* created_at or updated_at of the row */
    NEO_PARAM_ACTOR,      /* created_by, updated_by */
    NEO_PARAM_REQUEST,    /* id of the request */
    NEO_PARAM_ID_BLOCK,   /* of the deliveries' ids */
    NEO_PARAM_SECRET,     /* sealed */
    NEO_PARAM_CREDENTIAL, /* this and the next two: an idempotency key */
    NEO_PARAM_KEY,
    NEO_PARAM_HASH, /* hexadecimal */
    NEO_PARAM_VERSION,
    NEO_PARAM_LIMIT,
    NEO_PARAM_BEFORE,
    NEO_PARAM_SUBSCRIPTION,
    NEO_PARAM_SINCE,
    NEO_PARAM_BODY,     /* of a recovery (see neo_delivery_recover) */
    NEO_PARAM_ANY_TYPE, /* the event types that '*' includes */
    NEO_PARAM_NUMBERS,  /* this and the next two: references (see sql/reference.h), or external ids */
    NEO_PARAM_PATHS,
    NEO_PARAM_TARGETS,
    NEO_PARAM_TARGET, /* this and the next three: the row that the write's effect changes (see neo_target) */
    NEO_PARAM_TARGET_VERSION,
    NEO_PARAM_TARGET_STATUS,
    NEO_PARAM_TARGET_ID_BLOCK,
    NEO_PARAM_ITEM_NUMBER,     /* of one of several rows */
    NEO_PARAM_ANSWER,          /* of an idempotency key */
    NEO_PARAM_TIMES,           /* JSON: timestamps of imported history */
    NEO_PARAM_TIMESTAMP_FIELD, /* name of the field that is set to {now} */
    NEO_PARAM_REPRESENTATION,  /* of a new row, with the next */
    NEO_PARAM_PAYLOAD,         /* of its event */
    NEO_PARAM_FIELD,           /* {field0}, {field1}, …: a resource's writable fields in order */
    NEO_PARAMS = NEO_PARAM_FIELD + 64
} neo_param;

typedef struct neo_values {
    const char *of[NEO_PARAMS];
} neo_values;

typedef struct neo_sql neo_sql;

/* Makes a statement; call it at start-up, from one thread (see neo_statement_make). */
neo_sql *neo_sql_make(apr_pool_t *pool, const char *text, int writes);

NEO_MUSTCHECK neo_pg_status neo_sql_run(neo_pg *pg, const neo_sql *sql, const neo_values *values, apr_pool_t *pool,
                                        neo_rows *rows);

/* A statement about several rows with its parameters, for neo_pg_run and neo_pg_try. `each` has the values of `count` rows. */
typedef struct neo_bound_sql {
    const neo_statement *statement;
    const char *const *values;
} neo_bound_sql;
neo_bound_sql neo_sql_bind(const neo_sql *sql, const neo_values *values, const neo_values *each, int count, apr_pool_t *pool);

#endif
