/* SPDX-License-Identifier: Apache-2.0 */
/* The module's directives, their checks at start-up, and the settings made of them. */
#ifndef NEO_HTTPD_CONFIG_H
#define NEO_HTTPD_CONFIG_H

#include <httpd.h>
#include <stddef.h>

#include <http_config.h>

#include "api/service.h"
#include "httpd/database.h"
#include "httpd/dispatcher.h"
#include "httpd/listener.h"
#include "httpd/read_pool.h"

extern module AP_MODULE_DECLARE_DATA neoapi_module;

/* The configuration of a virtual host. */
typedef struct neo_server_config {
    const char *base_url;
    const char *docs_url;
    const char *key_file;
    const char *read_dsn;      /* NULL if not set */
    long long max_body;        /* bytes; each number is -1 if it is not set */
    long long cursor_lifetime; /* seconds */
    long long exports;         /* concurrent, in each process */
    long long export_timeout;  /* seconds */
    long long rate_entries;
    long long webhook_timeout; /* seconds */
    long long webhook_concurrency;
    long long webhook_per_subscription;
    long long webhook_retention; /* days */
    long long event_retention;   /* days */
    long long max_event_waiters; /* requests */
    long long webhook_allows_http, groups_writes, grouped_statements, is_temporary_host;
    apr_array_header_t *webhook_delays;  /* int: seconds before each attempt; NULL if not set */
    apr_array_header_t *webhook_allowed; /* const char *: address ranges */
    const char *webhook_ca_bundle;
    const char *whatsapp_url; /* has no trailing slash; this and the next are NULL if not set */
    const char *whatsapp_version;
    const char *host_name;
    const char *trace_collector;    /* NULL if not set */
    long long trace_sampling;       /* percent */
    long long whatsapp_timeout;     /* seconds */
    long long whatsapp_downloads;   /* attachments, in each process */
    apr_array_header_t *stop_texts; /* const char *: normalized texts */
    apr_array_header_t *roots;      /* const char *: the locations with NeoAPI On; each ends in a slash */
    neo_site *site;                 /* NULL if no location has NeoAPI On */
    neo_database *database;         /* these six are created in each child process */
    neo_read_pool *reads;           /* NULL without NeoAPIReadDSN */
    neo_listener *listener;         /* NULL if another virtual host's is shared */
    neo_span_exporter *exporter;    /* NULL without NeoAPITraceCollector */
    neo_dispatcher *dispatcher;     /* NULL if this host does not deliver */
    neo_event_waiters *event_waiters;
} neo_server_config;

/* The configuration of a location. */
typedef struct neo_location_config {
    int is_on;        /* -1 if it is not set */
    const char *root; /* the location's path */
} neo_location_config;

extern const command_rec neo_directives[];
void *neo_server_config_make(apr_pool_t *pool, server_rec *server);
void *neo_server_config_merge(apr_pool_t *pool, void *base, void *own);
void *neo_location_config_make(apr_pool_t *pool, char *path);
void *neo_location_config_merge(apr_pool_t *pool, void *base, void *own);

neo_server_config *neo_get_server_config(const server_rec *server);
const neo_location_config *neo_get_location_config(const request_rec *r);

/* Checks everything that can be checked before the first request, and logs each error with its fix. */
int neo_config_is_valid(server_rec *main_server, apr_pool_t *temporary);

/* Reads NeoAPIKeyFile. Logs the error of a file that cannot be used, and leaves *keys without keys. */
int neo_config_read_keys(server_rec *server, neo_keys *keys, apr_pool_t *pool);

/* Returns false if the virtual host has no DBD directives, so that it shares the main server's connections. */
int neo_config_has_own_database(const server_rec *server);

/* The first argument of a directive: the virtual host's, or else the main server's. NULL if it is not set. */
const char *neo_config_directive(const server_rec *server, const char *name, apr_pool_t *pool);

/* All arguments of the first directive of that name in the whole configuration. NULL if it is not set. */
const char *neo_config_directive_anywhere(const char *name);

/* DBDMax: the maximum number of connections of each process to the virtual host's database. */
int neo_config_max_connections(const server_rec *server);

/* How many of them requests cannot use: one for the listener, one for the courier, and with replicas one that asks the primary
 * for its position. */
int neo_config_reserved_connections(void);

/* NeoAPIHostName, or the system's host name. */
const char *neo_config_host_name(const server_rec *server, apr_pool_t *pool);

/* The URL of a path at WhatsApp's provider, and the time limit for its response in seconds. */
const char *neo_config_provider_url(const neo_server_config *config, const char *path, apr_pool_t *pool);
int neo_config_provider_timeout(const neo_server_config *config);

/* The addresses that this host may connect to, by NeoAPIWebhookAllowAddress. */
neo_guard *neo_config_guard(const neo_server_config *config, apr_pool_t *pool);

/* The value of a directive that takes a number, or its default: NEO_CONFIG_NUMBER(config, webhook_retention). */
long long neo_config_number(const neo_server_config *config, apr_size_t member);
#define NEO_CONFIG_NUMBER(config, name) neo_config_number(config, offsetof(neo_server_config, name))

void neo_config_courier_settings(const server_rec *main_server, const neo_server_config *config, apr_pool_t *pool,
                                 neo_courier_settings *settings);

/* Creates the sites and their shared memory. Call it after neo_config_is_valid. */
int neo_config_make_sites(server_rec *main_server, apr_pool_t *pool);

/* For neoapictl doctor: with `apachectl -t -D NEOAPI_REPORT`, prints a line of JSON: processes, threads, connections of each
 * process, ports, the PID file, and the virtual hosts with NeoAPI On, with their names, files and database. Members without a
 * value are left out. Call it after the MPM has checked its own configuration. */
void neo_config_report(server_rec *main_server, apr_pool_t *temporary);

#endif
