/* neoapictl setup: roles, database and schema, from nothing. Every step looks first, so that it can be repeated. */
#include <apr_file_io.h>
#include <apr_strings.h>
#include <string.h>

#include "ctl/migrate.h"
#include "ctl/output.h"
#include "ctl/session.h"

#define MIN_SERVER_VERSION 150000
/* Another key than that of neo_migrate, which may run in the same database over a second connection. */
#define LOCK_SQL "select pg_advisory_lock(5653418271301)"

typedef struct {
    neo_ctl *ctl;
    apr_pool_t *pool;
    neo_pg *pg; /* first to where the administrator connects, then to the database that is set up */
    const char *database, *owner, *runtime, *admin, *tenant;
    neo_json *first; /* the first tenant's ids and secret, which is to be written before it is committed; NULL: none is made */
    neo_rows rows;   /* of the last statement */
} setup;

/* Runs a statement with what names it for people. Returns NULL, or what went wrong. */
static const char *run_sql(setup *s, const char *purpose, const char *sql, int params, const char *const *values)
{
    if (neo_pg_exec(s->pg, sql, params, values, s->pool, &s->rows) == NEO_PG_OK)
        return NULL;
    return apr_psprintf(s->pool, "%s: %s", purpose, s->rows.message);
}

static const char *id_of(const setup *s, const char *name)
{
    return neo_pg_identifier(s->pg, name, s->pool);
}

static const char *check_server(setup *s)
{
    const char *values[] = {apr_itoa(s->pool, MIN_SERVER_VERSION)};
    const char *wrong =
        run_sql(s, "cannot ask for the server's version",
                "select current_setting('server_version_num')::int >= $1::int, current_setting('server_version')", 1, values);
    if (!wrong && !neo_rows_is_true(&s->rows, 0, 0))
        wrong = apr_psprintf(s->pool, "PostgreSQL 15 or newer is needed; this is %s", neo_rows_value(&s->rows, 0, 1));
    return wrong ? wrong : run_sql(s, "cannot wait for another setup", LOCK_SQL, 0, NULL);
}

/* Makes a role where there is none; `kind` is login or nologin. */
static const char *make_role(setup *s, const char *role, const char *kind)
{
    const char *values[] = {role};
    const char *wrong =
        run_sql(s, "cannot look for the role", "select rolcanlogin from pg_roles where rolname = $1", 1, values);
    if (wrong)
        return wrong;
    int there = s->rows.count > 0, as_wanted = there && (strcmp(kind, "login") != 0 || neo_rows_is_true(&s->rows, 0, 0));
    if (!as_wanted)
        wrong = run_sql(s, apr_psprintf(s->pool, "cannot make the role %s; connect as a PostgreSQL administrator", role),
                        apr_pstrcat(s->pool, there ? "alter role " : "create role ", id_of(s, role), " ", kind, NULL), 0, NULL);
    if (!wrong)
        neo_ctl_say(s->ctl, "role %s: %s", role, there ? "is there" : "made");
    return wrong;
}

/* An administrator who is no superuser makes things as the owner by being a member of it. */
static const char *join_owner(setup *s)
{
    const char *wrong = run_sql(s, "cannot ask who is connected",
                                "select rolsuper, current_user from pg_roles where rolname = current_user", 0, NULL);
    if (wrong || neo_rows_is_true(&s->rows, 0, 0))
        return wrong;
    const char *self = id_of(s, neo_rows_value(&s->rows, 0, 1));
    return run_sql(s, apr_psprintf(s->pool, "cannot act as %s; connect as a PostgreSQL administrator", s->owner),
                   apr_psprintf(s->pool, "grant %s to %s", id_of(s, s->owner), self), 0, NULL);
}

/* Who administers from now on, without being a superuser: on one machine root, whom PostgreSQL knows as the role root. */
static const char *make_admin(setup *s)
{
    const char *wrong = s->admin ? make_role(s, s->admin, "login") : NULL;
    if (!s->admin || wrong)
        return wrong;
    return run_sql(s, apr_psprintf(s->pool, "cannot let %s act as %s", s->admin, s->owner),
                   apr_psprintf(s->pool, "grant %s to %s", id_of(s, s->owner), id_of(s, s->admin)), 0, NULL);
}

