/* SPDX-License-Identifier: Apache-2.0 */
/* Deliveries for neoapictl: lists, new deliveries, attempts as they are recorded. Every function returns NULL, or an error
 * message for people. Subscriptions are listed by neo_admin_list. */
#ifndef NEO_ADMIN_WEBHOOK_H
#define NEO_ADMIN_WEBHOOK_H

#include "admin/noun.h"

/* Sets *list to a JSON array of at most `limit` deliveries of a subscription, newest first; `status` NULL: with any status. */
const char *neo_admin_list_deliveries(neo_pg *pg, const char *subscription, const char *status, const char *limit,
                                      apr_pool_t *pool, neo_json **list);

/* Queue new deliveries: with the payload of `delivery`; of the events that have not arrived (`body` is a valid neo_recovery and
 * is changed). *answer is the API's answer; *is_waiting: they wait, because the subscription is inactive. */
const char *neo_admin_retry(neo_pg *pg, const char *delivery, apr_pool_t *pool, neo_json **answer, int *is_waiting);
const char *neo_admin_recover(neo_pg *pg, const char *subscription, neo_json *body, apr_pool_t *pool, neo_json **answer,
                              int *is_waiting);

/* The position in the attempts; initially all zero. */
typedef struct neo_follower {
    const char *organization;             /* NULL: attempts of all organizations */
    const char *snapshot, *first, *since; /* they belong to the pool of the last call */
} neo_follower;

/* Sets *list to a JSON array of the attempts recorded since the last call with this follower, in the order in which they ended;
 * empty at the first call. No attempt is returned twice. `pool` must last until the next call has returned. */
const char *neo_admin_follow(neo_pg *pg, neo_follower *follower, apr_pool_t *pool, neo_json **list);

/* Creates the partitions of the next days, as the courier does, and drops none. */
const char *neo_admin_make_partitions(neo_pg *pg, apr_pool_t *pool);

/* Begins a new epoch of the event log (see sql/0003_webhooks.sql), and sets *begun_at to its beginning. */
const char *neo_admin_begin_event_epoch(neo_pg *pg, apr_pool_t *pool, const char **begun_at);

#endif
