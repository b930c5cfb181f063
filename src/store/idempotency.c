/* Reading idempotency keys (see store/idempotency.h). */
#include "store/idempotency.h"

#include <stdlib.h>
#include <string.h>

#include "core/encode.h"

enum { SAME, OVER, STATUS, ANSWER };

static neo_statement *look, *remove_old;

void neo_once_make_statements(apr_pool_t *pool)
{
    look =
        neo_statement_make(pool,
                           "select request_hash = decode($4, 'hex'), expires_at <= now(), status, answer"
                           " from neoapi.idempotency_key where organization_id = $1 and credential_id = $2 and key = $3::uuid",
                           4, 0);
    remove_old = neo_statement_make(pool,
                                    "delete from neoapi.idempotency_key where organization_id = $1 and credential_id = $2"
                                    " and key = $3::uuid and expires_at <= now()",
                                    3, 1);
}

neo_pg_status neo_once_look(neo_pg *pg, const neo_actor *actor, const neo_once *once, apr_pool_t *pool, neo_once_state *state,
                            int *status, neo_text *answer)
{
    char hash[2 * sizeof once->hash + 1];
    neo_hex(once->hash, sizeof once->hash, hash);
    const char *values[] = {actor->organization, actor->credential, once->key, hash};
    neo_rows rows;
    *state = NEO_ONCE_FREE;
    neo_pg_status done = neo_pg_run(pg, look, values, pool, &rows);
    if (done != NEO_PG_OK || rows.count == 0)
        return done;
    if (neo_rows_is_true(&rows, 0, OVER))
        return neo_pg_run(pg, remove_old, values, pool, &rows);
    *state = neo_rows_is_true(&rows, 0, SAME) ? NEO_ONCE_ANSWERED : NEO_ONCE_OTHER;
    *status = atoi(neo_rows_value(&rows, 0, STATUS));
    *answer = neo_rows_text(&rows, 0, ANSWER);
    return NEO_PG_OK;
}
