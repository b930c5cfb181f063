/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and merges the directives (see httpd/config.h). */
#include "httpd/config.h"

#include <ap_mpm.h>
#include <apr_strings.h>
#include <http_core.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "httpd/log.h"
#include "httpd/shared_memory.h"
#include "whatsapp/callback.h"

#define VERSION_PATH     "/public/v1/"
#define WHATSAPP_URL     "https://graph.facebook.com"
#define WHATSAPP_VERSION "v23.0"

/* The argument of a directive that sets this member. */
#define MEMBER(name) ((void *)offsetof(neo_server_config, name))

/* The directives with a number, or Off (0) and On (1). */
static const struct {
    const char *directive;
    apr_size_t member;
    long long min, max, default_value;
} ranges[] = {
    {"NeoAPITemporaryHost", offsetof(neo_server_config, is_temporary_host), 0, 1, 0},
    {"NeoAPIMaxBody", offsetof(neo_server_config, max_body), 1024, 64 << 20, 1048576},
    {"NeoAPICursorLifetime", offsetof(neo_server_config, cursor_lifetime), 1, 30 * 86400, 86400},
    {"NeoAPIExports", offsetof(neo_server_config, exports), 0, 1024, 4},
    {"NeoAPIExportTimeout", offsetof(neo_server_config, export_timeout), 1, 7200, 1800},
    {"NeoAPIRateLimitEntries", offsetof(neo_server_config, rate_entries), 64, 16 << 20, 65536},
    {"NeoAPIGroupedWrites", offsetof(neo_server_config, groups_writes), 0, 1, 1},
    {"NeoAPIGroupedStatements", offsetof(neo_server_config, grouped_statements), 0, 16, 0},
    {"NeoAPIWebhookTimeout", offsetof(neo_server_config, webhook_timeout), 1, 60, 15},
    {"NeoAPIWebhookConcurrency", offsetof(neo_server_config, webhook_concurrency), 0, 4096, 256},
    {"NeoAPIWebhookPerSubscription", offsetof(neo_server_config, webhook_per_subscription), 1, 1024, 32},
    {"NeoAPIWebhookAllowHTTP", offsetof(neo_server_config, webhook_allows_http), 0, 1, 0},
    {"NeoAPIWebhookRetention", offsetof(neo_server_config, webhook_retention), 1, 3650, 30},
    {"NeoAPIEventRetention", offsetof(neo_server_config, event_retention), 1, 3650, 30},
    {"NeoAPIEventWaiters", offsetof(neo_server_config, max_event_waiters), 0, 1024, 8},
    {"NeoAPITraceSampling", offsetof(neo_server_config, trace_sampling), 0, 100, 100},
    {"NeoAPIWhatsAppTimeout", offsetof(neo_server_config, whatsapp_timeout), 1, 60, 10},
    {"NeoAPIWhatsAppDownloads", offsetof(neo_server_config, whatsapp_downloads), 0, 1024, 4},
};

static long long *number_member(neo_server_config *config, apr_size_t member)
{
    return (long long *)(void *)((char *)config + member);
}

/* The configured number, or its default. */
long long neo_config_number(const neo_server_config *config, apr_size_t member)
{
    long long value = *number_member((neo_server_config *)config, member);
    for (apr_size_t i = 0; value < 0; i++)
        if (ranges[i].member == member)
            value = ranges[i].default_value;
    return value;
}
#define NUMBER NEO_CONFIG_NUMBER

/* ---------------------------------------------------------------- creation and merging */

