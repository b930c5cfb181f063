/* SPDX-License-Identifier: Apache-2.0 */
/* Results of attempts, collected until they are recorded in one statement, and the times at which retries are due. */
#ifndef NEO_WEBHOOKS_RESULTS_H
#define NEO_WEBHOOKS_RESULTS_H

#include "webhooks/in_flight.h"
#include "webhooks/outbox.h"
#include "webhooks/sender.h"

/* A delivery that waits for the record of the one that it follows. */
typedef struct neo_follower {
    int position; /* of that one's outcome */
    const neo_due_delivery *due;
    neo_in_flight_delivery *delivery;
} neo_follower;

typedef struct neo_results {
    apr_pool_t *pool;                   /* its own; cleared when the results are recorded */
    apr_array_header_t *outcomes;       /* elements: neo_outcome */
    apr_array_header_t *health_changes; /* elements: neo_health_change */
    apr_array_header_t *followers;      /* elements: neo_follower, in the order of their positions */
    neo_ms first;                       /* neo_steady_ms of the first result */
} neo_results;

void neo_results_init(neo_results *results, apr_pool_t *parent, int max);
void neo_results_clear(neo_results *results, int max);

/* Adds the result of an attempt; `delays` and `count` are the retry schedule. Returns true if a follower of the delivery may be
 * sent when it was recorded; otherwise its followers are released. */
NEO_MUSTCHECK int neo_results_add(neo_results *results, const neo_in_flight_delivery *delivery, const neo_send_result *result,
                                  const int *delays, int count);

/* Adds a delivery that was not sent, and its followers. */
void neo_results_add_unsent(neo_results *results, const neo_in_flight_delivery *delivery);

/* Timers: the times at which deliveries are due, in a heap. If it is full, further times are dropped, because the courier polls
 * the queue anyway. */
#define NEO_MAX_TIMERS 4096

typedef struct neo_timers {
    int count;
    neo_ms at[NEO_MAX_TIMERS]; /* the first is the earliest */
} neo_timers;

/* Times are neo_steady_ms. */
void neo_timers_add(neo_timers *timers, neo_ms at);

/* Removes the times up to `now`. */
void neo_timers_expire(neo_timers *timers, neo_ms now);

/* Sets timers for the deliveries that are retried, and for those that others wait for. Call it when the results were just
 * recorded. */
void neo_results_set_timers(const neo_results *results, neo_timers *timers);

/* Logs the subscriptions that were deactivated; `rows` are those of neo_outbox_completed. */
void neo_results_log_deactivated(const neo_rows *rows);

#endif
