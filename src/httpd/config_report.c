/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the configuration as JSON (see httpd/config.h). */

#include <ap_listen.h>
#include <ap_mpm.h>
#include <http_core.h>
#include <mpm_common.h>
#include <stdio.h>
#include <unixd.h>

#include "core/json.h"
#include "httpd/config.h"

static void set_query(neo_json *object, const char *name, int query, apr_pool_t *pool)
{
    int value = 0;
    ap_mpm_query(query, &value);
    neo_json_set_integer(object, name, value, pool);
}

static const char *directive_path(const server_rec *server, const char *directive, apr_pool_t *pool)
{
    const char *path = neo_config_directive(server, directive, pool);
    return path ? ap_server_root_relative(pool, path) : NULL;
}

/* Where this host can connect to the virtual host: its own address, or that on which httpd listens. */
static void set_address(neo_json *site, const server_rec *server, apr_pool_t *pool)
{
    apr_sockaddr_t *own = server->addrs ? server->addrs->host_addr : NULL, *address = own;
    apr_port_t port = server->addrs ? server->addrs->host_port : 0;
    char *ip = NULL;
    for (const ap_listen_rec *l = ap_listeners; l; l = l->next)
        if (!port || l->bind_addr->port == port) {
            port = l->bind_addr->port;
            address = own && !apr_sockaddr_is_wildcard(own) ? own : l->bind_addr;
            break;
        }
    if (address && !apr_sockaddr_is_wildcard(address))
        apr_sockaddr_ip_get(&ip, address);
    neo_json_set_string(site, "address", ip ? ip : "127.0.0.1", pool);
    neo_json_set_integer(site, "port", port, pool);
}

static neo_json *describe_site(const server_rec *server, apr_pool_t *pool)
{
    const neo_server_config *config = neo_get_server_config(server);
    neo_json *site = neo_json_make_object(pool);
    neo_json_set_string(site, "name", server->server_hostname, pool);
    neo_json_set_string(site, "file", server->defn_name, pool);
    neo_json_set_string(site, "base_url", config->base_url, pool);
    neo_json_set_string(site, "root", APR_ARRAY_IDX(config->roots, 0, const char *), pool);
    neo_json_set_string(site, "tls", neo_config_directive(server, "SSLEngine", pool), pool);
    set_address(site, server, pool);
    neo_json_set_string(site, "key_file", config->key_file, pool);
    neo_json_set_string(site, "certificate", directive_path(server, "SSLCertificateFile", pool), pool);
    neo_json_set_string(site, "certificate_key", directive_path(server, "SSLCertificateKeyFile", pool), pool);
    /* It may contain a password, as the configuration that its reader can read does. doctor connects with it and does not print
     * it. */
    neo_json_set_string(site, "database", neo_config_directive(server, "DBDParams", pool), pool);
    neo_json_set_string(site, "replica", config->read_dsn, pool);
    return site;
}

void neo_config_report(server_rec *main_server, apr_pool_t *temporary)
{
    neo_json *report, *sites = neo_json_make_array(temporary), *ports = neo_json_make_array(temporary);
    int shared = 0, own = 0;
    if (!ap_exists_config_define("NEOAPI_REPORT"))
        return;
    for (const server_rec *s = main_server; s; s = s->next)
        if (neo_get_server_config(s)->roots->nelts) {
            neo_json_append(sites, describe_site(s, temporary));
            if (neo_config_has_own_database(s))
                own += neo_config_max_connections(s);
            else
                shared = neo_config_max_connections(s);
        }
    for (const ap_listen_rec *l = ap_listeners; l; l = l->next)
        neo_json_append(ports, neo_json_make_integer(l->bind_addr->port, temporary));
    report = neo_json_make_object(temporary);
    set_query(report, "processes", AP_MPMQ_MAX_DAEMONS, temporary);
    set_query(report, "threads", AP_MPMQ_MAX_THREADS, temporary);
    neo_json_set_integer(report, "connections", own + shared, temporary);
    neo_json_set(report, "ports", ports);
    neo_json_set_string(report, "user", ap_unixd_config.user_name, temporary);
    neo_json_set_integer(report, "uid", ap_unixd_config.user_id, temporary);
    neo_json_set_integer(report, "gid", ap_unixd_config.group_id, temporary);
    neo_json_set_string(report, "pid_file", ap_runtime_dir_relative(temporary, ap_pid_fname), temporary);
    neo_json_set(report, "sites", sites);
    puts(neo_json_text(report, temporary).ptr);
    fflush(stdout);
}
