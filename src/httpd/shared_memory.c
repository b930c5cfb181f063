/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the shared memory of the metrics, the rate limiters, the leases of limits and refused requests (see
 * httpd/shared_memory.h). */
#include "httpd/shared_memory.h"

#include <ap_mpm.h>
#include <apr_shm.h>
#include <apr_strings.h>
#include <stdint.h>
#include <unistd.h>

#include "api/routing.h"
#include "httpd/log.h"

#define CACHE_LINE   64 /* bytes */
#define SPARE_FACTOR 2  /* after a graceful restart, old processes run beside the new ones */

#define CACHE_ALIGNED(size) (((size) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE)

static neo_shared_metrics shared; /* its members are NULL until they are opened */
static apr_size_t limits;         /* NeoAPIRateLimitEntries, the highest of all virtual hosts */

/* Returns the memory with this name. It belongs to the process, not to its configuration, so it is kept on graceful restarts.
 * The name must change with the layout, because a restart may load another version of the module. Anonymous shared memory is
 * zeroed, and pages that are not used cost nothing. */
static char *open_memory(server_rec *server, const char *name, apr_size_t size, const char *purpose)
{
    apr_pool_t *pool = server->process->pool;
    apr_shm_t *shm;
    void *found = NULL;
    apr_pool_userdata_get(&found, name, pool);
    if (found)
        return found;
    apr_status_t rv = apr_shm_create(&shm, size + CACHE_LINE, NULL, pool);
    if (rv != APR_SUCCESS) {
        char reason[128];
        neo_log(NEO_LOG_NO_MEMORY, &(neo_log_context){.server = server}, "cannot create shared memory for %s: %s", purpose,
                apr_strerror(rv, reason, sizeof reason));
        return NULL;
    }
    char *memory = apr_shm_baseaddr_get(shm);
    memory += (CACHE_LINE - (uintptr_t)memory % CACHE_LINE) % CACHE_LINE;
    apr_pool_userdata_set(memory, name, NULL, pool); /* copies the name, which is unloaded with the module */
    return memory;
}

int neo_shared_metrics_open(server_rec *main_server)
{
    int routes = neo_routes_count(), max = 0;
    ap_mpm_query(AP_MPMQ_HARD_LIMIT_DAEMONS, &max);
    int processes = SPARE_FACTOR * (max > 0 ? max : 1);
    apr_size_t metrics = CACHE_ALIGNED(neo_metrics_size(routes, processes)), receivers = CACHE_ALIGNED(neo_receivers_size());
    apr_size_t probes = CACHE_ALIGNED(NEO_MAX_DATABASES * sizeof(neo_db_probes));
    apr_size_t ranks = CACHE_ALIGNED(sizeof(neo_seen_ranks));
    apr_size_t tuners = CACHE_ALIGNED(NEO_MAX_DATABASES * (apr_size_t)neo_resource_index(NULL) * sizeof(neo_slot_tuner));
    apr_size_t size = metrics + receivers + probes + ranks + tuners + neo_concurrency_size(processes);
    const char *name = apr_psprintf(main_server->process->pconf, "neoapi_metrics_%s_%x_%" APR_SIZE_T_FMT, NEO_VERSION,
                                    neo_routes_fingerprint(), size);
    char *memory = open_memory(main_server, name, size, "metrics");
    if (!memory)
        return 0;
    shared.metrics = neo_metrics_attach(memory, routes, processes, apr_time_now());
    shared.receivers = neo_receivers_attach(memory + metrics);
    shared.probes = (neo_db_probes *)(void *)(memory + metrics + receivers);
    shared.ranks = (neo_seen_ranks *)(void *)(memory + metrics + receivers + probes);
    shared.tuners = (neo_slot_tuner *)(void *)(memory + metrics + receivers + probes + ranks);
    shared.concurrency = neo_concurrency_attach(memory + metrics + receivers + probes + ranks + tuners, processes);
    return 1;
}

static apr_status_t unregister(void *data)
{
    neo_metrics_unregister(data);
    return APR_SUCCESS;
}

void neo_shared_metrics_attach(apr_pool_t *pchild)
{
    shared.process = neo_metrics_register(shared.metrics, getpid());
    neo_concurrency_join(&shared.concurrency, getpid());
    apr_pool_cleanup_register(pchild, shared.process, unregister, apr_pool_cleanup_null);
}

const neo_shared_metrics *neo_shared_metrics_get(void)
{
    return shared.metrics ? &shared : NULL;
}

static const char *limiter_entries(const server_rec *server, apr_size_t entries)
{
    return apr_psprintf(server->process->pconf, "%" APR_SIZE_T_FMT " NeoAPIRateLimitEntries", entries);
}

/* Change the name when the layout changes. */
int neo_shared_limiters_open(server_rec *main_server, apr_size_t entries, neo_limiter **credentials, neo_limiter **addresses)
{
    apr_size_t size = neo_limiter_size(entries);
    const char *purpose = limiter_entries(main_server, entries);
    const char *name = apr_pstrcat(main_server->process->pconf, "neoapi_limiters_3_" NEO_VERSION " ", purpose, NULL);
    char *memory = open_memory(main_server, name, 2 * size, purpose);
    if (!memory)
        return 0;
    *credentials = neo_limiter_attach(memory, entries);
    *addresses = neo_limiter_attach(memory + size, entries);
    limits = entries;
    return 1;
}

/* Change the name when the layout changes. */
neo_refusals *neo_shared_refusals_open(server_rec *main_server)
{
    char *memory = open_memory(main_server, "neoapi_refusals_1_" NEO_VERSION, neo_refusals_size(), "refused requests");
    return memory ? neo_refusals_attach(memory) : NULL;
}

/* Change the name when the layout changes. Virtual hosts with the same DBDParams share the leases. */
neo_leases *neo_shared_leases_open(server_rec *main_server, const char *params)
{
    const char *purpose = limiter_entries(main_server, limits);
    const char *name =
        apr_pstrcat(main_server->process->pconf, "neoapi_leases_4_" NEO_VERSION " ", purpose, " ", params ? params : "", NULL);
    char *memory = open_memory(main_server, name, neo_leases_size(limits), purpose);
    return memory ? neo_leases_attach(memory, limits) : NULL;
}

/* Change the name when the layout changes. */
neo_usage *neo_shared_usage_open(server_rec *main_server, const char *params)
{
    const char *name = apr_pstrcat(main_server->process->pconf, "neoapi_usage_1_" NEO_VERSION " ", params ? params : "", NULL);
    char *memory = open_memory(main_server, name, neo_usage_size(), "usage");
    return memory ? neo_usage_attach(memory) : NULL;
}
