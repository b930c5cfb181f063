/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the shared memory of the metrics (see httpd/shared_metrics.h). */
#include "httpd/shared_metrics.h"

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

static int max_processes(void)
{
    int max = 0;
    ap_mpm_query(AP_MPMQ_HARD_LIMIT_DAEMONS, &max);
    return SPARE_FACTOR * (max > 0 ? max : 1);
}

/* The memory belongs to the process, not to its configuration. Anonymous shared memory is zeroed, and pages that are not used
 * cost nothing. */
static char *make_memory(server_rec *server, const char *name, apr_size_t size)
{
    apr_pool_t *pool = server->process->pool;
    apr_shm_t *shm;
    apr_status_t rv = apr_shm_create(&shm, size + CACHE_LINE, NULL, pool);
    if (rv != APR_SUCCESS) {
        char reason[128];
        neo_log(NEO_LOG_NO_MEMORY, &(neo_log_context){.server = server}, "cannot create shared memory for metrics: %s",
                apr_strerror(rv, reason, sizeof reason));
        return NULL;
    }
    char *memory = apr_shm_baseaddr_get(shm);
    memory += (CACHE_LINE - (uintptr_t)memory % CACHE_LINE) % CACHE_LINE;
    apr_pool_userdata_set(memory, apr_pstrdup(pool, name), NULL, pool);
    return memory;
}

int neo_shared_metrics_open(server_rec *main_server)
{
    int routes = neo_routes_count(), processes = max_processes();
    apr_size_t metrics = CACHE_ALIGNED(neo_metrics_size(routes, processes)), receivers = CACHE_ALIGNED(neo_receivers_size());
    apr_size_t probes = CACHE_ALIGNED(NEO_MAX_DATABASES * sizeof(neo_db_probes));
    apr_size_t size = metrics + receivers + probes + neo_concurrency_size(processes);
    /* The name depends on the layout, so that an upgraded module with other routes gets new memory. */
    const char *name = apr_psprintf(main_server->process->pconf, "neoapi_metrics_%s_%x_%" APR_SIZE_T_FMT, NEO_VERSION,
                                    neo_routes_fingerprint(), size);
    void *found = NULL;
    apr_pool_userdata_get(&found, name, main_server->process->pool);
    char *memory = found ? found : make_memory(main_server, name, size);
    if (!memory)
        return 0;
    shared.metrics = neo_metrics_attach(memory, routes, processes, apr_time_now());
    shared.receivers = neo_receivers_attach(memory + metrics);
    shared.probes = (neo_db_probes *)(void *)(memory + metrics + receivers);
    shared.concurrency = neo_concurrency_attach(memory + metrics + receivers + probes, processes);
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
