/* SPDX-License-Identifier: Apache-2.0 */
/* Deliveries as the API lists, shows and makes them (see store/delivery.h). */
#include "store/delivery.h"

#include <apr_general.h>
#include <apr_strings.h>
#include <stdlib.h>

#include "sql/delivery.h"

static const char *const sources[NEO_DELIVERY_KINDS] = {
    [NEO_DELIVERY_TEST] = test_events_sql,
    [NEO_DELIVERY_RETRY] = retry_events_sql,
    [NEO_DELIVERY_RECOVER] = recover_source_sql,
};

static neo_sql *make[NEO_DELIVERY_KINDS][2], *recover_step, *read_one, *rotate; /* [1]: with an idempotency key */

/* One delivery, made by the statement. */
#define MAKE_ONE                                                                                                               \
    " queued_deliveries as (insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id,"              \
    " event_type, event_at, created_at)"                                                                                       \
    " select {organization}, neoapi.block_id({id_block}, row_number() over ()), {subscription}, s.id, s.type,"                 \
    " s.created_at, {now}::timestamptz from source s, key_is_free returning *),"                                               \
    " queued as (insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)"                              \
    " select id, organization_id, subscription_id, now() from queued_deliveries),"                                             \
    " answer as ("
/* Any number, which neo_delivery_recover_step makes. */
#define NOTE_RECOVERY                                                                                                          \
    " queued_deliveries as materialized (select s.delivery_id from source s, key_is_free),"                                    \
    " noted as (insert into neoapi.webhook_recovery (organization_id, subscription_id, since, last)"                           \
    " select {organization}, {subscription}, {since}::timestamptz, max(delivery_id) from queued_deliveries"                    \
    " having count(*) > 0),"                                                                                                   \
    " answer as (select json_strip_nulls(json_build_object('recovered', (select count(*) from queued_deliveries)))::text as "  \
    "answer"                                                                                                                   \
    " from key_is_free"

static neo_sql *make_sql(neo_delivery_kind kind, int idempotency, apr_pool_t *pool)
{
    int is_recovery = kind == NEO_DELIVERY_RECOVER;
    const char *stored = is_recovery ? NEO_IDEMPOTENCY_STORE_KEY("200", "answer", "null", "answer")
                                     : NEO_IDEMPOTENCY_STORE_KEY("201", "answer", "null", "answer");
    const char *sql = apr_pstrcat(pool, "with key_is_free as (select", idempotency ? " where " NEO_IDEMPOTENCY_KEY_IS_FREE : "",
                                  "), source as (", sources[kind], "),", is_recovery ? NOTE_RECOVERY : MAKE_ONE,
                                  is_recovery ? "" : record_answer_sql, ")", idempotency ? stored : "",
                                  " select answer, (select count(*) from queued_deliveries) from answer", NULL);
    return neo_sql_make(pool, sql, 1);
}

void neo_delivery_make_statements(apr_pool_t *pool)
{
    for (int kind = 0; kind < NEO_DELIVERY_KINDS; kind++)
        for (int idempotency = 0; idempotency < 2; idempotency++)
            make[kind][idempotency] = make_sql((neo_delivery_kind)kind, idempotency, pool);
    recover_step = neo_sql_make(pool, recover_step_sql, 1);
    read_one = neo_sql_make(pool, read_sql, 0);
    rotate = neo_sql_make(pool, rotate_sql, 1);
}

neo_pg_status neo_delivery_list(neo_pg *pg, const neo_actor *actor, const char *subscription, const neo_selection *selection,
                                apr_pool_t *pool, neo_rows *rows)
{
    neo_listed listed = {"neoapi.webhook_delivery_record(t)::text",
                         "neoapi.webhook_delivery t where t.organization_id = $1 and t.subscription_id = $2", "whd_"};
    const char *values[] = {actor->organization, subscription};
    return neo_page_run(pg, &listed, values, 2, selection, pool, rows);
}

static neo_values values_for(const neo_actor *actor, const char *subscription)
{
    neo_values v = {0};
    v.of[NEO_PARAM_ORGANIZATION] = actor->organization;
    v.of[NEO_PARAM_ACTOR] = actor->name;
    v.of[NEO_PARAM_REQUEST] = actor->request;
    v.of[NEO_PARAM_SUBSCRIPTION] = subscription;
    return v;
}

neo_pg_status neo_delivery_read(neo_pg *pg, const neo_actor *actor, const char *subscription, const char *id, apr_pool_t *pool,
                                neo_rows *rows)
{
    neo_values v = values_for(actor, subscription);
    v.of[NEO_PARAM_ID] = id;
    return neo_sql_run(pg, read_one, &v, pool, rows);
}

neo_pg_status neo_delivery_make(neo_pg *pg, neo_delivery_kind kind, const neo_actor *actor, const neo_idempotency *idempotency,
                                const char *subscription, const char *of, apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], id_block[NEO_ID_BLOCK_SIZE];
    neo_values v = values_for(actor, subscription);
    neo_ms_format(now, neo_now_ms());
    neo_id_issue_block(id_block, "whd_");
    v.of[NEO_PARAM_NOW] = now;
    v.of[NEO_PARAM_ID_BLOCK] = id_block;
    v.of[NEO_PARAM_ID] = v.of[NEO_PARAM_SINCE] = of;
    neo_idempotency_add(&v, actor, idempotency, pool);
    return neo_sql_run(pg, make[kind][idempotency != NULL], &v, pool, rows);
}

neo_pg_status neo_delivery_rotate(neo_pg *pg, const neo_actor *actor, const char *subscription, const char *secret,
                                  apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE];
    neo_values v = values_for(actor, subscription);
    neo_ms_format(now, neo_now_ms());
    v.of[NEO_PARAM_NOW] = now;
    v.of[NEO_PARAM_SECRET] = secret;
    return neo_sql_run(pg, rotate, &v, pool, rows);
}

neo_pg_status neo_delivery_recover_step(neo_pg *pg, apr_pool_t *pool, int *count)
{
    char now[NEO_MS_TEXT_SIZE], id_block[NEO_ID_BLOCK_SIZE];
    neo_rows rows;
    neo_values v = {0};
    neo_ms_format(now, neo_now_ms());
    neo_id_issue_block(id_block, "whd_");
    v.of[NEO_PARAM_NOW] = now;
    v.of[NEO_PARAM_ID_BLOCK] = id_block;
    v.of[NEO_PARAM_LIMIT] = APR_STRINGIFY(NEO_RECOVERY_STEP);
    neo_pg_status status = neo_sql_run(pg, recover_step, &v, pool, &rows);
    *count = status == NEO_PG_OK && rows.count ? atoi(neo_rows_value(&rows, 0, 0)) : 0;
    return status;
}
