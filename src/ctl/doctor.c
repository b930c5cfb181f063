/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl doctor: checks the database, the key file and httpd, and prints the remedies of faults. */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "api/cache_sync.h"
#include "ctl/doctor.sql.h"
#include "ctl/output.h"
#include "ctl/session.h"
#include "doctor.h"
#include "pg/error.h"
#include "sql/event_log.h"
#include "sql/migrate.h"
#include "sql/representation.h"

#define MAX_CLOCK_DIFFERENCE 2000 /* milliseconds */
#define SETUP                "runuser -u postgres -- neoapictl setup --runtime-role www-data --admin-role root --tenant NAME"
#define MAX_LOG_LAG          60000 /* milliseconds */

/* The prerequisite of a check. */
typedef enum {
    NEEDS_NOTHING,
    NEEDS_HTTPD, /* httpd's configuration could be checked */
    NEEDS_SITE,  /* it has a virtual host with NeoAPI On */
    NEEDS_CONNECTION,
    NEEDS_SITE_AND_CONNECTION,
    NEEDS_PRIMARY, /* a connection to a database that is not read-only */
    NEEDS_SCHEMA,
    NEEDS_SCHEMA_STEP, /* the check is pending instead of failed */
    NEEDS_SCHEMA_AND_KEYS,
    NEEDS_SCHEMA_ON_PRIMARY
} need;

typedef struct check check;
struct check {
    const char *name;
    need need;
    const char *sql; /* returns (is it ok, what was found); $1 is the runtime role. NULL: `run` is called */
    neo_finding (*run)(neo_doctor_context *p, const char **found);
    const char *fix; /* NULL: `run` sets it */
};

static neo_finding check_connection(neo_doctor_context *p, const char **found)
{
    neo_rows rows;
    const char *fix;
    p->pg = neo_ctl_connect_or_fix(p->ctl, neo_ctl_conninfo(p->ctl), found, &fix);
    p->fix = apr_psprintf(p->pool, "if nothing is set up yet: " SETUP "; otherwise %s", fix);
    if (!p->pg || (*found = neo_ctl_exec(p->ctl, p->pg, NEO_CTL_LIMIT_STATEMENTS)))
        return NEO_FINDING_FAILED;
    if (neo_pg_exec(p->pg, "select format('database %s as %s', current_database(), current_user)", 0, NULL, p->pool, &rows) !=
        NEO_PG_OK) {
        *found = rows.message;
        return NEO_FINDING_FAILED;
    }
    *found = neo_rows_value(&rows, 0, 0);
    return NEO_FINDING_OK;
}

static neo_finding check_primary(neo_doctor_context *p, const char **found)
{
    neo_rows rows;
    p->fix = neo_pg_error_fix(neo_pg_error_find("25006")); /* read-only */
    if (neo_pg_exec(p->pg, "select current_setting('transaction_read_only')::boolean", 0, NULL, p->pool, &rows) != NEO_PG_OK) {
        *found = rows.message;
        return NEO_FINDING_FAILED;
    }
    p->is_read_only = neo_rows_is_true(&rows, 0, 0);
    *found = p->is_read_only ? "read-only" : "writable";
    int is_replaced;
    const char *second = p->is_read_only ? NULL : neo_ctl_find_second_primary(p->ctl, p->pg, &is_replaced);
    if (second) {
        *found = second;
        p->fix = neo_messages[NEO_LOG_REPLACED].fix;
    }
    return neo_doctor_finding(!p->is_read_only && !second);
}

static neo_finding check_notifications(neo_doctor_context *p, const char **found)
{
    neo_rows rows;
    neo_pg_status status = neo_cache_sync_begin(p->pg, p->pool, &rows);
    *found = status == NEO_PG_OK ? "received" : rows.message;
    return neo_doctor_finding(status == NEO_PG_OK);
}

static neo_finding check_writes(neo_doctor_context *p, const char **found)
{
    neo_rows rows;
    neo_pg_status status = neo_schema_probe_write(p->pg, p->pool, &rows);
    *found = "executed";
    if (status == NEO_PG_OK)
        return NEO_FINDING_OK;
    *found = apr_psprintf(p->pool, "%s: %s", rows.error->sentence, rows.message);
    p->fix = neo_pg_error_fix(rows.error);
    return status == NEO_PG_FAILED ? NEO_FINDING_SKIPPED : NEO_FINDING_FAILED; /* this role may not call the function */
}

