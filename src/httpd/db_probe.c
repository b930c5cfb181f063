/* SPDX-License-Identifier: Apache-2.0 */
/* Runs probes and shares their results between processes (see httpd/db_probe.h). */
#include "httpd/db_probe.h"

#include <apr_strings.h>
#include <http_config.h>
#include <http_main.h>
#include <string.h>

#include "httpd/config.h"
#include "httpd/log.h"
#include "httpd/shared_memory.h"
#include "sql/migrate.h"
#include "status/deployment.h"

#define SECOND_US        1000000LL
#define FRESH_US         SECOND_US        /* a result is used without a new query */
#define WRITES_FRESH_US  (5 * SECOND_US)  /* the result of the probe that writes is used that long */
#define USABLE_US        (10 * SECOND_US) /* a result is used while no new one is available */
#define TIMEOUT_US       (3 * SECOND_US)  /* others stop waiting for a query in progress */
#define POLL_INTERVAL_US 20000            /* while waiting for a query in progress */
#define ABANDONED_US     (20 * SECOND_US) /* longer than any query: its process has died */

/* A database and its index in neo_shared_metrics.probes. */
typedef struct {
    neo_database *database;
    int number;
} probed_database;

/* Finds the distinct databases of this host, at most `max`, in the order of the virtual hosts. With `only`, just that one. */
static int find_databases(const neo_database *only, probed_database *found, int max)
{
    int count = 0, number = 0;
    const neo_database *last = NULL;
    for (const server_rec *s = ap_server_conf; s && count < max; s = s->next) {
        const neo_server_config *config = neo_get_server_config(s);
        if (!config->database || config->database == last)
            continue;
        last = config->database;
        int is_known = 0;
        for (int i = 0; i < count; i++)
            is_known |= found[i].database == config->database;
        if (!is_known && (!only || only == config->database))
            found[count++] = (probed_database){config->database, number};
        number++;
    }
    return count;
}

static int server_databases(request_rec *r, probed_database *found, int max)
{
    return find_databases(neo_get_server_config(r->server)->database, found, max);
}

/* ---------------------------------------------------------------- one query for all processes */

