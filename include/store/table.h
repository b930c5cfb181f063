/* A resource's rows: statements made once from its table of fields. Every write is one statement, one round trip and one
 * transaction: the row, the idempotency key, and a delivery for each subscription that wants to know.
 *
 * Nothing finds a row without its organization. Bodies come as JSON that the model has validated; answers are the text that the
 * API sends. */
#ifndef NEO_STORE_TABLE_H
#define NEO_STORE_TABLE_H

#include "core/clock.h"
#include "core/id.h"
#include "model/resource.h"
#include "store/pg.h"

/* Who does it, and where. The texts outlive the call. */
typedef struct neo_actor {
    const char *tenant;
    const char *organization;
    const char *credential; /* the key or token itself: the scope of idempotency keys */
    const char *name;       /* created_by and updated_by: a key's id, a token's user */
} neo_actor;

/* An idempotency key, and the hash of the request that came with it. */
typedef struct neo_once {
    const char *key; /* a UUID */
    unsigned char hash[32];
} neo_once;

/* Makes the statements of every resource; once in a process, before the first call of anything below. */
void neo_table_make_statements(apr_pool_t *pool);

/* Creates a row and issues its id. OK with no row: the idempotency key is there already (see store/idempotency.h). */
NEO_MUSTCHECK neo_pg_status neo_table_create(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                             const neo_once *once, const neo_json *body, apr_pool_t *pool, char id[NEO_ID_SIZE],
                                             neo_rows *rows);

/* One row with the answer, or none. */
NEO_MUSTCHECK neo_pg_status neo_table_read(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                                           apr_pool_t *pool, neo_rows *rows);

/* Likewise, with the row's version in the second column. */
NEO_MUSTCHECK neo_pg_status neo_table_read_version(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                                   const char *id, apr_pool_t *pool, neo_rows *rows);

/* Sets every writable field. With a `version`, only where the row still has it. One row with the answer, or none. */
NEO_MUSTCHECK neo_pg_status neo_table_update(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                                             const char *version, const neo_json *body, apr_pool_t *pool, neo_rows *rows);

/* One row if it was there, or none. */
NEO_MUSTCHECK neo_pg_status neo_table_delete(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                                             const char *version, apr_pool_t *pool, neo_rows *rows);

/* One condition of a list: a filter and the values that it was given, checked by neo_condition_value. */
typedef struct neo_condition {
    const neo_filter *filter;
    const char *const *values;
    int count; /* more than one: any of them */
} neo_condition;

typedef struct neo_selection {
    const neo_condition *conditions;
    int count;
    const char *before; /* the page begins with the next smaller id; NULL for the first page */
    int limit;
} neo_selection;

/* The value of a filter as it is compared. Returns NULL, or what is wrong with it ("must be …"). */
const char *neo_condition_value(const neo_resource *resource, const neo_filter *filter, const char *text, apr_pool_t *pool,
                                const char **value);

/* Up to `limit` rows, newest first: the answer, and where `before` is set, whether there are earlier ones before the page. Then
 * there is at least one row: one without an answer stands for an empty page. */
NEO_MUSTCHECK neo_pg_status neo_table_list(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                           const neo_selection *selection, apr_pool_t *pool, neo_rows *rows);

#endif
