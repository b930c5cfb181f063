/* Counting what waits, up to a limit (see store/backlog.h). */
#include "store/backlog.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/id.h"

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)
#define MAX_COUNTED     TEXT(NEO_BACKLOG_MAX_COUNTED)

/* Subscriptions are found one after the other in the index, with the moment at which their first is due, as the courier finds
 * them (see store/outbox.c); nothing is read of what waits behind that, beyond the limit. */
#define SUBSCRIPTION_QUEUE(where)                                                                                              \
    "select q.subscription_id, q.organization_id, q.due_at from neoapi.webhook_queue q " where                                 \
    " order by q.subscription_id, q.due_at limit 1"

/* clang-format off */
static const char sql[] =
    "with recursive queue (id, organization, due_at, n) as ((select l.*, 1 from (" SUBSCRIPTION_QUEUE("") ") l) union all"
    " select l.*, n + 1 from queue, lateral (" SUBSCRIPTION_QUEUE("where q.subscription_id > queue.id") ") l"
    " where n < " TEXT(NEO_BACKLOG_MAX_SUBSCRIPTIONS) "),"
    " open as (select l.id, l.due_at from queue l join neoapi.webhook_subscription s"
    " on s.organization_id = l.organization and s.id = l.id and s.is_active where l.due_at <= now()),"
    " due as (select from open o, lateral (select from neoapi.webhook_queue q where q.subscription_id = o.id"
    " and q.due_at <= now() limit " MAX_COUNTED ") d limit " MAX_COUNTED "),"
    " pending as (select from neoapi.webhook_queue limit " MAX_COUNTED " + 1)"
    " select (select count(*) from pending),"
    " (select reltuples::bigint from pg_catalog.pg_class where oid = 'neoapi.webhook_queue'::regclass),"
    " (select count(*) from due), (select max(n) from queue),"
    " (select greatest(extract(epoch from now() - min(due_at)) * 1000, 1)::bigint from open having count(*) > 0),"
    " (select min(id) from neoapi.webhook_queue)";
/* clang-format on */

enum { PENDING, ESTIMATE, DUE, SUBSCRIPTIONS, OVERDUE, OLDEST };

static long long number_at(const neo_rows *rows, int column)
{
    const char *text = neo_rows_value(rows, 0, column);
    return text ? atoll(text) : 0;
}

/* The moment that an id carries. */
static neo_ms moment_of(const char *id)
{
    unsigned char bytes[NEO_ID_BYTES];
    neo_ms ms = 0;
    if (!id || !neo_id_is(id, "whd_"))
        return 0;
    neo_id_pack(id, bytes);
    for (int i = 0; i < 6; i++)
        ms = ms << 8 | bytes[i];
    return ms;
}

neo_pg_status neo_backlog_read(neo_pg *pg, apr_pool_t *pool, neo_backlog *backlog)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_query(pg, sql, 0, NULL, pool, &rows);
    memset(backlog, 0, sizeof *backlog);
    if (status != NEO_PG_OK || rows.count == 0)
        return status;
    long long counted = number_at(&rows, PENDING), estimate = number_at(&rows, ESTIMATE);
    backlog->is_estimated = counted > NEO_BACKLOG_MAX_COUNTED;
    backlog->pending = backlog->is_estimated && estimate > counted ? estimate : counted;
    backlog->due = number_at(&rows, DUE);
    backlog->is_more =
        backlog->due == NEO_BACKLOG_MAX_COUNTED || number_at(&rows, SUBSCRIPTIONS) == NEO_BACKLOG_MAX_SUBSCRIPTIONS;
    backlog->overdue = number_at(&rows, OVERDUE);
    backlog->oldest = moment_of(neo_rows_value(&rows, 0, OLDEST));
    return status;
}
