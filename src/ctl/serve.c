/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl serve, health: runs httpd in the foreground with conf/image/serve.conf, and asks it whether it is ready. In a
 * container the options are variables of the environment. They are passed on to httpd as such, because its configuration uses
 * them. */
#include <apr_strings.h>
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/crypto.h"
#include "ctl/output.h"
#include "ctl/session.h"
#include "pg/pg.h"
#include "webhooks/sender.h"

#define PREFIX           "NEOAPI_"
#define DATABASE         PREFIX "DATABASE" /* the global option --database has it, too */
#define HEALTH_TIMEOUT_S 5
#define STOP_MARGIN_S    10 /* to record results after the last attempt of a webhook */

/* clang-format off */
#define MONITORING_PORT                                                                                                        \
    {"monitoring-port", NEO_KIND_PORT, 0, "8081", "the port of neoapi-health, neoapi-status and neoapi-metrics, without TLS"}
/* clang-format on */

enum { BASE_URL, TLS, PROXY, PROCESSES, THREADS, WEBHOOK_TIMEOUT, PORT, MONITORING, KEY_FILE };

static const neo_parameter serve_options[] = {
    [BASE_URL] = {"base-url", NEO_KIND_BASE_URL, 0, NULL, "the URL of the API as clients see it; required"},
    [TLS] = {"tls", NEO_KIND_SWITCH, 0, "on", "off if a proxy terminates TLS"},
    [PROXY] = {"proxy", NEO_KIND_RANGES, 0, NULL, "the addresses of proxies, whose X-Forwarded-For names the client"},
    [PROCESSES] = {"processes", NEO_KIND_PROCESSES, 0, "2", "the number of httpd's processes"},
    [THREADS] = {"threads", NEO_KIND_THREADS, 0, "100", "the number of threads of each process"},
    [WEBHOOK_TIMEOUT] = {"webhook-timeout", NEO_KIND_ATTEMPT, 0, "15",
                         "NeoAPIWebhookTimeout; a graceful stop takes at most 10 seconds more"},
    [PORT] = {"port", NEO_KIND_PORT, 0, "8443", "the port of the API"},
    [MONITORING] = MONITORING_PORT,
    [KEY_FILE] = {"key-file", NEO_KIND_FILE, 0, "/etc/neoapi/key", "NeoAPIKeyFile"},
    {"certificate", NEO_KIND_FILE, 0, "/etc/neoapi/tls.crt", "the certificate with its chain"},
    {"certificate-key", NEO_KIND_FILE, 0, "/etc/neoapi/tls.key", "the certificate's private key"},
    {"host-name", NEO_KIND_MACHINE, 0, NULL, "NeoAPIHostName"},
    {"database-password-file", NEO_KIND_FILE, 0, NULL,
     "a file whose first line is the password of the database's role; the variable applies to every command"},
    {"database-connections", NEO_KIND_THREADS, 0, "16", "DBDMax: the database connections of each process"},
    {"read-database", NEO_KIND_CONNINFO, 0, NULL, "NeoAPIReadDSN: replicas that answer lists and exports"},
    {"webhook-concurrency", NEO_KIND_CONCURRENCY, 0, "256", "NeoAPIWebhookConcurrency"},
    {"webhook-allow-address", NEO_KIND_RANGES, 0, NULL, "NeoAPIWebhookAllowAddress"},
    {"webhook-allow-http", NEO_KIND_SWITCH, 0, "off", "NeoAPIWebhookAllowHTTP"},
    {"webhook-ca-bundle", NEO_KIND_FILE, 0, NULL, "NeoAPIWebhookCABundle"},
    {"trace-collector", NEO_KIND_COLLECTOR, 0, NULL,
     "NeoAPITraceCollector: the URL of an OpenTelemetry collector that receives spans by OTLP/HTTP"},
    {"monitoring-clients", NEO_KIND_RANGES, 0, "127.0.0.0/8 ::1",
     "the addresses that may read neoapi-status and neoapi-metrics"},
    {"log-level", NEO_KIND_LOG_LEVEL, 0, "notice", "LogLevel"},
    {"run-dir", NEO_KIND_FOLDER, 0, "/dev/shm", "a directory for the process id and TLS sessions; httpd writes nowhere else"},
    {"httpd", NEO_KIND_FILE, 0, "/usr/sbin/apache2", "httpd's program"},
    {"httpd-conf", NEO_KIND_FILE, 0, "/usr/share/libapache2-mod-neoapi/serve.conf", "httpd's configuration"},
    {"check", NEO_KIND_FLAG, 0, NULL, "check the options and httpd's configuration, and exit"},
    {0},
};