void *neo_server_config_make(apr_pool_t *pool, server_rec *server)
{
    neo_server_config *config = apr_pcalloc(pool, sizeof *config);
    (void)server;
    for (apr_size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        *number_member(config, ranges[i].member) = -1;
    config->webhook_allowed = apr_array_make(pool, 1, sizeof(const char *));
    config->stop_texts = apr_array_make(pool, 1, sizeof(const char *));
    config->roots = apr_array_make(pool, 1, sizeof(const char *));
    return config;
}

#define INHERIT(name) (config->name = o->name ? o->name : b->name)

void *neo_server_config_merge(apr_pool_t *pool, void *base, void *own)
{
    const neo_server_config *b = base, *o = own;
    neo_server_config *config = apr_pcalloc(pool, sizeof *config);
    for (apr_size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        long long own_value = *number_member((neo_server_config *)own, ranges[i].member);
        *number_member(config, ranges[i].member) =
            own_value >= 0 ? own_value : *number_member((neo_server_config *)base, ranges[i].member);
    }
    INHERIT(base_url), INHERIT(docs_url), INHERIT(key_file), INHERIT(webhook_delays), INHERIT(webhook_ca_bundle);
    INHERIT(whatsapp_url), INHERIT(whatsapp_version), INHERIT(host_name), INHERIT(read_dsn), INHERIT(trace_collector);
    config->webhook_allowed = apr_array_append(pool, b->webhook_allowed, o->webhook_allowed);
    config->stop_texts = apr_array_append(pool, b->stop_texts, o->stop_texts);
    config->roots = apr_array_append(pool, b->roots, o->roots); /* locations outside virtual hosts apply to all of them */
    return config;
}

void *neo_location_config_make(apr_pool_t *pool, char *path)
{
    neo_location_config *config = apr_pcalloc(pool, sizeof *config);
    (void)path;
    config->is_on = -1;
    return config;
}

void *neo_location_config_merge(apr_pool_t *pool, void *base, void *own)
{
    const neo_location_config *b = base, *o = own;
    return apr_pmemdup(pool, o->is_on >= 0 ? o : b, sizeof *o);
}

neo_server_config *neo_get_server_config(const server_rec *server)
{
    return ap_get_module_config(server->module_config, &neoapi_module);
}

const neo_location_config *neo_get_location_config(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &neoapi_module);
}

/* ---------------------------------------------------------------- directives */

static int ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), wanted = strlen(end);
    return len >= wanted && strcmp(text + len - wanted, end) == 0;
}

static const char *set_on(cmd_parms *cmd, void *data, int on)
{
    neo_location_config *config = data;
    const ap_directive_t *parent = cmd->directive->parent;
    config->is_on = on;
    if (!on)
        return NULL;
    if (!parent || strcasecmp(parent->directive, "<Location") != 0 || cmd->path[0] != '/' ||
        !ends_with(cmd->path, VERSION_PATH))
        return "NeoAPI On must be in a <Location> whose path ends in " VERSION_PATH;
    config->root = cmd->path;
    APR_ARRAY_PUSH(neo_get_server_config(cmd->server)->roots, const char *) = cmd->path;
    return NULL;
}

static const char **text_member(cmd_parms *cmd)
{
    return (const char **)((char *)neo_get_server_config(cmd->server) + (apr_size_t)cmd->info);
}

static int is_url(const char *text)
{
    const char *host = strncmp(text, "https://", 8) == 0 ? text + 8 : strncmp(text, "http://", 7) == 0 ? text + 7 : "";
    return *host && *host != '/' && !strpbrk(text, " \"<>\\^`{|}?#");
}

static const char *set_base_url(cmd_parms *cmd, void *data, const char *url)
{
    (void)data;
    if (is_url(url) && ends_with(apr_pstrcat(cmd->temp_pool, url, "/", NULL), VERSION_PATH))
        return apr_psprintf(cmd->pool, "NeoAPIBaseURL must end with a slash: %s/", url);
    if (!is_url(url) || !ends_with(url, VERSION_PATH))
        return "NeoAPIBaseURL must be the public URL of the API, such as https://api.example.com" VERSION_PATH;
    *text_member(cmd) = url;
    return NULL;
}

static const char *strip_slashes(const char *url, apr_pool_t *pool)
{
    char *copy = apr_pstrdup(pool, url);
    while (ends_with(copy, "/"))
        copy[strlen(copy) - 1] = '\0';
    return copy;
}