/* Returns true if the caller may run the query: no other is in progress, or its process has died. */
static int try_start(neo_db_probe *probe, long long now)
{
    long long running_since = __atomic_load_n(&probe->running_since, __ATOMIC_ACQUIRE);
    if (running_since && now - running_since < ABANDONED_US)
        return 0;
    return __atomic_compare_exchange_n(&probe->running_since, &running_since, now, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void read_last(const neo_db_probe *probe, neo_probe_result *result)
{
    if (!neo_seqlock_read(&probe->lock, &probe->result, result, sizeof *result))
        memset(result, 0, sizeof *result);
}

static void set_error(neo_probe_result *result, const neo_pg_error *error)
{
    apr_cpystrn(result->sqlstate, error->class, sizeof result->sqlstate);
}

/* Runs the query, which finds the last result in *result, unless all connections of this process are in use: waiting for one
 * may take long. */
static void run_probe(request_rec *r, const probed_database *target,
                      void (*query)(neo_pg *pg, apr_pool_t *pool, neo_probe_result *result), neo_probe_result *result)
{
    const neo_process *process = neo_shared_metrics_get()->process;
    neo_log_context log_context = {.r = r, .server = r->server};
    neo_db_lease lease = {0};
    result->state = NEO_PROBE_NO_CONNECTION;
    if (process->in_use + process->listening < process->connections) {
        neo_pg *pg = neo_database_acquire(target->database, &lease, &log_context, r->pool);
        result->state = lease.was_busy ? NEO_PROBE_NO_CONNECTION : NEO_PROBE_UNAVAILABLE;
        set_error(result, neo_database_error(target->database));
        if (pg) {
            query(pg, r->pool, result);
            neo_database_release(target->database, pg);
        }
    }
    result->read_at = apr_time_now();
}

/* Returns the last result if it is usable; otherwise waits for the query in progress. */
static void await_other(const neo_db_probe *probe, neo_probe_result *result)
{
    for (;; apr_sleep(POLL_INTERVAL_US)) {
        long long running_since = __atomic_load_n(&probe->running_since, __ATOMIC_ACQUIRE), now = apr_time_now();
        read_last(probe, result);
        int is_usable = result->read_at && now - result->read_at <= USABLE_US;
        if (running_since && now - running_since > TIMEOUT_US)
            result->state = NEO_PROBE_TIMEOUT;
        else if (!is_usable && running_since)
            continue;
        else if (!is_usable)
            result->state = NEO_PROBE_UNKNOWN;
        return;
    }
}

static void probe_cached(request_rec *r, const probed_database *target, neo_db_probe *probe, long long fresh_us,
                         void (*query)(neo_pg *pg, apr_pool_t *pool, neo_probe_result *result), neo_probe_result *result)
{
    long long now = apr_time_now();
    read_last(probe, result);
    if (result->read_at && now - result->read_at < fresh_us && now >= result->read_at)
        return;
    if (!try_start(probe, now)) {
        await_other(probe, result);
        return;
    }
    neo_probe_result last = *result;
    run_probe(r, target, query, result);
    if (result->state == NEO_PROBE_NO_CONNECTION && last.state == NEO_PROBE_OK && now - last.read_at < USABLE_US)
        *result = last;
    neo_seqlock_write(&probe->lock, &probe->result, result, sizeof *result);
    __atomic_store_n(&probe->running_since, 0, __ATOMIC_RELEASE);
}

/* The error for a page. It shows no internal details. */
static const char *public_error(const neo_probe_result *result)
{
    static const char *const texts[NEO_PROBE_STATES] = {
        [NEO_PROBE_UNKNOWN] = "the database has not been queried yet; try again",
        [NEO_PROBE_OK] = NULL,
        [NEO_PROBE_TIMEOUT] = "the database does not respond",
        [NEO_PROBE_NO_CONNECTION] = "all connections to the database are in use",
        [NEO_PROBE_SCHEMA_OLD] = "the database's schema is older than this module: run neoapictl migrate",
        [NEO_PROBE_SCHEMA_MISSING] = "the database has no schema: run neoapictl setup",
    };
    return result->state == NEO_PROBE_UNAVAILABLE ? neo_pg_error_find(result->sqlstate)->sentence : texts[result->state];
}

/* ---------------------------------------------------------------- queries */

static void query_backlog(neo_pg *pg, apr_pool_t *pool, neo_probe_result *result)
{
    long long now = apr_time_now();
    long long elapsed = result->backlog_read_at ? (now - result->backlog_read_at) / 1000 : 0; /* 0: the first one */
    neo_pg_status status = neo_backlog_read(pg, pool, elapsed > 0 ? elapsed : 0, &result->backlog);
    result->state = status == NEO_PG_OK ? NEO_PROBE_OK : status == NEO_PG_SCHEMA ? NEO_PROBE_SCHEMA_OLD : NEO_PROBE_UNAVAILABLE;
    if (status == NEO_PG_OK)
        result->backlog_read_at = now;
}

static void query_schema(neo_pg *pg, apr_pool_t *pool, neo_probe_result *result)
{
    int version;
    if (neo_schema_version(pg, pool, &version) == NEO_PG_OK)
        result->state = version == 0                    ? NEO_PROBE_SCHEMA_MISSING
                        : version < neo_schema_needed() ? NEO_PROBE_SCHEMA_OLD
                                                        : NEO_PROBE_OK;
}

static void query_writes(neo_pg *pg, apr_pool_t *pool, neo_probe_result *result)
{
    neo_rows rows;
    neo_pg_status status = neo_schema_probe_write(pg, pool, &rows);
    result->state = status == NEO_PG_OK ? NEO_PROBE_OK : status == NEO_PG_SCHEMA ? NEO_PROBE_SCHEMA_OLD : NEO_PROBE_UNAVAILABLE;
    if (status != NEO_PG_OK)
        set_error(result, rows.error);
}

/* Returns the error, or NULL. */
static const char *probe_writes(request_rec *r, const probed_database *target)
{
    neo_probe_result result;
    probe_cached(r, target, &neo_shared_metrics_get()->probes[target->number % NEO_MAX_DATABASES].writes, WRITES_FRESH_US,
                 query_writes, &result);
    return public_error(&result);
}

void neo_db_probe_report(request_rec *r, neo_report *report)
{
    neo_probe_result result;
    probed_database target;
    if (!server_databases(r, &target, 1)) {
        report->backlog_error = report->write_error = "this process has no database yet";
        return;
    }
    probe_cached(r, &target, &neo_shared_metrics_get()->probes[target.number % NEO_MAX_DATABASES].queue, FRESH_US,
                 query_backlog, &result);
    report->backlog = result.backlog;
    report->backlog_read_at = result.backlog_read_at;
    report->backlog_error = public_error(&result);
    report->deployment =
        neo_deployment_parse((neo_text){report->backlog.deployment, strlen(report->backlog.deployment)}, r->pool);
    report->write_error = report->backlog_error ? report->backlog_error : probe_writes(r, &target);
}

const char *neo_db_probe_readiness(request_rec *r, int needs_writes)
{
    probed_database found[NEO_MAX_DATABASES];
    int count = server_databases(r, found, NEO_MAX_DATABASES);
    const char *error = count ? NULL : "this process has no database yet";
    for (int i = 0; i < count && !error; i++) {
        neo_probe_result result;
        probe_cached(r, &found[i], &neo_shared_metrics_get()->probes[found[i].number % NEO_MAX_DATABASES].schema, FRESH_US,
                     query_schema, &result);
        error = public_error(&result);
        if (!error && needs_writes)
            error = probe_writes(r, &found[i]);
    }
    return error;
}
