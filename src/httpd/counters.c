/* Figures in shared memory (see httpd/counters.h). */
#include "httpd/counters.h"

#include <ap_mpm.h>
#include <apr_shm.h>
#include <apr_strings.h>
#include <stdint.h>
#include <unistd.h>

#include "httpd/log.h"
#include "model/route.h"

#define LINE  64 /* bytes that the parts begin at multiples of */
#define SPARE 2  /* times as many places as processes: those of before a graceful restart finish beside the new ones */

#define ON_LINES(size) (((size) + LINE - 1) / LINE * LINE)

static neo_counters here; /* without figures until they are opened */

/* ---------------------------------------------------------------- the memory */

static int processes_at_most(void)
{
    int most = 0;
    ap_mpm_query(AP_MPMQ_HARD_LIMIT_DAEMONS, &most);
    return SPARE * (most > 0 ? most : 1);
}

/* Memory of another layout is another memory: an upgraded module with other routes begins anew. */
static const char *name_of(apr_size_t size, apr_pool_t *pool)
{
    return apr_psprintf(pool, "neoapi_figures_%s_%x_%" APR_SIZE_T_FMT, NEO_VERSION, neo_routes_print(), size);
}

/* It is kept with the process, not with its configuration. Anonymous shared memory begins as zeros, and what is not counted in
 * is never touched. */
static char *make(server_rec *server, const char *name, apr_size_t size)
{
    apr_pool_t *pool = server->process->pool;
    apr_shm_t *shm;
    apr_status_t rv = apr_shm_create(&shm, size + LINE, NULL, pool);
    if (rv != APR_SUCCESS) {
        char reason[128];
        neo_log(NEO_LOG_NO_MEMORY, &(neo_about){.server = server}, "no shared memory for the figures of the status page (%s)",
                apr_strerror(rv, reason, sizeof reason));
        return NULL;
    }
    char *memory = apr_shm_baseaddr_get(shm);
    memory += (LINE - (uintptr_t)memory % LINE) % LINE;
    apr_pool_userdata_set(memory, apr_pstrdup(pool, name), NULL, pool);
    return memory;
}

int neo_counters_open(server_rec *main_server)
{
    int routes = neo_routes_count(), processes = processes_at_most();
    apr_size_t figures = ON_LINES(neo_figures_size(routes, processes)), receivers = ON_LINES(neo_receivers_size());
    apr_size_t size = figures + receivers + ON_LINES(NEO_DATABASES * sizeof(neo_inquiries));
    const char *name = name_of(size, main_server->process->pconf);
    void *found = NULL;
    apr_pool_userdata_get(&found, name, main_server->process->pool);
    char *memory = found ? found : make(main_server, name, size);
    if (!memory)
        return 0;
    here.figures = neo_figures_use(memory, routes, processes, apr_time_now());
    here.receivers = neo_receivers_use(memory + figures);
    here.inquiries = (neo_inquiries *)(void *)(memory + figures + receivers);
    return 1;
}

static apr_status_t leave(void *data)
{
    neo_figures_leave(data);
    return APR_SUCCESS;
}

void neo_counters_enter(apr_pool_t *pchild)
{
    here.process = neo_figures_enter(here.figures, getpid());
    apr_pool_cleanup_register(pchild, here.process, leave, apr_pool_cleanup_null);
}

const neo_counters *neo_counters_here(void)
{
    return here.figures ? &here : NULL;
}

/* ---------------------------------------------------------------- requests */

void neo_counters_request(const neo_exchange *exchange, const neo_response *response)
{
    request_rec *r = exchange->r;
    apr_time_t now = apr_time_now();
    if (exchange->loan.spent)
        apr_table_setn(r->subprocess_env, "NEOAPI_DB_TIME", apr_ltoa(r->pool, (long)exchange->loan.spent));
    neo_figures_request(here.figures, response->route, response->status, now - r->request_time, now);
}