static neo_finding check_clock(neo_doctor_context *p, const char **found)
{
    neo_rows rows;
    neo_ms before = neo_now_ms();
    if (neo_pg_exec(p->pg, "select (extract(epoch from clock_timestamp()) * 1000)::bigint", 0, NULL, p->pool, &rows) !=
        NEO_PG_OK) {
        *found = rows.message;
        return NEO_FINDING_FAILED;
    }
    long long difference = atoll(neo_rows_value(&rows, 0, 0)) - (before + neo_now_ms()) / 2;
    neo_buf text;
    neo_buf_init(&text, p->pool, 64);
    neo_buf_printf(&text, "the clocks of the database and this machine differ by %lld ms", difference);
    *found = text.ptr;
    return neo_doctor_finding(llabs(difference) < MAX_CLOCK_DIFFERENCE);
}

/* The first function that differs from the one that this build generates; NULL if there is none. */
static const char *outdated_functions(const neo_doctor_context *p)
{
    const neo_resource **outdated;
    neo_rows rows;
    if (neo_representation_outdated(p->pg, p->pool, &outdated, &rows) != NEO_PG_OK)
        return rows.message;
    return *outdated ? apr_psprintf(p->pool, "the function %s is not that of this build",
                                    neo_representation_script(*outdated, p->pool).name)
                     : NULL;
}

static neo_finding check_schema(neo_doctor_context *p, const char **found)
{
    *found = "the schema's version cannot be read";
    if (neo_schema_version(p->pg, p->pool, &p->version) != NEO_PG_OK)
        return NEO_FINDING_FAILED;
    *found = apr_psprintf(p->pool, "version %d; this build requires %d", p->version, neo_schema_needed());
    if (p->version < 1)
        *found = "no schema";
    else if (neo_schema_runtime(p->pg, p->pool, &p->runtime) != NEO_PG_OK || !p->runtime)
        *found = "the runtime role's name cannot be read";
    if (!p->runtime || p->version < neo_schema_needed())
        return NEO_FINDING_FAILED;
    const char *difference = neo_schema_difference(p->pg, p->pool), *outdated = difference ? NULL : outdated_functions(p);
    if (p->version > neo_schema_needed())
        p->fix = "the schema is newer; install the version of the package that made it, or a newer one";
    else if (difference) {
        *found = difference;
        p->fix = "install the version of the package that made the schema, or restore the database from a backup";
    } else if (outdated) {
        *found = outdated;
        p->fix = "run neoapictl migrate";
    }
    return neo_doctor_finding(!difference && !outdated && p->version == neo_schema_needed());
}

static neo_finding check_representations(neo_doctor_context *p, const char **found)
{
    neo_rows rows;
    *found = "the schema is newer";
    if (p->version > neo_schema_needed())
        return NEO_FINDING_SKIPPED;
    neo_pg_status status = neo_representation_check(p->pg, p->pool, &rows);
    *found = status != NEO_PG_OK ? rows.message
             : rows.count        ? apr_psprintf(p->pool, "that of %s differs from its columns", neo_rows_value(&rows, 0, 0))
                                 : "those of a sample are equal to the columns";
    return neo_doctor_finding(status == NEO_PG_OK && !rows.count);
}

static neo_finding check_event_log(neo_doctor_context *p, const char **found)
{
    neo_log_holder holder;
    *found = "the transactions that hold it back cannot be read";
    if (neo_log_holder_read(p->pg, p->pool, &holder) != NEO_PG_OK)
        return NEO_FINDING_FAILED;
    *found = "up to date";
    if (holder.running > MAX_LOG_LAG)
        *found = apr_psprintf(p->pool, "held back for %ld seconds by a transaction: %s", (long)(holder.running / 1000),
                              holder.description);
    return neo_doctor_finding(holder.running <= MAX_LOG_LAG);
}

/* The module begins a new epoch within a minute. If it is not running, events of both have the same epoch until then; positions
 * of it are refused in any case. */
static neo_finding check_event_epoch(neo_doctor_context *p, const char **found)
{
    int is_current;
    const char *begun_at;
    *found = "the epoch cannot be read";
    if (neo_log_epoch_read(p->pg, p->pool, &is_current, &begun_at) != NEO_PG_OK)
        return NEO_FINDING_FAILED;
    *found = is_current ? apr_pstrcat(p->pool, "since ", begun_at, NULL)
                        : "the database was restored, copied or promoted, and no new epoch has begun since";
    return neo_doctor_finding(is_current);
}

