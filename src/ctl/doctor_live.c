/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of `doctor` of what httpd does: whether its user can connect to the database, and how it answers requests. */
#include <apr_strings.h>
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/secret.h"
#include "ctl/output.h"
#include "doctor.h"
#include "pg/error.h"
#include "webhooks/sender.h"

#define REQUEST_TIMEOUT_S 15   /* longer than a statement */
#define REPLAY_LIMIT_MS   1000 /* for a replica that lags; statements on a replica have three seconds */
#define HTTP_PORT         80
#define MAX_ANSWER        4096

static int member_number(const neo_json *object, const char *name)
{
    return (int)neo_json_integer(neo_json_get(object, name));
}

/* ---------------------------------------------------------------- the database, as httpd's user */

/* How httpd uses a server. */
typedef struct {
    neo_pg *(*connect)(const char *conninfo, apr_pool_t *pool, const char **error);
    const char *(*describe)(const neo_doctor_context *p, neo_pg *pg);
} server_kind;

/* Identifies the server and the database. */
static const char *identify_server(const neo_doctor_context *p, neo_pg *pg)
{
    neo_rows rows;
    const char *sql = "select current_database() || ' of the server started at ' || pg_postmaster_start_time()";
    return neo_pg_exec(pg, sql, 0, NULL, p->pool, &rows) == NEO_PG_OK ? neo_rows_value(&rows, 0, 0) : rows.message;
}

/* Why the server cannot be used as a replica; "" if it can. */
static const char *find_replica_fault(const neo_doctor_context *p, neo_pg *pg)
{
    (void)neo_position_await(pg, &p->position, REPLAY_LIMIT_MS, p->pool);
    const char *fault = neo_replica_find_fault(pg, &p->position, p->pool);
    return fault ? fault : "";
}

static const server_kind primary = {neo_pg_connect, identify_server}, replica = {neo_pg_connect_replica, find_replica_fault};

/* In a child process: becomes httpd's user, connects, and writes the class of the error (empty: none), a space, and the message
 * or the description. Peer authentication and password files depend on the user. */
static void connect_as_httpd(const neo_doctor_context *p, const char *params, const server_kind *kind, int out)
{
    const char *class = "08", *text;
    gid_t gid = (gid_t)member_number(p->httpd, "gid");
    unsetenv("HOME");
    unsetenv("PGPASSWORD"); /* this program's, also from NEOAPI_DATABASE_PASSWORD_FILE; httpd does not have it */
    if (initgroups(neo_json_string_at(p->httpd, "user"), gid) != 0 || setgid(gid) != 0 ||
        setuid((uid_t)member_number(p->httpd, "uid")) != 0) {
        text = strerror(errno);
    } else {
        neo_pg *pg = kind->connect(params, p->pool, &text);
        const neo_pg_error *error = pg ? NULL : neo_pg_connect_error(params);
        class = pg ? "" : error && *error->class ? error->class : class;
        text = pg ? kind->describe(p, pg) : text;
    }
    const char *line = apr_pstrcat(p->pool, class, " ", text, NULL);
    _exit(write(out, line, strlen(line)) < 0);
}

/* What the child process wrote; "" if it cannot be started. */
static char *ask_as_httpd(const neo_doctor_context *p, const char *params, const server_kind *kind)
{
    int ends[2];
    ssize_t got = 0;
    apr_size_t len = 0;
    char *answer = apr_pcalloc(p->pool, MAX_ANSWER);
    if (pipe(ends) != 0)
        return answer;
    pid_t child = fork();
    if (child == 0)
        connect_as_httpd(p, params, kind, ends[1]);
    close(ends[1]);
    while (child > 0 && len < MAX_ANSWER - 1 &&
           ((got = read(ends[0], answer + len, MAX_ANSWER - 1 - len)) > 0 || errno == EINTR))
        len += got > 0 ? (apr_size_t)got : 0;
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    return answer;
}

neo_finding neo_doctor_check_database(neo_doctor_context *p, const char **found)
{
    const char *params = neo_json_string_at(p->site, "database"), *user = neo_json_string_at(p->httpd, "user");
    char *class = ask_as_httpd(p, params ? params : "", &primary), *theirs = strchr(class, ' ');
    *found = "no process can be started to check it";
    if (!theirs)
        return NEO_FINDING_SKIPPED;
    *theirs++ = '\0';
    if (*class) {
        *found = apr_psprintf(p->pool, "%s cannot connect with DBDParams: %s", user, neo_ctl_one_line(theirs, p->pool));
        p->fix = neo_pg_error_fix(neo_pg_error_find(class));
        return NEO_FINDING_FAILED;
    }
    const char *ours = identify_server(p, p->pg);
    *found = apr_psprintf(p->pool, "%s can connect; DBDParams and neoapictl use the same one", user);
    if (strcmp(theirs, ours) == 0)
        return NEO_FINDING_OK;
    *found = apr_psprintf(p->pool, "httpd uses %s, neoapictl %s", theirs, ours);
    p->fix = "make DBDParams and neoapictl's --database, NEOAPI_DATABASE or service file name the same database";
    return NEO_FINDING_FAILED;
}