static const neo_parameter health_options[] = {MONITORING_PORT, {0}};

/* "NEOAPI_BASE_URL" for "base-url". */
static const char *variable_name(const neo_parameter *option, apr_pool_t *pool)
{
    char *name = apr_pstrcat(pool, PREFIX, option->name, NULL);
    for (char *c = name + strlen(PREFIX); *c; c++)
        *c = (char)(*c == '-' ? '_' : toupper((unsigned char)*c));
    return name;
}

/* The value of the command line, else of the environment, else the default. An empty variable counts as not set. */
static const char *option_value(const neo_ctl *ctl, const neo_parameter *option)
{
    const apr_array_header_t *given = neo_ctl_values(ctl, option->name);
    const char *variable = getenv(variable_name(option, ctl->pool));
    return given->nelts ? APR_ARRAY_IDX(given, 0, const char *) : variable && *variable ? variable : option->default_value;
}

/* ---------------------------------------------------------------- checks */

/* httpd's configuration has the values between double quotes. */
static const char *check_quotable(const char *value)
{
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < ' ' || *c == '"' || *c == '\\' || (*c == '$' && c[1] == '{'))
            return "must not contain control characters, double quotes, backslashes or \"${\"";
    return NULL;
}

static const char *check_access(const neo_parameter *option, const char *path, apr_pool_t *pool)
{
    int is_folder = option->kind == NEO_KIND_FOLDER;
    if ((!is_folder && option->kind != NEO_KIND_FILE) || access(path, is_folder ? W_OK | X_OK : R_OK) == 0)
        return NULL;
    return apr_psprintf(pool, "is %s, which the user %ld cannot %s: %s", path, (long)getuid(), is_folder ? "write to" : "read",
                        strerror(errno));
}

static const char *check_value(const neo_parameter *option, const char *value, apr_pool_t *pool)
{
    if (!value)
        return option == &serve_options[BASE_URL] ? "must be set: the URL of the API as clients see it" : NULL;
    const char *error = neo_ctl_value_check(option->kind, value, pool);
    if (!error)
        error = check_quotable(value);
    if (!error && option->kind == NEO_KIND_CONNINFO)
        error = neo_pg_conninfo_error(value, pool);
    return error ? error : check_access(option, value, pool);
}

/* A misspelled name would otherwise leave the default in force. */
static const char *check_names(apr_pool_t *pool)
{
    for (char **variable = environ; *variable; variable++) {
        const neo_parameter *option = serve_options;
        const char *name = apr_pstrmemdup(pool, *variable, strcspn(*variable, "="));
        if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strcmp(name, DATABASE) == 0)
            continue;
        while (option->name && (option->kind == NEO_KIND_FLAG || strcmp(variable_name(option, pool), name) != 0))
            option++;
        if (!option->name)
            return apr_pstrcat(pool, name, " is not a variable of neoapictl serve; neoapictl serve --help lists them", NULL);
    }
    return NULL;
}

/* ---------------------------------------------------------------- httpd's command line and environment */

static void add_define(apr_array_header_t *line, const char *name)
{
    APR_ARRAY_PUSH(line, const char *) = "-D";
    APR_ARRAY_PUSH(line, const char *) = name;
}

