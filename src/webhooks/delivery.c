/* SPDX-License-Identifier: Apache-2.0 */
/* Deliveries as the API lists, shows and makes them (see webhooks/delivery.h). */
#include "webhooks/delivery.h"

#include <apr_strings.h>
#include <string.h>

#include "resources/list.h"
#include "webhooks/delivery.sql.h"

static const char *const sources[NEO_DELIVERY_KINDS] = {
    [NEO_DELIVERY_TEST] = test_events_sql,
    [NEO_DELIVERY_RETRY] = retry_events_sql,
};

static neo_sql *make[NEO_DELIVERY_KINDS][2], *recover[2]; /* [1]: with an idempotency key */

#define MAKE_ONE                                                                                                               \
    " queued_deliveries as (insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_id,"              \
    " event_type, event_at, created_at)"                                                                                       \
    " select {organization}, neoapi.block_id({id_block}, row_number() over ()), {subscription}, s.id, s.type,"                 \
    " s.created_at, {now}::timestamptz from source s, key_is_free returning *),"                                               \
    " queued as (insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)"                              \
    " select id, organization_id, subscription_id, now() from queued_deliveries),"

/* `ctes` are between key_is_free and answer, `count` is the number of deliveries, `store` the CTE for an idempotency key. */
static void make_both(neo_sql *both[2], const char *ctes, const char *answer, const char *count, const char *store,
                      apr_pool_t *pool)
{
    for (int idempotency = 0; idempotency < 2; idempotency++) {
        const char *sql =
            apr_pstrcat(pool, "with key_is_free as (select", idempotency ? " where " NEO_IDEMPOTENCY_KEY_IS_FREE : "", "),",
                        ctes, " answer as materialized (", answer, ")", idempotency ? store : "", " select answer, ", count,
                        " from answer", NULL);
        both[idempotency] = neo_sql_make(pool, sql, NEO_WRITES);
    }
}

void neo_delivery_make_statements(apr_pool_t *pool)
{
    for (int kind = 0; kind < NEO_DELIVERY_KINDS; kind++)
        make_both(make[kind], apr_pstrcat(pool, " source as (", sources[kind], "),", MAKE_ONE, NULL), record_answer_sql, "1",
                  NEO_IDEMPOTENCY_STORE_KEY("201", "answer", "null", "answer"), pool);
    make_both(recover, "", recovery_sql, "recovered", NEO_IDEMPOTENCY_STORE_KEY("200", "answer", "null", "answer"), pool);
}

neo_pg_status neo_delivery_list(neo_pg *pg, const neo_actor *actor, const char *subscription, const char *answer,
                                const neo_selection *selection, apr_pool_t *pool, neo_rows *rows)
{
    neo_listed listed = {.answer = answer ? answer : "neoapi.webhook_delivery_record(t)::text",
                         .from = "neoapi.webhook_delivery t where t.organization_id = $1 and t.subscription_id = $2",
                         .prefix = "whd_"};
    const char *values[] = {actor->organization, subscription};
    return neo_page_run(pg, &listed, values, 2, selection, pool, rows);
}

static neo_values values_for(const neo_actor *actor, const char *subscription)
{
    neo_values v = {0};
    v.organization = actor->organization;
    v.actor = actor->name;
    v.request = actor->request;
    v.subscription = subscription;
    return v;
}

neo_pg_status neo_delivery_read(neo_pg *pg, const neo_actor *actor, const char *subscription, const char *id, apr_pool_t *pool,
                                neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(read, .organization = actor->organization, .subscription = subscription, .id = id), pool,
                      rows);
}

/* Runs a statement that makes deliveries. */
static neo_pg_status run(neo_pg *pg, neo_sql *const sql[2], neo_values *v, const neo_actor *actor,
                         const neo_idempotency *idempotency, apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], id_block[NEO_ID_BLOCK_SIZE];
    neo_ms_format(now, neo_now_ms());
    neo_id_issue_block(id_block, "whd_");
    v->now = now;
    v->id_block = id_block;
    neo_idempotency_add(v, actor, idempotency, pool);
    return neo_sql_run(pg, sql[idempotency != NULL], v, pool, rows);
}

neo_pg_status neo_delivery_make(neo_pg *pg, neo_delivery_kind kind, const neo_actor *actor, const neo_idempotency *idempotency,
                                const char *subscription, const char *of, apr_pool_t *pool, neo_rows *rows)
{
    neo_values v = values_for(actor, subscription);
    v.id = of;
    return run(pg, make[kind], &v, actor, idempotency, pool, rows);
}

neo_pg_status neo_delivery_recover(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                   const char *subscription, const neo_json *body, apr_pool_t *pool, neo_rows *rows)
{
#define TYPES(name, AREA, collection) #name ".created," #name ".updated," #name ".deleted,"
    neo_values v = values_for(actor, subscription);
    v.body = neo_json_text(body, pool).ptr;
    v.any_type = "{" NEO_RESOURCES_WITH_EVENTS(TYPES) "*}";
    return run(pg, recover, &v, actor, idempotency, pool, rows);
}

neo_pg_status neo_delivery_rotate(neo_pg *pg, const neo_actor *actor, const char *subscription, const char *secret,
                                  apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE];
    neo_ms_format(now, neo_now_ms());
    return neo_pg_run(pg,
                      NEO_BIND(rotate, .organization = actor->organization, .subscription = subscription, .secret = secret,
                               .now = now, .actor = actor->name),
                      pool, rows);
}