static const check checks[] = {
    {"connection", NEEDS_NOTHING, NULL, check_connection, NULL},
    {"server", NEEDS_CONNECTION, server_sql, NULL, "upgrade PostgreSQL to version 15 or newer"},
    {"primary", NEEDS_CONNECTION, NULL, check_primary, NULL},
    {"notifications", NEEDS_PRIMARY, NULL, check_notifications,
     "connect to PostgreSQL directly; through a pooler every request reads its credential from the database"},
    {"clock", NEEDS_CONNECTION, NULL, check_clock, "synchronize the clocks of both machines, for example with chrony"},
    {"encoding", NEEDS_CONNECTION, encoding_sql, NULL,
     "move the data to a database created by neoapictl setup: UTF8, with a character type that has accented letters"},
    {"schema", NEEDS_CONNECTION, NULL, check_schema, "run neoapictl migrate, or neoapictl setup if the database has no schema"},
    {"writes", NEEDS_SCHEMA_ON_PRIMARY, NULL, check_writes, NULL},
    {"clock steps", NEEDS_SCHEMA, clock_steps_sql, NULL,
     "find out what set the clock, such as a resumed virtual machine; ids and times were not affected"},
    {"shared limits", NEEDS_SCHEMA_ON_PRIMARY, limits_sql, NULL,
     "see NEO0220 in these hosts' error logs; until then each host has at most an equal part of a limit"},
    {"extensions", NEEDS_SCHEMA, extensions_sql, NULL,
     "create the extensions btree_gin, pg_trgm and unaccent in the schema public (Debian: package postgresql-contrib)"},
    {"runtime role", NEEDS_SCHEMA, role_sql, NULL, "run neoapictl setup as a PostgreSQL administrator"},
    {"runtime role attributes", NEEDS_SCHEMA, role_attributes_sql, NULL,
     "alter role ... nosuperuser nocreaterole nocreatedb nobypassrls, and revoke its memberships"},
    {"runtime role's log messages", NEEDS_SCHEMA, role_log_sql, NULL,
     "run neoapictl setup as a superuser, or: alter role ... set log_error_verbosity = terse"},
    {"runtime role create privileges", NEEDS_SCHEMA, role_create_sql, NULL,
     "run neoapictl setup, which revokes them from public; revoke those that were granted to the role itself"},
    {"runtime role privileges", NEEDS_SCHEMA, role_privileges_sql, NULL,
     "run neoapictl setup, or grant them; sql/ has the grants that are needed"},
    {"runtime role excess privileges", NEEDS_SCHEMA, role_excess_sql, NULL,
     "revoke what was granted by hand; sql/ has the grants that are needed"},
    {"webhook partitions", NEEDS_SCHEMA, partitions_sql, NULL,
     "start httpd, which creates them in advance, or run neoapictl migrate; if httpd is running, see its error log"},
    {"event log", NEEDS_SCHEMA, NULL, check_event_log,
     "end the transaction: select pg_terminate_backend(PID), or commit or roll back what is prepared; readers see later events "
     "only then"},
    {"event epoch", NEEDS_SCHEMA_ON_PRIMARY, NULL, check_event_epoch,
     "start httpd, which begins one within a minute, or run neoapictl migrate; if httpd is running, see its error log; readers "
     "of the event log must export again"},
    {"representations", NEEDS_SCHEMA, NULL, check_representations,
     "make it again with an update of the row that changes nothing (set id = id), and report it"},
    {"indexes", NEEDS_SCHEMA, indexes_sql, NULL, "reindex index concurrently neoapi.INDEX"},
    {"cleanup", NEEDS_SCHEMA, cleanup_sql, NULL, "start httpd, which removes them; if it is running, see its error log"},
    {"WhatsApp numbers", NEEDS_SCHEMA, numbers_sql, NULL, "see the error log, and doc/whatsapp.md, section Error codes"},
    {"WhatsApp messages", NEEDS_SCHEMA, messages_sql, NULL,
     "check that Meta's callbacks arrive: neoapictl whatsapp number list, and the error log"},
    {"connections", NEEDS_CONNECTION, NEO_DOCTOR_CONNECTIONS_SQL, NULL, NEO_DOCTOR_CONNECTIONS_FIX},
    {"public access", NEEDS_SCHEMA, public_access_sql, NULL, "run neoapictl setup"},
    {"key file", NEEDS_NOTHING, NULL, neo_doctor_check_key_file,
     "restore the file from its backup, or copy it from another host; only root may read it: chmod 0600"},
    {"encrypted secrets", NEEDS_SCHEMA_AND_KEYS, NULL, neo_doctor_check_secrets,
     "append the missing key to the file; if it is lost, rotate the webhook secrets and set those of WhatsApp numbers with: "
     "neoapictl whatsapp number change"},
    {"API keys", NEEDS_SCHEMA_STEP, credentials_sql, NULL,
     "run neoapictl tenant create, neoapictl organization create and neoapictl key create"},
    {"expiring credentials", NEEDS_SCHEMA_STEP, expiring_sql, NULL,
     "give their clients new ones, or these a later --expires-at with neoapictl key change or token change"},
    {"httpd configuration", NEEDS_HTTPD, NULL, neo_doctor_check_httpd_conf, NULL},
    {"virtual host", NEEDS_HTTPD, NULL, neo_doctor_check_site, NULL},
    {"certificate", NEEDS_SITE, NULL, neo_doctor_check_certificate, NULL},
    {"httpd database", NEEDS_SITE_AND_CONNECTION, NULL, neo_doctor_check_database, NULL},
    {"read replica", NEEDS_SITE_AND_CONNECTION, NULL, neo_doctor_check_replica,
     "check NeoAPIReadDSN, pg_stat_replication on the primary, and the replica's log; meanwhile the primary answers all reads"},
    {"connection limit", NEEDS_SITE_AND_CONNECTION, NULL, neo_doctor_check_connection_limit, NULL},
    {"httpd", NEEDS_NOTHING, NULL, neo_doctor_check_running, NULL},
    {"request", NEEDS_SITE, NULL, neo_doctor_check_request, NULL},
    {"requests without TLS", NEEDS_SITE, NULL, neo_doctor_check_plain_http, NULL},
};

