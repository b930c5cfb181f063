/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the deliveries in flight in a list and counts them per subscription (see webhooks/in_flight.h). */
#include "webhooks/in_flight.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#define MAX_IDLE 64 /* subscriptions whose lowered limit is kept while nothing of theirs is in flight */
#define WEIGHT   8  /* each result counts for an eighth of the failure rate, as in TCP's average of round-trip times */
#define SLOW_MS  10000

typedef struct {
    char subscription[NEO_ID_SIZE];
    int requests, limit;
    int delayed;         /* requests, until their time comes */
    neo_ms slow_until;   /* the receiver was too slow for the delayed requests; 0 if it was not */
    double failure_rate; /* that of the recent attempts */
    neo_ms paused_until; /* 0 if it is not paused */
} subscription_queue;

void neo_in_flight_init(neo_in_flight *in_flight, void *owner, int max, int per_subscription, apr_pool_t *pool)
{
    *in_flight = (neo_in_flight){
        .queues = apr_array_make(pool, max + MAX_IDLE, sizeof(subscription_queue)),
        .per_subscription = per_subscription,
        .owner = owner,
    };
}

int neo_in_flight_first_limit(const neo_in_flight *in_flight, int is_failing)
{
    return is_failing && in_flight->per_subscription > NEO_MIN_PER_SUBSCRIPTION ? NEO_MIN_PER_SUBSCRIPTION
                                                                                : in_flight->per_subscription;
}

static subscription_queue *find_queue(const neo_in_flight *in_flight, const char *subscription)
{
    for (int i = 0; i < in_flight->queues->nelts; i++)
        if (strcmp(APR_ARRAY_IDX(in_flight->queues, i, subscription_queue).subscription, subscription) == 0)
            return &APR_ARRAY_IDX(in_flight->queues, i, subscription_queue);
    return NULL;
}

static void drop(neo_in_flight *in_flight, subscription_queue *q)
{
    *q = APR_ARRAY_IDX(in_flight->queues, --in_flight->queues->nelts, subscription_queue);
}

static subscription_queue *find_or_add(neo_in_flight *in_flight, const neo_due_delivery *due)
{
    subscription_queue *q = find_queue(in_flight, due->subscription);
    if (q)
        return q;
    q = &APR_ARRAY_PUSH(in_flight->queues, subscription_queue);
    *q = (subscription_queue){.limit = neo_in_flight_first_limit(in_flight, due->is_failing)};
    apr_cpystrn(q->subscription, due->subscription, sizeof q->subscription);
    return q;
}

static void adapt(neo_in_flight *in_flight, subscription_queue *q, int is_success)
{
    q->failure_rate += ((is_success ? 0 : 1) - q->failure_rate) / WEIGHT;
    if (is_success && q->limit < in_flight->per_subscription)
        q->limit++;
    else if (!is_success && q->failure_rate > 0.25 && q->limit > NEO_MIN_PER_SUBSCRIPTION)
        q->limit = q->limit / 2 > NEO_MIN_PER_SUBSCRIPTION ? q->limit / 2 : NEO_MIN_PER_SUBSCRIPTION;
}

/* Keeps the lowered limit of an idle subscription, at the expense of another one's if there are many. */
static void keep_or_drop(neo_in_flight *in_flight, subscription_queue *idle)
{
    int others = 0;
    subscription_queue *queues = (subscription_queue *)(void *)in_flight->queues->elts, *other = NULL;
    if (idle->paused_until)
        return;
    if (idle->limit >= in_flight->per_subscription) {
        drop(in_flight, idle);
        return;
    }
    for (int i = 0; i < in_flight->queues->nelts; i++)
        if (queues[i].requests == 0 && !queues[i].paused_until && &queues[i] != idle) {
            other = &queues[i];
            others++;
        }
    if (others >= MAX_IDLE)
        drop(in_flight, other);
}

neo_in_flight_delivery *neo_in_flight_add(neo_in_flight *in_flight, const neo_due_delivery *due, neo_claimed *claimed,
                                          neo_in_flight_delivery *previous)
{
    neo_in_flight_delivery *d = calloc(1, sizeof *d);
    if (!d)
        abort();
    d->owner = in_flight->owner;
    d->claim = neo_claimed_number(claimed, due);
    d->number = due->number;
    d->is_failing = due->is_failing;
    d->records_success = due->records_success;
    d->frees_next = due->frees_next;
    neo_receivers_host(due->url, d->host);
    if (due->trace) {
        apr_cpystrn(d->parent, due->trace, sizeof d->parent);
        neo_trace_child(d->parent, d->trace);
    }
    apr_cpystrn(d->id, due->id, sizeof d->id);
    apr_cpystrn(d->organization, due->organization, sizeof d->organization);
    apr_cpystrn(d->subscription, due->subscription, sizeof d->subscription);
    d->follower = due->follower;
    if (due->follower || due->follows) {
        d->claimed = claimed;
        claimed->uses++;
    }
    d->link = &in_flight->first;
    d->next = in_flight->first;
    if (d->next)
        d->next->link = &d->next;
    in_flight->first = d;
    in_flight->count++;
    if (previous) {
        previous->batch_next = d;
        d->is_follower = 1;
    } else {
        find_or_add(in_flight, due)->requests++;
        in_flight->requests++;
    }
    return d;
}

