/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of deliveries: claims, results and cleanup (see webhooks/outbox.h). */
#include "webhooks/outbox.h"

#include <apr_strings.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "pg/pg.h"
#include "webhooks/claim_owner.h"
#include "webhooks/outbox.sql.h"

enum {
    ID,
    ORGANIZATION,
    SUBSCRIPTION,
    NUMBER,
    EVENT_ID,
    EVENT,
    CREATED_AT,
    PAYLOAD,
    URL,
    SECRET,
    PREVIOUS,
    FAILING,
    RECORDS_SUCCESS,
    PER_HOUR,
    CHANGES,
    HEADERS,
    FREES_NEXT,
    IS_ORDERED,
    HAS_FOLLOWER,
    FOLLOWS,
    ITEMS,
    MAX_PER_SECOND,
    FIRST_IN,
    PRIVATE_KEY,
    PREVIOUS_KEY,
    TRACE,
    IS_MASKED,
    THIN_RESOURCE,
    WAIT
};

enum { DEFERRED_COLUMNS = 4 };

#define DELETION_STEP  500 /* deliveries */
#define PACE_MARGIN_MS 125 /* half of what a claim takes ahead of max_per_second */

/* ---------------------------------------------------------------- claiming */

neo_claimed *neo_claimed_make(apr_pool_t *parent)
{
    apr_pool_t *pool;
    apr_pool_create(&pool, parent);
    neo_claimed *claimed = apr_palloc(pool, sizeof *claimed);
    *claimed = (neo_claimed){pool, 1, neo_claim_owner_new_claim(), neo_steady_ms()};
    return claimed;
}

void neo_claimed_drop(neo_claimed *claimed)
{
    if (--claimed->uses == 0)
        apr_pool_destroy(claimed->pool);
}

long long neo_claimed_number(const neo_claimed *claimed, const neo_due_delivery *due)
{
    return claimed->number + due->has_follower;
}

enum { LOAD_SUBSCRIPTIONS, LOAD_COUNTS, LOAD_LIMITS, LOAD_COLUMNS };

static void read_due(const neo_rows *rows, int row, neo_due_delivery *due)
{
    const char *items = neo_rows_value(rows, row, ITEMS), *per_second = neo_rows_value(rows, row, MAX_PER_SECOND);
    *due = (neo_due_delivery){
        .id = neo_rows_value(rows, row, ID),
        .organization = neo_rows_value(rows, row, ORGANIZATION),
        .subscription = neo_rows_value(rows, row, SUBSCRIPTION),
        .number = atoi(neo_rows_value(rows, row, NUMBER)),
        .event_id = neo_rows_value(rows, row, EVENT_ID),
        .event = neo_rows_value(rows, row, EVENT),
        .created_at = neo_rows_value(rows, row, CREATED_AT),
        .payload = neo_rows_text(rows, row, PAYLOAD),
        .url = neo_rows_value(rows, row, URL),
        .secret = neo_rows_value(rows, row, SECRET),
        .previous_secret = neo_rows_value(rows, row, PREVIOUS),
        .is_failing = neo_rows_is_true(rows, row, FAILING),
        .records_success = neo_rows_is_true(rows, row, RECORDS_SUCCESS),
        .per_hour = atoi(neo_rows_value(rows, row, PER_HOUR)),
        .changes = neo_rows_value(rows, row, CHANGES),
        .private_key = neo_rows_value(rows, row, PRIVATE_KEY),
        .previous_key = neo_rows_value(rows, row, PREVIOUS_KEY),
        .trace = neo_rows_value(rows, row, TRACE),
        .frees_next = neo_rows_is_true(rows, row, FREES_NEXT),
        .headers = neo_rows_value(rows, row, HEADERS),
        .is_ordered = neo_rows_is_true(rows, row, IS_ORDERED),
        .has_follower = neo_rows_is_true(rows, row, HAS_FOLLOWER),
        .follows = neo_rows_value(rows, row, FOLLOWS),
        .is_masked = neo_rows_is_true(rows, row, IS_MASKED),
        .batch_items = items ? atoi(items) : 0,
        .max_per_second = per_second ? atoi(per_second) : 0,
        .delay = per_second ? strtod(neo_rows_value(rows, row, FIRST_IN), NULL) : 0,
        .thin_resource = neo_rows_value(rows, row, THIN_RESOURCE),
    };
}

