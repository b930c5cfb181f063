/* SPDX-License-Identifier: Apache-2.0 */
/* Limits that hold for all hosts of a deployment together. Each host counts its requests in its shared memory against its
 * lease, a part of the limit. The leases of all hosts never exceed the limit, so that no request needs the database to be
 * counted. Once a second, one process of the host exchanges leases through neoapi.limit_lease.
 *
 * Without a lease, and if the host could not renew it in time, its part is the limit divided by the number of hosts. A host
 * that is alone has the whole limit and uses no table. */
#ifndef NEO_API_LEASE_H
#define NEO_API_LEASE_H

#include "api/concurrency.h"
#include "api/limiter.h"
#include "core/id.h"
#include "core/receivers.h"
#include "pg/pg.h"

#define NEO_LEASE_NAME_SIZE (NEO_ID_SIZE + NEO_HOST_SIZE)

typedef struct neo_leases neo_leases; /* of a database, in shared memory */

/* New memory must be zeroed. */
apr_size_t neo_leases_size(void);
neo_leases *neo_leases_attach(void *memory);

/* Sets how many hosts the deployment has. */
void neo_leases_set_hosts(neo_leases *leases, int hosts);

/* Like neo_limiter_count and neo_limiter_check, for a limit of the deployment. Names are shorter than NEO_LEASE_NAME_SIZE.
 * NULL for `leases`: this host is the deployment. If another host may give up its part, allowance->reset is a second later. */
void neo_lease_count(neo_leases *leases, neo_limiter *limiter, const char *name, int cost, int limit, int window,
                     neo_allowance *allowance);
void neo_lease_check(neo_leases *leases, neo_limiter *limiter, const char *name, int cost, int limit, int window,
                     neo_allowance *allowance);

/* Like neo_concurrency_enter. */
int neo_lease_enter(neo_leases *leases, const neo_concurrency *concurrency, const char *organization, int limit,
                    neo_concurrency_place *place);

/* What decides how much of a limit a host should have. */
typedef struct neo_lease_need {
    int limit, hosts;
    int used, other_used;     /* by this host and by the others, of the window */
    int demand, other_demand; /* requests lately, including refused ones */
} neo_lease_need;
int neo_lease_target(const neo_lease_need *need);

/* If a second has passed since a process of this host did it, exchanges the leases of `host`. Returns false if the connection
 * is lost. */
int neo_lease_exchange(neo_leases *leases, neo_limiter *limiter, const neo_concurrency *concurrency, const char *host,
                       neo_pg *pg, apr_pool_t *pool);

#endif
