/* SQL for what an administrator does about deliveries (see store/webhook_admin.h). */
#include "store/webhook_admin.h"

#include <apr_strings.h>

#include "store/delivery.h"

#define SLACK_MS 60000 /* how much older than its statement a delivery's id may be */

static const char *sentence(neo_pg_status status, const neo_rows *rows)
{
    if (status == NEO_PG_OK)
        return NULL;
    return rows->message ? rows->message : "the database did not do it";
}

static const char *exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool, neo_rows *rows)
{
    return sentence(neo_pg_exec(pg, sql, params, values, pool, rows), rows);
}

/* ---------------------------------------------------------------- deliveries */

/* $1 organization, $2 subscription, $3 status, $4 limit */
static const char deliveries_sql[] =
    "select coalesce(json_agg(l), '[]') from (select d.id, d.event_type, s.status, coalesce(a.number, 0) as attempt_count,"
    " a.http_status, a.error, neoapi.format_timestamp(d.created_at) as created_at, case when q.id is null then"
    " neoapi.format_timestamp(a.started_at + a.duration_ms * interval '1 millisecond') end as completed_at,"
    " neoapi.format_timestamp(q.due_at) as due_at"
    " from neoapi.webhook_delivery d left join neoapi.webhook_queue q on q.id = d.id"
    " left join lateral (select * from neoapi.webhook_attempt l where l.organization_id = d.organization_id"
    " and l.delivery_id = d.id order by l.number desc limit 1) a on true,"
    " lateral (select case when q.id is not null then 'pending' else coalesce(a.outcome, 'failed') end as status) s"
    " where d.organization_id = $1 and d.subscription_id = $2 and ($3::text is null or s.status = $3)"
    " order by d.id desc limit $4::int) l";

/* Whose the subscription is, and whether it is active. */
static const char *find(neo_pg *pg, const char *subscription, apr_pool_t *pool, neo_rows *rows)
{
    const char *values[] = {subscription};
    const char *wrong =
        exec(pg, "select organization_id, id, is_active from neoapi.webhook_subscription where id = $1", 1, values, pool, rows);
    return wrong || rows->count ? wrong : "there is no such subscription; see: neoapictl webhook list";
}

const char *neo_admin_list_deliveries(neo_pg *pg, const char *subscription, const char *status, const char *limit,
                                      apr_pool_t *pool, neo_json **list)
{
    neo_rows of, rows;
    const char *wrong = find(pg, subscription, pool, &of);
    if (wrong)
        return wrong;
    const char *values[] = {neo_rows_value(&of, 0, 0), subscription, status, limit};
    if (!(wrong = exec(pg, deliveries_sql, 4, values, pool, &rows)))
        *list = neo_json_parse(neo_rows_text(&rows, 0, 0), pool, &wrong);
    return wrong;
}

/* ---------------------------------------------------------------- sending again */

/* `of` is a row of organization, subscription, whether that is active. */
static const char *make(neo_pg *pg, neo_delivery_kind kind, const neo_rows *of, const char *what, apr_pool_t *pool,
                        neo_json **answer, int *is_waiting)
{
    neo_rows rows;
    neo_actor actor = {.organization = neo_rows_value(of, 0, 0)};
    neo_delivery_make_statements(pool);
    neo_pg_status status = neo_delivery_make(pg, kind, &actor, NULL, neo_rows_value(of, 0, 1), what, pool, &rows);
    const char *wrong = sentence(status, &rows);
    if (!wrong && rows.count == 0)
        wrong = "it is no longer there";
    if (!wrong)
        *answer = neo_json_parse(neo_rows_text(&rows, 0, 0), pool, &wrong);
    *is_waiting = !neo_rows_is_true(of, 0, 2);
    return wrong;
}

/* $1 a delivery, of which nothing else is known: one of a subscription that is there, or one with an attempt, as all have whose
 * subscription was deleted. The search among attempts goes by way of the organizations, because their index begins with them.
 */
static const char owner_sql[] =
    "select d.organization_id, w.id, w.is_active from ("
    " select s.organization_id, s.id as subscription_id from neoapi.webhook_subscription s, lateral (select"
    " from neoapi.webhook_delivery h where h.organization_id = s.organization_id and h.subscription_id = s.id and h.id = $1"
    " limit 1) found"
    " union all"
    " select a.organization_id, a.subscription_id from neoapi.organization o"
    " join neoapi.webhook_attempt a on a.organization_id = o.id and a.delivery_id = $1 limit 1) d"
    " left join neoapi.webhook_subscription w on w.organization_id = d.organization_id and w.id = d.subscription_id";

