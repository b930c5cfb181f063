/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl setup: creates roles, database and schema. Every step can be repeated. */
#include <apr_strings.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "ctl/output.h"
#include "ctl/session.h"
#include "ctl/setup.h"

#define MIN_SERVER_VERSION 150000
/* Not the key of neo_migrate, which runs over a second connection, possibly in the same database. */
#define LOCK_SQL "select pg_advisory_lock(5653418271301)"

typedef struct {
    neo_ctl *ctl;
    apr_pool_t *pool;
    neo_pg *pg; /* first the given database, then the new one */
    const char *database, *owner, *runtime, *admin, *tenant;
    neo_json *first; /* the first tenant's ids and secret, printed before the commit; NULL if there is none */
    neo_rows rows;   /* the last statement's result */
} setup;

/* Runs a statement. Returns NULL, or an error that starts with `purpose`. */
static const char *setup_exec(setup *s, const char *purpose, const char *sql, int params, const char *const *values)
{
    if (neo_pg_exec(s->pg, sql, params, values, s->pool, &s->rows) == NEO_PG_OK)
        return NULL;
    return apr_psprintf(s->pool, "%s: %s", purpose, s->rows.message);
}

static const char *quoted_name(const setup *s, const char *name)
{
    return neo_pg_identifier(s->pg, name, s->pool);
}

static const char *check_server(setup *s)
{
    const char *values[] = {apr_itoa(s->pool, MIN_SERVER_VERSION)};
    const char *error = setup_exec(
        s, "cannot read the server's version",
        "select current_setting('server_version_num')::int >= $1::int, current_setting('server_version')", 1, values);
    if (!error && !neo_rows_is_true(&s->rows, 0, 0))
        error = apr_psprintf(s->pool, "PostgreSQL 15 or newer is required; the server is %s", neo_rows_value(&s->rows, 0, 1));
    return error ? error : setup_exec(s, "cannot wait for another setup", LOCK_SQL, 0, NULL);
}

/* Creates a role, or alters it to `kind`: login or nologin. */
static const char *make_role(setup *s, const char *role, const char *kind)
{
    const char *values[] = {role};
    const char *error = setup_exec(s, "cannot read the role", "select rolcanlogin from pg_roles where rolname = $1", 1, values);
    if (error)
        return error;
    int exists = s->rows.count > 0, is_valid = exists && (strcmp(kind, "login") != 0 || neo_rows_is_true(&s->rows, 0, 0));
    if (!is_valid)
        error = setup_exec(s, apr_psprintf(s->pool, "cannot create the role %s; connect as a PostgreSQL administrator", role),
                           apr_pstrcat(s->pool, exists ? "alter role " : "create role ", quoted_name(s, role), " ", kind, NULL),
                           0, NULL);
    if (!error)
        neo_ctl_say(s->ctl, "role %s: %s", role, exists ? "exists" : "created");
    return error;
}

/* The server logs personal data of rejected rows as DETAIL. Without the privilege to change this, doctor reports it. */
static const char *hide_details(setup *s, const char *role)
{
    const char *error = setup_exec(s, "cannot read the connected role's privileges",
                                   "select has_parameter_privilege('log_error_verbosity', 'set')", 0, NULL);
    if (error || !neo_rows_is_true(&s->rows, 0, 0))
        return error;
    return setup_exec(s, "cannot limit what the server logs",
                      apr_psprintf(s->pool, "alter role %s set log_error_verbosity = 'terse'", quoted_name(s, role)), 0, NULL);
}

/* For neoapi.servers. Without the privilege to grant it, the status page says what is missing. */
static const char *show_replicas(setup *s)
{
    const char *error = setup_exec(s, "cannot read the connected role's privileges",
                                   "select pg_has_role('pg_read_all_stats', 'member with admin option')", 0, NULL);
    if (error || !neo_rows_is_true(&s->rows, 0, 0))
        return error;
    return setup_exec(s, "cannot let the owner see the replicas",
                      apr_pstrcat(s->pool, "grant pg_read_all_stats to ", quoted_name(s, s->owner), NULL), 0, NULL);
}

