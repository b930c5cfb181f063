/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of `doctor` in httpd's configuration, which the module itself reports: virtual host, certificate, ports,
 * connections. */
#include <apr_network_io.h>
#include <apr_strings.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/cache_sync.h"
#include "core/clock.h"
#include "doctor.h"

#define MIN_DAYS     14 /* that a certificate must still be valid */
#define MAX_OUTPUT   65536
#define CREATE_SITE  "neoapictl site create \"$(hostname --fqdn)\" --self-signed"
#define RESTART      "apachectl configtest && systemctl restart apache2"
#define RELOAD       "apachectl configtest && systemctl reload-or-restart apache2"
#define REPORT       "apachectl -t -D NEOAPI_REPORT 2>&1"
#define NO_APACHECTL 127 /* the shell's status */

/* For the pid file, and for the first process that listens; one that could not connect tries again after a second. */
#define START_LIMIT_MS   5000
#define POLL_INTERVAL_MS 100

/* ---------------------------------------------------------------- the report */

/* Returns what the command printed, and its exit status. */
static char *run_apachectl(const neo_doctor_context *p, int *status)
{
    char *text = apr_palloc(p->pool, MAX_OUTPUT);
    setenv("APACHE_CONFDIR", p->httpd_dir, 1);
    FILE *in = popen("PATH=$PATH:/usr/local/sbin:/usr/sbin; " REPORT, "r"); /* NOLINT(cert-env33-c): a constant command */
    text[in ? fread(text, 1, MAX_OUTPUT - 1, in) : 0] = '\0';
    *status = in ? pclose(in) : -1;
    return text;
}

/* Its messages without warnings. */
static const char *keep_errors(char *output, apr_pool_t *pool)
{
    const char *found = "";
    for (char *line; (line = strsep(&output, "\n"));)
        if (*line && *line != '{' && !strstr(line, "AH00558") && !strstr(line, ":warn]"))
            found = apr_pstrcat(pool, found, *found ? " " : "", line, NULL);
    return *found ? found : "apachectl configtest fails";
}

void neo_doctor_read_httpd(neo_doctor_context *p)
{
    int status;
    const char *error;
    if (geteuid() != 0)
        p->httpd_skipped = "only root can check httpd's configuration";
    else if (access(apr_pstrcat(p->pool, p->httpd_dir, "/envvars", NULL), F_OK) != 0)
        p->httpd_skipped =
            apr_psprintf(p->pool, "%s does not have Debian's layout; httpd's configuration is not checked", p->httpd_dir);
    if (p->httpd_skipped)
        return;
    char *output = run_apachectl(p, &status), *line = strstr(output, "{\"processes\"");
    if (status == NO_APACHECTL << 8 || status == -1)
        p->httpd_skipped = "apachectl is not installed";
    else if (line) {
        const neo_text text = {line, strcspn(line, "\n")};
        p->httpd = neo_json_parse(text, p->pool, &error);
        p->site = neo_json_at(neo_json_get(p->httpd, "sites"), 0);
    } else if (status == 0) {
        p->httpd_error = "httpd does not load the module";
        p->httpd_fix = "a2enmod neoapi && " RESTART;
    }
    if (status > 0 && !p->httpd_skipped)
        p->httpd_error = keep_errors(output, p->pool);
}

/* ---------------------------------------------------------------- the configuration */

neo_finding neo_doctor_check_httpd_conf(neo_doctor_context *p, const char **found)
{
    const char *site = apr_pstrcat(p->pool, p->httpd_dir, "/sites-enabled/neoapi.conf", NULL);
    *found = p->httpd_error ? p->httpd_error : "valid";
    p->fix = p->httpd_fix ? p->httpd_fix : "correct it; apachectl configtest checks it";
    if (!p->httpd_error)
        return NEO_FINDING_OK;
    return p->httpd_fix && access(site, F_OK) != 0 ? NEO_FINDING_PENDING : NEO_FINDING_FAILED;
}

