/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of couriers. */
#ifndef NEO_WEBHOOKS_COURIER_METRICS_H
#define NEO_WEBHOOKS_COURIER_METRICS_H

#include "core/metrics.h"
#include "core/receivers.h"
#include "webhooks/sender.h"

/* With `counters` NULL nothing is counted. */
typedef struct neo_courier_metrics {
    neo_metrics *counters;
    neo_receivers *receivers;
    neo_process *process;
} neo_courier_metrics;

/* A courier starts in this process. */
void neo_courier_metrics_begin(const neo_courier_metrics *metrics, int concurrency);

/* Adds `change`, which may be negative, to the attempts in flight. */
void neo_courier_metrics_in_flight(const neo_courier_metrics *metrics, int change);

/* Counts an attempt at a receiver (see neo_receivers_host). With `is_last`, no other attempt follows if it failed. */
void neo_courier_metrics_attempt(const neo_courier_metrics *metrics, const char *host, const neo_send_result *result,
                                 int is_last);

#endif