neo_finding neo_doctor_check_replica(neo_doctor_context *p, const char **found)
{
    const char *dsn = neo_json_string_at(p->site, "replica");
    *found = "NeoAPIReadDSN is not set";
    if (!dsn)
        return NEO_FINDING_OK;
    *found = "the primary's position in the write-ahead log cannot be read";
    if (!neo_position_read(p->pg, &p->position, p->pool))
        return NEO_FINDING_SKIPPED;
    const char *class = ask_as_httpd(p, dsn, &replica), *fault = strchr(class, ' ');
    *found = fault ? fault + 1 : "no process can be started to check it";
    if (fault && !fault[1]) {
        *found = "has replayed what the primary had written";
        return NEO_FINDING_OK;
    }
    return fault ? NEO_FINDING_FAILED : NEO_FINDING_SKIPPED;
}

/* ---------------------------------------------------------------- requests to httpd */

/* Asks for /me with an API key that does not exist, so that the module looks it up in the database. */
static const char *send_request(const neo_doctor_context *p, const neo_json *site, const char *scheme, int port,
                                neo_provider_response *response)
{
    char secret[NEO_SECRET_SIZE], id[NEO_ID_SIZE];
    unsigned char hash[NEO_SHA256_SIZE];
    neo_secret_make(secret, id, hash, NEO_KEY_PREFIX);
    const char *url = apr_psprintf(p->pool, "%s://%s:%d%sme", scheme, neo_json_string_at(site, "name"), port,
                                   neo_json_string_at(site, "root"));
    neo_provider_request request = {
        .url = url,
        .timeout = REQUEST_TIMEOUT_S,
        .key = secret,
        .address = apr_psprintf(p->pool, strchr(neo_json_string_at(site, "address"), ':') ? "::[%s]:%d" : "::%s:%d",
                                neo_json_string_at(site, "address"), port),
    };
    neo_sender_request_once(&request, p->pool, response);
    return url;
}

/* The detail of a problem document; NULL if the response is none. */
static const char *find_detail(const neo_doctor_context *p, const neo_provider_response *response)
{
    const char *error;
    return neo_json_string_at(neo_json_parse(response->body, p->pool, &error), "detail");
}

static neo_finding check_request_to(neo_doctor_context *p, const neo_json *site, const char **found)
{
    neo_provider_response response;
    const char *tls = neo_json_string_at(site, "tls");
    const char *url =
        send_request(p, site, tls && strcasecmp(tls, "on") == 0 ? "https" : "http", member_number(site, "port"), &response);
    const char *detail = find_detail(p, &response);
    *found = apr_psprintf(p->pool, "%s: %s", url, response.error);
    p->fix = "see httpd's error log, and the check \"httpd\"";
    if (response.outcome != NEO_PROVIDER_RESPONDED)
        return NEO_FINDING_FAILED;
    *found = "httpd answers, with the database";
    if (response.http_status == 401 && detail)
        return NEO_FINDING_OK;
    *found = apr_psprintf(p->pool, "httpd answers %s with %d: %s", url, response.http_status,
                          detail ? detail : "this is not the API; another virtual host or module answers");
    if (response.http_status == 429)
        return NEO_FINDING_SKIPPED;
    p->fix = detail ? "see the remedy in httpd's error log (NEO…), and the check \"httpd database\""
                    : "see which virtual host comes first: apachectl -t -D DUMP_VHOSTS";
    return NEO_FINDING_FAILED;
}

static neo_finding check_each_site(neo_doctor_context *p, const char **found,
                                   neo_finding (*check)(neo_doctor_context *p, const neo_json *site, const char **found))
{
    const neo_json *sites = neo_json_get(p->httpd, "sites");
    neo_finding finding = NEO_FINDING_OK;
    if (!neo_doctor_is_running(p)) {
        *found = "httpd does not run";
        return NEO_FINDING_SKIPPED;
    }
    for (apr_size_t i = 0; i < neo_json_size(sites) && finding == NEO_FINDING_OK; i++)
        finding = check(p, neo_json_at(sites, i), found);
    return finding;
}

neo_finding neo_doctor_check_request(neo_doctor_context *p, const char **found)
{
    return check_each_site(p, found, check_request_to);
}

/* ---------------------------------------------------------------- requests without TLS */

/* The site must refuse them with its own 403, which tells clients to revoke the key, or be the API behind a proxy. */
static neo_finding check_plain_http_to(neo_doctor_context *p, const neo_json *site, const char **found)
{
    neo_provider_response response;
    const char *name = neo_json_string_at(site, "name"), *url = send_request(p, site, "http", HTTP_PORT, &response);
    *found = "the site answers them itself";
    if (response.outcome != NEO_PROVIDER_RESPONDED || find_detail(p, &response))
        return NEO_FINDING_OK;
    *found = apr_psprintf(p->pool,
                          "%s is answered with %d by another virtual host, so clients that send their key without TLS do "
                          "not learn that it must be revoked",
                          url, response.http_status);
    p->fix =
        apr_psprintf(p->pool,
                     "give the virtual host that apachectl -t -D DUMP_VHOSTS shows first on port %d another "
                     "ServerName than %s; if it is Debian's default site, which you do not use: a2dissite 000-default; then: "
                     "systemctl reload apache2",
                     HTTP_PORT, name);
    return NEO_FINDING_FAILED;
}

neo_finding neo_doctor_check_plain_http(neo_doctor_context *p, const char **found)
{
    const neo_json *ports = neo_json_get(p->httpd, "ports");
    for (apr_size_t i = 0; i < neo_json_size(ports); i++)
        if (neo_json_integer(neo_json_at(ports, i)) == HTTP_PORT)
            return check_each_site(p, found, check_plain_http_to);
    *found = apr_psprintf(p->pool, "httpd does not listen on port %d", HTTP_PORT);
    return NEO_FINDING_OK;
}
