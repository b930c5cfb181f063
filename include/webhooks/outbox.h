/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of deliveries: claims, results and cleanup.
 *
 * A claim leases a delivery; a result is recorded only if its claim is still in force, so that a late result changes nothing.
 * No transaction is open in between. */
#ifndef NEO_WEBHOOKS_OUTBOX_H
#define NEO_WEBHOOKS_OUTBOX_H

#include <apr_tables.h>

#include "core/clock.h"
#include "pg/pg.h"

/* A claimed delivery. The texts belong to the pool of neo_outbox_claimed. */
typedef struct neo_due_delivery {
    const char *id;
    const char *organization;
    const char *subscription;
    int number; /* the attempt's, from 1 */
    const char *event_id;
    const char *event;      /* its type */
    const char *created_at; /* the event's */
    const char *changes;    /* members of the body that the subscription includes: ,"changed":[…],"previous":{…}; or "" */
    neo_text payload;
    const char *url;
    const char *secret;          /* sealed */
    const char *previous_secret; /* sealed; NULL if there is none or it has expired */
    const char *headers;         /* the subscription's own: names and sealed values, as a JSON object; NULL if there are none */
    const char *trace;           /* traceparent of the request that caused the event; NULL if there is none */
    const char *private_key;     /* sealed; NULL if the subscription has no asymmetric signature */
    const char *previous_key;    /* sealed; NULL if there is none or it has expired */
    int is_failing;              /* the subscription's last attempt failed */
    int records_success;         /* a success must be recorded: it changes the health, or the last one is over a minute old */
    int per_hour;                /* limit of the organization's deliveries to a host in an hour; 0 if unlimited */
    int frees_next;              /* another delivery may be claimed when this one has ended */
    int is_ordered;              /* the subscription has `ordering` */
    int is_masked;               /* the subscription has `is_masked` */
    int batch_items;             /* the greatest number of deliveries in a request; 0: each has its own, which is no batch */
    const char *thin_resource;   /* the id of the event's resource, if the subscription has a thin payload; else NULL */
    int max_per_second;          /* 0 if unlimited */
    double delay;                /* milliseconds until it may be sent, because of max_per_second; at most 250 */
    int has_follower;            /* the next one of the resource has the same claim */
    const char *follows;         /* the id of the one that has this one as follower; else NULL */
    struct neo_due_delivery *follower; /* may be sent when this one was recorded; NULL if there is none */
} neo_due_delivery;

/* What a claim returned. It is kept while deliveries of it may still be sent. */
typedef struct neo_claimed {
    apr_pool_t *pool; /* its own */
    int uses;
    long long number; /* of neo_claim_owner_new_claim */
    neo_ms at;        /* neo_steady_ms, before the claim */
} neo_claimed;

/* Has one use. */
neo_claimed *neo_claimed_make(apr_pool_t *parent);

/* Ends a use, and with the last one destroys it. */
void neo_claimed_drop(neo_claimed *claimed);

/* The claim of one of its deliveries. */
NEO_MUSTCHECK long long neo_claimed_number(const neo_claimed *claimed, const neo_due_delivery *due);

/* A claimed delivery that is not sent now, because the plan does not allow it until then. */
typedef struct neo_deferred_delivery {
    const neo_due_delivery *due;
    neo_ms until;
} neo_deferred_delivery;

/* The requests of a subscription that are in flight, and how many may be. */
typedef struct neo_subscription_load {
    const char *subscription;
    int count;
    int limit; /* 0 if it is paused */
} neo_subscription_load;

/* The limit of a failing subscription without a load, and the lowest one of all. */
#define NEO_MIN_PER_SUBSCRIPTION 2

typedef struct neo_claim_request {
    long long claim;      /* a number from neo_claim_owner_new_claim */
    int lease;            /* seconds */
    int max;              /* deliveries */
    int per_subscription; /* the limit of the subscriptions without a load; if they are failing, the lowest one */
    const neo_subscription_load *loads;
    int load_count;
    int parks;          /* also parks deliveries that wait for an earlier one of their resource */
    const char *cursor; /* the subscription after which the claim starts; "" for the first one */
} neo_claim_request;

/* A query whose answer was not received yet; for the rules until then see neo_pg_send. */
typedef struct neo_pending_query {
    const neo_statement *statement;
    const char *const *values;
} neo_pending_query;

/* Claims due deliveries of as many subscriptions as possible. neo_outbox_claimed returns them by subscription, in the order of
 * the claim, with their followers, and adds to `waits` the milliseconds (int) until deliveries that a limit has held back may
 * be claimed. */