/* Unless the administrator is a superuser, only members of the owner can act as it. */
static const char *join_owner(setup *s)
{
    const char *error = setup_exec(s, "cannot read the connected role",
                                   "select rolsuper, current_user from pg_roles where rolname = current_user", 0, NULL);
    if (error || neo_rows_is_true(&s->rows, 0, 0))
        return error;
    const char *self = quoted_name(s, neo_rows_value(&s->rows, 0, 1));
    return setup_exec(s, apr_psprintf(s->pool, "cannot act as %s; connect as a PostgreSQL administrator", s->owner),
                      apr_psprintf(s->pool, "grant %s to %s", quoted_name(s, s->owner), self), 0, NULL);
}

/* The role for neoapictl, a member of the owner. With peer authentication the role root lets the user root administer. */
static const char *make_admin(setup *s)
{
    const char *error = s->admin ? make_role(s, s->admin, "login") : NULL;
    if (!s->admin || error)
        return error;
    return setup_exec(s, apr_psprintf(s->pool, "cannot let %s act as %s", s->admin, s->owner),
                      apr_psprintf(s->pool, "grant %s to %s", quoted_name(s, s->owner), quoted_name(s, s->admin)), 0, NULL);
}

static const char *check_runtime_role(setup *s)
{
    const char *values[] = {s->runtime, s->owner};
    const char *error =
        setup_exec(s, "cannot read the runtime role",
                   "select rolsuper or rolcreaterole or rolcreatedb or rolbypassrls or pg_has_role($1, $2, 'member')"
                   " from pg_roles where rolname = $1",
                   2, values);
    if (!error && neo_rows_is_true(&s->rows, 0, 0))
        error = apr_psprintf(s->pool,
                             "the role %s has too many privileges (superuser, creates roles or databases, bypasses row "
                             "security, or is a member of %s); choose another --runtime-role",
                             s->runtime, s->owner);
    return error;
}

/* Sends only the SCRAM verifier, because the server may log statements. */
static const char *set_password(setup *s, const char *role, const char *option)
{
    const char *error = NULL, *path = neo_ctl_value(s->ctl, option);
    const char *password = path ? neo_ctl_read_password(path, s->pool, &error) : NULL;
    const char *verifier = password ? neo_pg_password_verifier(s->pg, role, password, s->pool, &error) : NULL;
    if (!verifier)
        return error;
    return setup_exec(
        s, "cannot set the password",
        apr_psprintf(s->pool, "alter role %s password %s", quoted_name(s, role), neo_pg_literal(s->pg, verifier, s->pool)), 0,
        NULL);
}

/* C.UTF-8 knows accented letters and compares bytewise, so that no index depends on the version of a locale library. */
static const char *make_database(setup *s)
{
    const char *values[] = {s->database};
    const char *error = setup_exec(
        s, "cannot read the database",
        "select pg_get_userbyid(datdba), pg_encoding_to_char(encoding) from pg_database where datname = $1", 1, values);
    if (error)
        return error;
    if (s->rows.count && strcmp(neo_rows_value(&s->rows, 0, 0), s->owner) != 0)
        return apr_psprintf(
            s->pool,
            "the database %s exists and belongs to %s; choose another --database-name, or change its owner with: "
            "alter database %s owner to %s",
            s->database, neo_rows_value(&s->rows, 0, 0), quoted_name(s, s->database), quoted_name(s, s->owner));
    if (s->rows.count && strcmp(neo_rows_value(&s->rows, 0, 1), "UTF8") != 0)
        return apr_psprintf(s->pool, "the database %s has the encoding %s instead of UTF8; choose another --database-name",
                            s->database, neo_rows_value(&s->rows, 0, 1));
    int exists = s->rows.count > 0;
    if (!exists)
        error =
            setup_exec(s, apr_psprintf(s->pool, "cannot create the database %s", s->database),
                       apr_psprintf(s->pool, "create database %s owner %s template template0 encoding 'UTF8' locale 'C.UTF-8'",
                                    quoted_name(s, s->database), quoted_name(s, s->owner)),
                       0, NULL);
    if (!error)
        neo_ctl_say(s->ctl, "database %s: %s", s->database, exists ? "exists" : "created");
    return error;
}

