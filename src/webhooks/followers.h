/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the deliveries of a resource one after the other. A claim takes several of them. Each waits until the one before it was
 * recorded, because a process that is killed in between would send that one again, after its follower. */
#ifndef NEO_WEBHOOKS_FOLLOWERS_H
#define NEO_WEBHOOKS_FOLLOWERS_H

#include "admission.h"
#include "results.h"

/* Call it when the result of `delivery` has been added to `results`. Adds the follower to the deliveries in flight, where it
 * waits until that result is recorded. */
void neo_followers_wait(neo_in_flight *in_flight, neo_results *results, const neo_in_flight_delivery *delivery);

/* When `recorded` was recorded, with these rows of neo_outbox_completed: adds the requests of its followers to `outgoing`.
 * Releases those that may not be sent, or all if not `sends`, with `collected`. */
void neo_followers_continue(neo_in_flight *in_flight, neo_results *recorded, const neo_rows *rows, const neo_courier_host *host,
                            int sends, neo_results *collected, apr_array_header_t *outgoing);

/* When `lost` could not be recorded: forgets its followers, which are due again when their leases have expired, as the ones
 * before them. */
void neo_followers_forget(neo_in_flight *in_flight, neo_results *lost);

#endif
