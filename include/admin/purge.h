/* SPDX-License-Identifier: Apache-2.0 */
/* Removes an organization, or a tenant with all its organizations: the rows of every table that has a column organization_id,
 * in steps short enough not to block others. Functions return NULL, or an error message. */
#ifndef NEO_ADMIN_PURGE_H
#define NEO_ADMIN_PURGE_H

#include <apr_tables.h>

#include "core/json.h"
#include "pg/pg.h"

typedef struct neo_purge {
    neo_pg *pg;
    const char *tenant;       /* NULL if one organization is removed */
    const char *organization; /* NULL if a tenant is removed */
    int is_data_only;         /* the organization, its keys, tokens, subscriptions and numbers stay */
    /* set by neo_purge_begin */
    const char *name;
    const char *organizations; /* a PostgreSQL array */
    apr_array_header_t *tables;
    int table;            /* index of the next step's table */
    int is_at_end;        /* the step waits for rows of that table that others have locked */
    int missed;           /* consecutive steps that found only rows that others were changing */
    long long since_pass; /* rows removed in this pass */
    int is_held_up;       /* this pass left rows, because new rows refer to them or others keep changing them */
    int idle;             /* consecutive passes that were held up */
} neo_purge;

/* Counts what will be removed: sets *what to a JSON array of {"what", "rows"}, without empty tables. */
const char *neo_purge_begin(neo_purge *purge, apr_pool_t *pool, neo_json **what);

/* Locks out imports, then revokes credentials and deactivates subscriptions. */
const char *neo_purge_close(neo_purge *purge, apr_pool_t *pool);

/* Removes some rows in one transaction. *is_over: none is left; with is_data_only, none that existed at the beginning. */
const char *neo_purge_step(neo_purge *purge, apr_pool_t *pool, long long *removed, int *is_over);

/* Removes the tenant or organization itself, and its credentials and users. */
const char *neo_purge_finish(neo_purge *purge, apr_pool_t *pool);

#endif
