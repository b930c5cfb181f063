/* Removing all that an organization, or a tenant with all its organizations, has: whatever table there is with a column
 * organization_id, in steps that nobody waits behind. Functions return NULL, or a sentence for people. */
#ifndef NEO_STORE_PURGE_H
#define NEO_STORE_PURGE_H

#include <apr_tables.h>

#include "core/json.h"
#include "store/pg.h"

typedef struct neo_purge {
    neo_pg *pg;
    const char *tenant;       /* that goes; NULL where it is one organization alone */
    const char *organization; /* likewise */
    int is_data_only;         /* the organization stays, with its keys, tokens, subscriptions and numbers */
    /* neo_purge_begin sets these */
    const char *name;
    const char *organizations; /* as PostgreSQL writes an array */
    apr_array_header_t *tables;
    int table;            /* the next step's */
    int is_at_end;        /* of that table: what others are at goes now, when they have done */
    int missed;           /* steps in a row that found only what was being changed */
    long long since_pass; /* rows removed since the first table */
    int is_held_up;       /* since the first table: something new referred to what was to go, or somebody kept changing it */
    int idle;             /* passes that were held up */
} neo_purge;

/* Finds what is to go and sets *what to a JSON array of {"what", "rows"}, without what there is none of. */
const char *neo_purge_begin(neo_purge *purge, apr_pool_t *pool, neo_json **what);

/* Keeps imports out, then ends all credentials and subscriptions. */
const char *neo_purge_close(neo_purge *purge, apr_pool_t *pool);

/* Removes some rows, one transaction. *is_over: there are none left, or of data only, none that was there at the beginning. */
const char *neo_purge_step(neo_purge *purge, apr_pool_t *pool, long long *removed, int *is_over);

/* Removes the rows that all the others belonged to. */
const char *neo_purge_finish(neo_purge *purge, apr_pool_t *pool);

#endif
