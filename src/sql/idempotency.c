/* SPDX-License-Identifier: Apache-2.0 */
/* Idempotency keys (see sql/idempotency.h). */
#include "sql/idempotency.h"

#include <stdlib.h>
#include <string.h>

#include "core/encode.h"

#define THIS_KEY "organization_id = {organization} and credential_id = {credential} and key = {key}::uuid"

enum { SAME_REQUEST, EXPIRED, STATUS, ANSWER, SECRET };

static neo_sql *lookup, *remove_old, *reserve, *store;

void neo_idempotency_make_statements(apr_pool_t *pool)
{
    lookup = neo_sql_make(pool,
                          "select request_hash = decode({hash}, 'hex'), expires_at <= now(), status, response_body, secret"
                          " from neoapi.idempotency_key where " THIS_KEY,
                          NEO_READS);
    remove_old =
        neo_sql_make(pool, "delete from neoapi.idempotency_key where " THIS_KEY " and expires_at <= now()", NEO_WRITES);
    reserve = neo_sql_make(pool,
                           "insert into neoapi.idempotency_key"
                           " (organization_id, credential_id, key, request_hash, status, response_body, expires_at)"
                           " values ({organization}, {credential}, {key}::uuid, decode({hash}, 'hex'), 200, '',"
                           " now() + interval '24 hours') on conflict do nothing returning 1",
                           NEO_WRITES);
    store = neo_sql_make(pool, "update neoapi.idempotency_key set response_body = {answer} where " THIS_KEY, NEO_WRITES);
}

void neo_idempotency_add(neo_values *values, const neo_actor *actor, const neo_idempotency *idempotency, apr_pool_t *pool)
{
    if (!idempotency)
        return;
    char *hash = apr_palloc(pool, 2 * sizeof idempotency->hash + 1);
    neo_hex(idempotency->hash, sizeof idempotency->hash, hash);
    values->organization = actor->organization;
    values->credential = actor->credential;
    values->key = idempotency->key;
    values->hash = hash;
}

neo_pg_status neo_idempotency_lookup(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency, apr_pool_t *pool,
                                     neo_idempotency_state *state, neo_idempotency_answer *answer)
{
    neo_values v = {0};
    neo_rows rows;
    neo_idempotency_add(&v, actor, idempotency, pool);
    *state = NEO_IDEMPOTENCY_FREE;
    neo_pg_status done = neo_sql_run(pg, lookup, &v, pool, &rows);
    if (done != NEO_PG_OK || rows.count == 0)
        return done;
    if (neo_rows_is_true(&rows, 0, EXPIRED))
        return neo_sql_run(pg, remove_old, &v, pool, &rows);
    *state = neo_rows_is_true(&rows, 0, SAME_REQUEST) ? NEO_IDEMPOTENCY_ANSWERED : NEO_IDEMPOTENCY_MISMATCH;
    *answer = (neo_idempotency_answer){atoi(neo_rows_value(&rows, 0, STATUS)), neo_rows_text(&rows, 0, ANSWER),
                                       neo_rows_value(&rows, 0, SECRET)};
    return NEO_PG_OK;
}

neo_pg_status neo_idempotency_reserve(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency, apr_pool_t *pool,
                                      neo_rows *rows)
{
    neo_values v = {0};
    neo_idempotency_add(&v, actor, idempotency, pool);
    return neo_sql_run(pg, reserve, &v, pool, rows);
}

neo_pg_status neo_idempotency_store(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency, const char *answer,
                                    apr_pool_t *pool, neo_rows *rows)
{
    neo_values v = {0};
    neo_idempotency_add(&v, actor, idempotency, pool);
    v.answer = answer;
    return neo_sql_run(pg, store, &v, pool, rows);
}
