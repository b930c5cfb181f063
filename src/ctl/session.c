/* SPDX-License-Identifier: Apache-2.0 */
/* Connects to the database (see ctl/session.h). */
#include "ctl/session.h"

#include <apr_file_io.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/output.h"
#include "pg/error.h"
#include "sql/event_log.h"
#include "sql/migrate.h"

/* Whether libpq knows the service. Port 0 is invalid, so that it fails before it connects. */
static int has_service(const char *service, apr_pool_t *pool)
{
    const char *why = "";
    return neo_pg_connect(apr_pstrcat(pool, service, " port=0", NULL), pool, &why) || !strstr(why, "definition of service");
}

const char *neo_ctl_conninfo(const neo_ctl *ctl)
{
    const char *given = neo_ctl_value(ctl, "database"), *environment = getenv("NEOAPI_DATABASE");
    if (given)
        return given;
    if (environment && *environment)
        return environment;
    return has_service("service=neoapi_admin", ctl->pool) ? "service=neoapi_admin"
           : has_service("service=neoapi", ctl->pool)     ? "service=neoapi"
                                                          : "dbname=neoapi";
}

const char *neo_ctl_read_password(const char *path, apr_pool_t *pool, const char **error)
{
    apr_file_t *file;
    char why[120], line[512];
    apr_status_t rv = apr_file_open(&file, path, APR_FOPEN_READ | APR_FOPEN_BUFFERED, 0, pool);
    if (rv == APR_SUCCESS) {
        rv = apr_file_gets(line, sizeof line, file);
        apr_file_close(file);
    }
    line[rv == APR_SUCCESS ? strcspn(line, "\r\n") : 0] = '\0';
    *error = NULL;
    if (rv != APR_SUCCESS && rv != APR_EOF)
        *error = apr_psprintf(pool, "the password file %s cannot be read: %s", path, apr_strerror(rv, why, sizeof why));
    else if (!*line || strlen(line) == sizeof line - 1)
        *error = apr_psprintf(pool, "the first line of the password file %s must be a password of at most %d bytes", path,
                              (int)sizeof line - 2);
    return *error ? NULL : apr_pstrdup(pool, line);
}

const char *neo_ctl_load_password(const neo_ctl *ctl)
{
    const char *error, *path = getenv("NEOAPI_DATABASE_PASSWORD_FILE");
    if (!path || !*path)
        return NULL;
    const char *password = neo_ctl_read_password(path, ctl->pool, &error);
    if (password)
        setenv("PGPASSWORD", password, 1);
    return error ? apr_pstrcat(ctl->pool, "NEOAPI_DATABASE_PASSWORD_FILE: ", error, NULL) : NULL;
}

/* Overrides the service file, whose timeouts are for httpd's requests. */
#define SETTINGS                                                                                                               \
    "set client_encoding to 'UTF8'; set client_min_messages to warning; set statement_timeout to 0;"                           \
    " set idle_in_transaction_session_timeout to 0"

#define ADDRESS "--database, NEOAPI_DATABASE or the service file"

/* The remedy for libpq's message. If that is translated, the SQLSTATE has one. */
static const char *find_fix(const char *message, const char *conninfo)
{
    static const struct {
        const char *part, *fix;
    } table[] = {
        {"role \"",
         "run neoapictl as root, for whom neoapictl setup --admin-role root creates a role, or name another one in " ADDRESS},
        {"does not exist", "create it with neoapictl setup, or correct " ADDRESS},
        {"authentication failed",
         "run neoapictl as root, or correct the role or its password in " ADDRESS " or NEOAPI_DATABASE_PASSWORD_FILE"},
        {"no password supplied", "store the password in ~/.pgpass, or name its file in NEOAPI_DATABASE_PASSWORD_FILE"},
        {"pg_hba.conf", "allow this role and address in PostgreSQL's pg_hba.conf, or correct " ADDRESS},
        {"session is read-only",
         "if another server is being promoted, wait until it is; otherwise start the primary, or correct " ADDRESS},
        {"definition of service", "define the service (see the example pg_service.conf), or correct " ADDRESS},
    };
    for (apr_size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strstr(message, table[i].part))
            return table[i].fix;
    const neo_pg_error *error = neo_pg_connect_error(conninfo);
    if (error && *error->class)
        return neo_pg_error_fix(error);
    return "check that PostgreSQL runs (on its host: systemctl status postgresql) and that " ADDRESS " has its address";
}

