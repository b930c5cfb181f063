/* Which deliveries are on their way, and how many of each subscription. */
#ifndef NEO_DELIVERY_FLIGHTS_H
#define NEO_DELIVERY_FLIGHTS_H

#include <apr_tables.h>

#include "core/id.h"
#include "core/receivers.h"
#include "store/outbox.h"

/* A delivery on its way, from its claim to its end. */
typedef struct neo_flight {
    struct neo_flight *next, **link;
    void *of; /* whose flights these are */
    char id[NEO_ID_SIZE], organization[NEO_ID_SIZE], subscription[NEO_ID_SIZE];
    long long claim;
    int number;
    int is_sent;
    int is_failing;           /* the subscription's last attempt before this failed */
    char host[NEO_HOST_SIZE]; /* of the receiver */
} neo_flight;

typedef struct neo_flights {
    neo_flight *first;
    int count;
    apr_array_header_t *lanes; /* how many of each subscription that has any */
    void *of;
} neo_flights;

void neo_flights_init(neo_flights *flights, void *of, int most, apr_pool_t *pool);

/* Adds what was claimed. */
neo_flight *neo_flights_take_off(neo_flights *flights, const neo_due *due, long long claim);

/* Ends it and frees its memory. */
void neo_flights_land(neo_flights *flights, neo_flight *flight);

/* Tells a claim which subscriptions are busy. */
void neo_flights_tell(const neo_flights *flights, neo_wish *wish, apr_pool_t *pool);

#endif