const char *neo_admin_retry(neo_pg *pg, const char *delivery, apr_pool_t *pool, neo_json **answer, int *is_waiting)
{
    neo_rows of;
    const char *values[] = {delivery};
    const char *wrong = exec(pg, owner_sql, 1, values, pool, &of);
    if (!wrong && of.count == 0)
        wrong = "there is no such delivery; see: neoapictl webhook deliveries";
    if (!wrong && !neo_rows_value(&of, 0, 1))
        wrong = "its subscription has been deleted";
    return wrong ? wrong : make(pg, NEO_DELIVERY_RETRY, &of, delivery, pool, answer, is_waiting);
}

const char *neo_admin_recover(neo_pg *pg, const char *subscription, const char *since, apr_pool_t *pool, neo_json **answer,
                              int *is_waiting)
{
    neo_rows of;
    const char *wrong = find(pg, subscription, pool, &of);
    return wrong ? wrong : make(pg, NEO_DELIVERY_RECOVER, &of, since, pool, answer, is_waiting);
}

/* ---------------------------------------------------------------- following */

/* $1 the snapshot of the last time, $2 the first delivery that can have got an attempt since, $3 the earliest start of one,
 * $4 organization, $5 what $2 will be if nothing older is pending
 *
 * Attempts carry no number that tells what is new, but rows carry the transaction that wrote them: what the last snapshot did
 * not see is new, exactly, however late it was recorded. A row's xmin is completed to 64 bits from the snapshot's end. The
 * search goes by way of the organizations, because the index begins with them. The limit keeps the planner from reading the
 * whole history for the names of the events. */
static const char follow_sql[] =
    "with state as materialized (select pg_current_snapshot() as now,"
    " pg_snapshot_xmax(pg_current_snapshot())::text::bigint as last)"
    " select state.now::text, least((select q.id from neoapi.webhook_queue q join neoapi.webhook_subscription w"
    " on w.organization_id = q.organization_id and w.id = q.subscription_id and w.is_active order by q.id limit 1), $5),"
    " (now() - interval '10 minutes')::text, (select coalesce(json_agg(l order by l.at, l.delivery_id), '[]') from ("
    " select neoapi.format_timestamp(a.started_at + a.duration_ms * interval '1 millisecond') as at,"
    " coalesce(a.outcome, 'retry') as result, a.http_status, a.error, a.number as attempt, a.duration_ms, d.event_type,"
    " a.delivery_id, a.subscription_id, a.organization_id"
    " from neoapi.organization o cross join lateral (select * from neoapi.webhook_attempt x"
    " where x.organization_id = o.id and x.delivery_id >= $2 and x.started_at >= $3::timestamptz"
    " and not pg_visible_in_snapshot((state.last - ((state.last - x.xmin::text::bigint) & 4294967295))::text::xid8,"
    " $1::pg_snapshot) offset 0) a"
    " left join lateral (select h.event_type from neoapi.webhook_delivery h where h.organization_id = a.organization_id"
    " and h.subscription_id = a.subscription_id and h.id = a.delivery_id limit 1) d on true"
    " where $4::text is null or o.id = $4) l) from state";

const char *neo_admin_follow(neo_pg *pg, neo_follower *follower, apr_pool_t *pool, neo_json **list)
{
    neo_rows rows;
    char recent[NEO_ID_SIZE];
    neo_id_bound(recent, "whd_", neo_now_ms() - SLACK_MS, 0);
    const char *values[] = {follower->snapshot, follower->first, follower->since, follower->organization, recent};
    const char *wrong = exec(pg, follow_sql, 5, values, pool, &rows);
    if (wrong)
        return wrong;
    follower->snapshot = neo_rows_value(&rows, 0, 0);
    follower->first = neo_rows_value(&rows, 0, 1);
    follower->since = neo_rows_value(&rows, 0, 2);
    *list = neo_json_parse(neo_rows_text(&rows, 0, 3), pool, &wrong);
    return wrong;
}

/* ---------------------------------------------------------------- partitions */

const char *neo_admin_make_partitions(neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    return exec(pg, "select neoapi.webhook_maintain_partitions(36500)", 0, NULL, pool, &rows);
}
