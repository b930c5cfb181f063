/* The courier: claims deliveries that are due, sends them, records what became of them, and puts back what has to be tried
 * again. One runs in each process; any number of processes and hosts share the queue. It holds no connection to the database
 * while the network is awaited. */
#ifndef NEO_DELIVERY_COURIER_H
#define NEO_DELIVERY_COURIER_H

#include "core/crypto.h"
#include "delivery/courier_metrics.h"
#include "delivery/sender.h"
#include "store/pg.h"

#define NEO_MAX_ATTEMPTS 16 /* at most, for one delivery */

typedef struct neo_courier_settings {
    neo_keys keys;                /* secrets are sealed with them */
    int delays[NEO_MAX_ATTEMPTS]; /* seconds before each attempt; the first is 0 */
    int attempts;
    int timeout;          /* seconds for an attempt */
    int concurrency;      /* attempts at a time */
    int per_subscription; /* of one subscription at a time */
    int retention;        /* days that history is kept */
    int allows_http;      /* some virtual host of this server accepts http URLs */
    const char *ca_bundle;
    const neo_guard *guard;
    neo_courier_metrics metrics; /* where what it does is counted */
} neo_courier_settings;

/* Who lends connections, as neo_host's. */
typedef struct neo_courier_host {
    neo_pg *(*acquire)(void *context);
    void (*release)(void *context, neo_pg *pg);
    void *context;
} neo_courier_host;

typedef struct neo_courier neo_courier;

/* Once in a process, before the first courier runs. */
void neo_courier_make_statements(apr_pool_t *pool);

/* `pool` is the courier's alone from now on. NULL where it cannot work; then that has been logged. */
neo_courier *neo_courier_make(const neo_courier_settings *settings, const neo_courier_host *host, apr_pool_t *pool);

/* Works until it is told to stop; then what is on its way has three seconds to arrive, and the rest is given back. */
void neo_courier_run(neo_courier *courier);

/* From any thread: something is due; it is time to end. */
void neo_courier_wake(neo_courier *courier);
void neo_courier_stop(neo_courier *courier);

#endif
