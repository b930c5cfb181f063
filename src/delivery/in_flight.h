/* The deliveries in flight, from claim to result, and their number per subscription. */
#ifndef NEO_DELIVERY_IN_FLIGHT_H
#define NEO_DELIVERY_IN_FLIGHT_H

#include <apr_tables.h>

#include "core/id.h"
#include "core/receivers.h"
#include "store/outbox.h"

typedef struct neo_in_flight_delivery {
    struct neo_in_flight_delivery *next, **link;
    void *owner; /* the courier */
    char id[NEO_ID_SIZE], organization[NEO_ID_SIZE], subscription[NEO_ID_SIZE];
    long long claim;
    int number;
    int is_sent;
    int is_failing;           /* the subscription's previous attempt failed */
    char host[NEO_HOST_SIZE]; /* the receiver's */
} neo_in_flight_delivery;

typedef struct neo_in_flight {
    neo_in_flight_delivery *first;
    int count;
    apr_array_header_t *queues; /* one for each subscription with deliveries in flight */
    void *owner;
} neo_in_flight;

void neo_in_flight_init(neo_in_flight *in_flight, void *owner, int max, apr_pool_t *pool);

/* Adds a claimed delivery. */
neo_in_flight_delivery *neo_in_flight_add(neo_in_flight *in_flight, const neo_due_delivery *due, long long claim);

/* Removes a delivery and frees its memory. */
void neo_in_flight_remove(neo_in_flight *in_flight, neo_in_flight_delivery *delivery);

/* Sets the request's loads: the number of deliveries in flight per subscription. */
void neo_in_flight_fill_request(const neo_in_flight *in_flight, neo_claim_request *request, apr_pool_t *pool);

#endif
