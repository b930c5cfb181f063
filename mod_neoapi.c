/* SPDX-License-Identifier: Apache-2.0 */
/* mod_neoapi: the Public Integration API as a module of Apache httpd. This file has the module record and the hooks, in the
 * order in which httpd runs them. */
#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>
#include <mpm_common.h>

#include "httpd/admin.h"
#include "httpd/handler.h"
#include "httpd/log.h"
#include "httpd/response.h"
#include "httpd/shared_memory.h"
#include "httpd/slow_clients.h"
#include "sql/expiry.h"
#include "webhooks/claim_owner.h"

/* ---------------------------------------------------------------- 1. start-up, in the parent process */

/* Also runs for `apachectl configtest`. */
static int check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *main_server)
{
    (void)pconf;
    (void)plog;
    neo_log_to_httpd(main_server);
    neo_config_report(main_server, ptemp);
    return neo_config_is_valid(main_server, ptemp) ? OK : HTTP_INTERNAL_SERVER_ERROR;
}

/* httpd runs this twice at start-up; the first run is only a check. */
static int post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *main_server)
{
    (void)plog;
    (void)ptemp;
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG)
        return OK;
    neo_log_to_httpd(main_server);
    neo_service_make_statements(pconf);
    neo_expiry_make_statements(pconf);
    /* the sites: keys, rate limiters, documents */
    if (!neo_config_make_sites(main_server, pconf))
        return HTTP_INTERNAL_SERVER_ERROR;
    /* the metrics, and what hosts share of limits */
    for (const server_rec *s = main_server; s; s = s->next) {
        neo_site *site = neo_get_server_config(s)->site;
        if (!site)
            continue;
        site->leases = neo_shared_leases_open(main_server, neo_config_directive(s, "DBDParams", pconf));
        site->usage = site->leases ? neo_shared_usage_open(main_server, neo_config_directive(s, "DBDParams", pconf)) : NULL;
        if (!site->usage || !neo_shared_metrics_open(main_server))
            return HTTP_INTERNAL_SERVER_ERROR;
        site->concurrency = &neo_shared_metrics_get()->concurrency;
    }
    if (!neo_shared_metrics_get())
        neo_log(NEO_LOG_NOT_USED, NULL, "the module is loaded, but no location has NeoAPI On");
    return OK;
}

/* A killed process's requests are no longer in progress. */
static void child_status(server_rec *s, pid_t pid, ap_generation_t generation, int slot, mpm_child_status status)
{
    (void)s;
    (void)generation;
    (void)slot;
    if (status == MPM_CHILD_EXITED && neo_shared_metrics_get())
        neo_concurrency_remove(&neo_shared_metrics_get()->concurrency, pid);
}

/* ---------------------------------------------------------------- 2. each child process */

static server_rec *started_server; /* the main server, for child_stopping */

/* `number`: of the host's database. */
static void start_host(apr_pool_t *pchild, server_rec *s, int number)
{
    const neo_shared_metrics *shared = neo_shared_metrics_get();
    neo_courier_settings settings;
    neo_server_config *config = neo_get_server_config(s);
    config->database = neo_database_make(pchild, s, neo_config_directive(s, "DBDParams", pchild), neo_config_max_connections(s),
                                         (int)NEO_CONFIG_NUMBER(config, exports));
    config->reads = neo_read_pool_start(pchild, s, NULL);
    config->site->credential_cache = neo_credential_cache_make(pchild);
    config->site->create_queues =
        neo_create_queues_make(shared->metrics, shared->tuners + number % NEO_MAX_DATABASES * neo_resource_index(NULL),
                               (int)NEO_CONFIG_NUMBER(config, grouped_statements), pchild);
    config->exporter = neo_span_thread_start(pchild, s);
    neo_config_courier_settings(started_server, config, pchild, &settings);
    config->dispatcher = neo_dispatcher_start(pchild, s, config->database, &settings);
    neo_job_thread_start(pchild, s, config->database, config->dispatcher);
    config->listener = neo_listener_start(pchild, s, config->database, config->site->credential_cache, &config->site->keys,
                                          config->dispatcher, (int)NEO_CONFIG_NUMBER(config, max_event_waiters));
    config->event_waiters = neo_listener_event_waiters(config->listener);
}

static int shares_connections(const server_rec *s)
{
    return neo_get_server_config(s)->site && !neo_config_has_own_database(s);
}

/* The first in the configuration of the hosts that share connections. httpd lists the virtual hosts in reverse order. */
static server_rec *first_sharing_host(server_rec *main_server)
{
    server_rec *first = NULL;
    for (server_rec *s = main_server; s; s = s->next)
        if (shares_connections(s) && (!first || first->is_virtual))
            first = s;
    return first;
}

/* Runs after mod_dbd's hook, which creates the connection pools. Hosts that share connections also share the listener and the
 * dispatcher, because each of them takes a connection away from the requests. */
