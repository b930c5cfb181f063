/* Claiming, completing and tidying (see store/outbox.h). */
#include "store/outbox.h"

#include <apr_strings.h>
#include <stdlib.h>

#include "store/array.h"

#define CLEANUP_ROWS "1000" /* rows that tidying removes at a time */

/* Each subscription with anything in the queue is a lane. They are found one after the other in the index, each with the moment
 * at which its first is due, so that what it costs depends on how many there are, not on how much waits in them. */
#define SUBSCRIPTION_QUEUE(cursor, to)                                                                                         \
    "(select q.subscription_id, q.organization_id, q.due_at from neoapi.webhook_queue q where q.subscription_id > " cursor to  \
    " order by q.subscription_id, q.due_at limit 1)"
#define SUBSCRIPTION_QUEUES(name, cursor, to)                                                                                  \
    name " (id, organization, due_at) as (" SUBSCRIPTION_QUEUE(                                                                \
        cursor, to) " union all"                                                                                               \
                    " select n.* from " name ", lateral " SUBSCRIPTION_QUEUE(name ".id", to) " n)"

/* First those after the place where the last claim ended, then from the beginning up to it, until there is enough. */
#define ALL_SUBSCRIPTION_QUEUES                                                                                                \
    SUBSCRIPTION_QUEUES("later", "$5", "") ", " SUBSCRIPTION_QUEUES("earlier", "''", " and q.subscription_id <= $5")

/* The subscription of a lane and how many of its deliveries may be taken, if it is active. */
#define FREE_SLOTS                                                                                                             \
    "select s.id, s.url, s.secret, case when s.previous_secret_until > now() then s.previous_secret end as previous,"          \
    " s.failing_since is not null as failing, case when s.failing_since is null then $4::int else least($4::int, 2) end"       \
    " - coalesce((select b.n from unnest($6::text[], $7::int[]) as b (id, n) where b.id = queue.id), 0) as free_slots"         \
    " from neoapi.webhook_subscription s"                                                                                      \
    " where s.organization_id = queue.organization and s.id = queue.id and s.is_active limit 1"

#define DUE                                                                                                                    \
    "select q.ctid as at from neoapi.webhook_queue q where q.subscription_id = o.id and q.due_at <= now()"                     \
    " order by q.due_at limit o.free_slots for update of q skip locked"

/* The rows are locked by now, so they stay where they are. */
#define LEASE                                                                                                                  \
    "update neoapi.webhook_queue q set due_at = now() + make_interval(secs => $2::int), claim = $1::bigint from due"           \
    " where q.ctid = due.at returning q.id, q.organization_id, q.subscription_id, q.number, due.url, due.secret, "             \
    "due.previous,"                                                                                                            \
    " due.failing"

/* The limit keeps the join in this order, whatever the planner thinks of: a look into the history for each delivery. */
#define HISTORY                                                                                                                \
    "(select d.event_type, neoapi.format_timestamp(d.created_at) as created_at, d.payload from neoapi.webhook_delivery d"      \
    " where d.organization_id = t.organization_id and d.subscription_id = t.subscription_id and d.id = t.id limit 1)"

/* A claim that a crash of the database undoes is as if it had not been made: nothing waits until it is on disk. */
#define ASYNC_COMMIT "async_commit as materialized (select set_config('synchronous_commit', 'off', true) as off)"

/* $1 claim, $2 lease, $3 most, $4 per subscription, $5 after, $6 busy subscriptions, $7 their counts */
static const char claim_sql[] =
    "with recursive " ALL_SUBSCRIPTION_QUEUES ", " ASYNC_COMMIT
    ", due as materialized (select d.at, o.url, o.secret, o.previous, o.failing"
    " from (select * from later union all select * from earlier) queue, lateral (" FREE_SLOTS ") o, lateral (" DUE ") d"
    " where queue.due_at <= now() and o.free_slots > 0 and (select off from async_commit) is not null limit $3::int), taken as "
    "(" LEASE ")"
    " select t.id, t.organization_id, t.subscription_id, t.number, h.event_type, h.created_at, h.payload, t.url, t.secret,"
    " t.previous, t.failing from taken t, lateral " HISTORY " h"
    " order by t.subscription_id <= $5, t.subscription_id, t.id";

