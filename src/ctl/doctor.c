/* neoapictl doctor: looks at everything that the module needs, one thing after the other, and says how to mend it. */
#include <apr_strings.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/output.h"
#include "ctl/session.h"
#include "doctor.h"
#include "store/cache_sync.h"
#include "store/migrate.h"

#define MAX_CLOCK_DIFFERENCE 2000 /* milliseconds */

/* What a check needs to have gone well before. */
typedef enum { NEEDS_NOTHING, NEEDS_HTTPD, NEEDS_CONNECTION, NEEDS_SCHEMA, NEEDS_SCHEMA_AND_KEYS } need;

typedef struct check check;
struct check {
    const char *name;
    need need;
    const char *sql; /* answers whether it is well and what was found; $1 is the runtime role. NULL: run is asked */
    neo_finding (*run)(neo_doctor_context *p, const char **found);
    const char *fix; /* NULL: run says it */
};

static neo_finding check_connection(neo_doctor_context *p, const char **found)
{
    p->pg = neo_ctl_connect(p->ctl, neo_ctl_conninfo(p->ctl), found);
    neo_rows rows;
    if (!p->pg || (*found = neo_ctl_limit_statement_time(p->ctl, p->pg)))
        return NEO_FINDING_FAILED;
    if (neo_pg_exec(p->pg, "select format('database %s as %s', current_database(), current_user)", 0, NULL, p->pool, &rows) !=
        NEO_PG_OK) {
        *found = rows.message;
        return 0;
    }
    *found = neo_rows_value(&rows, 0, 0);
    return 1;
}

static neo_finding check_notifications(neo_doctor_context *p, const char **found)
{
    neo_rows rows;
    neo_pg_status status = neo_cache_sync_begin(p->pg, p->pool, &rows);
    *found = status == NEO_PG_OK ? "they arrive" : rows.message;
    return status == NEO_PG_OK;
}

static neo_finding check_clock(neo_doctor_context *p, const char **found)
{
    neo_rows rows;
    neo_ms before = neo_now_ms();
    if (neo_pg_exec(p->pg, "select (extract(epoch from clock_timestamp()) * 1000)::bigint", 0, NULL, p->pool, &rows) !=
        NEO_PG_OK) {
        *found = rows.message;
        return 0;
    }
    long long difference = atoll(neo_rows_value(&rows, 0, 0)) - (before + neo_now_ms()) / 2;
    neo_buf text;
    neo_buf_init(&text, p->pool, 64);
    neo_buf_printf(&text, "the database's clock differs from this machine's by %lld ms", difference);
    *found = text.ptr;
    return llabs(difference) < MAX_CLOCK_DIFFERENCE;
}

static neo_finding check_version(neo_doctor_context *p, const char **found)
{
    *found = "the schema's version cannot be read";
    if (neo_schema_version(p->pg, p->pool, &p->version) != NEO_PG_OK)
        return 0;
    *found = apr_psprintf(p->pool, "version %d; this build needs %d", p->version, neo_schema_needed());
    if (p->version < 1)
        *found = "there is no schema";
    else if (neo_schema_runtime(p->pg, p->pool, &p->runtime) != NEO_PG_OK || !p->runtime)
        *found = "the runtime role's name cannot be read";
    return p->runtime && p->version >= neo_schema_needed();
}

static int has_schema(const neo_doctor_context *p)
{
    return p->pg && p->runtime && p->version >= neo_schema_needed();
}

/* What is sealed with the key file's keys. An inactive subscription can become active again. */
static const struct {
    const char *table, *column;
} sealed[] = {{"webhook_subscription", "secret"}, {"whatsapp_number", "access_token"}, {"whatsapp_number", "app_secret"}};