static const char *set_docs_url(cmd_parms *cmd, void *data, const char *url)
{
    (void)data;
    if (!is_url(url))
        return "NeoAPIDocsURL must be a URL such as https://api.example.com/docs";
    *text_member(cmd) = strip_slashes(url, cmd->pool);
    return NULL;
}

static const char *set_trace_collector(cmd_parms *cmd, void *data, const char *url)
{
    (void)data;
    if (!is_url(url) || strchr(url, '@'))
        return "NeoAPITraceCollector must be a URL such as http://127.0.0.1:4318";
    *text_member(cmd) = strip_slashes(url, cmd->pool);
    return NULL;
}

/* Requests carry an access token, so http is accepted for this host only. */
static int is_this_host(const char *url)
{
    static const char *const hosts[] = {"http://127.0.0.1", "http://[::1]", "http://localhost"};
    for (apr_size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        size_t len = strlen(hosts[i]);
        if (strncmp(url, hosts[i], len) == 0 && (url[len] == '\0' || url[len] == ':' || url[len] == '/'))
            return !strchr(url, '@');
    }
    return 0;
}

static const char *set_whatsapp_url(cmd_parms *cmd, void *data, const char *url)
{
    (void)data;
    if (!is_url(url) || !(strncmp(url, "https://", 8) == 0 || is_this_host(url)))
        return "NeoAPIWhatsAppURL must be an https URL such as " WHATSAPP_URL
               "; http is accepted for 127.0.0.1, ::1 and localhost only";
    *text_member(cmd) = strip_slashes(url, cmd->pool);
    return NULL;
}

static const char *set_whatsapp_version(cmd_parms *cmd, void *data, const char *version)
{
    size_t major = *version == 'v' ? strspn(version + 1, "0123456789") : 0;
    const char *minor = version + 1 + major + 1;
    (void)data;
    if (major == 0 || minor[-1] != '.' || !*minor || strspn(minor, "0123456789") != strlen(minor))
        return "NeoAPIWhatsAppVersion must be a version of Meta's Graph API, such as " WHATSAPP_VERSION;
    *text_member(cmd) = version;
    return NULL;
}

static const char *add_stop_text(cmd_parms *cmd, void *data, const char *text)
{
    const char *plain = neo_utf8_is_valid(text, strlen(text)) ? neo_opt_out_normalize(text, cmd->pool) : "";
    (void)data;
    APR_ARRAY_PUSH(neo_get_server_config(cmd->server)->stop_texts, const char *) = plain;
    return plain && *plain ? NULL : "NeoAPIWhatsAppStopTexts must be texts of up to 200 bytes of UTF-8 with a letter or digit";
}

static const char *set_host_name(cmd_parms *cmd, void *data, const char *name)
{
    (void)data;
    *text_member(cmd) = name;
    return *name && strlen(name) <= 200 && neo_utf8_is_valid(name, strlen(name))
               ? NULL
               : "NeoAPIHostName must be 1 to 200 bytes of UTF-8";
}

static const char *set_read_dsn(cmd_parms *cmd, void *data, const char *dsn)
{
    (void)data;
    *text_member(cmd) = dsn;
    return *dsn ? NULL : "NeoAPIReadDSN must be a libpq connection string, such as \"service=neoapi-read\"";
}

static const char *set_path(cmd_parms *cmd, void *data, const char *path)
{
    (void)data;
    *text_member(cmd) = ap_server_root_relative(cmd->pool, path);
    return *text_member(cmd) ? NULL : apr_pstrcat(cmd->pool, cmd->cmd->name, ": invalid path: ", path, NULL);
}

