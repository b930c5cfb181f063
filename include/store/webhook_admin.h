/* What an administrator sees of deliveries and does about them. SQL alone, as in store/admin.h: every function returns NULL, or
 * a sentence for people that says why nothing was done. Subscriptions are listed by neo_admin_list. */
#ifndef NEO_STORE_WEBHOOK_ADMIN_H
#define NEO_STORE_WEBHOOK_ADMIN_H

#include "store/admin.h"

/* Sets *list to a JSON array of a subscription's deliveries, newest first: those with that status (NULL: all), so many at most.
 */
const char *neo_admin_list_deliveries(neo_pg *pg, const char *subscription, const char *status, const char *limit,
                                      apr_pool_t *pool, neo_json **list);

/* Makes new deliveries: of the payload of `delivery`; of every one of a subscription that has failed since a moment (RFC 3339).
 * *answer is what the API would answer; *is_waiting: the subscription is inactive, so that they wait until it is active again.
 */
const char *neo_admin_retry(neo_pg *pg, const char *delivery, apr_pool_t *pool, neo_json **answer, int *is_waiting);
const char *neo_admin_recover(neo_pg *pg, const char *subscription, const char *since, apr_pool_t *pool, neo_json **answer,
                              int *is_waiting);

/* What has been seen of the attempts so far; zeros in the beginning. */
typedef struct neo_follower {
    const char *organization;             /* its attempts alone; NULL: all */
    const char *snapshot, *first, *since; /* they belong to the pool of the last call */
} neo_follower;

/* Sets *list to a JSON array of the attempts that have been recorded since the last call with this follower, in the order in
 * which they ended; an empty one at the first call. Nothing comes twice. `pool` may go when the next call has come back. */
const char *neo_admin_follow(neo_pg *pg, neo_follower *follower, apr_pool_t *pool, neo_json **list);

/* Makes the partitions of the coming days, as the courier does, and drops none. */
const char *neo_admin_make_partitions(neo_pg *pg, apr_pool_t *pool);

#endif
