/* SPDX-License-Identifier: Apache-2.0 */
/* The deliveries in flight, from claim to result, and how many each subscription has and may have.
 *
 * The limit of a subscription adapts to its receiver (additive increase, multiplicative decrease): each success raises it by
 * one, up to the configured maximum. A failure halves it, down to NEO_MIN_PER_SUBSCRIPTION, if more than a quarter of the
 * recent attempts failed. So occasional failures do not slow a backlog down, and a dead receiver soon occupies only few
 * slots. */
#ifndef NEO_WEBHOOKS_IN_FLIGHT_H
#define NEO_WEBHOOKS_IN_FLIGHT_H

#include <apr_tables.h>

#include "core/id.h"
#include "core/receivers.h"
#include "core/trace.h"
#include "webhooks/outbox.h"

typedef struct neo_in_flight_delivery {
    struct neo_in_flight_delivery *next, **link;
    void *owner; /* the courier */
    char id[NEO_ID_SIZE], organization[NEO_ID_SIZE], subscription[NEO_ID_SIZE];
    long long claim;
    int number;
    int is_sent;
    int is_delayed;                            /* until its time comes, because of max_per_second */
    int is_failing;                            /* the subscription's previous attempt failed */
    int records_success;                       /* see neo_due_delivery */
    int frees_next;                            /* see neo_due_delivery */
    int is_waiting;                            /* until the delivery that it follows was recorded */
    const neo_due_delivery *follower;          /* see neo_due_delivery */
    neo_claimed *claimed;                      /* in use by the delivery; NULL if it has no follower and is none */
    struct neo_in_flight_delivery *batch_next; /* the next one in the same request; NULL for the last one */
    int is_follower;                           /* not the first one in its request */
    char host[NEO_HOST_SIZE];                  /* the receiver's */
    char parent[NEO_TRACEPARENT_LEN + 1], trace[NEO_TRACEPARENT_LEN + 1]; /* the request's and the attempt's, or "" */
} neo_in_flight_delivery;

typedef struct neo_in_flight {
    neo_in_flight_delivery *first;
    int count;    /* deliveries */
    int requests; /* with at least one delivery each */
    int per_subscription;
    apr_array_header_t *queues; /* one for each subscription that is paused, has deliveries in flight or a lowered limit */
    void *owner;
} neo_in_flight;

/* Allows at most `max` requests, and `per_subscription` of each subscription. */
void neo_in_flight_init(neo_in_flight *in_flight, void *owner, int max, int per_subscription, apr_pool_t *pool);

/* The initial limit of a subscription, which depends on whether its last attempt failed. */
int neo_in_flight_first_limit(const neo_in_flight *in_flight, int is_failing);

/* Adds a claimed delivery, to the request of `previous` if that is not NULL. */
neo_in_flight_delivery *neo_in_flight_add(neo_in_flight *in_flight, const neo_due_delivery *due, neo_claimed *claimed,
                                          neo_in_flight_delivery *previous);

/* Removes a delivery, frees its memory, and adapts its subscription's limit, once for a request. */
void neo_in_flight_remove(neo_in_flight *in_flight, neo_in_flight_delivery *delivery, int is_success);

/* Removes a delivery that was not sent, and frees its memory. */
void neo_in_flight_drop(neo_in_flight *in_flight, neo_in_flight_delivery *delivery);

/* Pauses claims for the delivery's subscription until neo_steady_ms is `until`; then its limit is the lowest one. */
void neo_in_flight_pause(neo_in_flight *in_flight, const neo_due_delivery *due, neo_ms until);

/* Notes that a delivery which was added waits for its time. The loads do not count such deliveries, up to the limit of their
 * subscription, so that a process whose next claim is late has enough of them. */
void neo_in_flight_delay(neo_in_flight *in_flight, neo_in_flight_delivery *delivery);

/* Whether the limit allows a delayed delivery now that its time has come. If not, the loads count all
 * that wait for ten seconds. */
NEO_MUSTCHECK int neo_in_flight_start(neo_in_flight *in_flight, neo_in_flight_delivery *delivery);

/* Sets the request's loads, one for each queue. */
void neo_in_flight_fill_request(neo_in_flight *in_flight, neo_claim_request *request, apr_pool_t *pool);

/* True if the claim may have left due deliveries because a limit was reached, in total or of one subscription. Deliveries that
 * were in flight before the claim count as well. */
NEO_MUSTCHECK int neo_in_flight_is_at_limit(const neo_in_flight *in_flight, const neo_claim_request *request,
                                            const neo_due_delivery *due, int count);

#endif
