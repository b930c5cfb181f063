/* SPDX-License-Identifier: Apache-2.0 */
/* Limits that hold for all hosts of a deployment together. Each host counts its requests in its shared memory against its
 * lease, a part of the limit. The leases of all hosts never exceed the limit, except for requests that are being counted while
 * a lease is reduced, so no request needs the database to be counted. Once a second, one process of the host exchanges leases
 * through neoapi.limit_lease.
 *
 * Without a lease, a host has the limit divided by the number of hosts; a lease that could not be renewed falls to that. If a
 * limit of requests in progress is lower than the number of hosts, each host allows one request, whatever its lease is. A host
 * that is alone has what hosts that ended have left of the limit; it records what it uses for hosts that join. */
#ifndef NEO_API_LEASE_H
#define NEO_API_LEASE_H

#include "api/concurrency.h"
#include "api/limiter.h"
#include "core/id.h"
#include "core/receivers.h"
#include "pg/pg.h"

#define NEO_LEASE_NAME_SIZE (NEO_ID_SIZE + NEO_HOST_SIZE)

typedef struct neo_leases neo_leases; /* those of a database, in shared memory */

/* The size for `entries` limits in bytes. New memory must be zeroed. */
apr_size_t neo_leases_size(apr_size_t entries);
neo_leases *neo_leases_attach(void *memory, apr_size_t entries);

/* Sets how many hosts the database has seen lately. Call it every second: a lower number applies after ten seconds of calls,
 * because after an outage of the database the other hosts have not been seen either. */
void neo_leases_set_hosts(neo_leases *leases, int hosts);

/* A limit of the deployment: `count` requests in `window` seconds. */
typedef struct neo_shared_limit {
    const char *name; /* shorter than NEO_LEASE_NAME_SIZE */
    int count, window;
    int reserve; /* 1/reserve of the host's share is not available to this call; 0: all of it is */
} neo_shared_limit;

/* Like neo_limiter_count and neo_limiter_check. If `leases` is NULL, this host has the whole limit. If another host may give up
 * its part, allowance->reset is a second later, and allowance->elsewhere is set. After a check that refuses several requests,
 * this host asks the others to leave it so many. */
void neo_lease_count(neo_leases *leases, neo_limiter *limiter, const neo_shared_limit *limit, int cost,
                     neo_allowance *allowance);
void neo_lease_check(neo_leases *leases, neo_limiter *limiter, const neo_shared_limit *limit, int cost,
                     neo_allowance *allowance);

/* Like neo_concurrency_enter. */
int neo_lease_enter(neo_leases *leases, const neo_concurrency *concurrency, const char *organization, int limit,
                    neo_concurrency_place *place);

/* What decides how much of a limit a host should have. */
typedef struct neo_lease_need {
    int limit, hosts;
    int used, other_used;     /* by this host and by the others, of the window */
    int demand, other_demand; /* requests lately, including refused ones; of requests in progress, these */
    int is_in_progress;       /* a limit of requests in progress: a host that has none keeps one */
    int wanted, other_wanted; /* requests of the largest batch refused lately, here and on another host; 0: none */
} neo_lease_need;
int neo_lease_target(const neo_lease_need *need);

/* If a second has passed since a process of this host did it, exchanges the leases of `host` within `seconds`. Sets *error to
 * the reason when exchanges begin to fail over a connection, otherwise to NULL. Returns false if the connection is lost. */
int neo_lease_exchange(neo_leases *leases, neo_limiter *limiter, const neo_concurrency *concurrency, const char *host,
                       neo_pg *pg, int seconds, apr_pool_t *pool, const char **error);

/* The requests since the last call for whose limits there was no memory; they were counted against an equal part. */
int neo_leases_take_full(neo_leases *leases);

#endif
