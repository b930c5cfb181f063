/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the configuration before the first request (see httpd/config.h). */
#include <ap_mpm.h>
#include <apr_strings.h>
#include <http_core.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "httpd/config.h"
#include "httpd/log.h"

static int report_error(server_rec *server, neo_message message, const char *text)
{
    neo_log(message, &(neo_log_context){.server = server}, "%s", text);
    return 0;
}

static int is_dbd_valid(server_rec *server, apr_pool_t *pool)
{
    const char *driver = neo_config_directive_anywhere("DBDriver"), *max = neo_config_directive_anywhere("DBDMax");
    int threads = 0, processes = 0, reserved = neo_config_reserved_connections();
    if (!neo_database_has_mod_dbd())
        return report_error(server, NEO_LOG_NO_DBD, "mod_dbd is not loaded");
    if (!driver)
        return report_error(server, NEO_LOG_NO_DRIVER, "DBDriver is not set");
    if (strcasecmp(driver, "pgsql") != 0)
        return report_error(server, NEO_LOG_OTHER_DRIVER, apr_psprintf(pool, "DBDriver is %s instead of pgsql", driver));
    if (!neo_config_directive_anywhere("DBDParams"))
        return report_error(server, NEO_LOG_NO_PARAMS, "DBDParams is not set");
    if (max && atoi(max) < 3)
        return report_error(server, NEO_LOG_ONE_CONNECTION,
                            "DBDMax leaves no connection for requests: the credential listener and the courier use one each");
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads);
    ap_mpm_query(AP_MPMQ_MAX_DAEMONS, &processes);
    if (threads <= 1)
        report_error(server, NEO_LOG_PREFORK,
                     apr_psprintf(pool, "%d processes with one thread each need up to %d database connections", processes,
                                  3 * processes));
    int needed = threads > 32  ? (threads + 31) / 32 + reserved
                 : threads > 1 ? reserved + 2
                               : 3,
        has = neo_config_max_connections(server);
    if (has < needed)
        report_error(server, NEO_LOG_FEW_CONNECTIONS,
                     apr_psprintf(pool, "DBDMax is %d, but %d threads need at least %d connections%s", has, threads, needed,
                                  has <= reserved + 1 && threads > 1 ? "; exports are refused" : ""));
    return 1;
}

/* A key file that cannot be used fails the configuration test, which precedes a reload. httpd still starts without keys, so
 * that other sites are served after a reboot. */
static int is_server_valid(server_rec *server, const neo_server_config *config, apr_pool_t *pool)
{
    neo_keys keys;
    apr_file_t *file;
    char why[120];
    int threads = 0, waiters = (int)NEO_CONFIG_NUMBER(config, max_event_waiters);
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads);
    if (threads > 1 && waiters >= threads)
        report_error(server, NEO_LOG_MANY_WAITERS,
                     apr_psprintf(pool, "NeoAPIEventWaiters is %d, but a process has %d threads", waiters, threads));
    if (!config->base_url)
        return report_error(server, NEO_LOG_NO_BASE_URL, "NeoAPIBaseURL is not set");
    if (!config->key_file)
        return report_error(server, NEO_LOG_NO_KEY_FILE, "NeoAPIKeyFile is not set");
    if (ap_state_query(AP_SQ_RUN_MODE) == AP_SQ_RM_CONFIG_TEST && !neo_config_read_keys(server, &keys, pool))
        return 0;
    apr_status_t rv = config->webhook_ca_bundle ? apr_file_open(&file, config->webhook_ca_bundle, APR_FOPEN_READ, 0, pool) : 0;
    return rv == APR_SUCCESS || report_error(server, NEO_LOG_NO_CA_BUNDLE,
                                             apr_psprintf(pool, "NeoAPIWebhookCABundle: %s cannot be read: %s",
                                                          config->webhook_ca_bundle, apr_strerror(rv, why, sizeof why)));
}

/* A virtual host with a database of its own does not inherit the replicas of the main server's. */
static void drop_inherited_replicas(const server_rec *server, neo_server_config *config, const server_rec *main_server)
{
    if (neo_config_has_own_database(server) && config->read_dsn == neo_get_server_config(main_server)->read_dsn)
        config->read_dsn = NULL;
}

int neo_config_is_valid(server_rec *main_server, apr_pool_t *temporary)
{
    int is_used = 0, is_valid = 1;
    for (server_rec *s = main_server; s; s = s->next)
        if (neo_get_server_config(s)->roots->nelts > 0) {
            is_used = 1;
            drop_inherited_replicas(s, neo_get_server_config(s), main_server);
            is_valid &= is_server_valid(s, neo_get_server_config(s), temporary);
        }
    return is_used ? is_dbd_valid(main_server, temporary) && is_valid : 1;
}