neo_finding neo_doctor_check_site(neo_doctor_context *p, const char **found)
{
    *found = "no virtual host has NeoAPI On";
    p->fix = CREATE_SITE;
    if (!p->site)
        return NEO_FINDING_PENDING;
    const char *file = neo_json_string_at(p->site, "file");
    *found = apr_psprintf(p->pool, "%s%s%s", neo_json_string_at(p->site, "base_url"), file ? " in " : "", file ? file : "");
    return NEO_FINDING_OK;
}

static neo_finding check_site_certificate(neo_doctor_context *p, const neo_json *site, const char **found)
{
    int days;
    const char *certificate = neo_json_string_at(site, "certificate"), *key = neo_json_string_at(site, "certificate_key"),
               *name = neo_json_string_at(site, "name");
    *found = "httpd has no certificate file";
    if (!certificate)
        return NEO_FINDING_OK; /* a proxy terminates TLS, or mod_md has the certificate */
    *found = neo_certificate_check(certificate, key ? key : certificate, name ? name : "", &days, p->pool);
    p->fix = apr_psprintf(p->pool, "correct SSLCertificateFile and SSLCertificateKeyFile in %s, then: " RELOAD,
                          neo_json_string_at(site, "file"));
    if (*found)
        return NEO_FINDING_FAILED;
    *found = apr_psprintf(p->pool, days < 0 ? "%s has expired" : "%s expires in %d days", certificate, days);
    p->fix = "renew it, then: " RELOAD;
    return days < MIN_DAYS ? NEO_FINDING_FAILED : NEO_FINDING_OK;
}

neo_finding neo_doctor_check_certificate(neo_doctor_context *p, const char **found)
{
    const neo_json *sites = neo_json_get(p->httpd, "sites");
    neo_finding finding = NEO_FINDING_OK;
    for (apr_size_t i = 0; i < neo_json_size(sites) && finding == NEO_FINDING_OK; i++)
        finding = check_site_certificate(p, neo_json_at(sites, i), found);
    return finding;
}

/* ---------------------------------------------------------------- the connections */

static long long reported_number(const neo_doctor_context *p, const char *name)
{
    return neo_json_integer(neo_json_get(p->httpd, name));
}

/* Each process holds at most DBDMax connections, and no more than its threads, the listener and the courier use. */
neo_finding neo_doctor_check_connection_limit(neo_doctor_context *p, const char **found)
{
    neo_rows rows;
    long long threads = reported_number(p, "threads"), each = reported_number(p, "connections"),
              processes = reported_number(p, "processes");
    each = each < threads + 2 ? each : threads + 2;
    if (neo_pg_exec(p->pg, NEO_DOCTOR_CONNECTIONS_SQL, 0, NULL, p->pool, &rows) != NEO_PG_OK) {
        *found = rows.message;
        return NEO_FINDING_FAILED;
    }
    long long limit = atoll(neo_rows_value(&rows, 0, 3)), fits = limit / (each ? each : 1);
    *found = apr_psprintf(p->pool, "%d processes of %d connections need %d, PostgreSQL accepts %d", (int)processes, (int)each,
                          (int)(processes * each), (int)limit);
    p->fix = threads > 1
                 ? "a2enconf server-neoapi, or reduce MaxRequestWorkers, or increase max_connections in postgresql.conf"
                 : apr_psprintf(p->pool,
                                "use a threaded MPM: a2dismod mpm_prefork && a2enmod mpm_event; or set MaxRequestWorkers to at "
                                "most %d, or increase max_connections in postgresql.conf",
                                (int)fits);
    return processes * each <= limit ? NEO_FINDING_OK : NEO_FINDING_FAILED;
}

/* ---------------------------------------------------------------- the process */