/* Whoever connected may not see all of it: httpd's own role sees an access token when it sends. */
static const char *count_unopenable(neo_doctor_context *p, const char *table, const char *column, int *seen, int *closed)
{
    neo_rows rows;
    const char *sql = apr_psprintf(p->pool, "select has_column_privilege('neoapi.%s', '%s', 'select')", table, column);
    if (neo_pg_exec(p->pg, sql, 0, NULL, p->pool, &rows) != NEO_PG_OK)
        return rows.message;
    if (!neo_rows_is_true(&rows, 0, 0))
        return NULL;
    sql = apr_psprintf(p->pool, "select id, %s from neoapi.%s order by id limit 10000", column, table);
    if (neo_pg_exec(p->pg, sql, 0, NULL, p->pool, &rows) != NEO_PG_OK)
        return rows.message;
    *seen += rows.count;
    for (int r = 0; r < rows.count; r++)
        *closed += !neo_secret_open(&p->keys, neo_rows_value(&rows, r, 0), neo_rows_value(&rows, r, 1), p->pool);
    return NULL;
}

/* How many there are, as far as that can be seen: none of them is opened without a key. */
static int count_sealed(neo_doctor_context *p)
{
    int seen = 0, closed = 0;
    for (apr_size_t i = 0; has_schema(p) && i < sizeof sealed / sizeof *sealed; i++)
        (void)count_unopenable(p, sealed[i].table, sealed[i].column, &seen, &closed);
    return seen;
}

/* The deployment's secret is the administrator's to make, once. Whoever named the file expects it to be there. */
static neo_finding miss_key_file(neo_doctor_context *p, const char **found)
{
    int count = count_sealed(p);
    if (count) {
        *found = apr_psprintf(p->pool, "there is no %s, and %d secrets are sealed with its keys", p->key_file, count);
        p->fix = "put it back, from a copy or from another host: all have the same; a new one opens nothing that is there";
        return neo_doctor_is_enabled(p) ? NEO_FINDING_FAILED : NEO_FINDING_PENDING;
    }
    const char *slash = strrchr(p->key_file, '/');
    const char *dir = slash > p->key_file ? apr_pstrmemdup(p->pool, p->key_file, (apr_size_t)(slash - p->key_file)) : ".";
    *found = apr_psprintf(p->pool, "there is no %s", p->key_file);
    p->fix = apr_psprintf(p->pool, "%s(set -C && umask 077 && openssl rand -base64 32 >%s)",
                          access(dir, F_OK) == 0 ? "" : apr_psprintf(p->pool, "mkdir -p %s && ", dir), p->key_file);
    return NEO_FINDING_PENDING;
}

static neo_finding check_key_file(neo_doctor_context *p, const char **found)
{
    if (!neo_ctl_value(p->ctl, "key-file")) {
        if (access(p->key_file, F_OK) != 0 && errno == ENOENT)
            return miss_key_file(p, found);
        if (access(p->key_file, R_OK) != 0 && errno == EACCES) {
            *found = apr_psprintf(p->pool, "%s is not for this user to read", p->key_file);
            return NEO_FINDING_SKIPPED;
        }
    }
    const char *wrong = neo_keys_read(&p->keys, p->key_file, p->pool);
    if (wrong)
        memset(&p->keys, 0, sizeof p->keys);
    *found =
        wrong ? wrong : apr_psprintf(p->pool, "%s has %d key%s", p->key_file, p->keys.count, p->keys.count == 1 ? "" : "s");
    return wrong == NULL;
}

/* A subscription whose secret no key opens gets nothing delivered, a number like that sends and receives nothing. */
static neo_finding check_secrets(neo_doctor_context *p, const char **found)
{
    int seen = 0, closed = 0;
    for (apr_size_t i = 0; i < sizeof sealed / sizeof *sealed; i++)
        if ((*found = count_unopenable(p, sealed[i].table, sealed[i].column, &seen, &closed)))
            return 0;
    *found = closed ? apr_psprintf(p->pool, "%d of %d cannot be opened with the keys of the file", closed, seen)
                    : apr_psprintf(p->pool, "%d, and the file's keys open all", seen);
    return closed == 0;
}

static neo_finding check_servers(neo_doctor_context *p, const char **found)
{
    int listeners, hosts;
    if (neo_cache_sync_count_listeners(p->pg, p->pool, &listeners, &hosts) != NEO_PG_OK) {
        *found = "who listens cannot be seen";
        return 0;
    }
    *found = listeners ? apr_psprintf(p->pool, "%d process%s listen%s for changes of credentials", listeners,
                                      listeners == 1 ? "" : "es", listeners == 1 ? "s" : "")
                       : "no httpd listens for changes of credentials";
    return listeners > 0;
}

