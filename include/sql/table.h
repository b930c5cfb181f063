/* SPDX-License-Identifier: Apache-2.0 */
/* A resource's rows: runs its statements (see sql/statements.h). Every write is one statement, one round trip and one
 * transaction: the row, the idempotency key, and a delivery for each matching subscription.
 *
 * Every statement names the organization. Bodies are validated JSON; answers are the text that the API sends. */
#ifndef NEO_SQL_TABLE_H
#define NEO_SQL_TABLE_H

#include "core/secret.h"
#include "schema/business_rules.h"
#include "sql/idempotency.h"
#include "sql/page.h"
#include "sql/write.h"

/* A row to create. */
typedef struct neo_new {
    char id[NEO_ID_SIZE];
    neo_ms created_at; /* the time in the id */
    neo_json *body;
    const char *secret;          /* sealed; NULL if the resource has none */
    neo_key_pair keys;           /* a subscription's if it needs them; otherwise NULLs */
    const char *timestamp_field; /* the field that is set because of the status; NULL if there is none */
    const neo_json *times;       /* imported history's: created_at, updated_at and those of its statuses; NULL for others */
    neo_target target;           /* only of imported history */
} neo_new;

/* Creates a row. For the rows returned here and below see sql/write.h. */
NEO_MUSTCHECK neo_pg_status neo_table_create(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                             const neo_idempotency *idempotency, const neo_new *row, apr_pool_t *pool,
                                             neo_rows *rows);

/* One row with the answer, or none. */
NEO_MUSTCHECK neo_pg_status neo_table_read(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                                           apr_pool_t *pool, neo_rows *rows);

/* The same with the row's version in the second column. */
NEO_MUSTCHECK neo_pg_status neo_table_read_version(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                                   const char *id, apr_pool_t *pool, neo_rows *rows);

/* A row to update. */
typedef struct neo_change {
    const char *id;
    const char *version; /* that the row must have; NULL: any, for a resource without references */
    const neo_json *body;
    neo_key_pair keys;           /* see neo_new; they are ignored if the row has some */
    const char *timestamp_field; /* see neo_new */
    neo_target target;
} neo_change;

/* Sets every writable field. */
NEO_MUSTCHECK neo_pg_status neo_table_update(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                             const neo_change *row, apr_pool_t *pool, neo_rows *rows);

/* `version` as above; it must be given for a resource with a mutual reference. */
NEO_MUSTCHECK neo_pg_status neo_table_delete(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                                             const char *version, apr_pool_t *pool, neo_rows *rows);

/* A value of a field with a unique index; with `status`, only of rows that have that status. */
typedef struct neo_unique_value {
    const neo_field *field;
    const char *value;
    const char *status;
} neo_unique_value;

/* The id of the row that has the value and another id than this one. */
NEO_MUSTCHECK neo_pg_status neo_table_find(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                           const neo_unique_value *value, const char *id, apr_pool_t *pool, neo_rows *rows);

/* A page, newest first. Without `before`, rows with the representation; with it, rows as of neo_page_sql. */
NEO_MUSTCHECK neo_pg_status neo_table_list(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                           const neo_selection *selection, apr_pool_t *pool, neo_rows *rows);

/* ---------------------------------------------------------------- snapshots: whole lists in parts, with a position of the
 * event log that continues them */

#define NEO_SNAPSHOT_ROWS 100 /* the rows of a part */

/* Whether a new snapshot may be used. An organization can have two on all hosts together, a tenant three: less than
 * NeoAPIExports allows in a process. */
typedef struct neo_snapshot {
    int is_within_organization, is_within_tenant; /* limit; if not within both, the snapshot must not be used */
    const char *position;                         /* from which the event log has all changes that the snapshot does not show */
} neo_snapshot;

/* Begins the transaction, which neo_pg_roll_back must end, also after a failure. The server ends it if nothing is read for
 * `seconds`. */
NEO_MUSTCHECK neo_pg_status neo_snapshot_begin(neo_pg *pg, const neo_actor *actor, int seconds, apr_pool_t *pool,
                                               neo_snapshot *snapshot);

/* Opens neo_snapshot_fetch's cursor for all rows of the list, in its order. */
NEO_MUSTCHECK neo_pg_status neo_table_open_snapshot(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                                    const neo_selection *selection, apr_pool_t *pool, neo_rows *rows);

/* The next NEO_SNAPSHOT_ROWS rows; fewer are the last. */
NEO_MUSTCHECK neo_pg_status neo_snapshot_fetch(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);

/* ---------------------------------------------------------------- what rules between resources read */

/* Called once in a process. */
void neo_rule_input_make_statements(apr_pool_t *pool);

/* Sets `today`, `read` and `read_version`, with one statement. The related resources may change until the write:
 * neo_table_update checks the version of the row that an effect changes. */
NEO_MUSTCHECK neo_pg_status neo_rule_input_read(neo_pg *pg, const neo_actor *actor, neo_rule_input *input, apr_pool_t *pool,
                                                neo_rows *rows);

#endif
