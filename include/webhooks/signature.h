/* SPDX-License-Identifier: Apache-2.0 */
/* The body and the signed headers of a delivery: X-Webhook-Signature and the headers of Standard Webhooks. */
#ifndef NEO_WEBHOOKS_SIGNATURE_H
#define NEO_WEBHOOKS_SIGNATURE_H

#include "core/clock.h"
#include "webhooks/outbox.h"

#define NEO_WEBHOOK_HEADERS 5

/* The body: id, event_type, created_at, what the subscription includes, payload. */
neo_text neo_webhook_body(const neo_due_delivery *due, apr_pool_t *pool);

/* The headers, as "Name: value". X-Webhook-Signature is signed with `secret` only, webhook-signature also with `previous`
 * unless it is NULL. `id` is the event's, so that repetitions have the same webhook-id; `now` is the time of the attempt. */
void neo_webhook_sign(const char *id, neo_text body, const char *secret, const char *previous, neo_ms now, apr_pool_t *pool,
                      const char *headers[NEO_WEBHOOK_HEADERS]);

#endif
