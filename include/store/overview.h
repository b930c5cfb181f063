/* The deployment at a glance. */
#ifndef NEO_STORE_OVERVIEW_H
#define NEO_STORE_OVERVIEW_H

#include "core/json.h"
#include "store/pg.h"

/* Sets *counts to an object with how much there is of what an administrator makes, of webhook subscriptions, and of what the
 * janitor looks after: "webhook_partitions_until" is a date, "keys_overdue" counts idempotency keys whose time was over an hour
 * ago. Returns NULL, or a sentence. */
const char *neo_overview_read(neo_pg *pg, apr_pool_t *pool, neo_json **counts);

#endif
