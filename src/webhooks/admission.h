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
    neo_webhook_request *outgoing;
    neo_deferred_delivery *deferred; /* not yet allowed by the plan */
    neo_outcome *released;           /* due again at once */
    int outgoing_count, deferred_count, released_count;
} neo_admission;

/* Adds those that are sent to `in_flight`. A subscription with deferred deliveries is paused until neo_steady_ms is
 * `pause_until`, so that its queue does not delay the claims of others. */
void neo_admit(neo_admission *admission, const neo_courier_host *host, neo_in_flight *in_flight, long long claim,
               const neo_due_delivery *due, int count, neo_ms pause_until, apr_pool_t *pool);

#endif