neo_pg *neo_ctl_connect_or_fix(const neo_ctl *ctl, const char *conninfo, const char **error, const char **fix)
{
    neo_rows rows;
    const char *why, *given = neo_ctl_value(ctl, "database");
    *error = given && neo_pg_has_password(given)
                 ? "--database must not have a password, because other users can see the command line"
                 : neo_ctl_load_password(ctl);
    *fix = "use a password file (~/.pgpass), NEOAPI_DATABASE_PASSWORD_FILE, a service, or NEOAPI_DATABASE";
    if (*error)
        return NULL;
    neo_pg *pg = neo_pg_connect(conninfo, ctl->pool, &why);
    if (!pg) {
        *error = apr_psprintf(ctl->pool, "cannot connect to the database: %s", neo_ctl_one_line(why, ctl->pool));
        *fix = find_fix(why, conninfo);
    } else if (neo_pg_exec(pg, SETTINGS, 0, NULL, ctl->pool, &rows) != NEO_PG_OK) {
        *error = rows.message;
        *fix = find_fix(rows.message, conninfo);
    }
    return *error ? NULL : pg;
}

neo_pg *neo_ctl_connect(const neo_ctl *ctl, const char *conninfo, const char **error)
{
    const char *fix;
    neo_pg *pg = neo_ctl_connect_or_fix(ctl, conninfo, error, &fix);
    if (!pg)
        *error = apr_psprintf(ctl->pool, "%s; fix: %s; neoapictl doctor checks the installation", *error, fix);
    return pg;
}

const char *neo_ctl_exec(const neo_ctl *ctl, neo_pg *pg, const char *sql)
{
    neo_rows rows;
    return neo_pg_query(pg, sql, 0, NULL, ctl->pool, &rows);
}

static const char *set_owner_role(neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    if (neo_pg_exec(pg,
                    "select pg_get_userbyid(nspowner), current_user, pg_has_role(nspowner, 'member')"
                    " from pg_catalog.pg_namespace where nspname = 'neoapi'",
                    0, NULL, pool, &rows) != NEO_PG_OK)
        return rows.message;
    if (rows.count == 0)
        return "this database has no schema neoapi; create it with: neoapictl setup";
    const char *owner = neo_rows_value(&rows, 0, 0);
    if (!neo_rows_is_true(&rows, 0, 2))
        return apr_psprintf(pool,
                            "the role %s cannot administer this database; connect as a superuser or as a member of %s: define "
                            "the service neoapi_admin (see the example pg_service.conf), or use --database",
                            neo_rows_value(&rows, 0, 1), owner);
    const char *set = apr_pstrcat(pool, "set role ", neo_pg_identifier(pg, owner, pool), NULL);
    return neo_pg_query(pg, set, 0, NULL, pool, &rows);
}

/* A server of the connection string. */
typedef struct {
    const char *host, *started; /* two names of one server have the same start */
    int accepts_writes;
    long long rank;
} server;

#define RANK_TIMEOUT_S 3

static int read_server(neo_pg *pg, apr_pool_t *pool, server *found)
{
    neo_rows rows;
    if (neo_pg_exec_once(
            pg, "select extract(epoch from pg_postmaster_start_time()), not current_setting('transaction_read_only')::boolean",
            RANK_TIMEOUT_S, pool, &rows) != NEO_PG_OK)
        return 0;
    found->started = neo_rows_value(&rows, 0, 0);
    found->accepts_writes = neo_rows_is_true(&rows, 0, 1);
    return neo_log_rank_read(pg, RANK_TIMEOUT_S, pool, &found->rank) != NEO_PG_UNAVAILABLE;
}