static void child_init(apr_pool_t *pchild, server_rec *main_server)
{
    server_rec *first = first_sharing_host(main_server);
    started_server = main_server;
    const neo_shared_metrics *shared_metrics = neo_shared_metrics_get();
    neo_clock_start(shared_metrics ? neo_metrics_clock_offset(shared_metrics->metrics) : NULL);
    neo_claim_owner_start();
    neo_sender_prepare();
    if (shared_metrics) {
        neo_shared_metrics_attach(pchild);
        neo_slow_clients_start(pchild);
    }
    int databases = 0;
    for (server_rec *s = main_server; s; s = s->next)
        if (s == first || (neo_get_server_config(s)->site && !shares_connections(s)))
            start_host(pchild, s, databases++);
    for (server_rec *s = main_server; s; s = s->next)
        if (s != first && shares_connections(s)) {
            neo_server_config *config = neo_get_server_config(s), *shared = neo_get_server_config(first);
            config->database = shared->database;
            config->reads = neo_read_pool_start(pchild, s, shared->reads);
            config->site->credential_cache = shared->site->credential_cache;
            config->site->create_queues = shared->site->create_queues;
            config->exporter = shared->exporter;
            config->dispatcher = shared->dispatcher;
            config->event_waiters = shared->event_waiters;
        }
}

/* Lets the threads end while the last requests are still served. */
static void child_stopping(apr_pool_t *pchild, int graceful)
{
    (void)pchild;
    if (!graceful)
        neo_streams_stop();
    for (const server_rec *s = started_server; s; s = s->next) {
        const neo_server_config *config = neo_get_server_config(s);
        if (config->listener)
            neo_listener_stop(config->listener);
        if (config->dispatcher)
            neo_dispatcher_stop(config->dispatcher, graceful);
    }
}

/* ---------------------------------------------------------------- 3. each request */

static int is_api(const request_rec *r)
{
    return neo_get_location_config(r)->is_on == 1 && neo_get_server_config(r->server)->site;
}

/* Keeps the core from mapping the API's paths to files. The request is marked here, because httpd resets its location before
 * map_to_storage; the mark is its path. */
static int translate_name(request_rec *r)
{
    const neo_handler *handler = is_api(r) ? NULL : neo_handler_find_by_location(r);
    if (!is_api(r) && !handler)
        return DECLINED;
    ap_set_module_config(r->request_config, &neoapi_module, apr_pstrdup(r->pool, r->uri));
    if (handler && handler->has_token)
        neo_request_hide_token(r);
    r->filename = apr_pstrdup(r->pool, r->uri);
    return OK;
}

static int map_to_storage(request_rec *r)
{
    return ap_get_module_config(r->request_config, &neoapi_module) ? OK : DECLINED;
}

static int respond(request_rec *r, neo_exchange *exchange, neo_handler_function *answer)
{
    neo_response response = {.headers = r->headers_out};
    answer(neo_get_server_config(r->server)->site, &exchange->request, &response);
    neo_exchange_drain(exchange, &response);
    if (response.stream) { /* its duration says nothing about the service */
        neo_exchange_count(exchange, &response);
        return neo_response_send(r, &response);
    }
    int result = neo_response_send(r, &response);
    neo_exchange_count(exchange, &response);
    neo_exchange_discard(exchange);
    return result;
}

static int handle(request_rec *r)
{
    if (!is_api(r))
        return neo_admin_handle(r);
    const char *root = neo_get_location_config(r)->root;
    return respond(r, neo_exchange_make(r, neo_get_server_config(r->server), root), neo_service_answer);
}

static int handle_other(request_rec *r)
{
    const neo_server_config *config = neo_get_server_config(r->server);
    const neo_handler *handler = neo_handler_find(r->handler);
    if (!handler)
        return DECLINED;
    if (!config->site) {
        neo_log(NEO_LOG_CALLBACK_MISPLACED, &(neo_log_context){.r = r}, "SetHandler %s is in a virtual host without NeoAPI On",
                handler->name);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    neo_exchange *exchange = neo_exchange_make(r, config, "/");
    exchange->request.path = ap_get_module_config(r->request_config, &neoapi_module);
    neo_request_hide_query(r);
    return respond(r, exchange, handler->answer);
}

/* ---------------------------------------------------------------- the module */

static void register_hooks(apr_pool_t *pool)
{
    static const char *const after_dbd[] = {"mod_dbd.c", NULL};
    neo_response_register_filter();
    neo_slow_clients_register();
    neo_admin_register(pool);
    ap_hook_check_config(check_config, NULL, NULL, APR_HOOK_LAST); /* the MPM's check runs first */
    ap_hook_post_config(post_config, after_dbd, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(child_init, after_dbd, NULL, APR_HOOK_LAST);
    ap_hook_child_status(child_status, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_stopping(child_stopping, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_translate_name(translate_name, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_map_to_storage(map_to_storage, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_handler(handle, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_handler(handle_other, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_log_transaction(neo_request_cut_tokens, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_insert_error_filter(neo_response_replace_error, NULL, NULL, APR_HOOK_LAST);
}

__attribute__((visibility("default"))) AP_DECLARE_MODULE(neoapi) = {
    STANDARD20_MODULE_STUFF, neo_location_config_make, neo_location_config_merge,
    neo_server_config_make,  neo_server_config_merge,  neo_directives,
    register_hooks,          AP_MODULE_FLAG_NONE,
};