/* Why a check is skipped; NULL if it is not. */
static const char *unmet_need(const neo_doctor_context *p, const check *c)
{
    if ((c->need == NEEDS_HTTPD || c->need == NEEDS_SITE) && p->httpd_skipped)
        return p->httpd_skipped;
    if (c->need == NEEDS_HTTPD)
        return c->run != neo_doctor_check_httpd_conf && !p->httpd ? "httpd's configuration cannot be read" : NULL;
    if ((c->need == NEEDS_SITE || c->need == NEEDS_SITE_AND_CONNECTION) && !p->site)
        return "no virtual host";
    if (c->need >= NEEDS_CONNECTION && !p->pg)
        return "no connection";
    if ((c->need == NEEDS_PRIMARY || c->need == NEEDS_SCHEMA_ON_PRIMARY) && p->is_read_only)
        return "the database is read-only";
    if (c->need >= NEEDS_SCHEMA && !neo_doctor_has_schema(p))
        return "the schema is not up to date";
    return c->need == NEEDS_SCHEMA_AND_KEYS && !p->keys.count ? "no keys" : NULL;
}

static neo_finding evaluate(neo_doctor_context *p, const check *c, const char **found)
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
    return neo_doctor_finding(neo_rows_is_true(&rows, 0, 0));
}

/* How each finding is printed. */
static const struct {
    const char *result;
    neo_ctl_style style;
    const char *advice; /* the label of the fix; NULL if there is none */
} words[NEO_FINDINGS] = {
    [NEO_FINDING_FAILED] = {"failed", NEO_CTL_BAD, "fix"},
    [NEO_FINDING_OK] = {"ok", NEO_CTL_GOOD, NULL},
    [NEO_FINDING_PENDING] = {"pending", NEO_CTL_FAINT, "next"},
    [NEO_FINDING_SKIPPED] = {"skipped", NEO_CTL_FAINT, NULL},
};

static void print_result(const neo_doctor_context *p, neo_finding finding, const char *checked, const char *found)
{
    const char *result = apr_psprintf(p->pool, "%-8s", words[finding].result);
    printf("%s %s: %s\n", neo_ctl_styled(stdout, words[finding].style, result, p->pool), checked, found);
}

