/* The module's directives: what an administrator wrote, and the checks that it must pass before httpd starts. */
#ifndef NEO_HTTPD_CONFIG_H
#define NEO_HTTPD_CONFIG_H

#include <httpd.h>

#include <http_config.h>

#include "httpd/database.h"
#include "httpd/dispatcher.h"
#include "httpd/listener.h"
#include "service/service.h"

extern module AP_MODULE_DECLARE_DATA neoapi_module;

/* Of a virtual host. */
typedef struct neo_server_config {
    const char *base_url;
    const char *docs_url;
    const char *key_file;
    long long max_body;        /* bytes; each number is -1 where it was not given */
    long long cursor_lifetime; /* seconds */
    long long rate_entries;
    long long webhook_timeout; /* seconds */
    long long webhook_concurrency;
    long long webhook_per_subscription;
    long long webhook_retention;         /* days */
    long long webhook_http;              /* 1: subscriptions may have http addresses */
    apr_array_header_t *webhook_delays;  /* of int: seconds before each attempt; NULL where they were not given */
    apr_array_header_t *webhook_allowed; /* of const char *: ranges of addresses */
    const char *webhook_ca_bundle;
    const char *whatsapp_url; /* without a slash at the end; these two are NULL where they were not given */
    const char *whatsapp_version;
    long long whatsapp_timeout; /* seconds */
    apr_array_header_t *roots;  /* of const char *: the locations where it is on, each ends in a slash */
    neo_site *site;             /* made when httpd starts; NULL where it is on nowhere */
    neo_database *database;     /* these two are each child process's own */
    neo_listener *listener;
    neo_dispatcher *dispatcher; /* NULL where this host does not deliver */
} neo_server_config;

/* Of a location. */
typedef struct neo_location_config {
    int is_on;        /* -1 where it was not given */
    const char *root; /* the location's path */
} neo_location_config;

extern const command_rec neo_directives[];
void *neo_server_config_make(apr_pool_t *pool, server_rec *server);
void *neo_server_config_merge(apr_pool_t *pool, void *base, void *own);
void *neo_location_config_make(apr_pool_t *pool, char *path);
void *neo_location_config_merge(apr_pool_t *pool, void *base, void *own);

neo_server_config *neo_server_config_of(const server_rec *server);
const neo_location_config *neo_location_config_of(const request_rec *r);

/* Looks at everything that can be wrong before a request comes, and logs how to mend it. True if nothing is. */
int neo_config_is_right(server_rec *main_server, apr_pool_t *temporary);

/* False where a server uses the connections that mod_dbd opens for all who have no directives of their own for it. */
int neo_config_has_own_database(const server_rec *server);

/* DBDMax: how many connections each process may have. */
int neo_config_connections(void);

/* The address of a path at WhatsApp's provider, and how long to wait for its answer. */
const char *neo_config_provider_url(const neo_server_config *config, const char *path, apr_pool_t *pool);
int neo_config_provider_timeout(const neo_server_config *config);

/* What the courier of a virtual host is told. */
void neo_config_courier(const server_rec *main_server, const neo_server_config *config, apr_pool_t *pool,
                        neo_courier_settings *settings);

/* Makes the sites, with what the configuration says of them. Call it after neo_config_is_right. */
int neo_config_make_sites(server_rec *main_server, apr_pool_t *pool);

#endif