const char *neo_ctl_find_second_primary(const neo_ctl *ctl, neo_pg *pg, int *is_replaced)
{
    server ours, other;
    const char *error;
    *is_replaced = 0;
    for (int n = 0;; n++) {
        neo_pg *peer = neo_pg_connect_nth(pg, n, ctl->pool, &other.host, &error);
        if (!other.host || (n == 0 && !read_server(pg, ctl->pool, &ours)))
            return NULL;
        if (peer)
            (void)set_owner_role(peer, ctl->pool); /* the connected role may not inherit the privileges to read the rank */
        if (!peer || !read_server(peer, ctl->pool, &other) || !other.accepts_writes || strcmp(other.started, ours.started) == 0)
            continue;
        *is_replaced = neo_log_has_replaced(other.rank, ours.rank);
        return apr_psprintf(ctl->pool, "two servers accept writes: this one, and %s%s", other.host,
                            *is_replaced                                  ? ", which has replaced it"
                            : neo_log_has_replaced(ours.rank, other.rank) ? ", which it has replaced"
                                                                          : "");
    }
}

const char *neo_ctl_check_primary(const neo_ctl *ctl, neo_pg *pg)
{
    int is_replaced;
    const char *second = neo_ctl_find_second_primary(ctl, pg, &is_replaced);
    return is_replaced ? apr_psprintf(ctl->pool, "%s; fix: %s", second, neo_messages[NEO_LOG_REPLACED].fix) : NULL;
}

static const char *check_schema_version(neo_pg *pg, apr_pool_t *pool)
{
    int version;
    if (neo_schema_version(pg, pool, &version) != NEO_PG_OK)
        return "the schema's version cannot be read; see: neoapictl doctor";
    if (version < neo_schema_needed())
        return apr_psprintf(pool, "the schema is at version %d, this program requires %d; update it with: neoapictl migrate",
                            version, neo_schema_needed());
    return NULL;
}

neo_pg *neo_ctl_open_to_read(const neo_ctl *ctl, const char **error)
{
    neo_pg *pg = neo_ctl_open_any(ctl, error);
    if (pg)
        *error = neo_ctl_check_primary(ctl, pg);
    return *error ? NULL : pg;
}

neo_pg *neo_ctl_open(const neo_ctl *ctl, const char **error)
{
    neo_rows rows;
    neo_pg *pg = neo_ctl_open_to_read(ctl, error);
    if (!pg)
        return NULL;
    if (neo_schema_probe_write(pg, ctl->pool, &rows) != NEO_PG_OK)
        *error = apr_psprintf(ctl->pool, "%s; %s", rows.error->sentence, neo_pg_error_fix(rows.error));
    if (!*error)
        *error = neo_ctl_set_actor(ctl, pg);
    if (!*error)
        *error = neo_ctl_record_command(ctl, pg);
    return *error ? NULL : pg;
}

const char *neo_ctl_record_as_owner(const neo_ctl *ctl, neo_pg *pg)
{
    const char *error = set_owner_role(pg, ctl->pool);
    if (!error)
        error = neo_ctl_set_actor(ctl, pg);
    if (!error)
        error = neo_ctl_record_command(ctl, pg);
    return error ? error : neo_ctl_exec(ctl, pg, "reset role");
}

neo_pg *neo_ctl_open_any(const neo_ctl *ctl, const char **error)
{
    neo_pg *pg = neo_ctl_connect(ctl, neo_ctl_conninfo(ctl), error);
    if (pg)
        *error = set_owner_role(pg, ctl->pool);
    if (pg && !*error)
        *error = check_schema_version(pg, ctl->pool);
    return *error ? NULL : pg;
}
