/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a whole list in one snapshot (see sql/snapshot.h). A cursor keeps the memory of both sides small, and lets the server
 * end the transaction of a client that does not continue, which it could not while it sends. */
#include "sql/snapshot.h"

#include <apr_strings.h>

#include "sql/snapshot.sql.h"

#define STRING(number)    #number
#define STRING_OF(number) STRING(number)

enum { IS_WITHIN_ORGANIZATION, IS_WITHIN_TENANT, POSITION };

neo_pg_status neo_snapshot_begin(neo_pg *pg, const neo_actor *actor, int seconds, apr_pool_t *pool, neo_snapshot *snapshot)
{
    neo_rows rows;
    const char *values[] = {actor->organization, actor->tenant};
    neo_pg_status status = neo_pg_begin_snapshot(pg, seconds, pool, &rows);
    if (status == NEO_PG_OK)
        status = neo_pg_run(pg, NEO_QUERY(begin_snapshot_sql, 2), values, pool, &rows);
    if (status == NEO_PG_OK)
        *snapshot = (neo_snapshot){neo_rows_is_true(&rows, 0, IS_WITHIN_ORGANIZATION),
                                   neo_rows_is_true(&rows, 0, IS_WITHIN_TENANT), neo_rows_value(&rows, 0, POSITION)};
    return status;
}

neo_pg_status neo_snapshot_open(neo_pg *pg, const char *sql, const apr_array_header_t *parameters, apr_pool_t *pool,
                                neo_rows *rows)
{
    return neo_pg_run(pg, NEO_QUERY(apr_pstrcat(pool, "declare snapshot no scroll cursor for ", sql, NULL), parameters->nelts),
                      (const char *const *)parameters->elts, pool, rows);
}

neo_pg_status neo_snapshot_fetch(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, NEO_QUERY("fetch " STRING_OF(NEO_SNAPSHOT_ROWS) " from snapshot", 0), NULL, pool, rows);
}