/* The connection string for another database: libpq uses the last of repeated settings. */
static const char *conninfo_for(const setup *s, const char *database)
{
    const char *conninfo = neo_ctl_conninfo(s->ctl);
    int is_uri = strncmp(conninfo, "postgresql://", 13) == 0 || strncmp(conninfo, "postgres://", 11) == 0;
    const char *glue = !is_uri ? " " : strchr(conninfo, '?') ? "&" : "?";
    return apr_pstrcat(s->pool, conninfo, glue, "dbname=", database, NULL);
}

/* Also sets the role to the owner for all that follows. */
static const char *revoke_public_access(setup *s)
{
    return setup_exec(
        s, apr_psprintf(s->pool, "cannot act as %s", s->owner),
        apr_psprintf(s->pool, "set role %s; revoke all on database %s from public; revoke create on schema public from public",
                     quoted_name(s, s->owner), quoted_name(s, s->database)),
        0, NULL);
}

static const char *make_roles(setup *s)
{
    const char *error = make_role(s, s->owner, "nologin");
    if (!error)
        error = show_replicas(s);
    if (!error)
        error = make_role(s, s->runtime, "login");
    if (!error)
        error = check_runtime_role(s);
    if (!error)
        error = hide_details(s, s->runtime);
    if (!error)
        error = set_password(s, s->runtime, "runtime-password-file");
    if (!error)
        error = make_admin(s);
    if (!error)
        error = set_password(s, s->admin, "admin-password-file");
    return error ? error : join_owner(s);
}

/* The connection string may name the database that does not exist yet; then connects to "postgres". */
static const char *connect_somewhere(setup *s)
{
    const char *error, *ignored, *conninfo = neo_ctl_conninfo(s->ctl);
    s->pg = neo_ctl_connect(s->ctl, conninfo, &error);
    if (!s->pg)
        s->pg = neo_ctl_connect(s->ctl, conninfo_for(s, "postgres"), &ignored);
    return s->pg ? NULL : error;
}

/* Creates a tenant, an organization and a key. */
static const char *make_first(setup *s)
{
    char tenant[NEO_ID_SIZE], organization[NEO_ID_SIZE], key[NEO_ID_SIZE], secret[NEO_SECRET_SIZE] = "";
    neo_id_issue(tenant, "tnt_");
    neo_id_issue(organization, "org_");
    const char *error =
        neo_admin_create(s->pg, &neo_noun_tenant, neo_admin_settings(s->pool, "id", tenant, "name", s->tenant, NULL), s->pool);
    if (!error)
        error = neo_admin_create(s->pg, &neo_noun_organization,
                                 neo_admin_settings(s->pool, "id", organization, "tenant_id", tenant, "name", s->tenant, NULL),
                                 s->pool);
    if (!error)
        error = neo_admin_create_credential(
            s->pg, &neo_noun_key,
            neo_admin_settings(s->pool, "organization_id", organization, "role", "org_admin", "name", "first key", NULL),
            s->pool, key, secret);
    s->first = neo_ctl_object(s->ctl, "tenant", tenant, "organization", organization, "secret", secret, NULL);
    return error;
}

static const char *make_tenant(setup *s)
{
    const char *values[] = {s->tenant};
    const char *error = setup_exec(s, "cannot read the tenant", "select from neoapi.tenant where name = $1", 1, values);
    if (!error && s->rows.count)
        neo_ctl_say(s->ctl, "tenant %s: exists", s->tenant);
    if (error || s->rows.count)
        return error;
    error = setup_exec(s, "cannot begin", "begin", 0, NULL);
    return error ? error : make_first(s);
}

static const char *set_up(setup *s, neo_json *report)
{
    const char *error = connect_somewhere(s);
    if (!error)
        error = check_server(s);
    /* Ctrl-C would leave roles without a database, or a database without a schema. What follows does not wait. */
    if (isatty(STDIN_FILENO))
        signal(SIGINT, SIG_IGN);
    if (!error)
        error = make_roles(s);
    if (!error)
        error = make_database(s);
    if (!error)
        s->pg = neo_ctl_connect(s->ctl, conninfo_for(s, s->database), &error);
    if (!error)
        error = neo_ctl_check_primary(s->ctl, s->pg);
    if (!error)
        error = neo_ctl_set_actor(s->ctl, s->pg);
    if (!error)
        error = revoke_public_access(s);
    if (!error)
        error = neo_ctl_apply_migrations(s->ctl, s->pg, s->runtime, report);
    if (!error)
        error = setup_exec(s, apr_psprintf(s->pool, "cannot let the role %s connect", s->runtime),
                           apr_psprintf(s->pool, "grant connect on database %s to %s", quoted_name(s, s->database),
                                        quoted_name(s, s->runtime)),
                           0, NULL);
    return error || !s->tenant ? error : make_tenant(s);
}

