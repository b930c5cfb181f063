/* What became of attempts, gathered until it is recorded. */
#ifndef NEO_DELIVERY_RESULTS_H
#define NEO_DELIVERY_RESULTS_H

#include "delivery/sender.h"
#include "delivery/timers.h"
#include "in_flight.h"
#include "store/outbox.h"

/* A group of outcomes. Its memory is its own pool's, which is cleared when they are recorded. */
typedef struct neo_results {
    apr_pool_t *pool;
    apr_array_header_t *outcomes;       /* of neo_outcome */
    apr_array_header_t *health_changes; /* what was learnt of subscriptions */
    neo_ms first;                       /* when the first of them came, by neo_steady_ms */
} neo_results;

void neo_results_init(neo_results *results, apr_pool_t *parent, int max);
void neo_results_clear(neo_results *results, int max);

/* Adds how an attempt went; `delays` and `count` are the schedule. */
void neo_results_add(neo_results *results, const neo_in_flight_delivery *delivery, const neo_sent *sent, const int *delays,
                     int count);

/* Adds one that was not made. */
neo_outcome *neo_results_add_unsent(neo_results *results, const neo_in_flight_delivery *delivery);

/* When what was put back is due again, from now. */
void neo_results_set_timers(const neo_results *results, neo_timers *timers);

/* Records what was learnt of subscriptions. */
void neo_results_record_health(const neo_results *results, neo_pg *pg);

#endif