int neo_outbox_run(const neo_due_delivery *due, int count)
{
    int run = 1;
    while (run < count && strcmp(due[run].subscription, due[0].subscription) == 0)
        run++;
    return run;
}

int neo_outbox_requests(const neo_due_delivery *due, int count)
{
    return due->batch_items ? (count + due->batch_items - 1) / due->batch_items : count;
}

/* Spreads `count` deliveries of a subscription with max_per_second, and adds when its next one may be claimed. */
static void set_delays(neo_due_delivery *due, int count, apr_array_header_t *waits)
{
    if (!due->max_per_second)
        return;
    double interval = 1000.0 / due->max_per_second, first = due->delay;
    for (int i = 0; i < count; i++)
        due[i].delay = first + (neo_outbox_requests(due, i + 1) - 1) * interval;
    APR_ARRAY_PUSH(waits, int) = (int)(first + neo_outbox_requests(due, count) * interval) - PACE_MARGIN_MS;
}

/* Sends a query; `values` must stay until its answer is received. */
static neo_pending_query send_query(neo_pg *pg, const neo_statement *statement, const char *const *values)
{
    neo_pg_send(pg, statement, values);
    return (neo_pending_query){statement, values};
}

neo_pending_query neo_outbox_claim(neo_pg *pg, const neo_claim_request *request, apr_pool_t *pool)
{
    neo_buf number, loads[LOAD_COLUMNS];
    neo_buf_init(&number, pool, 32);
    for (int i = 0; i < LOAD_COLUMNS; i++)
        neo_buf_init(&loads[i], pool, 64);
    neo_buf_printf(&number, "%lld", request->claim);
    for (int i = 0; i < request->load_count; i++) {
        const neo_subscription_load *load = &request->loads[i];
        neo_array_add_plain(&loads[LOAD_SUBSCRIPTIONS], load->subscription);
        neo_array_add_number(&loads[LOAD_COUNTS], load->count);
        /* The limit is not less than the count, because no number of free slots may be negative. */
        neo_array_add_number(&loads[LOAD_LIMITS], load->limit > load->count ? load->limit : load->count);
    }
    const claim_values values = {.claim = number.ptr,
                                 .lease = apr_itoa(pool, request->lease),
                                 .max = apr_itoa(pool, request->max),
                                 .per_subscription = apr_itoa(pool, request->per_subscription),
                                 .cursor = request->cursor,
                                 .parks = request->parks ? "t" : "f",
                                 .subscriptions = neo_array_end(&loads[LOAD_SUBSCRIPTIONS]),
                                 .counts = neo_array_end(&loads[LOAD_COUNTS]),
                                 .limits = neo_array_end(&loads[LOAD_LIMITS])};
    return send_query(pg, &claim_sql, apr_pmemdup(pool, &values, sizeof values));
}

/* Followers come after what they follow, unless the latter has no event any more; then their lease expires. */
static void read_claimed(const neo_rows *rows, apr_pool_t *pool, neo_due_delivery *due, int *count, apr_array_header_t *waits)
{
    neo_due_delivery *last = NULL;
    for (int row = 0; row < rows->count; row++) {
        const char *wait = neo_rows_value(rows, row, WAIT), *follows = neo_rows_value(rows, row, FOLLOWS);
        if (wait)
            APR_ARRAY_PUSH(waits, int) = atoi(wait);
        else if (!follows)
            read_due(rows, row, last = &due[(*count)++]);
        else if (last && strcmp(last->id, follows) == 0) {
            last->follower = apr_palloc(pool, sizeof *last);
            read_due(rows, row, last = last->follower);
        }
    }
}

