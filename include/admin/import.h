/* SPDX-License-Identifier: Apache-2.0 */
/* Imports rows into an organization. All lines are collected and validated before the first one is written. Then they are
 * written in batches; each is a transaction with the references of its rows. Rows that exist unchanged are skipped, so that an
 * interrupted import is resumed by running it again.
 *
 * Functions return NULL, or an error message. */
#ifndef NEO_ADMIN_IMPORT_H
#define NEO_ADMIN_IMPORT_H

#include "pg/pg.h"
#include "schema/resource.h"
#include "sql/write.h"

typedef struct neo_import neo_import;

/* `pool` must outlive the import. A second import into the same organization is refused. Sets *tenant. */
const char *neo_import_begin(neo_pg *pg, const char *organization, neo_import_events events, apr_pool_t *pool,
                             neo_import **import, const char **tenant);

/* Locks out imports into and purges of these organizations (a PostgreSQL array) until the connection ends. */
const char *neo_import_lock(neo_pg *pg, const char *organizations, apr_pool_t *pool);

/* Maps ids of the source to ids here. `id` is a new id, which is replaced if the row has one already. */
typedef struct neo_import_lookup {
    const neo_resource *kind;
    const char *given;       /* NULL if only the external_id is known */
    const char *external_id; /* NULL if it is not known */
    const char *id;
} neo_import_lookup;
const char *neo_import_find(neo_import *import, neo_import_lookup *lookups, int count, apr_pool_t *pool);

/* Collects lines. */
typedef struct neo_import_line {
    long long number; /* from 1 */
    const neo_resource *kind;
    const char *id;
    const neo_json *row; /* from neo_import_check, as is `clean`; NULL if the line is invalid */
    const neo_json *clean;
} neo_import_line;
const char *neo_import_collect(neo_import *import, const neo_import_line *lines, int count, apr_pool_t *pool);

/* Called for each invalid line, in no particular order. */
typedef void (*neo_import_report)(void *data, long long number, const char *field, const char *message);

/* Validates the collected lines: duplicate ids, unique values, references. */
const char *neo_import_validate(neo_import *import, neo_import_report report, void *data, apr_pool_t *pool);

/* Stores the ids found so far, so that the same import maps to the same ids when it is run again. */
const char *neo_import_store_ids(neo_import *import, apr_pool_t *pool);

/* Writes the next batch. is_done: there was none left. */
typedef struct neo_import_batch {
    long long rows, created, updated;
    long long skipped; /* conversations of numbers that the organization does not have, and their messages */
    int is_done;
} neo_import_batch;
const char *neo_import_write(neo_import *import, apr_pool_t *pool, neo_import_batch *batch);

#endif
