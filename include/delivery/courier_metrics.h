/* The metrics of couriers, for the status page. */
#ifndef NEO_DELIVERY_COURIER_METRICS_H
#define NEO_DELIVERY_COURIER_METRICS_H

#include "core/metrics.h"
#include "core/receivers.h"
#include "delivery/sender.h"

/* Where it is counted; all of it, or with `counters` NULL nowhere. */
typedef struct neo_courier_metrics {
    neo_metrics *counters;
    neo_receivers *receivers;
    neo_process *process;
} neo_courier_metrics;

/* A courier with room for so many attempts works in this process. */
void neo_courier_metrics_begin(const neo_courier_metrics *metrics, int concurrency);

/* So many attempts more are under way; fewer where it is negative. */
void neo_courier_metrics_in_flight(const neo_courier_metrics *metrics, int change);

/* An attempt at a receiver (see neo_receivers_host) has ended; with `is_last` no other follows if it failed. */
void neo_courier_metrics_attempt(const neo_courier_metrics *metrics, const char *host, const neo_sent *sent, int is_last);

/* The queue's housekeeping has ended, which began at that moment. */
void neo_courier_metrics_cleanup(const neo_courier_metrics *metrics, int is_done, neo_ms begun);

#endif