neo_pg_status neo_outbox_claimed(neo_pg *pg, neo_pending_query query, apr_pool_t *pool, neo_due_delivery **due, int *count,
                                 apr_array_header_t *waits)
{
    neo_rows rows;
    *count = 0;
    neo_pg_status status = neo_pg_receive(pg, query.statement, query.values, pool, &rows);
    if (status != NEO_PG_OK)
        return status;
    *due = apr_palloc(pool, (apr_size_t)(rows.count + 1) * sizeof **due);
    read_claimed(&rows, pool, *due, count, waits);
    for (int at = 0, run; at < *count; at += run) {
        run = neo_outbox_run(*due + at, *count - at);
        set_delays(*due + at, run, waits);
    }
    return status;
}

/* ---------------------------------------------------------------- completing */

enum { COLUMNS = sizeof(complete_values) / sizeof(char *) };

/* The array of a parameter of `complete`. */
#define COLUMN(name) (&columns[offsetof(complete_values, name) / sizeof(char *)])

static void add_outcome(neo_buf columns[COLUMNS], const neo_outcome *o)
{
    char started[NEO_MS_TEXT_SIZE], status[12], delay[24];
    neo_ms_format(started, o->started);
    apr_snprintf(status, sizeof status, "%d", o->http_status);
    apr_snprintf(delay, sizeof delay, "%.3f", o->delay);
    neo_array_add(COLUMN(ids), o->id);
    neo_array_add_number(COLUMN(claims), o->claim);
    neo_array_add(COLUMN(subscriptions), o->subscription);
    neo_array_add(COLUMN(organizations), o->organization);
    neo_array_add_number(COLUMN(numbers), o->number);
    neo_array_add(COLUMN(starts), started);
    neo_array_add_number(COLUMN(durations), o->duration);
    neo_array_add(COLUMN(statuses), o->http_status ? status : NULL);
    neo_array_add(COLUMN(errors), o->error);
    neo_array_add(COLUMN(excerpts), o->excerpt);
    neo_array_add(COLUMN(outcomes), o->end);
    neo_array_add_plain(COLUMN(delays), delay);
}

neo_pending_query neo_outbox_complete(neo_pg *pg, const neo_outcome *outcomes, int count, const neo_health_change *changes,
                                      int change_count, apr_pool_t *pool)
{
    static const char *const names[] = {[NEO_HEALTH_OK] = "ok", [NEO_HEALTH_FAILING] = "failing", [NEO_HEALTH_GONE] = "gone"};
    neo_buf columns[COLUMNS];
    const char **values = apr_palloc(pool, sizeof(complete_values));
    for (int i = 0; i < COLUMNS; i++)
        neo_buf_init(&columns[i], pool, (apr_size_t)count * 32 + 2);
    for (int i = 0; i < count; i++)
        add_outcome(columns, &outcomes[i]);
    for (int i = 0; i < change_count; i++) {
        neo_array_add_plain(COLUMN(health_organizations), changes[i].organization);
        neo_array_add_plain(COLUMN(health_subscriptions), changes[i].subscription);
        neo_array_add_plain(COLUMN(health), names[changes[i].health]);
        neo_array_add_number(COLUMN(pauses), changes[i].pause);
    }
    for (int i = 0; i < COLUMNS; i++)
        values[i] = neo_array_end(&columns[i]);
    return send_query(pg, &complete_sql, values);
}

neo_pg_status neo_outbox_completed(neo_pg *pg, neo_pending_query query, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_receive(pg, query.statement, query.values, pool, rows);
}