enum { ID, ORGANIZATION, SUBSCRIPTION, NUMBER, EVENT, CREATED_AT, PAYLOAD, URL, SECRET, PREVIOUS, FAILING };

/* The rows are locked in the order of their ids before anything is done to them: whoever else takes several rows of the queue
 * and waits for them does it in that order as well, or nearly so (see sql/0004_webhooks.sql), so that no two wait for each
 * other. In which order a `delete` comes to them is the planner's choice. */
#define LOCKED                                                                                                                 \
    "claimed as materialized (select from neoapi.webhook_queue q join done o on q.id = o.id and q.claim = o.claim"             \
    " order by q.id for update of q), locked as materialized (select count(*) > 0 as any_claimed from claimed), "
#define IS_CLAIMED "(select any_claimed from locked) and q.id = o.id and q.claim = o.claim"

/* The outcomes, an array for each column (see add_outcome). Only what the claim in force still covers is taken. */
static const char complete_sql[] =
    "with done as materialized (select o.id collate \"C\" as id, claim, organization, subscription, number, started, duration,"
    " http_status, error, excerpt, outcome, delay from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::int[],"
    " $6::timestamptz[], $7::int[], $8::int[], $9::text[], $10::text[], $11::text[], $12::float8[]) as o (id, claim,"
    " organization, subscription, number, started, duration, http_status, error, excerpt, outcome, delay)), " LOCKED
    "ended as (delete from neoapi.webhook_queue q using done o where o.outcome is not null and " IS_CLAIMED
    " returning q.id, o.claim),"
    " retried as (update neoapi.webhook_queue q set number = o.number + 1, claim = null,"
    " due_at = now() + make_interval(secs => o.delay) from done o where o.outcome is null and " IS_CLAIMED
    " returning q.id, o.claim)"
    " insert into neoapi.webhook_attempt (organization_id, delivery_id, subscription_id, number, started_at, duration_ms,"
    " http_status, error, response_excerpt, outcome)"
    " select o.organization, o.id, o.subscription, o.number, o.started, o.duration, o.http_status, o.error, o.excerpt, "
    "o.outcome"
    " from done o where (o.id, o.claim) in (select id, claim from ended union all select id, claim from retried)";

static const char release_sql[] =
    "with done as materialized (select o.id collate \"C\" as id, o.claim from unnest($1::text[], $2::bigint[]) as o (id, "
    "claim)),"
    " " LOCKED "released as (update neoapi.webhook_queue q set due_at = now(), claim = null from done o where " IS_CLAIMED ")"
    " select null where false";

/* $1 organization, $2 subscription. Rows are answered only by what makes a subscription inactive. */
#define THIS_SUBSCRIPTION " where organization_id = $1 and id = $2"
#define DEACTIVATE        "update neoapi.webhook_subscription set is_active = false, updated_at = now(), disabled_reason = "
static const char ok_sql[] = "with ok as (update neoapi.webhook_subscription set failing_since = null" THIS_SUBSCRIPTION
                             " and failing_since is not null)"
                             " select null where false";
static const char failing_sql[] =
    "with failing as (update neoapi.webhook_subscription set failing_since = now()" THIS_SUBSCRIPTION
    " and failing_since is null)"
    ", ended as (" DEACTIVATE "'every attempt has failed for five days'" THIS_SUBSCRIPTION
    " and is_active and failing_since < now() - interval '5 days' returning disabled_reason) select * from ended";
static const char gone_sql[] =
    DEACTIVATE "'the receiver answered 410 Gone'" THIS_SUBSCRIPTION " and is_active returning disabled_reason";

