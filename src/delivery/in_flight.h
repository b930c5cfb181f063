/* The deliveries in flight, and their number per subscription. */
#ifndef NEO_DELIVERY_IN_FLIGHT_H
#define NEO_DELIVERY_IN_FLIGHT_H

#include <apr_tables.h>

#include "core/id.h"
#include "core/receivers.h"
#include "store/outbox.h"

/* A delivery on its way, from its claim to its end. */
typedef struct neo_in_flight_delivery {
    struct neo_in_flight_delivery *next, **link;
    void *owner; /* whose flights these are */
    char id[NEO_ID_SIZE], organization[NEO_ID_SIZE], subscription[NEO_ID_SIZE];
    long long claim;
    int number;
    int is_sent;
    int is_failing;           /* the subscription's last attempt before this failed */
    char host[NEO_HOST_SIZE]; /* of the receiver */
} neo_in_flight_delivery;

typedef struct neo_in_flight {
    neo_in_flight_delivery *first;
    int count;
    apr_array_header_t *queues; /* how many of each subscription that has any */
    void *owner;
} neo_in_flight;

void neo_in_flight_init(neo_in_flight *in_flight, void *owner, int max, apr_pool_t *pool);

/* Adds what was claimed. */
neo_in_flight_delivery *neo_in_flight_add(neo_in_flight *in_flight, const neo_due_delivery *due, long long claim);

/* Ends it and frees its memory. */
void neo_in_flight_remove(neo_in_flight *in_flight, neo_in_flight_delivery *delivery);

/* Tells a claim which subscriptions are busy. */
void neo_in_flight_fill_request(const neo_in_flight *in_flight, neo_claim_request *request, apr_pool_t *pool);

#endif