/* Sets the variable of an option. The configuration finds out with <IfDefine> whether one is set, or on. */
static const char *add_option(const neo_ctl *ctl, const neo_parameter *option, apr_array_header_t *line)
{
    const char *name = variable_name(option, ctl->pool), *value = option_value(ctl, option);
    int is_off = value && option->kind == NEO_KIND_SWITCH && strcmp(value, "off") == 0;
    int is_unused = strncmp(option->name, "certificate", strlen("certificate")) == 0 &&
                    strcmp(option_value(ctl, &serve_options[TLS]), "off") == 0;
    const char *error = is_unused ? NULL : check_value(option, value, ctl->pool);
    if (error)
        return apr_pstrcat(ctl->pool, name, " ", error, NULL);
    if (!value)
        unsetenv(name);
    else
        setenv(name, value, 1);
    if (value && !is_off)
        add_define(line, name);
    return NULL;
}

static int option_number(const neo_ctl *ctl, int option)
{
    return atoi(option_value(ctl, &serve_options[option]));
}

static void set_number(const neo_ctl *ctl, const char *name, int number)
{
    setenv(name, apr_itoa(ctl->pool, number), 1);
}

/* What follows from the options. The time limits are those of libpq's environment, which a connection string overrides. */
static void derive_variables(const neo_ctl *ctl)
{
    const char *url = option_value(ctl, &serve_options[BASE_URL]), *path = strchr(strstr(url, "://") + 3, '/');
    setenv(PREFIX "SERVER_NAME", apr_pstrmemdup(ctl->pool, url, (apr_size_t)(path - url)), 1);
    setenv(PREFIX "PATH", path, 1);
    set_number(ctl, PREFIX "WORKERS", option_number(ctl, PROCESSES) * option_number(ctl, THREADS));
    set_number(ctl, PREFIX "STOP_TIMEOUT", option_number(ctl, WEBHOOK_TIMEOUT) + STOP_MARGIN_S);
    setenv("PGAPPNAME", "neoapi", 1);
    setenv("PGCONNECT_TIMEOUT", "3", 1); /* main has set it, for commands; connect_timeout in the connection string wins */
    setenv("PGOPTIONS", "-c statement_timeout=10s", 0);
}

static const char *set_database(const neo_ctl *ctl)
{
    const char *given = neo_ctl_value(ctl, "database"), *database = given ? given : getenv(DATABASE);
    const char *error = database && *database ? check_quotable(database) : "must be set: the database, with the role of httpd";
    if (!error)
        error = neo_pg_conninfo_error(database, ctl->pool);
    if (error)
        return apr_pstrcat(ctl->pool, DATABASE " ", error, NULL);
    setenv(DATABASE, database, 1);
    return neo_ctl_load_password(ctl);
}

/* Variables that must agree, and the content of the key file. */
static const char *check_values(const neo_ctl *ctl)
{
    neo_keys keys;
    if (strcmp(option_value(ctl, &serve_options[TLS]), "off") == 0 && !option_value(ctl, &serve_options[PROXY]))
        return "NEOAPI_PROXY must be set if NEOAPI_TLS is off: the addresses of the proxy";
    if (atoi(option_value(ctl, &serve_options[PORT])) == atoi(option_value(ctl, &serve_options[MONITORING])))
        return "NEOAPI_PORT and NEOAPI_MONITORING_PORT must be different ports";
    const char *error = neo_keys_read(&keys, option_value(ctl, &serve_options[KEY_FILE]), ctl->pool);
    return error ? apr_pstrcat(ctl->pool, "NEOAPI_KEY_FILE: ", error, NULL) : NULL;
}

static const char *prepare(const neo_ctl *ctl, apr_array_header_t *line)
{
    const char *error = check_names(ctl->pool);
    for (const neo_parameter *option = serve_options; option->name && !error; option++)
        if (option->kind != NEO_KIND_FLAG)
            error = add_option(ctl, option, line);
    if (!error)
        error = check_values(ctl);
    if (!error)
        error = set_database(ctl);
    if (!error)
        derive_variables(ctl);
    return error;
}