/* $1 days. Whoever has the lock tidies; it ends with the statement. */
static const char cleanup_sql[] =
    "with lock as materialized (select pg_try_advisory_xact_lock(hashtext('neoapi.tidy')) as acquired),"
    " keys as (delete from neoapi.idempotency_key where (select acquired from lock) and ctid = any (array("
    " select ctid from neoapi.idempotency_key where expires_at <= now() limit " CLEANUP_ROWS ")) returning 1),"
    " orphans as (delete from neoapi.webhook_queue where (select acquired from lock)"
    " and id < neoapi.webhook_min_id(current_date - $1::int) returning 1)"
    " select (select count(*) from keys) = " CLEANUP_ROWS " from lock";
static const char partitions_sql[] = "select neoapi.webhook_maintain_partitions($1::int)";

enum { COLUMNS = 12, RELEASE_COLUMNS = 2 }; /* of outcomes; of those that are given back: the first two */

static neo_statement *claim, *complete, *release, *set_health[3], *cleanup, *partitions;

void neo_outbox_make_statements(apr_pool_t *pool)
{
    claim = neo_statement_make(pool, claim_sql, 7, 1);
    complete = neo_statement_make(pool, complete_sql, COLUMNS, 1);
    release = neo_statement_make(pool, release_sql, RELEASE_COLUMNS, 1);
    set_health[NEO_HEALTH_OK] = neo_statement_make(pool, ok_sql, 2, 1);
    set_health[NEO_HEALTH_FAILING] = neo_statement_make(pool, failing_sql, 2, 1);
    set_health[NEO_HEALTH_GONE] = neo_statement_make(pool, gone_sql, 2, 1);
    cleanup = neo_statement_make(pool, cleanup_sql, 1, 1);
    partitions = neo_statement_make(pool, partitions_sql, 1, 1);
}

/* ---------------------------------------------------------------- claiming */

static void add_loads(const neo_claim_request *request, neo_buf *subscriptions, neo_buf *counts)
{
    for (int i = 0; i < request->load_count; i++) {
        neo_array_add_plain(subscriptions, request->loads[i].subscription);
        neo_array_add_number(counts, request->loads[i].count);
    }
    neo_array_end(subscriptions);
    neo_array_end(counts);
}

static void read_due(const neo_rows *rows, int row, neo_due_delivery *due)
{
    *due = (neo_due_delivery){
        .id = neo_rows_value(rows, row, ID),
        .organization = neo_rows_value(rows, row, ORGANIZATION),
        .subscription = neo_rows_value(rows, row, SUBSCRIPTION),
        .number = atoi(neo_rows_value(rows, row, NUMBER)),
        .event = neo_rows_value(rows, row, EVENT),
        .created_at = neo_rows_value(rows, row, CREATED_AT),
        .payload = neo_rows_text(rows, row, PAYLOAD),
        .url = neo_rows_value(rows, row, URL),
        .secret = neo_rows_value(rows, row, SECRET),
        .previous_secret = neo_rows_value(rows, row, PREVIOUS),
        .is_failing = neo_rows_is_true(rows, row, FAILING),
    };
}

/* Sends it; `values` belong to the pool. */
static neo_pending_query send_query(neo_pg *pg, const neo_statement *statement, const char *const *values)
{
    neo_pg_send(pg, statement, values);
    return (neo_pending_query){statement, values};
}

neo_pending_query neo_outbox_claim(neo_pg *pg, const neo_claim_request *request, apr_pool_t *pool)
{
    neo_buf number, subscriptions, counts;
    neo_buf_init(&number, pool, 32);
    neo_buf_init(&subscriptions, pool, 64);
    neo_buf_init(&counts, pool, 64);
    neo_buf_printf(&number, "%lld", request->claim);
    add_loads(request, &subscriptions, &counts);
    const char *values[] = {number.ptr,
                            apr_itoa(pool, request->lease),
                            apr_itoa(pool, request->max),
                            apr_itoa(pool, request->per_subscription),
                            request->cursor,
                            subscriptions.ptr,
                            counts.ptr};
    return send_query(pg, claim, apr_pmemdup(pool, values, sizeof values));
}

