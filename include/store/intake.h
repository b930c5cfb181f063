/* Taking rows into an organization: they are collected and checked as a whole before the first of them is written, then written
 * in portions, each of them a transaction with the references of its rows. What is there already and the same is left alone, so
 * that an intake that was interrupted is gone on with by doing it again.
 *
 * Functions return NULL, or a sentence for people that says why it cannot go on. */
#ifndef NEO_STORE_INTAKE_H
#define NEO_STORE_INTAKE_H

#include <apr_tables.h>

#include "model/resource.h"
#include "store/pg.h"

typedef struct neo_intake neo_intake;

/* `pool` is to last as long as the intake. With `tells`, webhooks are told of every row that is written. One at a time in an
 * organization: a second is refused. Sets *tenant. */
const char *neo_intake_begin(neo_pg *pg, const char *organization, int tells, apr_pool_t *pool, neo_intake **intake,
                             const char **tenant);

/* Keeps imports and purges out of these organizations (an array, as PostgreSQL writes it) until the connection ends. */
const char *neo_intake_reserve(neo_pg *pg, const char *organizations, apr_pool_t *pool);

/* Ids of elsewhere. `fresh` is an id to be used where there is none as yet; *id becomes the one that holds. */
typedef struct neo_intake_wish {
    const neo_resource *kind;
    const char *given;       /* NULL of a row that is known by its external_id alone */
    const char *external_id; /* NULL where it is not known */
    const char *id;
} neo_intake_wish;
const char *neo_intake_find(neo_intake *intake, neo_intake_wish *wishes, int count, apr_pool_t *pool);

/* Collects rows. */
typedef struct neo_intake_line {
    long long number; /* of the line, from 1 */
    const neo_resource *kind;
    const char *id;
    const neo_json *row;   /* as of neo_intake_check; NULL of one that is wrong */
    const neo_json *clean; /* likewise */
} neo_intake_line;
const char *neo_intake_collect(neo_intake *intake, const neo_intake_line *lines, int count, apr_pool_t *pool);

/* Told of each line that is wrong, in no order. */
typedef void (*neo_intake_complaint)(void *data, long long number, const char *field, const char *message);

/* Looks at everything that was collected: what is there twice, what must be unique and is not, what refers to nothing. */
const char *neo_intake_examine(neo_intake *intake, neo_intake_complaint complain, void *data, apr_pool_t *pool);

/* From here on the ids that were found are kept, also by those who do it again. */
const char *neo_intake_accept(neo_intake *intake, apr_pool_t *pool);

/* Writes the next portion. *is_over: there is none, and the intake is done. */
typedef struct neo_intake_portion {
    long long rows, created, updated;
    int is_over;
} neo_intake_portion;
const char *neo_intake_write(neo_intake *intake, apr_pool_t *pool, neo_intake_portion *portion);

#endif