void neo_in_flight_remove(neo_in_flight *in_flight, neo_in_flight_delivery *delivery, int is_success)
{
    if (!delivery->is_follower)
        adapt(in_flight, find_queue(in_flight, delivery->subscription), is_success);
    neo_in_flight_drop(in_flight, delivery);
}

void neo_in_flight_drop(neo_in_flight *in_flight, neo_in_flight_delivery *delivery)
{
    if (!delivery->is_follower) {
        subscription_queue *q = find_queue(in_flight, delivery->subscription);
        q->delayed -= delivery->is_delayed;
        if (--q->requests == 0)
            keep_or_drop(in_flight, q);
        in_flight->requests--;
    }
    *delivery->link = delivery->next;
    if (delivery->next)
        delivery->next->link = delivery->link;
    in_flight->count--;
    if (delivery->claimed)
        neo_claimed_drop(delivery->claimed);
    free(delivery);
}

void neo_in_flight_pause(neo_in_flight *in_flight, const neo_due_delivery *due, neo_ms until)
{
    subscription_queue *q = find_or_add(in_flight, due);
    q->paused_until = until;
    if (q->limit > NEO_MIN_PER_SUBSCRIPTION)
        q->limit = NEO_MIN_PER_SUBSCRIPTION;
}

static void end_pauses(neo_in_flight *in_flight)
{
    neo_ms now = neo_steady_ms();
    for (int i = in_flight->queues->nelts - 1; i >= 0; i--) {
        subscription_queue *q = &APR_ARRAY_IDX(in_flight->queues, i, subscription_queue);
        if (q->paused_until == 0 || q->paused_until > now)
            continue;
        q->paused_until = 0;
        if (q->requests == 0)
            keep_or_drop(in_flight, q);
    }
}

void neo_in_flight_delay(neo_in_flight *in_flight, neo_in_flight_delivery *delivery)
{
    find_queue(in_flight, delivery->subscription)->delayed++;
    delivery->is_delayed = 1;
}

int neo_in_flight_start(neo_in_flight *in_flight, neo_in_flight_delivery *delivery)
{
    subscription_queue *q = find_queue(in_flight, delivery->subscription);
    if (q->requests - q->delayed >= q->limit) {
        q->slow_until = neo_steady_ms() + SLOW_MS;
        return 0;
    }
    q->delayed--;
    delivery->is_delayed = 0;
    return 1;
}

/* Those that count for the limit. */
static int count_requests(const subscription_queue *q)
{
    int uncounted = q->delayed < q->limit ? q->delayed : q->limit;
    return neo_steady_ms() < q->slow_until ? q->requests : q->requests - uncounted;
}

void neo_in_flight_fill_request(neo_in_flight *in_flight, neo_claim_request *request, apr_pool_t *pool)
{
    end_pauses(in_flight);
    neo_subscription_load *loads = apr_palloc(pool, (apr_size_t)(in_flight->queues->nelts + 1) * sizeof *loads);
    for (int i = 0; i < in_flight->queues->nelts; i++) {
        const subscription_queue *q = &APR_ARRAY_IDX(in_flight->queues, i, subscription_queue);
        loads[i] =
            (neo_subscription_load){apr_pstrdup(pool, q->subscription), count_requests(q), q->paused_until ? 0 : q->limit};
    }
    request->loads = loads;
    request->load_count = in_flight->queues->nelts;
}

/* The state of a delivery's subscription at the time of the claim. */
static neo_subscription_load find_load(const neo_in_flight *in_flight, const neo_claim_request *request,
                                       const neo_due_delivery *due)
{
    for (int i = 0; i < request->load_count; i++)
        if (strcmp(request->loads[i].subscription, due->subscription) == 0)
            return request->loads[i];
    return (neo_subscription_load){.limit = neo_in_flight_first_limit(in_flight, due->is_failing)};
}

int neo_in_flight_is_at_limit(const neo_in_flight *in_flight, const neo_claim_request *request, const neo_due_delivery *due,
                              int count)
{
    if (count == request->max)
        return 1;
    for (int i = 0; i < request->load_count; i++)
        if (request->loads[i].limit && request->loads[i].count >= request->loads[i].limit)
            return 1;
    for (int at = 0, run; at < count; at += run) {
        neo_subscription_load load = find_load(in_flight, request, &due[at]);
        run = neo_outbox_run(&due[at], count - at);
        if (neo_outbox_requests(&due[at], run) + load.count >= load.limit)
            return 1;
    }
    return 0;
}
