/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what couriers do (see webhooks/courier_metrics.h). */
#include "webhooks/courier_metrics.h"

#define US_PER_MS 1000

void neo_courier_metrics_begin(const neo_courier_metrics *metrics, int concurrency)
{
    if (!metrics->counters)
        return;
    __atomic_fetch_add(&metrics->process->concurrency, concurrency, __ATOMIC_RELAXED);
}

void neo_courier_metrics_in_flight(const neo_courier_metrics *metrics, int change)
{
    if (metrics->counters)
        __atomic_fetch_add(&metrics->process->in_flight, change, __ATOMIC_RELAXED);
}

void neo_courier_metrics_attempt(const neo_courier_metrics *metrics, const char *host, const neo_send_result *result,
                                 int is_last)
{
    if (!metrics->counters)
        return;
    neo_counter outcome = neo_attempt_counter(result->error, result->http_status);
    long long duration = (long long)result->duration * US_PER_MS, now = neo_now_ms() * US_PER_MS;
    int is_success = outcome == NEO_COUNT_ATTEMPT_OK;
    neo_metrics_attempt(metrics->counters, outcome, is_success || is_last, duration, now);
    (void)neo_receivers_attempt(metrics->receivers, host, is_success, duration, now);
}
