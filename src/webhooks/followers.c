/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the deliveries of a resource one after the other (see followers.h). */
#include "followers.h"

#include <stdlib.h>

#define MAX_AGE_MS 2000 /* since the claim, whose lease is longer. Until then the memory of all its deliveries is kept */

void neo_followers_wait(neo_in_flight *in_flight, neo_results *results, const neo_in_flight_delivery *delivery)
{
    neo_in_flight_delivery *follower = neo_in_flight_add(in_flight, delivery->follower, delivery->claimed, NULL);
    follower->is_waiting = 1;
    APR_ARRAY_PUSH(results->followers, neo_follower) = (neo_follower){results->outcomes->nelts, delivery->follower, follower};
}

static int may_be_sent(const neo_follower *follower, const neo_courier_host *host)
{
    return neo_steady_ms() - follower->delivery->claimed->at < MAX_AGE_MS && neo_deferred_until(host, follower->due) == 0;
}

/* Marks the followers of recorded deliveries. */
static char *find_confirmed(const neo_results *recorded, const neo_rows *rows)
{
    char *is_confirmed = apr_pcalloc(recorded->pool, (apr_size_t)recorded->outcomes->nelts + 1);
    for (int i = 0; i < rows->count; i++) {
        const char *position = neo_rows_value(rows, i, 2);
        if (position)
            is_confirmed[atoi(position)] = 1;
    }
    return is_confirmed;
}

void neo_followers_continue(neo_in_flight *in_flight, neo_results *recorded, const neo_rows *rows, const neo_courier_host *host,
                            int sends, neo_results *collected, apr_array_header_t *outgoing)
{
    const char *is_confirmed = find_confirmed(recorded, rows);
    for (int i = 0; i < recorded->followers->nelts; i++) {
        const neo_follower *follower = &APR_ARRAY_IDX(recorded->followers, i, neo_follower);
        follower->delivery->is_waiting = 0;
        if (sends && is_confirmed[follower->position] && may_be_sent(follower, host)) {
            APR_ARRAY_PUSH(outgoing, neo_webhook_request) = (neo_webhook_request){follower->due, 1, follower->delivery};
            continue;
        }
        neo_results_add_unsent(collected, follower->delivery);
        neo_in_flight_drop(in_flight, follower->delivery);
    }
}

void neo_followers_forget(neo_in_flight *in_flight, neo_results *lost)
{
    for (int i = 0; i < lost->followers->nelts; i++)
        neo_in_flight_drop(in_flight, APR_ARRAY_IDX(lost->followers, i, neo_follower).delivery);
}