static neo_ctl_exit run_serve(neo_ctl *ctl)
{
    apr_array_header_t *line = apr_array_make(ctl->pool, 64, sizeof(const char *));
    APR_ARRAY_PUSH(line, const char *) = "apache2";
    const char *error = prepare(ctl, line);
    if (!error && geteuid() == 0 && !neo_ctl_value(ctl, "check"))
        error = "serve does not run as root: run it as another user, such as www-data";
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    APR_ARRAY_PUSH(line, const char *) = "-f";
    APR_ARRAY_PUSH(line, const char *) = getenv(PREFIX "HTTPD_CONF");
    add_define(line, "FOREGROUND");
    if (neo_ctl_value(ctl, "check"))
        APR_ARRAY_PUSH(line, const char *) = "-t";
    APR_ARRAY_PUSH(line, const char *) = NULL;
    signal(SIGPIPE, SIG_DFL); /* main ignores it, and programs inherit that */
    execv(getenv(PREFIX "HTTPD"), (char *const *)(void *)line->elts);
    return neo_ctl_fail(ctl, "%s cannot be started: %s", getenv(PREFIX "HTTPD"), strerror(errno));
}

static neo_ctl_exit run_health(neo_ctl *ctl)
{
    neo_provider_response response;
    const char *port = option_value(ctl, &health_options[0]), *error = check_value(&health_options[0], port, ctl->pool);
    if (error)
        return neo_ctl_fail(ctl, "%s %s", variable_name(&health_options[0], ctl->pool), error);
    neo_provider_request request = {.url = apr_psprintf(ctl->pool, "http://127.0.0.1:%s/neoapi-health", port),
                                    .timeout = HEALTH_TIMEOUT_S};
    neo_sender_request_once(&request, ctl->pool, &response);
    if (response.outcome != NEO_PROVIDER_RESPONDED)
        return neo_ctl_fail(ctl, "%s: %s", request.url, response.error);
    if (response.http_status != 200) {
        static const char prefix[] = "not ready: "; /* which neoapi-health writes before the reason */
        const char *why = neo_ctl_one_line(apr_pstrmemdup(ctl->pool, response.body.ptr, response.body.len), ctl->pool);
        int has_prefix = strncmp(why, prefix, strlen(prefix)) == 0;
        return neo_ctl_fail(ctl, "httpd is not ready: %s", why + (has_prefix ? strlen(prefix) : 0));
    }
    neo_ctl_say(ctl, "httpd is ready");
    return NEO_CTL_OK;
}

/* ---------------------------------------------------------------- the tables */

const neo_ctl_command neo_ctl_serve[] = {
    {"serve", NULL, "Run httpd with the API in the foreground, for containers.",
     "Each option can be a variable of the environment: --base-url is NEOAPI_BASE_URL. A wrong value, and another variable "
     "NEOAPI_…, are refused. NEOAPI_DATABASE is the connection string of httpd's role; without further settings in it, "
     "connecting is limited to 3 seconds and a statement to 10. PgBouncer needs an empty PGOPTIONS. Files /etc/neoapi.d/*.conf "
     "are included in the virtual host. It refuses to run as root and writes only to --run-dir. Logs go to standard output "
     "(requests) and standard error. SIGWINCH stops gracefully, SIGTERM within ten seconds. Never migrates: run neoapictl "
     "migrate.",
     NULL, serve_options, run_serve, NULL, 0},
    {0},
};

const neo_ctl_command neo_ctl_health[] = {
    {"health", NULL, "Check whether the httpd of serve is ready.",
     "Asks neoapi-health on this system. The exit status is 1, with the reason, if requests cannot be served.", NULL,
     health_options, run_health, NULL, 0},
    {0},
};
