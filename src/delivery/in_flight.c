/* Keeps the deliveries in flight in a list and counts them per subscription (see in_flight.h). */
#include "in_flight.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char subscription[NEO_ID_SIZE];
    int count, is_failing;
} subscription_queue;

void neo_in_flight_init(neo_in_flight *in_flight, void *owner, int max, apr_pool_t *pool)
{
    *in_flight = (neo_in_flight){.queues = apr_array_make(pool, max + 1, sizeof(subscription_queue)), .owner = owner};
}

static subscription_queue *queue_of(neo_in_flight *in_flight, const char *subscription)
{
    for (int i = 0; i < in_flight->queues->nelts; i++)
        if (strcmp(APR_ARRAY_IDX(in_flight->queues, i, subscription_queue).subscription, subscription) == 0)
            return &APR_ARRAY_IDX(in_flight->queues, i, subscription_queue);
    subscription_queue *made = &APR_ARRAY_PUSH(in_flight->queues, subscription_queue);
    apr_cpystrn(made->subscription, subscription, sizeof made->subscription);
    made->count = 0;
    return made;
}

neo_in_flight_delivery *neo_in_flight_add(neo_in_flight *in_flight, const neo_due_delivery *due, long long claim)
{
    neo_in_flight_delivery *d = calloc(1, sizeof *d);
    if (!d)
        abort();
    d->owner = in_flight->owner;
    d->claim = claim;
    d->number = due->number;
    d->is_failing = due->is_failing;
    neo_receivers_host(due->url, d->host);
    apr_cpystrn(d->id, due->id, sizeof d->id);
    apr_cpystrn(d->organization, due->organization, sizeof d->organization);
    apr_cpystrn(d->subscription, due->subscription, sizeof d->subscription);
    d->link = &in_flight->first;
    d->next = in_flight->first;
    if (d->next)
        d->next->link = &d->next;
    in_flight->first = d;
    in_flight->count++;
    subscription_queue *q = queue_of(in_flight, d->subscription);
    q->count++;
    q->is_failing = due->is_failing;
    return d;
}

void neo_in_flight_remove(neo_in_flight *in_flight, neo_in_flight_delivery *delivery)
{
    subscription_queue *q = queue_of(in_flight, delivery->subscription);
    if (--q->count == 0)
        *q = APR_ARRAY_IDX(in_flight->queues, --in_flight->queues->nelts, subscription_queue);
    *delivery->link = delivery->next;
    if (delivery->next)
        delivery->next->link = delivery->link;
    in_flight->count--;
    free(delivery);
}

void neo_in_flight_fill_request(const neo_in_flight *in_flight, neo_claim_request *request, apr_pool_t *pool)
{
    neo_subscription_load *loads = apr_palloc(pool, (apr_size_t)(in_flight->queues->nelts + 1) * sizeof *loads);
    for (int i = 0; i < in_flight->queues->nelts; i++) {
        const subscription_queue *q = &APR_ARRAY_IDX(in_flight->queues, i, subscription_queue);
        loads[i] = (neo_subscription_load){apr_pstrdup(pool, q->subscription), q->count, q->is_failing};
    }
    request->loads = loads;
    request->load_count = in_flight->queues->nelts;
}