/* Prints one line for each reason, because without a database most checks are skipped for the same one. */
static void print_skipped(const neo_doctor_context *p, neo_json *list)
{
    neo_json *reasons = neo_json_make_object(p->pool), *row;
    for (apr_size_t i = 0; (row = neo_json_at(list, i)); i++) {
        const char *reason = neo_json_string_at(row, "found");
        neo_json *names = neo_json_get(reasons, reason);
        if (strcmp(neo_json_string_at(row, "result"), words[NEO_FINDING_SKIPPED].result) != 0)
            continue;
        if (!names)
            neo_json_set(reasons, reason, names = neo_json_make_array(p->pool));
        neo_json_append_string(names, neo_json_string_at(row, "check"), p->pool);
    }
    for (void *m = neo_json_first(reasons); m; m = neo_json_next(reasons, m)) {
        const neo_json *names = neo_json_member_value(m);
        int count = (int)neo_json_size(names);
        print_result(p, NEO_FINDING_SKIPPED,
                     count == 1 ? neo_json_string(neo_json_at(names, 0)) : apr_psprintf(p->pool, "%d checks", count),
                     neo_json_member_key(m));
    }
}

static void report_finding(const neo_doctor_context *p, neo_json *list, const check *c, neo_finding finding, const char *found)
{
    neo_json *row = neo_json_make_object(p->pool);
    const char *fix = p->fix ? p->fix : c->fix, *advice = words[finding].advice;
    found = neo_ctl_one_line(found, p->pool);
    neo_json_set_string(row, "check", c->name, p->pool);
    neo_json_set_string(row, "result", words[finding].result, p->pool);
    neo_json_set_string(row, "found", found, p->pool);
    if (advice)
        neo_json_set_string(row, "fix", fix, p->pool);
    neo_json_append(list, row);
    if (p->ctl->json || finding == NEO_FINDING_SKIPPED || (p->ctl->quiet && !advice))
        return;
    print_result(p, finding, c->name, found);
    if (advice)
        printf("%-8s %s: %s\n", "", advice, neo_ctl_one_line(fix, p->pool));
}

static neo_ctl_exit run_doctor(neo_ctl *ctl)
{
    int failed = 0;
    neo_doctor_context p = {.ctl = ctl, .pool = ctl->pool, .httpd_dir = neo_ctl_value(ctl, "httpd-conf")};
    neo_json *list = neo_json_make_array(ctl->pool);
    neo_doctor_read_httpd(&p);
    const char *given = neo_ctl_value(ctl, "key-file"), *configured = neo_json_string_at(p.site, "key_file");
    p.key_file = given ? given : configured ? configured : NEO_DOCTOR_KEY_FILE;
    for (const check *c = checks; c < checks + sizeof checks / sizeof *checks; c++) {
        const char *found = unmet_need(&p, c);
        p.fix = NULL;
        neo_finding finding = found ? NEO_FINDING_SKIPPED : evaluate(&p, c, &found);
        if (finding == NEO_FINDING_FAILED && c->need == NEEDS_SCHEMA_STEP)
            finding = NEO_FINDING_PENDING;
        report_finding(&p, list, c, finding, found);
        failed += finding == NEO_FINDING_FAILED;
    }
    memset(&p.keys, 0, sizeof p.keys);
    if (ctl->json)
        neo_ctl_print(ctl, list);
    else if (!ctl->quiet)
        print_skipped(&p, list);
    return failed ? NEO_CTL_FAILED : NEO_CTL_OK;
}

static const neo_parameter options[] = {
    {"key-file", NEO_KIND_FILE, 0, NULL,
     "the file in httpd's NeoAPIKeyFile; if not given, it is read from httpd's configuration, otherwise " NEO_DOCTOR_KEY_FILE},
    {"httpd-conf", NEO_KIND_FOLDER, 0, "/etc/apache2", "the directory of httpd's configuration (APACHE_CONFDIR)"},
    {0},
};

const neo_ctl_command neo_ctl_doctor[] = {
    {"doctor", NULL, "Check the installation and print how to fix what is wrong.",
     "Every role that can connect can run it. The exit status is 1 if a check failed. What has not been set up yet is pending, "
     "which is no failure. --quiet prints only what failed or is pending.\n"
     "As root it also runs apachectl -t, which prints httpd's effective configuration: the virtual host, its certificate, the "
     "database, and whether httpd runs. It connects to the database as httpd's user, and sends a request to each virtual host, "
     "with an API key that does not exist.",
     NULL, options, run_doctor, NULL, 0},
    {0},
};