neo_pending_query neo_outbox_claim(neo_pg *pg, const neo_claim_request *request, apr_pool_t *pool);
NEO_MUSTCHECK neo_pg_status neo_outbox_claimed(neo_pg *pg, neo_pending_query query, apr_pool_t *pool, neo_due_delivery **due,
                                               int *count, apr_array_header_t *waits);

/* How many of `count` (at least one) claimed deliveries, from the first one on, have the same subscription. */
NEO_MUSTCHECK int neo_outbox_run(const neo_due_delivery *due, int count);

/* In how many requests `count` deliveries of the same subscription are sent. */
NEO_MUSTCHECK int neo_outbox_requests(const neo_due_delivery *due, int count);

/* The result of an attempt. */
typedef struct neo_outcome {
    const char *id, *organization, *subscription;
    long long claim;
    int number;
    neo_ms started;
    int duration;        /* milliseconds */
    int http_status;     /* 0 if there was no response */
    const char *error;   /* NULL if there was a response */
    const char *excerpt; /* the beginning of the response, well-formed UTF-8; NULL if there is none */
    const char *end; /* "success" or "failed"; NULL: another attempt follows; "released": was not sent, and is due at once */
    double delay;    /* seconds until that attempt */
    int frees_next;  /* as in neo_due_delivery */
} neo_outcome;

/* How a subscription's receiver behaves. */
typedef enum neo_health {
    NEO_HEALTH_OK,      /* an attempt succeeded */
    NEO_HEALTH_FAILING, /* an attempt failed; after five days without a success the subscription becomes inactive */
    NEO_HEALTH_GONE,    /* the receiver answered 410: the subscription becomes inactive */
} neo_health;

typedef struct neo_health_change {
    const char *organization, *subscription;
    neo_health health;
    int pause; /* seconds for which the receiver asked to wait; 0 if it did not */
} neo_health_change;

/* Records attempts, removes deliveries that have ended from the queue and reschedules the others. Also records `changes`, at
 * most one for each subscription, except of subscriptions that are locked. neo_outbox_completed returns a row for each recorded
 * change: the subscription, and the reason if it was made inactive. Further rows have, in the third column, the position (from
 * 1) of an outcome whose follower may be sent. */
neo_pending_query neo_outbox_complete(neo_pg *pg, const neo_outcome *outcomes, int count, const neo_health_change *changes,
                                      int change_count, apr_pool_t *pool);
NEO_MUSTCHECK neo_pg_status neo_outbox_completed(neo_pg *pg, neo_pending_query query, apr_pool_t *pool, neo_rows *rows);

/* Releases claimed deliveries that were not sent: they are due at once. Only their id, claim and subscription are used. */
NEO_MUSTCHECK neo_pg_status neo_outbox_release(neo_pg *pg, const neo_outcome *outcomes, int count, apr_pool_t *pool);

/* Releases deliveries of the claim that the plan does not allow yet: they are due in `seconds`, and their subscriptions show
 * limited_until. */
NEO_MUSTCHECK neo_pg_status neo_outbox_defer(neo_pg *pg, long long claim, const neo_deferred_delivery *deferred, int count,
                                             int seconds, apr_pool_t *pool);

/* Fails some of the pending deliveries of a deleted subscription. *more: there may be further ones. */
NEO_MUSTCHECK neo_pg_status neo_outbox_fail_deleted(neo_pg *pg, apr_pool_t *pool, int *more);

/* Adds the event webhook.failing of at most NEO_OUTBOX_ANNOUNCED subscriptions that have failed for ten minutes, and sets
 * *count to their number. */
#define NEO_OUTBOX_ANNOUNCED 100
NEO_MUSTCHECK neo_pg_status neo_outbox_announce_failing(neo_pg *pg, apr_pool_t *pool, int *count);

/* Makes parked deliveries due if no earlier one of their resource is queued, and sets *count to their number. */
NEO_MUSTCHECK neo_pg_status neo_outbox_wake_parked(neo_pg *pg, apr_pool_t *pool, int *count);

/* Creates the next days' partitions, drops deliveries older than `days` and events older than `event_days`, and deletes expired
 * idempotency keys and queued deliveries of dropped days, a limited number at a time. *more: there may be further rows. If
 * another process is doing it, nothing is done. */
NEO_MUSTCHECK neo_pg_status neo_outbox_cleanup(neo_pg *pg, int days, int event_days, apr_pool_t *pool, int *more);

#endif
