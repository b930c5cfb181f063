/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the shared memory of the rate limiters (see httpd/memory.h). */
#include "httpd/memory.h"

#include <apr_shm.h>
#include <string.h>

#include "httpd/log.h"

/* The memory belongs to the process, not to its configuration. Change the key when the layout changes: a graceful reload may
 * load another version of the module. */
#define USERDATA_KEY "neoapi_limiters_3_" NEO_VERSION

typedef struct {
    char *memory;
    apr_size_t entries;
} shared_limiters;

static shared_limiters *make(server_rec *server, apr_size_t entries)
{
    apr_pool_t *pool = server->process->pool;
    apr_size_t size = 2 * neo_limiter_size(entries);
    apr_shm_t *shm;
    apr_status_t rv = apr_shm_create(&shm, size, NULL, pool);
    if (rv != APR_SUCCESS) {
        char reason[128];
        neo_log(NEO_LOG_NO_MEMORY, &(neo_log_context){.server = server},
                "cannot create shared memory for %" APR_SIZE_T_FMT " NeoAPIRateLimitEntries: %s", entries,
                apr_strerror(rv, reason, sizeof reason));
        return NULL;
    }
    shared_limiters *limiters = apr_palloc(pool, sizeof *limiters);
    *limiters = (shared_limiters){apr_shm_baseaddr_get(shm), entries};
    memset(limiters->memory, 0, size);
    apr_pool_userdata_set(limiters, USERDATA_KEY, NULL, pool); /* copies the key, which is unloaded with the module */
    return limiters;
}

int neo_memory_limiters(server_rec *main_server, apr_size_t entries, neo_limiter **credentials, neo_limiter **addresses)
{
    void *data = NULL;
    apr_pool_userdata_get(&data, USERDATA_KEY, main_server->process->pool);
    shared_limiters *shared = data;
    if (!shared || shared->entries != entries)
        shared = make(main_server, entries);
    if (!shared)
        return 0;
    *credentials = neo_limiter_attach(shared->memory, entries);
    *addresses = neo_limiter_attach(shared->memory + neo_limiter_size(entries), entries);
    return 1;
}
