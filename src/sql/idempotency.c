/* SPDX-License-Identifier: Apache-2.0 */
/* Idempotency keys (see sql/idempotency.h). */
#include "sql/idempotency.h"

#include <stdlib.h>

#include "sql/idempotency.sql.h"

enum { SAME_REQUEST, EXPIRED, STATUS, ANSWER, SECRET };

void neo_idempotency_add(neo_values *values, const neo_actor *actor, const neo_idempotency *idempotency)
{
    if (!idempotency)
        return;
    values->organization = actor->organization;
    values->credential = actor->credential;
    values->key = idempotency->key;
    values->hash = idempotency->hash;
}

neo_pg_status neo_idempotency_lookup(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency, apr_pool_t *pool,
                                     neo_idempotency_state *state, neo_idempotency_answer *answer)
{
    neo_rows rows;
    *state = NEO_IDEMPOTENCY_FREE;
    neo_pg_status done = neo_pg_run(pg, NEO_BIND(lookup, NEO_IDEMPOTENCY_VALUES(actor, idempotency)), pool, &rows);
    if (done != NEO_PG_OK || rows.count == 0)
        return done;
    if (neo_rows_is_true(&rows, 0, EXPIRED))
        return neo_pg_run(
            pg,
            NEO_BIND(remove_old, .organization = actor->organization, .credential = actor->credential, .key = idempotency->key),
            pool, &rows);
    *state = neo_rows_is_true(&rows, 0, SAME_REQUEST) ? NEO_IDEMPOTENCY_ANSWERED : NEO_IDEMPOTENCY_MISMATCH;
    *answer = (neo_idempotency_answer){atoi(neo_rows_value(&rows, 0, STATUS)), neo_rows_text(&rows, 0, ANSWER),
                                       neo_rows_value(&rows, 0, SECRET)};
    return NEO_PG_OK;
}

neo_pg_status neo_idempotency_reserve(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency, apr_pool_t *pool,
                                      neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(reserve, NEO_IDEMPOTENCY_VALUES(actor, idempotency)), pool, rows);
}

neo_pg_status neo_idempotency_store(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency, const char *answer,
                                    apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg,
                      NEO_BIND(store, .answer = answer, .organization = actor->organization, .credential = actor->credential,
                               .key = idempotency->key),
                      pool, rows);
}
