/* The queue of deliveries, as the courier works on it, and what it leaves behind.
 *
 * A claim makes a delivery its claimant's for the time of a lease; results are taken only from the claim that is in force, so
 * that one that comes too late changes nothing. No transaction is held in between. */
#ifndef NEO_STORE_OUTBOX_H
#define NEO_STORE_OUTBOX_H

#include "core/clock.h"
#include "store/pg.h"

/* What is to be sent. The texts belong to the pool it was claimed with. */
typedef struct neo_due_delivery {
    const char *id;
    const char *organization;
    const char *subscription;
    int number; /* of the attempt, from 1 */
    const char *event;
    const char *created_at;
    neo_text payload;
    const char *url;
    const char *secret;          /* sealed */
    const char *previous_secret; /* sealed; NULL where it is no longer used */
    int is_failing;              /* the subscription's last attempt failed */
} neo_due_delivery;

/* What has been claimed and not completed yet, by subscription. */
typedef struct neo_subscription_load {
    const char *subscription;
    int count;
    int is_failing;
} neo_subscription_load;

typedef struct neo_claim_request {
    long long claim;      /* a number that no other claim has */
    int lease;            /* seconds */
    int max;              /* deliveries */
    int per_subscription; /* at most so many in flight, what is busy included; one that fails gets two */
    const neo_subscription_load *loads;
    int load_count;
    const char *cursor; /* subscriptions are taken in their order, from the one after this; "" for the first */
} neo_claim_request;

void neo_outbox_make_statements(apr_pool_t *pool);

/* What was sent to the database and will be answered: see neo_pg_send for what holds until the answer is received. */
typedef struct neo_pending_query {
    const neo_statement *statement;
    const char *const *values;
} neo_pending_query;

/* Claims what is due, of as many subscriptions as possible; then what was claimed, subscription by subscription, in the order
 * in which they were looked at. */
neo_pending_query neo_outbox_claim(neo_pg *pg, const neo_claim_request *request, apr_pool_t *pool);
NEO_MUSTCHECK neo_pg_status neo_outbox_claimed(neo_pg *pg, neo_pending_query query, apr_pool_t *pool, neo_due_delivery **due,
                                               int *count);

/* How an attempt went. */
typedef struct neo_outcome {
    const char *id, *organization, *subscription;
    long long claim;
    int number;
    neo_ms started;
    int duration;        /* milliseconds */
    int http_status;     /* 0: none came */
    const char *error;   /* NULL: a status came */
    const char *excerpt; /* of the response, well-formed UTF-8; NULL for none */
    const char *end;     /* "success" or "failed"; NULL: another attempt follows */
    double delay;        /* seconds until it */
} neo_outcome;

/* Records attempts, removes from the queue what has ended and puts back what has not; then what came of that. */
neo_pending_query neo_outbox_complete(neo_pg *pg, const neo_outcome *outcomes, int count, apr_pool_t *pool);
NEO_MUSTCHECK neo_pg_status neo_outbox_completed(neo_pg *pg, neo_pending_query query, apr_pool_t *pool);

/* Gives claimed deliveries back unsent: they are due at once. Of `outcomes` only id and claim matter. */
NEO_MUSTCHECK neo_pg_status neo_outbox_release(neo_pg *pg, const neo_outcome *outcomes, int count, apr_pool_t *pool);

/* What the courier learnt of a subscription. */
typedef enum neo_health {
    NEO_HEALTH_OK,      /* an attempt succeeded after one had failed */
    NEO_HEALTH_FAILING, /* an attempt failed; after five days without a success the subscription becomes inactive */
    NEO_HEALTH_GONE,    /* the receiver answered 410: the subscription becomes inactive */
} neo_health;

/* One row if the subscription was made inactive: the reason. */
NEO_MUSTCHECK neo_pg_status neo_outbox_record_health(neo_pg *pg, const char *organization, const char *subscription,
                                                     neo_health health, apr_pool_t *pool, neo_rows *rows);

/* Makes the coming days' partitions, drops history older than `days`, and removes idempotency keys that are over, a step of
 * them at a time. *more: there are further ones. One process at a time; the others do nothing. */
NEO_MUSTCHECK neo_pg_status neo_outbox_cleanup(neo_pg *pg, int days, apr_pool_t *pool, int *more);

#endif
