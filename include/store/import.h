/* Taking rows into an organization: they are collected and checked as a whole before the first of them is written, then written
 * in portions, each of them a transaction with the references of its rows. What is there already and the same is left alone, so
 * that an import that was interrupted is gone on with by doing it again.
 *
 * Functions return NULL, or a sentence for people that says why it cannot go on. */
#ifndef NEO_STORE_IMPORT_H
#define NEO_STORE_IMPORT_H

#include <apr_tables.h>

#include "model/resource.h"
#include "store/pg.h"

typedef struct neo_import neo_import;

/* `pool` is to last as long as the import. With `sends_webhooks`, webhooks are told of every row that is written. One at a time
 * in an organization: a second is refused. Sets *tenant. */
const char *neo_import_begin(neo_pg *pg, const char *organization, int sends_webhooks, apr_pool_t *pool, neo_import **import,
                             const char **tenant);

/* Keeps imports and purges out of these organizations (an array, as PostgreSQL writes it) until the connection ends. */
const char *neo_import_lock(neo_pg *pg, const char *organizations, apr_pool_t *pool);

/* Ids of elsewhere. `fresh` is an id to be used where there is none as yet; *id becomes the one that holds. */
typedef struct neo_import_lookup {
    const neo_resource *kind;
    const char *given;       /* NULL of a row that is known by its external_id alone */
    const char *external_id; /* NULL where it is not known */
    const char *id;
} neo_import_lookup;
const char *neo_import_find(neo_import *import, neo_import_lookup *lookups, int count, apr_pool_t *pool);

/* Collects rows. */
typedef struct neo_import_line {
    long long number; /* of the line, from 1 */
    const neo_resource *kind;
    const char *id;
    const neo_json *row;   /* as of neo_import_check; NULL of one that is wrong */
    const neo_json *clean; /* likewise */
} neo_import_line;
const char *neo_import_collect(neo_import *import, const neo_import_line *lines, int count, apr_pool_t *pool);

/* Told of each line that is wrong, in no order. */
typedef void (*neo_import_report)(void *data, long long number, const char *field, const char *message);

/* Looks at everything that was collected: what is there twice, what must be unique and is not, what refers to nothing. */
const char *neo_import_validate(neo_import *import, neo_import_report report, void *data, apr_pool_t *pool);

/* From here on the ids that were found are kept, also by those who do it again. */
const char *neo_import_commit(neo_import *import, apr_pool_t *pool);

/* Writes the next portion. *is_over: there is none, and the import is done. */
typedef struct neo_import_batch {
    long long rows, created, updated;
    int is_done;
} neo_import_batch;
const char *neo_import_write(neo_import *import, apr_pool_t *pool, neo_import_batch *batch);

#endif
