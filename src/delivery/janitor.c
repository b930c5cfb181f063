/* SPDX-License-Identifier: Apache-2.0 */
/* Expiry, deleted and failing subscriptions, and cleanup, in steps between which deliveries are claimed (see janitor.h). */
#include "janitor.h"

#include "core/clock.h"
#include "store/expiry.h"
#include "store/outbox.h"

void neo_janitor_init(neo_janitor *janitor, const neo_courier_settings *settings, const neo_courier_host *host,
                      apr_pool_t *parent)
{
    *janitor = (neo_janitor){.settings = settings, .host = host};
    apr_pool_create(&janitor->pool, parent);
}

/* ---------------------------------------------------------------- steps: return whether there is more to do */

/* Proposals and contracts that a date ends. */
static int expire(neo_janitor *janitor, neo_pg *pg, int *is_queued)
{
    int count = 0;
    neo_pg_status status = neo_expiry_run(pg, janitor->pool, &count);
    *is_queued = count > 0;
    return status == NEO_PG_OK && count >= NEO_EXPIRY_BATCH;
}

static int announce_failing(neo_janitor *janitor, neo_pg *pg, int *is_queued)
{
    int count = 0;
    neo_pg_status status = neo_outbox_announce_failing(pg, janitor->pool, &count);
    *is_queued = count > 0;
    return status == NEO_PG_OK && count >= 100;
}

static int fail_deleted(neo_janitor *janitor, neo_pg *pg, int *is_queued)
{
    int more = 0;
    (void)is_queued;
    return neo_outbox_fail_deleted(pg, janitor->pool, &more) == NEO_PG_OK && more;
}

static int cleanup(neo_janitor *janitor, neo_pg *pg, int *is_queued)
{
    int more = 0;
    neo_ms begun = neo_now_ms();
    neo_pg_status status =
        neo_outbox_cleanup(pg, janitor->settings->retention, janitor->settings->event_retention, janitor->pool, &more);
    (void)is_queued;
    neo_courier_metrics_cleanup(&janitor->settings->metrics, status == NEO_PG_OK, begun);
    return status == NEO_PG_OK && more;
}

/* ---------------------------------------------------------------- schedule */

/* In the order of their priority; times in milliseconds. */
static const struct {
    neo_ms interval, step_delay; /* between runs, and between the steps of one run */
    neo_ms backlog_delay;        /* added while deliveries wait to be claimed */
    int (*step)(neo_janitor *janitor, neo_pg *pg, int *is_queued);
} jobs[NEO_JANITOR_JOBS] = {
    {30000, 100, 0, expire},
    {1000, 50, 0, fail_deleted},
    {5000, 50, 0, announce_failing},
    {60000, 100, 60000, cleanup},
};

static neo_ms due(const neo_janitor *janitor, int job, int has_backlog)
{
    return janitor->next[job] + (has_backlog ? jobs[job].backlog_delay : 0);
}

neo_ms neo_janitor_due(const neo_janitor *janitor, int has_backlog)
{
    neo_ms first = due(janitor, 0, has_backlog);
    for (int job = 1; job < NEO_JANITOR_JOBS; job++)
        first = neo_earlier(first, due(janitor, job, has_backlog));
    return first;
}

int neo_janitor_run(neo_janitor *janitor, neo_ms now, int has_backlog)
{
    int job = 0, is_queued = 0;
    while (job < NEO_JANITOR_JOBS - 1 && now < due(janitor, job, has_backlog))
        job++;
    janitor->next[job] = now + jobs[job].interval;
    neo_pg *pg = janitor->host->acquire(janitor->host->context);
    if (pg && jobs[job].step(janitor, pg, &is_queued))
        janitor->next[job] = neo_steady_ms() + jobs[job].step_delay;
    if (pg)
        janitor->host->release(janitor->host->context, pg);
    apr_pool_clear(janitor->pool);
    return is_queued;
}
