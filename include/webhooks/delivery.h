/* SPDX-License-Identifier: Apache-2.0 */
/* Deliveries as the API lists, shows and makes them. */
#ifndef NEO_WEBHOOKS_DELIVERY_H
#define NEO_WEBHOOKS_DELIVERY_H

#include "core/json.h"
#include "core/secret.h"
#include "sql/idempotency.h"
#include "sql/page.h"

/* A page of a subscription's deliveries t (see neo_page_sql); `answer` NULL: as the API lists them. */
NEO_MUSTCHECK neo_pg_status neo_delivery_list(neo_pg *pg, const neo_actor *actor, const char *subscription, const char *answer,
                                              const neo_selection *selection, apr_pool_t *pool, neo_rows *rows);

/* Reads a delivery in full, and whether its subscription is_masked; no row if it does not exist. The payload is not masked. */
NEO_MUSTCHECK neo_pg_status neo_delivery_read(neo_pg *pg, const neo_actor *actor, const char *subscription, const char *id,
                                              apr_pool_t *pool, neo_rows *rows);

/* Queues a new delivery of the event of the delivery `original`, or of a new event webhook.test if that is NULL. Returns a row
 * with the answer and the number of deliveries, or none if `original` does not exist or the idempotency key does. */
NEO_MUSTCHECK neo_pg_status neo_delivery_make(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                              const char *subscription, const char *original, apr_pool_t *pool, neo_rows *rows);

/* Sends events again that have not arrived (see neoapi.webhook_recover); `body` is a valid neo_recovery. One row as above, none
 * if the idempotency key exists. */
NEO_MUSTCHECK neo_pg_status neo_delivery_recover(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                                 const char *subscription, const neo_json *body, apr_pool_t *pool,
                                                 neo_rows *rows);

/* Gives a subscription a new secret (sealed); the old one stays valid for a day. One row with the answer, or none. */
NEO_MUSTCHECK neo_pg_status neo_delivery_rotate(neo_pg *pg, const neo_actor *actor, const char *subscription,
                                                const char *secret, apr_pool_t *pool, neo_rows *rows);

/* Gives a subscription new keys; the former ones stay valid for `overlap_hours`. One row with the answer, or none, also if the
 * idempotency key exists. */
NEO_MUSTCHECK neo_pg_status neo_delivery_rotate_key(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                                    const char *subscription, const neo_key_pair *keys, int overlap_hours,
                                                    apr_pool_t *pool, neo_rows *rows);

/* The public keys of an organization's subscriptions, as a JWK Set in a row; an empty one if there is no such organization. */
NEO_MUSTCHECK neo_pg_status neo_delivery_public_keys(neo_pg *pg, const char *organization, apr_pool_t *pool, neo_rows *rows);

#endif