int neo_doctor_is_running(const neo_doctor_context *p)
{
    char line[32] = "";
    const char *path = neo_json_string_at(p->httpd, "pid_file");
    FILE *in = path ? fopen(path, "r") : NULL;
    if (in) {
        if (!fgets(line, sizeof line, in))
            *line = '\0';
        fclose(in);
    }
    pid_t pid = (pid_t)atol(line);
    return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

static int has_listener(int port, apr_pool_t *pool)
{
    apr_socket_t *socket;
    apr_sockaddr_t *address;
    int is_open = 0;
    if (apr_sockaddr_info_get(&address, "127.0.0.1", APR_INET, (apr_port_t)port, 0, pool) == APR_SUCCESS &&
        apr_socket_create(&socket, APR_INET, SOCK_STREAM, APR_PROTO_TCP, pool) == APR_SUCCESS) {
        apr_socket_timeout_set(socket, apr_time_from_sec(2));
        is_open = apr_socket_connect(socket, address) == APR_SUCCESS;
        apr_socket_close(socket);
    }
    return is_open;
}

/* The first of httpd's ports that accepts connections; 0 if there is none. */
static int used_port(const neo_doctor_context *p)
{
    const neo_json *ports = neo_json_get(p->httpd, "ports");
    for (apr_size_t i = 0; i < neo_json_size(ports); i++) {
        int port = (int)neo_json_integer(neo_json_at(ports, i));
        if (has_listener(port, p->pool))
            return port;
    }
    return 0;
}

/* httpd listens before it writes its pid file, and systemctl can return in between. */
static int await_pid_file(const neo_doctor_context *p, int *port)
{
    neo_ms until = neo_now_ms() + START_LIMIT_MS;
    while (!neo_doctor_is_running(p)) {
        *port = used_port(p);
        if (!*port || neo_now_ms() >= until)
            return 0;
        apr_sleep(apr_time_from_msec(POLL_INTERVAL_MS));
    }
    return 1;
}

static neo_finding report_stopped(neo_doctor_context *p, int port, const char **found)
{
    *found = "httpd does not run";
    p->fix = "systemctl start apache2; if it fails, see httpd's error log";
    if (port) {
        *found = apr_psprintf(p->pool, "httpd does not run, and another program uses port %d", port);
        p->fix = apr_psprintf(p->pool, "find it with ss -ltnp sport = :%d and stop it, then: systemctl start apache2", port);
    }
    return NEO_FINDING_FAILED;
}

/* Right after httpd has started, its processes do not listen yet. False if the listeners cannot be read. */
static int await_listeners(const neo_doctor_context *p, int limit_ms, neo_listeners *found)
{
    neo_ms until = neo_now_ms() + limit_ms;
    while (neo_cache_sync_count_listeners(p->pg, p->runtime, p->pool, found) == NEO_PG_OK) {
        if (found->listeners || neo_now_ms() >= until)
            return 1;
        apr_sleep(apr_time_from_msec(POLL_INTERVAL_MS));
    }
    return 0;
}

neo_finding neo_doctor_check_running(neo_doctor_context *p, const char **found)
{
    neo_listeners processes;
    int is_here = p->site != NULL, port;
    if (is_here && !await_pid_file(p, &port))
        return report_stopped(p, port, found);
    *found = "the listening processes cannot be read";
    p->fix = "correct the connection to the database first";
    if (!p->pg || !await_listeners(p, is_here ? START_LIMIT_MS : 0, &processes))
        return is_here ? NEO_FINDING_SKIPPED : NEO_FINDING_FAILED;
    int count = processes.listeners;
    *found = count ? apr_psprintf(p->pool, "%d process%s listen%s for credential changes", count, count == 1 ? "" : "es",
                                  count == 1 ? "s" : "")
             : p->is_read_only    ? "no process listens for credential changes, because the database is read-only; every "
                                    "request reads its credential"
             : processes.sessions ? "no process listens for credential changes, because httpd connects through a connection "
                                    "pooler; every request reads its credential"
                                  : "no httpd is connected to the database";
    p->fix = is_here ? "see httpd's error log"
                     : "start httpd with NeoAPI On; if it is running, see its error log: the database may refuse its role";
    return count || processes.sessions ? NEO_FINDING_OK : is_here ? NEO_FINDING_FAILED : NEO_FINDING_PENDING;
}
