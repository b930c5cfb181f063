/* A resource's rows: statements made once from its table of fields. Every write is one statement, one round trip and one
 * transaction: the row, the idempotency key, and a delivery for each subscription that wants to know.
 *
 * Nothing finds a row without its organization. Bodies come as JSON that the model has validated; answers are the text that the
 * API sends. */
#ifndef NEO_STORE_TABLE_H
#define NEO_STORE_TABLE_H

#include "model/resource.h"
#include "store/idempotency.h"
#include "store/page.h"
#include "store/write.h"

/* Makes the statements of every resource; once in a process, before the first call of anything below. */
void neo_table_make_statements(apr_pool_t *pool);

/* A row that is to be made. */
typedef struct neo_new {
    char id[NEO_ID_SIZE];
    neo_ms created_at; /* the moment that the id carries */
    const neo_json *body;
    const char *secret;          /* sealed; NULL where the resource has none */
    const char *timestamp_field; /* the server's field that its status sets; NULL for none */
} neo_new;

/* Creates a row. What it answers stands in store/write.h, here and below. */
NEO_MUSTCHECK neo_pg_status neo_table_create(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                             const neo_idempotency *idempotency, const neo_new *row, apr_pool_t *pool,
                                             neo_rows *rows);

/* One row with the answer, or none. */
NEO_MUSTCHECK neo_pg_status neo_table_read(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                                           apr_pool_t *pool, neo_rows *rows);

/* Likewise, with the row's version in the second column. */
NEO_MUSTCHECK neo_pg_status neo_table_read_version(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                                   const char *id, apr_pool_t *pool, neo_rows *rows);

/* A row as it is to be. */
typedef struct neo_change {
    const char *id;
    const char *version; /* only where the row still has it; NULL: whatever it is now, for a resource without references */
    const neo_json *body;
    const char *status;          /* that the row had; NULL where the resource has no transitions */
    const char *timestamp_field; /* as above */
} neo_change;

/* Sets every writable field. */
NEO_MUSTCHECK neo_pg_status neo_table_update(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                             const neo_change *row, apr_pool_t *pool, neo_rows *rows);

/* `version` as above. */
NEO_MUSTCHECK neo_pg_status neo_table_delete(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                                             const char *version, apr_pool_t *pool, neo_rows *rows);

/* Up to `limit` rows, newest first: the answer, the id, and whether there are earlier ones before the page. At least one row
 * where `before` is set: one without an id stands for an empty page. */
NEO_MUSTCHECK neo_pg_status neo_table_list(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                           const neo_selection *selection, apr_pool_t *pool, neo_rows *rows);

#endif