static const char *check_runtime(setup *s)
{
    const char *values[] = {s->runtime, s->owner};
    const char *wrong =
        run_sql(s, "cannot look at the runtime role",
                "select rolsuper or rolcreaterole or rolcreatedb or rolbypassrls or pg_has_role($1, $2, 'member')"
                " from pg_roles where rolname = $1",
                2, values);
    if (!wrong && neo_rows_is_true(&s->rows, 0, 0))
        wrong = apr_psprintf(s->pool,
                             "the role %s may do more than a runtime role should (superuser, creating roles or databases, or "
                             "acting as %s); choose another --runtime-role",
                             s->runtime, s->owner);
    return wrong;
}

/* The first line of the file; NULL and a sentence where there is none. */
static const char *read_password(setup *s, const char *path, const char **wrong)
{
    apr_file_t *file;
    char why[120], line[512];
    apr_status_t rv = apr_file_open(&file, path, APR_FOPEN_READ | APR_FOPEN_BUFFERED, 0, s->pool);
    if (rv == APR_SUCCESS) {
        rv = apr_file_gets(line, sizeof line, file);
        apr_file_close(file);
    }
    line[rv == APR_SUCCESS ? strcspn(line, "\r\n") : 0] = '\0';
    if (rv != APR_SUCCESS && rv != APR_EOF)
        *wrong = apr_psprintf(s->pool, "the password file %s cannot be read: %s", path, apr_strerror(rv, why, sizeof why));
    else if (!*line || strlen(line) == sizeof line - 1)
        *wrong = apr_psprintf(s->pool, "the password file %s must have a password of at most %d bytes as its first line", path,
                              (int)sizeof line - 2);
    return *wrong ? NULL : apr_pstrdup(s->pool, line);
}

/* Only the verifier goes to the server: its log may repeat statements. */
static const char *set_password(setup *s, const char *role, const char *option)
{
    const char *wrong = NULL, *path = neo_ctl_value(s->ctl, option);
    const char *password = path ? read_password(s, path, &wrong) : NULL;
    const char *verifier = password ? neo_pg_password_verifier(s->pg, role, password, s->pool, &wrong) : NULL;
    if (!verifier)
        return wrong;
    return run_sql(s, "cannot set the password",
                   apr_psprintf(s->pool, "alter role %s password %s", id_of(s, role), neo_pg_literal(s->pg, verifier, s->pool)),
                   0, NULL);
}

/* The locale is named, so that the schema means the same on every server: letters are known as letters, text is compared
 * bytewise, and no index depends on the version of a library. */
static const char *make_database(setup *s)
{
    const char *values[] = {s->database};
    const char *wrong =
        run_sql(s, "cannot look for the database",
                "select pg_get_userbyid(datdba), pg_encoding_to_char(encoding) from pg_database where datname = $1", 1, values);
    if (wrong)
        return wrong;
    if (s->rows.count && strcmp(neo_rows_value(&s->rows, 0, 0), s->owner) != 0)
        return apr_psprintf(s->pool,
                            "the database %s exists and belongs to %s; choose another --database-name, or hand it over with: "
                            "alter database %s owner to %s",
                            s->database, neo_rows_value(&s->rows, 0, 0), id_of(s, s->database), id_of(s, s->owner));
    if (s->rows.count && strcmp(neo_rows_value(&s->rows, 0, 1), "UTF8") != 0)
        return apr_psprintf(s->pool, "the database %s has the encoding %s and must have UTF8; choose another --database-name",
                            s->database, neo_rows_value(&s->rows, 0, 1));
    int there = s->rows.count > 0;
    if (!there)
        wrong = run_sql(s, apr_psprintf(s->pool, "cannot make the database %s", s->database),
                        apr_psprintf(s->pool, "create database %s owner %s template template0 encoding 'UTF8' locale 'C.UTF-8'",
                                     id_of(s, s->database), id_of(s, s->owner)),
                        0, NULL);
    if (!wrong)
        neo_ctl_say(s->ctl, "database %s: %s", s->database, there ? "is there" : "made");
    return wrong;
}

