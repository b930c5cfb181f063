/* SPDX-License-Identifier: Apache-2.0 */
/* Divides claimed deliveries into requests, and decides which are sent now. */
#ifndef NEO_WEBHOOKS_ADMISSION_H
#define NEO_WEBHOOKS_ADMISSION_H

#include "webhooks/courier.h"
#include "webhooks/in_flight.h"

/* A request that is not sent yet. */
typedef struct neo_webhook_request {
    const neo_due_delivery *due; /* `count` deliveries of one subscription; without `batch` there is one */
    int count;
    neo_in_flight_delivery *delivery; /* the first one */
} neo_webhook_request;

typedef struct neo_admission {
    apr_array_header_t *deferred; /* of neo_deferred_delivery: not yet allowed by the plan, and their followers */
    apr_array_header_t *released; /* of neo_outcome: due again at once */
} neo_admission;

/* Returns 0 if the plan's hourly limit allows the delivery now, and counts it; otherwise the time from which it is allowed. */
NEO_MUSTCHECK neo_ms neo_deferred_until(const neo_courier_host *host, const neo_due_delivery *due);

/* Adds those that are sent to `in_flight`, and their requests to `outgoing`. A subscription with deferred deliveries is paused
 * until neo_steady_ms is `pause_until`, so that its queue does not delay the claims of others. */
void neo_admit(neo_admission *admission, const neo_courier_host *host, neo_in_flight *in_flight, neo_claimed *claimed,
               const neo_due_delivery *due, int count, neo_ms pause_until, apr_array_header_t *outgoing);

#endif
