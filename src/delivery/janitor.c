/* SPDX-License-Identifier: Apache-2.0 */
/* Cleanup, deleted subscriptions and expiry, in steps between which deliveries are claimed (see janitor.h). */
#include "janitor.h"

#include "core/clock.h"
#include "store/delivery.h"
#include "store/expiry.h"
#include "store/outbox.h"

#define CLEANUP_INTERVAL_MS  60000
#define EXPIRY_INTERVAL_MS   30000
#define DELETION_INTERVAL_MS 1000
#define RECOVERY_INTERVAL_MS 1000
#define CONTINUE_DELAY_MS    100 /* until the next step of the same work */
#define STEP_DELAY_MS        50  /* likewise, of deletions and recoveries */

void neo_janitor_init(neo_janitor *janitor, const neo_courier_settings *settings, const neo_courier_host *host,
                      apr_pool_t *parent)
{
    *janitor = (neo_janitor){.settings = settings, .host = host};
    apr_pool_create(&janitor->pool, parent);
}

static void cleanup(neo_janitor *janitor, neo_pg *pg)
{
    int more = 0;
    neo_ms begun = neo_now_ms();
    neo_pg_status status =
        neo_outbox_cleanup(pg, janitor->settings->retention, janitor->settings->event_retention, janitor->pool, &more);
    neo_courier_metrics_cleanup(&janitor->settings->metrics, status == NEO_PG_OK, begun);
    if (status == NEO_PG_OK && more)
        janitor->next_cleanup = neo_steady_ms() + CONTINUE_DELAY_MS;
}

static void fail_deleted(neo_janitor *janitor, neo_pg *pg)
{
    int more = 0;
    if (neo_outbox_fail_deleted(pg, janitor->pool, &more) == NEO_PG_OK && more)
        janitor->next_deletion = neo_steady_ms() + STEP_DELAY_MS;
}

static int recover(neo_janitor *janitor, neo_pg *pg)
{
    int count;
    if (neo_delivery_recover_step(pg, janitor->pool, &count) == NEO_PG_OK && count == NEO_RECOVERY_STEP)
        janitor->next_recovery = neo_steady_ms() + STEP_DELAY_MS;
    return count > 0;
}

/* Proposals and contracts that a date ends. */
static int expire(neo_janitor *janitor, neo_pg *pg)
{
    int count = 0;
    if (neo_expiry_run(pg, janitor->pool, &count) == NEO_PG_OK && count >= NEO_EXPIRY_BATCH)
        janitor->next_expiry = neo_steady_ms() + CONTINUE_DELAY_MS;
    return count > 0;
}

static neo_ms cleanup_due(const neo_janitor *janitor, int has_backlog)
{
    return has_backlog ? janitor->next_cleanup + CLEANUP_INTERVAL_MS : janitor->next_cleanup;
}

neo_ms neo_janitor_due(const neo_janitor *janitor, int has_backlog)
{
    return neo_earlier(neo_earlier(janitor->next_expiry, janitor->next_recovery),
                       neo_earlier(janitor->next_deletion, cleanup_due(janitor, has_backlog)));
}

int neo_janitor_run(neo_janitor *janitor, neo_ms now, int has_backlog)
{
    int is_queued = 0;
    neo_pg *pg = janitor->host->acquire(janitor->host->context);
    if (now >= janitor->next_expiry) {
        janitor->next_expiry = now + EXPIRY_INTERVAL_MS;
        is_queued = pg && expire(janitor, pg);
    } else if (now >= janitor->next_recovery) {
        janitor->next_recovery = now + RECOVERY_INTERVAL_MS;
        is_queued = pg && recover(janitor, pg);
    } else if (now >= janitor->next_deletion) {
        janitor->next_deletion = now + DELETION_INTERVAL_MS;
        if (pg)
            fail_deleted(janitor, pg);
    } else if (now >= cleanup_due(janitor, has_backlog)) {
        janitor->next_cleanup = now + CLEANUP_INTERVAL_MS;
        if (pg)
            cleanup(janitor, pg);
    }
    if (pg)
        janitor->host->release(janitor->host->context, pg);
    apr_pool_clear(janitor->pool);
    return is_queued;
}
