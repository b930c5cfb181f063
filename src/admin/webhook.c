/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, creates and follows deliveries for neoapictl (see admin/webhook.h). */
#include "admin/webhook.h"

#include <apr_strings.h>
#include <stdlib.h>

#include "admin/webhook.sql.h"
#include "exec.h"
#include "schema/operation.h"
#include "webhooks/delivery.h"

#define MAX_ID_AGE_MS 60000 /* how much older a delivery's id may be than the statement that inserts it */

static const char *message_of(neo_pg_status status, const neo_rows *rows)
{
    return status == NEO_PG_OK ? NULL : rows->message;
}

static const char *exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool, neo_rows *rows)
{
    return message_of(neo_pg_exec(pg, sql, params, values, pool, rows), rows);
}

/* ---------------------------------------------------------------- deliveries */

/* One row: the organization, the subscription, whether it is active. */
static const char *find(neo_pg *pg, const char *subscription, apr_pool_t *pool, neo_rows *rows)
{
    const char *values[] = {subscription};
    const char *error =
        exec(pg, "select organization_id, id, is_active from neoapi.webhook_subscription where id = $1", 1, values, pool, rows);
    return error || rows->count ? error : neo_admin_missing(NEO_ADMIN_WEBHOOKS);
}

const char *neo_admin_list_deliveries(neo_pg *pg, const char *subscription, const char *status, const char *limit,
                                      apr_pool_t *pool, neo_json **list)
{
    neo_rows of, rows;
    const char *error = find(pg, subscription, pool, &of);
    if (error)
        return error;
    neo_condition condition = {neo_filter_in(neo_delivery_filters, "status"), &status, 1};
    neo_selection selection = {
        .conditions = &condition, .count = status != NULL, .order = &neo_orders[NEO_NEWEST_FIRST], .limit = atoi(limit)};
    neo_actor actor = {.organization = neo_rows_value(&of, 0, 0)};
    const char *answer = apr_pstrcat(pool, "(", delivery_sql, ")", NULL);
    error = message_of(neo_delivery_list(pg, &actor, subscription, answer, &selection, pool, &rows), &rows);
    *list = neo_json_make_array(pool);
    for (int i = 0; !error && i < rows.count; i++)
        neo_json_append(*list, neo_json_parse(neo_rows_text(&rows, i, 0), pool, &error));
    return error;
}

/* ---------------------------------------------------------------- sending again */

/* Reads the answer of a statement that made deliveries. */
static const char *read_answer(neo_pg_status status, const neo_rows *rows, apr_pool_t *pool, neo_json **answer)
{
    const char *error = message_of(status, rows);
    if (!error && rows->count == 0)
        error = "it has been deleted";
    if (!error)
        *answer = neo_json_parse(neo_rows_text(rows, 0, 0), pool, &error);
    return error;
}

const char *neo_admin_retry(neo_pg *pg, const char *delivery, apr_pool_t *pool, neo_json **answer, int *is_waiting)
{
    neo_rows of;
    const char *values[] = {delivery};
    const char *error = exec(pg, owner_sql, 1, values, pool, &of);
    if (!error && of.count == 0)
        error = "no such delivery; see: neoapictl webhook deliveries";
    if (!error && !neo_rows_value(&of, 0, 1))
        error = "its subscription has been deleted";
    if (error)
        return error;
    neo_rows rows;
    neo_actor actor = {.organization = neo_rows_value(&of, 0, 0)};
    neo_delivery_make_statements(pool);
    *is_waiting = !neo_rows_is_true(&of, 0, 2);
    neo_pg_status status =
        neo_delivery_make(pg, NEO_DELIVERY_RETRY, &actor, NULL, neo_rows_value(&of, 0, 1), delivery, pool, &rows);
    return read_answer(status, &rows, pool, answer);
}

const char *neo_admin_recover(neo_pg *pg, const char *subscription, neo_json *body, apr_pool_t *pool, neo_json **answer,
                              int *is_waiting)
{
    neo_rows of, rows;
    neo_json *position;
    long long recovered = 0;
    const char *error = find(pg, subscription, pool, &of);
    if (error)
        return error;
    neo_actor actor = {.organization = neo_rows_value(&of, 0, 0)};
    neo_delivery_make_statements(pool);
    *is_waiting = !neo_rows_is_true(&of, 0, 2);
    do {
        neo_pg_status status = neo_delivery_recover(pg, &actor, NULL, subscription, body, pool, &rows);
        if ((error = read_answer(status, &rows, pool, answer)))
            return error;
        recovered += neo_json_integer(neo_json_get(*answer, "recovered"));
        position = neo_json_get(*answer, "position");
        if (position)
            neo_json_set(body, "position", position);
    } while (position);
    neo_json_set(*answer, "recovered", neo_json_make_integer(recovered, pool));
    return NULL;
}

/* ---------------------------------------------------------------- following */

const char *neo_admin_follow(neo_pg *pg, neo_follower *follower, apr_pool_t *pool, neo_json **list)
{
    neo_rows rows;
    char recent[NEO_ID_SIZE];
    neo_id_bound(recent, "whd_", neo_now_ms() - MAX_ID_AGE_MS, 0);
    const char *values[] = {follower->snapshot, follower->first, follower->since, follower->organization, recent};
    const char *error = exec(pg, follow_sql, 5, values, pool, &rows);
    if (error)
        return error;
    follower->snapshot = neo_rows_value(&rows, 0, 0);
    follower->first = neo_rows_value(&rows, 0, 1);
    follower->since = neo_rows_value(&rows, 0, 2);
    *list = neo_json_parse(neo_rows_text(&rows, 0, 3), pool, &error);
    return error;
}

/* ---------------------------------------------------------------- partitions, epoch */

const char *neo_admin_make_partitions(neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    return exec(pg, "select neoapi.maintain_partitions(36500, 36500)", 0, NULL, pool, &rows);
}

const char *neo_admin_begin_event_epoch(neo_pg *pg, apr_pool_t *pool, const char **begun_at)
{
    neo_rows rows;
    const char *error = exec(pg, "select neoapi.begin_event_epoch()", 0, NULL, pool, &rows);
    if (!error)
        error = exec(pg, "select neoapi.format_timestamp(begun_at) from neoapi.event_epoch", 0, NULL, pool, &rows);
    if (!error)
        *begun_at = neo_rows_value(&rows, 0, 0);
    return error;
}
