/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of what is in the deployment. */
#ifndef NEO_ADMIN_OVERVIEW_H
#define NEO_ADMIN_OVERVIEW_H

#include "core/json.h"
#include "pg/pg.h"

/* Sets *counts to an object with the numbers of tenants, organizations, users, plans, credentials and webhook subscriptions,
 * the date "webhook_partitions_until", "keys_overdue", the idempotency keys that expired more than an hour ago, and what
 * neoapi.whatsapp_health reports. Returns NULL, or an error message. */
const char *neo_overview_read(neo_pg *pg, apr_pool_t *pool, neo_json **counts);

#endif