static const char *set_number(cmd_parms *cmd, void *data, const char *text)
{
    long long value;
    (void)data;
    for (apr_size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (strcasecmp(ranges[i].directive, cmd->cmd->name) != 0)
            continue;
        if (!neo_integer_parse(text, &value) || value < ranges[i].min || value > ranges[i].max)
            return apr_psprintf(cmd->pool, "%s must be a number from %" APR_INT64_T_FMT " to %" APR_INT64_T_FMT, cmd->cmd->name,
                                (apr_int64_t)ranges[i].min, (apr_int64_t)ranges[i].max);
        *number_member(neo_get_server_config(cmd->server), ranges[i].member) = value;
        return NULL;
    }
    return apr_pstrcat(cmd->pool, cmd->cmd->name, " has no range", NULL); /* a mistake in the source */
}

/* "30d": the unit is required, because all other times are in seconds. */
static const char *set_retention(cmd_parms *cmd, void *data, const char *text)
{
    size_t len = strlen(text);
    if (len < 2 || text[len - 1] != 'd')
        return apr_pstrcat(cmd->pool, cmd->cmd->name, " must be a number of days, such as 30d", NULL);
    return set_number(cmd, data, apr_pstrmemdup(cmd->pool, text, len - 1));
}

static const char *add_delay(cmd_parms *cmd, void *data, const char *text)
{
    neo_server_config *config = neo_get_server_config(cmd->server);
    long long seconds;
    (void)data;
    if (!config->webhook_delays)
        config->webhook_delays = apr_array_make(cmd->pool, 5, sizeof(int));
    if (!neo_integer_parse(text, &seconds) || seconds < 0 || seconds > 7 * 86400 ||
        config->webhook_delays->nelts == NEO_MAX_ATTEMPTS)
        return apr_psprintf(cmd->pool,
                            "NeoAPIWebhookRetryDelays must be at most %d numbers of seconds, such as 0 60 300 1800 7200",
                            NEO_MAX_ATTEMPTS);
    APR_ARRAY_PUSH(config->webhook_delays, int) = (int)seconds;
    return NULL;
}

static const char *add_allowed(cmd_parms *cmd, void *data, const char *range)
{
    const char *error = neo_guard_allow(neo_guard_make(cmd->temp_pool), range, cmd->pool);
    (void)data;
    APR_ARRAY_PUSH(neo_get_server_config(cmd->server)->webhook_allowed, const char *) = range;
    return error ? apr_pstrcat(cmd->pool, "NeoAPIWebhookAllowAddress: ", error, NULL) : NULL;
}

static const char *set_flag(cmd_parms *cmd, void *data, int on)
{
    (void)data;
    *number_member(neo_get_server_config(cmd->server), (apr_size_t)cmd->info) = on;
    return NULL;
}

#define TAKE1(name, set, member, doc) AP_INIT_TAKE1(name, set, member, RSRC_CONF, doc)
#define FLAG(name, member, doc)       AP_INIT_FLAG(name, set_flag, MEMBER(member), RSRC_CONF, doc)