static const check checks[] = {
    {"connection", NEEDS_NOTHING, NULL, check_connection,
     "where nothing is set up yet: neoapictl setup, as a PostgreSQL administrator (Debian: runuser -u postgres -- neoapictl "
     "setup "
     "--runtime-role www-data --admin-role root --tenant NAME); else see that PostgreSQL runs and that --database, "
     "NEOAPI_DATABASE or the service file names it"},
    {"server", NEEDS_CONNECTION,
     "select current_setting('server_version_num')::int >= 150000, 'PostgreSQL ' || current_setting('server_version')", NULL,
     "use PostgreSQL 15 or newer"},
    {"primary", NEEDS_CONNECTION,
     "select not pg_is_in_recovery(),"
     " case when pg_is_in_recovery() then 'a standby, which cannot be written to' else 'can be written to' end",
     NULL, "connect to the primary: add target_session_attrs=read-write to the connection string"},
    {"notifications", NEEDS_CONNECTION, NULL, check_notifications,
     "connect past the pooler, in whatever mode it lends connections; until then every request asks the database about its "
     "credential"},
    {"clock", NEEDS_CONNECTION, NULL, check_clock, "keep both machines' clocks right, for example with chrony"},
    {"encoding", NEEDS_CONNECTION,
     "select pg_encoding_to_char(d.encoding) = 'UTF8' and lower(U&'\\00C1' collate \"default\") = U&'\\00E1',"
     " format('%s, character type %s', pg_encoding_to_char(d.encoding), d.datctype)"
     " from pg_database d where d.datname = current_database()",
     NULL, "move the data to a database that neoapictl setup made: UTF8, with a character type that knows accented letters"},
    {"schema", NEEDS_CONNECTION, NULL, check_version, "neoapictl setup where there is no schema, else neoapictl migrate"},
    {"extensions", NEEDS_SCHEMA,
     "select count(*) = 3, coalesce(string_agg(extname, ', ' order by extname), 'none') from pg_extension"
     " where extname in ('btree_gin', 'pg_trgm', 'unaccent')",
     NULL, "create extension btree_gin, pg_trgm and unaccent in the schema public (Debian: package postgresql-contrib)"},
    {"runtime role", NEEDS_SCHEMA,
     "select coalesce(bool_and(rolcanlogin), false), case when count(*) = 0 then format('there is no role %s', $1::text)"
     " when bool_and(rolcanlogin) then $1 else format('%s may not log in', $1) end from pg_roles where rolname = $1",
     NULL, "neoapictl setup, as a PostgreSQL administrator"},
    {"runtime role cannot administer", NEEDS_SCHEMA,
     "select count(*) = 0, coalesce('it is or may ' || string_agg(power, ', '), 'it has no such power')"
     " from pg_roles r, pg_namespace n, lateral (values ('superuser', r.rolsuper), ('create roles', r.rolcreaterole),"
     " ('create databases', r.rolcreatedb), ('bypass row security', r.rolbypassrls),"
     " ('act as ' || pg_get_userbyid(n.nspowner), pg_has_role(r.oid, n.nspowner, 'member'))) as p (power, held)"
     " where r.rolname = $1 and n.nspname = 'neoapi' and held",
     NULL, "take it away: alter role ... nosuperuser nocreaterole nocreatedb nobypassrls, and revoke its memberships"},
    {"runtime role cannot make tables", NEEDS_SCHEMA,
     "select count(*) = 0, coalesce('in ' || string_agg(place, ', '), 'nowhere') from ("
     " select 'schema ' || nspname as place from pg_namespace where nspname in ('neoapi', 'public')"
     " and has_schema_privilege($1, oid, 'create')"
     " union all select 'database' where has_database_privilege($1, current_database(), 'create')"
     " union all select 'temporary tables' where has_database_privilege($1, current_database(), 'temporary')) as places",
     NULL, "neoapictl setup takes it away from everybody; what was granted to the role itself, revoke"},
    {"runtime role sees what it needs", NEEDS_SCHEMA,
     "select count(*) = 0, 'it lacks ' || coalesce(string_agg(thing, ', '), 'nothing') from ("
     " select 'the right to connect' as thing where not has_database_privilege($1, current_database(), 'connect')"
     " union all select 'usage of the schema' where not has_schema_privilege($1, 'neoapi', 'usage')"
     " union all select 'select of credential.secret_hash'"
     " where not has_column_privilege($1, 'neoapi.credential', 'secret_hash', 'select')"
     " union all select p || ' on ' || t from (values ('broker', 'select,insert,update,delete'),"
     " ('reference', 'select,insert,update,delete'),"
     " ('idempotency_key', 'select,insert,delete'), ('webhook_subscription', 'select,insert,update,delete'),"
     " ('webhook_queue', 'select,insert,update,delete'), ('webhook_delivery', 'select,insert'),"
     " ('webhook_attempt', 'select,insert')) as tables (t, privileges), unnest(string_to_array(privileges, ',')) p"
     " where not has_table_privilege($1, 'neoapi.' || t, p)"
     " union all select p || ' on ' || c.relname from pg_trigger g join pg_class c on c.oid = g.tgrelid,"
     " unnest('{select,insert,update,delete}'::text[]) p where g.tgname = 'set_representation'"
     " and c.relnamespace = 'neoapi'::regnamespace and c.relname not in ('broker', 'webhook_subscription')"
     " and not has_table_privilege($1, c.oid, p)"
     " union all select 'execute of webhook_maintain_partitions'"
     " where not has_function_privilege($1, 'neoapi.webhook_maintain_partitions(int)', 'execute')) as things",
     NULL, "neoapictl setup; if that does not help, the grants in sql/ have been revoked by hand"},
    {"runtime role sees no more", NEEDS_SCHEMA,
     "select count(*) = 0, coalesce('it may ' || string_agg(thing, ', '), 'no names, no changes to who there is')"
     " from (select 'read app_user.name' as thing where has_column_privilege($1, 'neoapi.app_user', 'name', 'select')"
     " union all select 'read credential.name' where has_column_privilege($1, 'neoapi.credential', 'name', 'select')"
     " union all select 'change ' || t from unnest(array['plan', 'tenant', 'organization', 'app_user', 'credential',"
     " 'token_organization', 'schema_migration', 'setting']) t"
     " where has_any_column_privilege($1, 'neoapi.' || t, 'insert, update')"
     " or has_table_privilege($1, 'neoapi.' || t, 'delete, truncate')) as things",
     NULL, "revoke what was granted by hand; the grants that are needed stand in sql/"},
    {"webhook partitions", NEEDS_SCHEMA,
     "select count(*) = 0, coalesce('there is no ' || string_agg(part, ', '), 'today''s are there')"
     " from (select t || to_char(now() at time zone 'UTC', '_YYYYMMDD') as part"
     " from unnest(array['webhook_delivery', 'webhook_attempt']) t) as today"
     " where not exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace"
     " where n.nspname = 'neoapi' and c.relname = part)",
     NULL, "start httpd, which makes them days ahead, or run: neoapictl migrate"},
    {"indexes", NEEDS_SCHEMA,
     "select count(*) = 0, coalesce('invalid: ' || string_agg(c.relname, ', '), 'all are valid') from pg_index i"
     " join pg_class c on c.oid = i.indexrelid where c.relnamespace = 'neoapi'::regnamespace and not i.indisvalid",
     NULL, "reindex index concurrently neoapi.<its name>"},
    {"janitor", NEEDS_SCHEMA,
     "select count(*) = 0, case when count(*) = 0 then 'nothing is overdue' else format('%s%s idempotency keys have been over"
     " for an hour', case when count(*) = 1000 then 'at least ' end, count(*)) end from (select from neoapi.idempotency_key"
     " where expires_at < now() - interval '1 hour' limit 1000) k",
     NULL, "start httpd, which removes them; where it runs, its error log says why it cannot"},
    {"connections", NEEDS_CONNECTION,
     "select used < 0.9 * most, format('%s of %s are in use', used, most) from (select (select count(*) from pg_stat_activity"
     " where backend_type = 'client backend') as used, current_setting('max_connections')::int"
     " - current_setting('superuser_reserved_connections')::int as most) c",
     NULL, "raise max_connections in postgresql.conf, lower DBDMax in httpd's, or put PgBouncer in between"},
    {"closed to others", NEEDS_SCHEMA,
     "select not has_database_privilege('public', current_database(), 'connect'),"
     " case when has_database_privilege('public', current_database(), 'connect') then 'every role may connect'"
     " else 'roles need the right to connect' end",
     NULL, "neoapictl setup"},
    {"key file", NEEDS_NOTHING, NULL, check_key_file, "give httpd's NeoAPIKeyFile a file that only it can read"},
    {"sealed secrets", NEEDS_SCHEMA_AND_KEYS, NULL, check_secrets,
     "add the key that is missing below the others in the file; where it is lost, the receivers rotate their secrets, and "
     "WhatsApp numbers get theirs anew with: neoapictl whatsapp number update"},
};

