/* SPDX-License-Identifier: Apache-2.0 */
/* The length of the queue, counted up to a limit (see status/backlog.h). */
#include "status/backlog.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/id.h"
#include "sql/event_log.h"
#include "status/backlog.sql.h"
#include "status/deployment.h"

enum { PENDING, ESTIMATE, DUE, SUBSCRIPTIONS, OVERDUE, OLDEST, MESSAGES_STALLED, FAILING, DISABLED };

static long long count_at(const neo_rows *rows, int column)
{
    const char *text = neo_rows_value(rows, 0, column);
    return text ? atoll(text) : 0;
}

/* The time in an id. */
static neo_ms id_time(const char *id)
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

/* If the start of the transaction is not visible to this role, its age is counted from when it was first seen. */
static neo_pg_status read_log(neo_pg *pg, apr_pool_t *pool, const neo_backlog *last, long long elapsed, neo_backlog *backlog)
{
    neo_log_holder holder;
    neo_pg_status status = neo_log_holder_read(pg, pool, &holder);
    backlog->log_holder = holder.transaction;
    if (holder.running >= 0)
        backlog->log_lag = holder.running;
    else if (last->log_holder == holder.transaction)
        backlog->log_lag = last->log_lag + elapsed;
    return status;
}

static neo_pg_status read_backlog(neo_pg *pg, apr_pool_t *pool, const neo_backlog *last, long long elapsed,
                                  neo_backlog *backlog)
{
    neo_rows rows;
    const char *limits[] = {apr_itoa(pool, NEO_BACKLOG_MAX_COUNTED), apr_itoa(pool, NEO_BACKLOG_MAX_SUBSCRIPTIONS)};
    neo_pg_status status = neo_pg_run(pg, NEO_QUERY(backlog_sql, 2), limits, pool, &rows);
    if (status != NEO_PG_OK || rows.count == 0)
        return status;
    long long counted = count_at(&rows, PENDING), estimate = count_at(&rows, ESTIMATE);
    backlog->is_estimated = counted > NEO_BACKLOG_MAX_COUNTED;
    backlog->pending = backlog->is_estimated && estimate > counted ? estimate : counted;
    backlog->due = count_at(&rows, DUE);
    backlog->is_more =
        backlog->due == NEO_BACKLOG_MAX_COUNTED || count_at(&rows, SUBSCRIPTIONS) == NEO_BACKLOG_MAX_SUBSCRIPTIONS;
    backlog->overdue = count_at(&rows, OVERDUE);
    backlog->oldest = id_time(neo_rows_value(&rows, 0, OLDEST));
    backlog->messages_stalled = count_at(&rows, MESSAGES_STALLED);
    backlog->failing = count_at(&rows, FAILING);
    backlog->disabled = count_at(&rows, DISABLED);
    status = neo_jobs_read(pg, pool, backlog->jobs, &backlog->job_count);
    neo_text deployment;
    if (status == NEO_PG_OK)
        status = neo_deployment_read(pg, pool, NEO_BACKLOG_MAX_BYTES, &deployment);
    if (status == NEO_PG_OK && deployment.len < sizeof backlog->deployment)
        memcpy(backlog->deployment, deployment.ptr, deployment.len);
    return status == NEO_PG_OK ? read_log(pg, pool, last, elapsed, backlog) : status;
}

neo_pg_status neo_backlog_read(neo_pg *pg, apr_pool_t *pool, long long elapsed, neo_backlog *backlog)
{
    neo_backlog found = {0};
    neo_pg_status status = read_backlog(pg, pool, backlog, elapsed, &found);
    if (status == NEO_PG_OK)
        *backlog = found;
    return status;
}