const command_rec neo_directives[] = {
    AP_INIT_FLAG("NeoAPI", set_on, NULL, ACCESS_CONF, "On enables the API in a location"),
    TAKE1("NeoAPIBaseURL", set_base_url, MEMBER(base_url), "the public URL of the API; ends in " VERSION_PATH),
    TAKE1("NeoAPIDocsURL", set_docs_url, MEMBER(docs_url), "the URL of the documentation"),
    TAKE1("NeoAPIHostName", set_host_name, MEMBER(host_name), "the name of this host for neoapictl"),
    FLAG("NeoAPITemporaryHost", is_temporary_host, "On if the host's name is not used again after it has stopped"),
    TAKE1("NeoAPIKeyFile", set_path, MEMBER(key_file), "the file with the deployment's encryption keys"),
    TAKE1("NeoAPIReadDSN", set_read_dsn, MEMBER(read_dsn), "the connection string of the replicas that may answer reads"),
    TAKE1("NeoAPIMaxBody", set_number, NULL, "maximum size of a request body, in bytes"),
    TAKE1("NeoAPICursorLifetime", set_number, NULL, "lifetime of pagination cursors, in seconds"),
    TAKE1("NeoAPIExports", set_number, NULL, "maximum number of exports in progress per process"),
    TAKE1("NeoAPIExportTimeout", set_number, NULL, "time limit of an export, in seconds"),
    TAKE1("NeoAPIRateLimitEntries", set_number, NULL, "maximum number of callers counted for rate limits"),
    AP_INIT_ITERATE("NeoAPIWebhookRetryDelays", add_delay, NULL, RSRC_CONF, "delay before each delivery attempt, in seconds"),
    TAKE1("NeoAPIWebhookTimeout", set_number, NULL, "time limit of a delivery attempt, in seconds"),
    TAKE1("NeoAPIWebhookConcurrency", set_number, NULL,
          "maximum number of attempts in flight per process; 0 disables delivery on this host"),
    TAKE1("NeoAPIWebhookPerSubscription", set_number, NULL, "maximum number of attempts in flight per subscription"),
    FLAG("NeoAPIWebhookAllowHTTP", webhook_allows_http, "On accepts http URLs for subscriptions"),
    FLAG("NeoAPIGroupedWrites", groups_writes, "On lets concurrent creates share a statement"),
    TAKE1("NeoAPIGroupedStatements", set_number, NULL,
          "number of such statements in flight per process and resource; 0: automatic"),
    AP_INIT_ITERATE("NeoAPIWebhookAllowAddress", add_allowed, NULL, RSRC_CONF,
                    "address ranges that may receive webhooks although they are not public"),
    TAKE1("NeoAPIWebhookRetention", set_retention, NULL, "how long deliveries are kept, such as 30d"),
    TAKE1("NeoAPIEventRetention", set_retention, NULL, "how long events are kept, such as 30d"),
    TAKE1("NeoAPIWebhookCABundle", set_path, MEMBER(webhook_ca_bundle),
          "file with the CA certificates that receivers are verified with"),
    TAKE1("NeoAPIWhatsAppURL", set_whatsapp_url, MEMBER(whatsapp_url), "the URL of WhatsApp's provider"),
    TAKE1("NeoAPIWhatsAppVersion", set_whatsapp_version, MEMBER(whatsapp_version), "the version of the provider's API"),
    TAKE1("NeoAPIEventWaiters", set_number, NULL, "maximum number of requests per process that wait for events"),
    TAKE1("NeoAPITraceCollector", set_trace_collector, MEMBER(trace_collector),
          "the URL of an OpenTelemetry collector that gets the spans of requests and delivery attempts"),
    TAKE1("NeoAPITraceSampling", set_number, NULL, "percent of the requests without a traceparent that begin a trace"),
    TAKE1("NeoAPIWhatsAppTimeout", set_number, NULL, "time limit for the provider's response, in seconds"),
    TAKE1("NeoAPIWhatsAppDownloads", set_number, NULL,
          "maximum number of attachments per process that are read from the provider"),
    AP_INIT_ITERATE("NeoAPIWhatsAppStopTexts", add_stop_text, NULL, RSRC_CONF, "further texts that opt out of messages"),
    {0},
};

/* ---------------------------------------------------------------- sites */

int neo_config_read_keys(server_rec *server, neo_keys *keys, apr_pool_t *pool)
{
    const neo_server_config *config = neo_get_server_config(server);
    const char *error = neo_keys_read(keys, config->key_file, pool);
    if (!error)
        return 1;
    memset(keys, 0, sizeof *keys);
    neo_log(NEO_LOG_BAD_KEY_FILE, &(neo_log_context){.server = server}, "NeoAPIKeyFile: %s", error);
    return 0;
}

static int has_api(const server_rec *server)
{
    return neo_get_server_config(server)->roots->nelts > 0;
}