neo_pg_status neo_outbox_claimed(neo_pg *pg, neo_pending_query query, apr_pool_t *pool, neo_due_delivery **due, int *count)
{
    neo_rows rows;
    *count = 0;
    neo_pg_status status = neo_pg_receive(pg, query.statement, query.values, pool, &rows);
    if (status != NEO_PG_OK)
        return status;
    *due = apr_palloc(pool, (apr_size_t)(rows.count + 1) * sizeof **due);
    for (*count = 0; *count < rows.count; ++*count)
        read_due(&rows, *count, &(*due)[*count]);
    return status;
}

/* ---------------------------------------------------------------- completing */

static void add_outcome(neo_buf *array, const neo_outcome *o)
{
    char started[NEO_MS_TEXT_SIZE], status[12], delay[24];
    neo_ms_format(started, o->started);
    apr_snprintf(status, sizeof status, "%d", o->http_status);
    apr_snprintf(delay, sizeof delay, "%.3f", o->delay);
    neo_array_add(array++, o->id);
    neo_array_add_number(array++, o->claim);
    neo_array_add(array++, o->organization);
    neo_array_add(array++, o->subscription);
    neo_array_add_number(array++, o->number);
    neo_array_add(array++, started);
    neo_array_add_number(array++, o->duration);
    neo_array_add(array++, o->http_status ? status : NULL);
    neo_array_add(array++, o->error);
    neo_array_add(array++, o->excerpt);
    neo_array_add(array++, o->end);
    neo_array_add_plain(array, delay);
}

/* The outcomes as arrays, one for each column. */
static const char *const *columns_of(const neo_outcome *outcomes, int count, apr_pool_t *pool)
{
    neo_buf arrays[COLUMNS];
    const char **values = apr_palloc(pool, COLUMNS * sizeof *values);
    for (int i = 0; i < COLUMNS; i++)
        neo_buf_init(&arrays[i], pool, (apr_size_t)count * 32 + 2);
    for (int i = 0; i < count; i++)
        add_outcome(arrays, &outcomes[i]);
    for (int i = 0; i < COLUMNS; i++)
        values[i] = neo_array_end(&arrays[i]);
    return values;
}

neo_pending_query neo_outbox_complete(neo_pg *pg, const neo_outcome *outcomes, int count, apr_pool_t *pool)
{
    return send_query(pg, complete, columns_of(outcomes, count, pool));
}

neo_pg_status neo_outbox_completed(neo_pg *pg, neo_pending_query query, apr_pool_t *pool)
{
    neo_rows rows;
    return neo_pg_receive(pg, query.statement, query.values, pool, &rows);
}

neo_pg_status neo_outbox_release(neo_pg *pg, const neo_outcome *outcomes, int count, apr_pool_t *pool)
{
    neo_rows rows;
    return neo_pg_run(pg, release, columns_of(outcomes, count, pool), pool, &rows);
}

neo_pg_status neo_outbox_record_health(neo_pg *pg, const char *organization, const char *subscription, neo_health health,
                                       apr_pool_t *pool, neo_rows *rows)
{
    const char *values[] = {organization, subscription};
    return neo_pg_run(pg, set_health[health], values, pool, rows);
}

neo_pg_status neo_outbox_cleanup(neo_pg *pg, int days, apr_pool_t *pool, int *more)
{
    neo_rows rows;
    const char *values[] = {apr_itoa(pool, days)};
    *more = 0;
    neo_pg_status status = neo_pg_run(pg, partitions, values, pool, &rows);
    if (status == NEO_PG_OK)
        status = neo_pg_run(pg, cleanup, values, pool, &rows);
    if (status == NEO_PG_OK && rows.count)
        *more = neo_rows_is_true(&rows, 0, 0);
    return status;
}
