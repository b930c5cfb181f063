/* SPDX-License-Identifier: Apache-2.0 */
/* The body and the signed headers of a delivery: X-Webhook-Signature and the headers of Standard Webhooks. */
#ifndef NEO_WEBHOOKS_SIGNATURE_H
#define NEO_WEBHOOKS_SIGNATURE_H

#include "core/clock.h"
#include "core/crypto.h"
#include "webhooks/outbox.h"

#define NEO_WEBHOOK_HEADERS 5
#define NEO_OWN_HEADERS     5 /* that a subscription can add */

/* The decrypted secrets and keys of a subscription; initialized with zeros. */
typedef struct neo_webhook_secrets {
    const char *subscription;
    const char *secret;                   /* NULL if it, the key or a header cannot be decrypted with any key of the key file */
    const char *previous;                 /* NULL if there is none */
    const char *headers[NEO_OWN_HEADERS]; /* the subscription's, as "Name: value" */
    int header_count;
    neo_signer *signer;          /* NULL without an asymmetric signature */
    neo_signer *previous_signer; /* NULL if there is none */
} neo_webhook_secrets;

/* Decrypts the secrets of the delivery's subscription, unless `secrets` has them already: a claim's deliveries are grouped by
 * subscription. Clears `pool`, which has nothing else. */
void neo_webhook_open_secrets(neo_webhook_secrets *secrets, const neo_keys *keys, const neo_due_delivery *due,
                              apr_pool_t *pool);

/* The body: id, event_type, created_at, what the subscription includes, payload; of a thin one resource_id and url. With batch
 * {"deliveries": [...]} of the bodies of `count` deliveries, each with its event_id. */
neo_text neo_webhook_body(const neo_due_delivery *due, int count, const char *base_url, apr_pool_t *pool);

/* The webhook-id: the event's, or with batch one that is the same if the same events are sent again. */
const char *neo_webhook_id(const neo_due_delivery *due, int count, apr_pool_t *pool);

/* The headers, as "Name: value". X-Webhook-Signature is signed with the new secret only, webhook-signature also with the
 * previous one and with the keys. `id` is that of neo_webhook_id; `now` is the time of the
 * attempt. */
void neo_webhook_sign(const char *id, neo_text body, const neo_webhook_secrets *secrets, neo_ms now, apr_pool_t *pool,
                      const char *headers[NEO_WEBHOOK_HEADERS]);

#endif
