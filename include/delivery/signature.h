/* What a delivery's body and headers are: the envelope, X-Webhook-Signature, and the headers of Standard Webhooks. */
#ifndef NEO_DELIVERY_SIGNATURE_H
#define NEO_DELIVERY_SIGNATURE_H

#include "core/clock.h"
#include "store/outbox.h"

#define NEO_WEBHOOK_HEADERS 5

/* The body that is sent: id, event_type, created_at, payload. */
neo_text neo_webhook_body(const neo_due_delivery *due, apr_pool_t *pool);

/* The headers that go with it, as "Name: value". `secret` signs alone in X-Webhook-Signature; `previous`, where it is not NULL,
 * signs beside it in webhook-signature. `now` is the moment of the attempt. */
void neo_webhook_sign(const char *id, neo_text body, const char *secret, const char *previous, neo_ms now, apr_pool_t *pool,
                      const char *headers[NEO_WEBHOOK_HEADERS]);

#endif
