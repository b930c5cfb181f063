/* Deliveries (see store/delivery.h). */
#include "store/delivery.h"

#include <apr_strings.h>

#define OF_SUBSCRIPTION " where t.organization_id = {organization} and t.subscription_id = {subscription}"

/* Where new deliveries come from: each source has the columns event and payload, a row each. The inner limit keeps the planner
 * from reading the whole history: a look into it for each that has failed. */
static const char *const sources[NEO_DELIVERY_KINDS] = {
    [NEO_DELIVERY_TEST] =
        "select 'webhook.test' as event, json_strip_nulls(json_build_object('subscription_id', t.id))::text as payload"
        " from neoapi.webhook_subscription t where t.organization_id = {organization} and t.id = {subscription}",
    [NEO_DELIVERY_RETRY] =
        "select t.event_type as event, t.payload from neoapi.webhook_delivery t" OF_SUBSCRIPTION " and t.id = {id}",
    [NEO_DELIVERY_RECOVER] =
        "select d.event_type as event, d.payload from neoapi.webhook_attempt t,"
        " lateral (select h.event_type, h.payload from neoapi.webhook_delivery h"
        " where h.organization_id = t.organization_id and h.subscription_id = t.subscription_id and h.id = t.delivery_id"
        " limit 1) d" OF_SUBSCRIPTION
        " and t.outcome = 'failed' and t.started_at >= {since}::timestamptz order by t.delivery_id limit 1000000",
};

/* What they are answered with: one row for the one that was made, or one for all. */
#define RECORD                                                                                                                 \
    "select json_strip_nulls(json_build_object('id', id, 'subscription_id', subscription_id, 'event_type', event_type,"        \
    " 'status', 'pending', 'attempt_count', 0, 'created_at', neoapi.format_timestamp(created_at)))::text as answer from "      \
    "queued_deliveries"
static const char *const answers[NEO_DELIVERY_KINDS] = {
    [NEO_DELIVERY_TEST] = RECORD,
    [NEO_DELIVERY_RETRY] = RECORD,
    [NEO_DELIVERY_RECOVER] = "select json_strip_nulls(json_build_object('recovered', (select count(*) from "
                             "queued_deliveries)))::text as answer from may",
};

static neo_sql *make[NEO_DELIVERY_KINDS][2], *read_one, *rotate; /* [1]: with an idempotency key */

static neo_sql *make_sql(neo_delivery_kind kind, int idempotency, apr_pool_t *pool)
{
    const char *stored = kind == NEO_DELIVERY_RECOVER ? NEO_IDEMPOTENCY_STORE_KEY("200", "answer", "null", "answer")
                                                      : NEO_IDEMPOTENCY_STORE_KEY("201", "answer", "null", "answer");
    const char *sql = apr_pstrcat(
        pool, "with may as (select", idempotency ? " where " NEO_IDEMPOTENCY_KEY_IS_FREE : "", "), source as (", sources[kind],
        "),",
        " queued_deliveries as (insert into neoapi.webhook_delivery (organization_id, id, subscription_id, event_type, "
        "payload, created_at)"
        " select {organization}, neoapi.block_id({id_block}, row_number() over ()), {subscription}, s.event, s.payload,"
        " {now}::timestamptz from source s, may returning *),"
        " queued as (insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)"
        " select id, organization_id, subscription_id, now() from queued_deliveries),"
        " answer as (",
        answers[kind], ")", idempotency ? stored : "", " select answer, (select count(*) from queued_deliveries) from answer",
        NULL);
    return neo_sql_make(pool, sql, 1);
}

void neo_delivery_make_statements(apr_pool_t *pool)
{
    for (int kind = 0; kind < NEO_DELIVERY_KINDS; kind++)
        for (int idempotency = 0; idempotency < 2; idempotency++)
            make[kind][idempotency] = make_sql((neo_delivery_kind)kind, idempotency, pool);
    read_one = neo_sql_make(
        pool, "select neoapi.webhook_delivery_detail(t) from neoapi.webhook_delivery t" OF_SUBSCRIPTION " and t.id = {id}", 0);
    rotate = neo_sql_make(pool,
                          "update neoapi.webhook_subscription t set previous_secret = secret, secret = {secret},"
                          " previous_secret_until = now() + interval '24 hours',"
                          " updated_at = greatest({now}::timestamptz, updated_at), updated_by = {actor}"
                          " where t.organization_id = {organization} and t.id = {subscription} returning representation",
                          1);
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