static neo_site *make_site(server_rec *server, apr_pool_t *pool)
{
    const neo_server_config *config = neo_get_server_config(server);
    neo_site *site = apr_pcalloc(pool, sizeof *site);
    site->base_url = config->base_url;
    site->docs_url = config->docs_url
                         ? config->docs_url
                         : apr_pstrcat(pool, apr_pstrndup(pool, config->base_url, strlen(config->base_url) - 1), "/docs", NULL);
    site->max_body = (apr_size_t)NUMBER(config, max_body);
    site->cursor_lifetime = (int)NUMBER(config, cursor_lifetime);
    site->export_timeout = (int)NUMBER(config, export_timeout);
    site->downloads = (int)NUMBER(config, whatsapp_downloads);
    site->allows_http = (int)NUMBER(config, webhook_allows_http);
    site->groups_writes = (int)NUMBER(config, groups_writes);
    site->stop_texts = config->stop_texts;
    (void)neo_config_read_keys(server, &site->keys, pool);
    return site;
}

const char *neo_config_provider_url(const neo_server_config *config, const char *path, apr_pool_t *pool)
{
    return apr_pstrcat(pool, config->whatsapp_url ? config->whatsapp_url : WHATSAPP_URL, "/",
                       config->whatsapp_version ? config->whatsapp_version : WHATSAPP_VERSION, "/", path, NULL);
}

int neo_config_provider_timeout(const neo_server_config *config)
{
    return (int)NUMBER(config, whatsapp_timeout);
}

neo_guard *neo_config_guard(const neo_server_config *config, apr_pool_t *pool)
{
    neo_guard *guard = neo_guard_make(pool);
    for (int i = 0; i < config->webhook_allowed->nelts; i++)
        (void)neo_guard_allow(guard, APR_ARRAY_IDX(config->webhook_allowed, i, const char *), pool);
    return guard;
}

void neo_config_courier_settings(const server_rec *main_server, const neo_server_config *config, apr_pool_t *pool,
                                 neo_courier_settings *settings)
{
    static const int default_delays[] = {0, 60, 300, 1800, 7200};
    const apr_array_header_t *configured = config->webhook_delays;
    *settings = (neo_courier_settings){
        .keys = config->site->keys,
        .base_url = config->site->base_url,
        .attempts = configured ? configured->nelts : (int)(sizeof default_delays / sizeof *default_delays),
        .timeout = (int)NUMBER(config, webhook_timeout),
        .concurrency = config->site->keys.count ? (int)NUMBER(config, webhook_concurrency) : 0, /* it cannot sign without */
        .per_subscription = (int)NUMBER(config, webhook_per_subscription),
        .ca_bundle = config->webhook_ca_bundle,
        .guard = neo_config_guard(config, pool),
        .exporter = config->exporter,
    };
    /* A courier also claims deliveries to URLs that another virtual host accepted: both can use one database. */
    for (const server_rec *s = main_server; s; s = s->next)
        settings->allows_http |= has_api(s) && neo_get_server_config(s)->webhook_allows_http == 1;
    for (int i = 0; i < settings->attempts; i++)
        settings->delays[i] = configured ? APR_ARRAY_IDX(configured, i, int) : default_delays[i];
}

int neo_config_make_sites(server_rec *main_server, apr_pool_t *pool)
{
    long long entries = 0;
    for (server_rec *s = main_server; s; s = s->next) {
        neo_server_config *config = neo_get_server_config(s);
        long long wanted = NUMBER(config, rate_entries);
        if (has_api(s))
            config->site = make_site(s, pool);
        if (has_api(s) && wanted > entries)
            entries = wanted;
    }
    neo_limiter *credentials = NULL, *addresses = NULL;
    neo_refusals *refusals = entries ? neo_shared_refusals_open(main_server) : NULL;
    if (entries && (!refusals || !neo_shared_limiters_open(main_server, (apr_size_t)entries, &credentials, &addresses)))
        return 0;
    for (server_rec *s = main_server; s; s = s->next)
        if (has_api(s)) {
            neo_site *site = neo_get_server_config(s)->site;
            site->credentials = credentials;
            site->addresses = addresses;
            site->refusals = refusals;
            neo_service_prepare(site, pool);
        }
    return 1;
}