/* Commits after the secret was printed: if it cannot be, nothing is created. */
static neo_ctl_exit show_report(setup *s, neo_json *report)
{
    neo_ctl *ctl = s->ctl;
    if (s->first)
        neo_json_set(report, "first", s->first);
    if (ctl->json)
        neo_ctl_print(ctl, report);
    neo_ctl_say(ctl, "httpd must connect to the database %s as the role %s", s->database, s->runtime);
    if (!s->first)
        return NEO_CTL_OK;
    if (!ctl->json)
        neo_ctl_print(ctl, s->first);
    neo_ctl_say(ctl, "Store the secret: it is shown only once. Clients send it in the header X-API-Key.");
    const char *error = neo_ctl_flush(ctl);
    if (!error)
        error = setup_exec(s, "the first tenant was shown but may not exist", "commit", 0, NULL);
    return error ? neo_ctl_fail(ctl, "%s", error) : NEO_CTL_OK;
}

static neo_ctl_exit run_setup(neo_ctl *ctl)
{
    if (neo_ctl_setup_must_ask(ctl))
        return neo_ctl_setup_ask(ctl);
    setup s = {.ctl = ctl,
               .pool = ctl->pool,
               .database = neo_ctl_value(ctl, "database-name"),
               .owner = neo_ctl_value(ctl, "owner"),
               .runtime = neo_ctl_value(ctl, "runtime-role"),
               .admin = neo_ctl_value(ctl, "admin-role"),
               .tenant = neo_ctl_value(ctl, "tenant")};
    if (strcmp(s.owner, s.runtime) == 0)
        return neo_ctl_usage_error(
            ctl, "--owner and --runtime-role must differ, because the runtime role must not change the schema");
    if (s.admin && strcmp(s.admin, s.runtime) == 0)
        return neo_ctl_usage_error(ctl, "--admin-role and --runtime-role must differ, because httpd must not administer");
    if (!s.admin && neo_ctl_value(ctl, "admin-password-file"))
        return neo_ctl_usage_error(ctl, "--admin-password-file needs --admin-role");
    neo_json *report = neo_ctl_object(ctl, "database", s.database, "owner", s.owner, "runtime_role", s.runtime, NULL);
    const char *error = set_up(&s, report);
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    return show_report(&s, report);
}

static const neo_parameter options[] = {
    {"database-name", NEO_KIND_IDENTIFIER, 0, "neoapi", "the database"},
    {"owner", NEO_KIND_IDENTIFIER, 0, "neoapi_owner", "the role that owns the database; it cannot log in"},
    {"runtime-role", NEO_KIND_IDENTIFIER, 0, "neoapi", "the role that httpd connects as; it cannot change the schema"},
    {"runtime-password-file", NEO_KIND_FILE, 0, NULL,
     "a file whose first line is the runtime role's password; not needed with peer or certificate authentication"},
    {"admin-role", NEO_KIND_IDENTIFIER, 0, NULL,
     "a role that can administer with neoapictl without being a superuser; with peer authentication root"},
    {"admin-password-file", NEO_KIND_FILE, 0, NULL, "a file whose first line is the administrator role's password"},
    {"tenant", NEO_KIND_NAME, 0, NULL,
     "also create a first tenant of this name, with an organization and an API key, whose secret is shown once"},
    {0},
};

const neo_ctl_command neo_ctl_setup[] = {
    {"setup", NULL, "Create the roles, the database and the schema.",
     "Connect as a PostgreSQL administrator, to any database of the server. Existing roles, databases and schemas are kept. "
     "On a terminal without options it asks for the database, a tenant, the site and its certificate, shows the commands that "
     "set them up, and runs them, also those of site create; run it as root then.",
     NULL, options, run_setup, NULL, 0},
    {0},
};
