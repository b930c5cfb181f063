/* SPDX-License-Identifier: Apache-2.0 */
/* What the courier does between deliveries, in short steps: expiry, deleted and failing subscriptions, and cleanup. */
#ifndef NEO_DELIVERY_JANITOR_H
#define NEO_DELIVERY_JANITOR_H

#include "delivery/courier.h"

#define NEO_JANITOR_JOBS 4

typedef struct neo_janitor {
    const neo_courier_settings *settings;
    const neo_courier_host *host;
    apr_pool_t *pool; /* for one step */
    neo_ms next[NEO_JANITOR_JOBS];
} neo_janitor;

void neo_janitor_init(neo_janitor *janitor, const neo_courier_settings *settings, const neo_courier_host *host,
                      apr_pool_t *parent);

/* When the next step is due (neo_steady_ms). A backlog delays the cleanup, but does not prevent it. */
neo_ms neo_janitor_due(const neo_janitor *janitor, int has_backlog);

/* Runs one step; at least one must be due. Returns whether deliveries may have been queued. */
int neo_janitor_run(neo_janitor *janitor, neo_ms now, int has_backlog);

#endif
