/* SPDX-License-Identifier: Apache-2.0 */
/* Divides claimed deliveries into requests (see admission.h). */
#include "admission.h"

#include <string.h>

#define MAX_BATCH_BYTES 1000000 /* the payloads of a request; many servers refuse bodies of more than a mebibyte */

neo_ms neo_deferred_until(const neo_courier_host *host, const neo_due_delivery *due)
{
    char hostname[NEO_HOST_SIZE];
    if (!due->per_hour)
        return 0;
    neo_receivers_hostname(due->url, hostname);
    return host->admit(host->context, due->organization, hostname, due->per_hour);
}

static apr_size_t length(const neo_due_delivery *due)
{
    return due->payload.len + strlen(due->changes);
}

/* The number of deliveries from the first one on, at most `count`, whose payloads have at most MAX_BATCH_BYTES together. It is
 * at least 1: a larger payload has a request of its own. */
static int count_fitting(const neo_due_delivery *due, int count)
{
    int fit = 1;
    for (apr_size_t bytes = length(due); fit < count && (bytes += length(&due[fit])) <= MAX_BATCH_BYTES; fit++)
        ;
    return fit;
}

static void add_request(neo_in_flight *in_flight, neo_claimed *claimed, const neo_due_delivery *due, int count,
                        apr_array_header_t *outgoing)
{
    neo_in_flight_delivery *first = neo_in_flight_add(in_flight, due, claimed, NULL), *last = first;
    for (int i = 1; i < count; i++)
        last = neo_in_flight_add(in_flight, &due[i], claimed, last);
    APR_ARRAY_PUSH(outgoing, neo_webhook_request) = (neo_webhook_request){due, count, first};
}

/* The claim counted requests of `batch_items` deliveries for the subscription's limits. If the payloads of such a request
 * exceed MAX_BATCH_BYTES, it is sent with fewer deliveries, and the rest is released: another claim counts its requests. */
static void divide(neo_admission *admission, neo_in_flight *in_flight, neo_claimed *claimed, const neo_due_delivery *due,
                   int count, apr_array_header_t *outgoing)
{
    int at = 0, is_counted = 1;
    for (int wanted, fit; at < count && is_counted; at += fit) {
        wanted = due->batch_items > 1 ? due->batch_items : 1;
        wanted = wanted < count - at ? wanted : count - at;
        fit = count_fitting(&due[at], wanted);
        is_counted = fit == wanted;
        add_request(in_flight, claimed, &due[at], fit, outgoing);
    }
    for (; at < count; at++)
        APR_ARRAY_PUSH(admission->released, neo_outcome) =
            (neo_outcome){.id = due[at].id, .claim = claimed->number, .subscription = due[at].subscription};
}

void neo_admit(neo_admission *admission, const neo_courier_host *host, neo_in_flight *in_flight, neo_claimed *claimed,
               const neo_due_delivery *due, int count, neo_ms pause_until, apr_array_header_t *outgoing)
{
    *admission = (neo_admission){
        .deferred = apr_array_make(claimed->pool, 0, sizeof(neo_deferred_delivery)),
        .released = apr_array_make(claimed->pool, 0, sizeof(neo_outcome)),
    };
    for (int at = 0, run; at < count; at += run) {
        int admitted = 0;
        neo_ms until = 0;
        run = neo_outbox_run(&due[at], count - at);
        while (admitted < run && !(until = neo_deferred_until(host, &due[at + admitted])))
            admitted++;
        divide(admission, in_flight, claimed, &due[at], admitted, outgoing);
        if (admitted < run)
            neo_in_flight_pause(in_flight, &due[at], pause_until);
        for (int i = admitted; i < run; i++)
            for (const neo_due_delivery *one = &due[at + i]; one; one = one->follower)
                APR_ARRAY_PUSH(admission->deferred, neo_deferred_delivery) = (neo_deferred_delivery){one, until};
    }
}