/* The same server, another database: the last of several settings of one thing holds. */
static const char *conninfo_of(const setup *s, const char *database)
{
    const char *conninfo = neo_ctl_conninfo(s->ctl);
    int is_uri = strncmp(conninfo, "postgresql://", 13) == 0 || strncmp(conninfo, "postgres://", 11) == 0;
    const char *glue = !is_uri ? " " : strchr(conninfo, '?') ? "&" : "?";
    return apr_pstrcat(s->pool, conninfo, glue, "dbname=", database, NULL);
}

/* From here on everything is made as the owner. */
static const char *revoke_public_access(setup *s)
{
    return run_sql(
        s, apr_psprintf(s->pool, "cannot act as %s", s->owner),
        apr_psprintf(s->pool, "set role %s; revoke all on database %s from public; revoke create on schema public from public",
                     id_of(s, s->owner), id_of(s, s->database)),
        0, NULL);
}

static const char *grant_runtime_access(setup *s)
{
    return run_sql(s, apr_psprintf(s->pool, "cannot let the role %s connect", s->runtime),
                   apr_psprintf(s->pool, "grant connect on database %s to %s", id_of(s, s->database), id_of(s, s->runtime)), 0,
                   NULL);
}

static const char *make_roles(setup *s)
{
    const char *wrong = make_role(s, s->owner, "nologin");
    if (!wrong)
        wrong = make_role(s, s->runtime, "login");
    if (!wrong)
        wrong = check_runtime(s);
    if (!wrong)
        wrong = set_password(s, s->runtime, "runtime-password-file");
    if (!wrong)
        wrong = make_admin(s);
    if (!wrong)
        wrong = set_password(s, s->admin, "admin-password-file");
    return wrong ? wrong : join_owner(s);
}

/* The database that is to be made may be the one that nothing else is known to connect to: then every server has another. */
static const char *connect_somewhere(setup *s)
{
    const char *wrong, *ignored, *conninfo = neo_ctl_conninfo(s->ctl);
    s->pg = neo_ctl_connect(s->ctl, conninfo, &wrong);
    if (!s->pg)
        s->pg = neo_ctl_connect(s->ctl, conninfo_of(s, "postgres"), &ignored);
    return s->pg ? NULL : wrong;
}

static void note_result(setup *s, const char *name, const char *value)
{
    neo_json_set(s->first, name, neo_json_make_string(value, s->pool));
}

/* What it takes to make a request: a tenant, an organization, and a key to it. */
static const char *make_first(setup *s)
{
    char tenant[NEO_ID_SIZE] = "", organization[NEO_ID_SIZE] = "", key[NEO_ID_SIZE], secret[NEO_SECRET_SIZE] = "";
    const char *wrong = neo_admin_add_tenant(s->pg, s->tenant, NULL, NULL, s->pool, tenant);
    if (!wrong)
        wrong = neo_admin_add_organization(s->pg, tenant, s->tenant, NULL, s->pool, organization);
    if (!wrong)
        wrong = neo_admin_make_key(s->pg, organization, "org_admin", 0, "first key", s->pool, key, secret);
    note_result(s, "tenant", tenant);
    note_result(s, "organization", organization);
    note_result(s, "secret", secret);
    return wrong;
}

/* A repetition makes no second one. */
static const char *make_tenant(setup *s)
{
    const char *values[] = {s->tenant};
    const char *wrong = run_sql(s, "cannot look for the tenant", "select from neoapi.tenant where name = $1", 1, values);
    if (!wrong && s->rows.count)
        neo_ctl_say(s->ctl, "tenant %s: is there", s->tenant);
    if (wrong || s->rows.count)
        return wrong;
    s->first = neo_json_make_object(s->pool);
    wrong = run_sql(s, "cannot begin", "begin", 0, NULL);
    return wrong ? wrong : make_first(s);
}

static const char *set_up(setup *s, neo_json *report)
{
    const char *wrong = connect_somewhere(s);
    if (!wrong)
        wrong = check_server(s);
    if (!wrong)
        wrong = make_roles(s);
    if (!wrong)
        wrong = make_database(s);
    if (!wrong)
        s->pg = neo_ctl_connect(s->ctl, conninfo_of(s, s->database), &wrong);
    if (!wrong)
        wrong = revoke_public_access(s);
    if (!wrong)
        wrong = neo_ctl_apply_migrations(s->ctl, s->pg, s->runtime, report);
    if (!wrong)
        wrong = grant_runtime_access(s);
    return wrong || !s->tenant ? wrong : make_tenant(s);
}