neo_pg_status neo_outbox_release(neo_pg *pg, const neo_outcome *outcomes, int count, apr_pool_t *pool)
{
    neo_rows rows;
    neo_buf ids, claims, subscriptions;
    neo_buf_init(&ids, pool, (apr_size_t)count * 32 + 2);
    neo_buf_init(&claims, pool, (apr_size_t)count * 32 + 2);
    neo_buf_init(&subscriptions, pool, (apr_size_t)count * 32 + 2);
    for (int i = 0; i < count; i++) {
        neo_array_add(&ids, outcomes[i].id);
        neo_array_add_number(&claims, outcomes[i].claim);
        neo_array_add(&subscriptions, outcomes[i].subscription);
    }
    return neo_pg_run(pg,
                      NEO_BIND(release, .ids = neo_array_end(&ids), .claims = neo_array_end(&claims),
                               .subscriptions = neo_array_end(&subscriptions)),
                      pool, &rows);
}

neo_pg_status neo_outbox_defer(neo_pg *pg, long long claimed, const neo_deferred_delivery *deferred, int count, int seconds,
                               apr_pool_t *pool)
{
    neo_rows rows;
    neo_buf arrays[DEFERRED_COLUMNS];
    char until[NEO_MS_TEXT_SIZE];
    for (int i = 0; i < DEFERRED_COLUMNS; i++)
        neo_buf_init(&arrays[i], pool, (apr_size_t)count * 32 + 2);
    for (int i = 0; i < count; i++) {
        neo_ms_format(until, deferred[i].until);
        neo_array_add_plain(&arrays[0], deferred[i].due->id);
        neo_array_add_plain(&arrays[1], deferred[i].due->organization);
        neo_array_add_plain(&arrays[2], deferred[i].due->subscription);
        neo_array_add(&arrays[3], until);
    }
    return neo_pg_run(pg,
                      NEO_BIND(defer, .claim = apr_ltoa(pool, (long)claimed), .seconds = apr_itoa(pool, seconds),
                               .ids = neo_array_end(&arrays[0]), .organizations = neo_array_end(&arrays[1]),
                               .subscriptions = neo_array_end(&arrays[2]), .until = neo_array_end(&arrays[3])),
                      pool, &rows);
}

neo_pg_status neo_outbox_fail_deleted(neo_pg *pg, apr_pool_t *pool, int *more)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run(pg, NEO_BIND(fail_deleted, APR_STRINGIFY(DELETION_STEP)), pool, &rows);
    *more = status == NEO_PG_OK && rows.count && atoi(neo_rows_value(&rows, 0, 0)) == DELETION_STEP;
    return status;
}

neo_pg_status neo_outbox_announce_failing(neo_pg *pg, apr_pool_t *pool, int *count)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run(pg, NEO_BIND(announce_failing, APR_STRINGIFY(NEO_OUTBOX_ANNOUNCED)), pool, &rows);
    *count = status == NEO_PG_OK && rows.count ? atoi(neo_rows_value(&rows, 0, 0)) : 0;
    return status;
}

neo_pg_status neo_outbox_wake_parked(neo_pg *pg, apr_pool_t *pool, int *count)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run(pg, &wake_parked_sql, NULL, pool, &rows);
    *count = status == NEO_PG_OK && rows.count ? atoi(neo_rows_value(&rows, 0, 0)) : 0;
    return status;
}

neo_pg_status neo_outbox_cleanup(neo_pg *pg, int days, int event_days, apr_pool_t *pool, int *more)
{
    neo_rows rows;
    const char *kept = apr_itoa(pool, days);
    *more = 0;
    neo_pg_status status = neo_pg_run(pg, NEO_BIND(partitions, kept, apr_itoa(pool, event_days)), pool, &rows);
    if (status == NEO_PG_OK)
        status = neo_pg_run(pg, NEO_BIND(cleanup, kept), pool, &rows);
    if (status == NEO_PG_OK && rows.count)
        *more = neo_rows_is_true(&rows, 0, 0);
    return status;
}