/* The last steps to the first request: until they are taken nothing is wrong. */
static const check steps[] = {
    {"API keys", NEEDS_SCHEMA,
     "select count(*) > 0, format('%s key%s or token%s can be used', count(*), case when count(*) <> 1 then 's' end,"
     " case when count(*) <> 1 then 's' end) from neoapi.credential where revoked_at is null",
     NULL, "neoapictl tenant add, then organization add, then key create"},
    {"host name", NEEDS_HTTPD, NULL, neo_doctor_check_name, NULL},
    {"certificate", NEEDS_HTTPD, NULL, neo_doctor_check_certificate, NULL},
    {"modules of httpd", NEEDS_HTTPD, NULL, neo_doctor_check_modules, NULL},
    {"virtual host", NEEDS_HTTPD, NULL, neo_doctor_check_site, NULL},
    {"httpd", NEEDS_SCHEMA, NULL, check_servers,
     "start httpd with NeoAPI On (Debian: systemctl restart apache2); where it runs, its error log says what is wrong"},
};

/* Why a check can't be made yet; NULL if it can. */
static const char *unmet_need(const neo_doctor_context *p, const check *c)
{
    if (c->need == NEEDS_HTTPD && !p->httpd)
        return apr_psprintf(p->pool, "%s is not httpd's as Debian lays it out, so nothing was looked at there", p->httpd_dir);
    if (c->need == NEEDS_HTTPD)
        return p->httpd->unread;
    if (c->need >= NEEDS_CONNECTION && !p->pg)
        return "there is no connection";
    if (c->need >= NEEDS_SCHEMA && !has_schema(p))
        return "the schema is not up to date";
    return c->need == NEEDS_SCHEMA_AND_KEYS && !p->keys.count ? "there are no keys" : NULL;
}

