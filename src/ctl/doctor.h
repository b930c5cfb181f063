/* SPDX-License-Identifier: Apache-2.0 */
/* The state and the results of the checks of `doctor`. */
#ifndef NEO_CTL_DOCTOR_H
#define NEO_CTL_DOCTOR_H

#include "core/secret.h"
#include "ctl/command.h"
#include "sql/migrate.h"
#include "sql/replica.h"

#define NEO_DOCTOR_KEY_FILE        "/etc/neoapi/key"
#define NEO_DOCTOR_CONNECTIONS_FIX "increase max_connections in postgresql.conf, reduce DBDMax, or use PgBouncer"

/* Whether less than nine tenths of PostgreSQL's connections are used, as a sentence, and how many are used of how many.
 * Versions before 16 have no reserved_connections. */
#define NEO_DOCTOR_CONNECTIONS_SQL                                                                                             \
    "select used < 0.9 * max, format('%s of %s in use', used, max), used, max"                                                 \
    " from (select (select sum(numbackends) from pg_stat_database) as used, current_setting('max_connections')::int"           \
    " - current_setting('superuser_reserved_connections')::int"                                                                \
    " - coalesce(current_setting('reserved_connections', true)::int, 0) as max) c"

typedef struct neo_doctor_context {
    const neo_ctl *ctl;
    apr_pool_t *pool;
    neo_pg *pg;          /* NULL until there is a connection */
    int is_read_only;    /* it is a standby, or default_transaction_read_only is set */
    const char *runtime; /* NULL until it was read from the schema */
    int version;
    const char *key_file;
    neo_keys keys;                       /* none until the key file was read */
    const char *httpd_dir;               /* APACHE_CONFDIR */
    neo_json *httpd;                     /* the module's report (httpd/config_report.c); NULL if there is none */
    neo_json *site;                      /* the first virtual host in it; NULL if none has NeoAPI On */
    const char *httpd_error, *httpd_fix; /* why httpd does not accept its configuration; NULL if it does */
    const char *httpd_skipped;           /* why it could not be checked; NULL if it was */
    neo_position position;               /* the primary's, for the check of a replica */
    const char *fix;                     /* replaces the fix of the check's row, or NULL */
} neo_doctor_context;

typedef enum neo_finding {
    NEO_FINDING_FAILED,
    NEO_FINDING_OK,
    NEO_FINDING_PENDING, /* not an error: something has not been set up yet */
    NEO_FINDING_SKIPPED, /* it could not be checked */
    NEO_FINDINGS
} neo_finding;

static inline neo_finding neo_doctor_finding(int is_ok)
{
    return is_ok ? NEO_FINDING_OK : NEO_FINDING_FAILED;
}

/* Whether the schema is up to date. */
static inline int neo_doctor_has_schema(const neo_doctor_context *doctor)
{
    return doctor->pg && doctor->runtime && doctor->version >= neo_schema_needed();
}

/* Checks of the key file. *found is set to a sentence. */
neo_finding neo_doctor_check_key_file(neo_doctor_context *doctor, const char **found);
neo_finding neo_doctor_check_secrets(neo_doctor_context *doctor, const char **found);

/* Checks of httpd's configuration. *found is set to a sentence. */
void neo_doctor_read_httpd(neo_doctor_context *doctor);
neo_finding neo_doctor_check_httpd_conf(neo_doctor_context *doctor, const char **found);
neo_finding neo_doctor_check_site(neo_doctor_context *doctor, const char **found);
neo_finding neo_doctor_check_certificate(neo_doctor_context *doctor, const char **found);
neo_finding neo_doctor_check_connection_limit(neo_doctor_context *doctor, const char **found);
int neo_doctor_is_running(const neo_doctor_context *doctor); /* its pid file names a process */
neo_finding neo_doctor_check_running(neo_doctor_context *doctor, const char **found);

/* Checks of what httpd does: they connect as its user, and send requests to it. */
neo_finding neo_doctor_check_database(neo_doctor_context *doctor, const char **found);
neo_finding neo_doctor_check_replica(neo_doctor_context *doctor, const char **found);
neo_finding neo_doctor_check_request(neo_doctor_context *doctor, const char **found);
neo_finding neo_doctor_check_plain_http(neo_doctor_context *doctor, const char **found);

#endif