/* A secret that nobody has read is not made. */
static neo_ctl_exit show(setup *s, neo_json *report)
{
    neo_ctl *ctl = s->ctl;
    if (s->first)
        neo_json_set(report, "first", s->first);
    if (ctl->json)
        neo_ctl_print(ctl, report);
    neo_ctl_say(ctl, "httpd connects to the database %s as the role %s", s->database, s->runtime);
    if (!s->first)
        return NEO_CTL_OK;
    if (!ctl->json)
        neo_ctl_print(ctl, s->first);
    neo_ctl_say(ctl, "The secret is shown this once and kept nowhere. A client sends it in the header X-API-Key.");
    const char *wrong = neo_ctl_flush(ctl);
    if (!wrong)
        wrong = run_sql(s, "the first tenant was shown and may not hold", "commit", 0, NULL);
    return wrong ? neo_ctl_fail(ctl, "%s", wrong) : NEO_CTL_OK;
}

static neo_ctl_exit run(neo_ctl *ctl)
{
    setup s = {.ctl = ctl,
               .pool = ctl->pool,
               .database = neo_ctl_value(ctl, "database-name"),
               .owner = neo_ctl_value(ctl, "owner"),
               .runtime = neo_ctl_value(ctl, "runtime-role"),
               .admin = neo_ctl_value(ctl, "admin-role"),
               .tenant = neo_ctl_value(ctl, "tenant")};
    if (strcmp(s.owner, s.runtime) == 0)
        return neo_ctl_misused(ctl, "--owner and --runtime-role must be two roles: the runtime role may not change the schema");
    if (s.admin && strcmp(s.admin, s.runtime) == 0)
        return neo_ctl_misused(ctl, "--admin-role and --runtime-role must be two roles: httpd may not administer");
    if (!s.admin && neo_ctl_value(ctl, "admin-password-file"))
        return neo_ctl_misused(ctl, "--admin-password-file needs --admin-role");
    neo_json *report = neo_json_make_object(ctl->pool);
    neo_json_set(report, "database", neo_json_make_string(s.database, ctl->pool));
    neo_json_set(report, "owner", neo_json_make_string(s.owner, ctl->pool));
    neo_json_set(report, "runtime_role", neo_json_make_string(s.runtime, ctl->pool));
    const char *wrong = set_up(&s, report);
    if (wrong)
        return neo_ctl_fail(ctl, "%s", wrong);
    return show(&s, report);
}

static const neo_ctl_parameter options[] = {
    {"database-name", NEO_CTL_IDENTIFIER, 0, "neoapi", "the database to make"},
    {"owner", NEO_CTL_IDENTIFIER, 0, "neoapi_owner", "the role that owns it, which nobody logs in as"},
    {"runtime-role", NEO_CTL_IDENTIFIER, 0, "neoapi", "the role that httpd connects as, which cannot change the schema"},
    {"runtime-password-file", NEO_CTL_FILE, 0, NULL,
     "a file whose first line becomes the runtime role's password; without it the role gets none, which is right where it "
     "connects by peer or certificate"},
    {"admin-role", NEO_CTL_IDENTIFIER, 0, NULL,
     "a role that may administer with neoapictl and is no superuser; root, where PostgreSQL takes the operating system's user "
     "for "
     "the role"},
    {"admin-password-file", NEO_CTL_FILE, 0, NULL, "likewise, a file whose first line becomes that role's password"},
    {"tenant", NEO_CTL_NAME, 0, NULL,
     "also make a first tenant of this name, with an organization and a key to it, whose secret is shown once"},
    {0},
};

const neo_ctl_command neo_ctl_setup[] = {
    {"setup", NULL, "Make the roles, the database and the schema.",
     "Connect as a PostgreSQL administrator, to any database of the server. What is there already is kept.", NULL, options, run,
     NULL, 0},
    {0},
};