static neo_finding find(neo_doctor_context *p, const check *c, const char **found)
{
    neo_rows rows;
    const char *values[] = {p->runtime};
    if (c->run)
        return c->run(p, found);
    if (neo_pg_exec(p->pg, c->sql, strstr(c->sql, "$1") ? 1 : 0, values, p->pool, &rows) != NEO_PG_OK) {
        *found = rows.message;
        return NEO_FINDING_FAILED;
    }
    *found = neo_rows_value(&rows, 0, 1);
    return neo_rows_is_true(&rows, 0, 0);
}

/* How each finding is called, and looks. */
static const struct {
    const char *result;
    neo_ctl_style style;
    const char *advice; /* what stands before how to mend it; NULL: nothing is to be mended */
} words[NEO_FINDINGS] = {
    [NEO_FINDING_FAILED] = {"failed", NEO_CTL_BAD, "to fix it"},
    [NEO_FINDING_OK] = {"ok", NEO_CTL_GOOD, NULL},
    [NEO_FINDING_PENDING] = {"to do", NEO_CTL_FAINT, "next"},
    [NEO_FINDING_SKIPPED] = {"skipped", NEO_CTL_FAINT, NULL},
};

static void report(const neo_doctor_context *p, neo_json *list, const check *c, neo_finding finding, const char *found)
{
    neo_json *row = neo_json_make_object(p->pool);
    const char *fix = p->fix ? p->fix : c->fix, *advice = words[finding].advice, *result = words[finding].result;
    found = neo_ctl_one_line(found, p->pool);
    neo_json_set(row, "check", neo_json_make_string(c->name, p->pool));
    neo_json_set(row, "result", neo_json_make_string(result, p->pool));
    neo_json_set(row, "found", neo_json_make_string(found, p->pool));
    if (advice)
        neo_json_set(row, "fix", neo_json_make_string(fix, p->pool));
    neo_json_append(list, row);
    if (p->ctl->json || (p->ctl->quiet && !advice))
        return;
    result = neo_ctl_styled(stdout, words[finding].style, apr_psprintf(p->pool, "%-8s", result), p->pool);
    printf("%s %s: %s\n", result, c->name, found);
    if (advice)
        printf("%-8s %s: %s\n", "", advice, neo_ctl_one_line(fix, p->pool));
}

