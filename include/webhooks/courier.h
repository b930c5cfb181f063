/* SPDX-License-Identifier: Apache-2.0 */
/* The courier: claims due deliveries, sends them, records the results and reschedules failed attempts.
 *
 * One runs in each process; any number of processes and hosts share the queue. It holds no database connection while it waits
 * for the network. */
#ifndef NEO_WEBHOOKS_COURIER_H
#define NEO_WEBHOOKS_COURIER_H

#include "core/crypto.h"
#include "core/metrics.h"
#include "core/receivers.h"
#include "core/usage.h"
#include "pg/pg.h"
#include "webhooks/outbox.h"
#include "webhooks/span_exporter.h"

#define NEO_MAX_ATTEMPTS 16 /* for one delivery */

/* What a courier counts in; with `counters` NULL, nothing. */
typedef struct neo_courier_metrics {
    neo_metrics *counters;
    neo_receivers *receivers;
    neo_process *process;
    neo_usage *usage; /* NULL: usage is not counted */
} neo_courier_metrics;

typedef struct neo_courier_settings {
    neo_keys keys;                /* that secrets are encrypted with */
    int delays[NEO_MAX_ATTEMPTS]; /* seconds before each attempt */
    int attempts;
    int timeout;          /* seconds for an attempt */
    int concurrency;      /* attempts in flight */
    int per_subscription; /* attempts in flight of one subscription */
    int allows_http;      /* some virtual host of this server accepts http URLs */
    const char *ca_bundle;
    const char *base_url; /* the API's, for thin payloads */
    const neo_guard *guard;
    neo_courier_metrics metrics;
    neo_span_exporter *exporter; /* NULL: no spans are exported */
} neo_courier_settings;

/* Database connections, as in neo_host. */
typedef struct neo_courier_host {
    neo_pg *(*acquire)(void *context);
    void (*release)(void *context, neo_pg *pg);
    /* Counts a delivery of the organization to the receiver's host and returns 0, if the hourly limit allows it. Otherwise
     * returns the time from which it is allowed. */
    neo_ms (*admit)(void *context, const char *organization, const char *receiver, int per_hour);
    void *context;
} neo_courier_host;

typedef struct neo_courier neo_courier;

/* The pool belongs to the courier from now on. Returns NULL, and logs, if libcurl cannot be used. */
neo_courier *neo_courier_make(const neo_courier_settings *settings, const neo_courier_host *host, apr_pool_t *pool);

/* Runs until it is stopped. Then it releases unsent deliveries and waits for the attempts in flight: after a graceful stop for
 * as long as an attempt may take, otherwise up to 5 seconds. */
void neo_courier_run(neo_courier *courier);

/* May be called from any thread: deliveries are due; the host is drained or not; the courier must end. */
void neo_courier_wake(neo_courier *courier);
void neo_courier_set_drained(neo_courier *courier, int is_drained); /* a drained host claims no deliveries */
typedef enum neo_courier_stop_kind { NEO_COURIER_STOP = 1, NEO_COURIER_STOP_GRACEFULLY } neo_courier_stop_kind;
void neo_courier_stop(neo_courier *courier, neo_courier_stop_kind kind); /* only the first call counts */

#endif