/* Makes checks; of the last steps what is not well is to be done. Returns how many failed. */
static int run_checks(neo_doctor_context *p, neo_json *list, const check *some, apr_size_t count, int are_steps)
{
    int failed = 0;
    for (const check *c = some; c < some + count; c++) {
        const char *found = unmet_need(p, c);
        p->fix = NULL;
        neo_finding finding = found ? NEO_FINDING_SKIPPED : find(p, c, &found);
        if (finding == NEO_FINDING_FAILED && are_steps)
            finding = NEO_FINDING_PENDING;
        failed += finding == NEO_FINDING_FAILED;
        report(p, list, c, finding, found);
    }
    return failed;
}

/* The one that is named; else the one that httpd is told of; else the usual one. */
static const char *choose_key_file(const neo_doctor_context *p)
{
    const neo_httpd_directive *key_directive = p->site ? neo_httpd_conf_next(p->site, NULL, "NeoAPIKeyFile", NULL) : NULL;
    if (!key_directive && p->httpd) /* it may stand for all virtual hosts */
        key_directive = neo_httpd_conf_next(p->httpd, NULL, "NeoAPIKeyFile", NULL);
    const char *given = neo_ctl_value(p->ctl, "key-file"), *path = NULL;
    if (!given && key_directive)
        path = neo_httpd_conf_path(p->httpd, neo_httpd_conf_argument(key_directive, p->pool), p->pool);
    return given ? given : path ? path : NEO_DOCTOR_KEY_FILE;
}

static neo_ctl_exit run(neo_ctl *ctl)
{
    neo_doctor_context p = {.ctl = ctl, .pool = ctl->pool, .httpd_dir = neo_ctl_value(ctl, "httpd-conf")};
    neo_json *list = neo_json_make_array(ctl->pool);
    neo_doctor_read_httpd(&p);
    p.key_file = choose_key_file(&p);
    int failed = run_checks(&p, list, checks, sizeof checks / sizeof *checks, 0);
    (void)run_checks(&p, list, steps, sizeof steps / sizeof *steps, 1);
    memset(&p.keys, 0, sizeof p.keys);
    if (ctl->json)
        neo_ctl_print(ctl, list);
    return failed ? NEO_CTL_FAILED : NEO_CTL_OK;
}

static const neo_ctl_parameter options[] = {
    {"key-file", NEO_CTL_FILE, 0, NULL,
     "the file that httpd's NeoAPIKeyFile names; where nothing is given, it is looked for in httpd's configuration, else "
     "it is " NEO_DOCTOR_KEY_FILE},
    {"httpd-conf", NEO_CTL_FOLDER, 0, "/etc/apache2",
     "the folder of httpd's configuration, which is read where it is laid out as Debian does it"},
    {0},
};

const neo_ctl_command neo_ctl_doctor[] = {
    {"doctor", NULL, "Check everything that the module needs, and say how to fix it.",
     "Any role that may connect will do. The exit status is 1 if something failed; what is still to be done on the way to the "
     "first request is no failure. With --quiet it writes what failed or is to be done alone.\n"
     "Of httpd's configuration it reads what is enabled, as root or whoever may, and runs nothing: whether a virtual host says "
     "NeoAPI On, has a name and a certificate, and the modules that it needs. Where the configuration is not laid out as "
     "Debian "
     "does it, that is skipped.",
     NULL, options, run, NULL, 0},
    {0},
};
