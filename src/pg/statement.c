/* SPDX-License-Identifier: Apache-2.0 */
/* Statements: which of them a connection has prepared, how they are run, and when they are repeated (see pg/pg.h). */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "libpq.h"

#define MAX_ON_DEMAND 32 /* on a connection */

/* What a failure means to the caller of a mode. */
typedef enum { RETURN, LOG, RETURN_UNDONE, BEGIN_AGAIN } failure;

static const struct {
    int attempts;
    int timeout;    /* seconds for each, unless the caller has given others */
    int reconnects; /* a lost connection is replaced before or between attempts */
    failure failure;
} modes[NEO_PG_MODES] = {
    [NEO_PG_REQUEST] = {2, NEO_PG_TIMEOUT_S, 1, LOG},        [NEO_PG_OPTIONAL] = {2, NEO_PG_TIMEOUT_S, 1, RETURN_UNDONE},
    [NEO_PG_PROBE] = {2, NEO_PG_PROBE_TIMEOUT_S, 1, RETURN}, [NEO_PG_ADMIN] = {10, NEO_PG_NO_TIMEOUT, 0, RETURN},
    [NEO_PG_ONCE] = {1, NEO_PG_TIMEOUT_S, 0, RETURN},        [NEO_PG_TRANSACTION] = {1, NEO_PG_TIMEOUT_S, 0, BEGIN_AGAIN},
    [NEO_PG_SNAPSHOT] = {1, NEO_PG_SNAPSHOT_S + 1, 0, LOG},
};

static int may_reconnect(const neo_pg *pg, neo_pg_mode mode)
{
    return modes[mode].reconnects && !pg->is_replica;
}

/* ---------------------------------------------------------------- identity */

static void set_fingerprint(neo_statement *statement)
{
    static const char start[] = "neoapi_";
    memcpy(statement->name, start, sizeof start);
    neo_fingerprint(statement->sql, strlen(statement->sql), statement->name + sizeof start - 1);
    statement->fingerprint = strtoull(statement->name + sizeof start - 1, NULL, 16);
}

neo_statement *neo_statement_make(apr_pool_t *pool, const char *sql, int params, int writes)
{
    neo_statement *made = apr_palloc(pool, sizeof *made);
    *made = (neo_statement){.sql = apr_pstrdup(pool, sql), .params = params, .writes = writes};
    set_fingerprint(made);
    return made;
}

void neo_statement_prepare_on_demand(neo_statement *statement)
{
    set_fingerprint(statement);
    statement->is_on_demand = 1;
}

/* The statement's entry, or the free one that is for it. */
static unsigned long long *find_prepared_entry(neo_pg *pg, const neo_statement *statement)
{
    for (unsigned long long at = statement->fingerprint >> 1;; at++) {
        unsigned long long *entry = &pg->prepared.entries[at % NEO_PG_TABLE];
        if (!*entry || (*entry | 1) == (statement->fingerprint | 1))
            return entry;
    }
}

static void set_prepared(neo_pg *pg, const neo_statement *statement, int is_prepared)
{
    unsigned long long *entry = find_prepared_entry(pg, statement);
    if (!*entry) {
        if (pg->prepared.count == NEO_PG_FILLED) {
            memset(&pg->prepared, 0, sizeof pg->prepared);
            entry = find_prepared_entry(pg, statement);
        }
        pg->prepared.count++;
        pg->prepared.on_demand += statement->is_on_demand;
    }
    *entry = is_prepared ? statement->fingerprint | 1 : statement->fingerprint & ~1ULL;
}

static int is_text(neo_pg *pg, const neo_statement *statement)
{
    return !statement->fingerprint ||
           (statement->is_on_demand && pg->prepared.on_demand >= MAX_ON_DEMAND && !*find_prepared_entry(pg, statement));
}

/* Prepares the statement unless the connection has it. Behind a pooler, the server's connection may have it already (42P05);
 * inside a transaction that error fails the transaction. Sets *failed and returns the result if the statement cannot be
 * executed.
 */
static PGresult *prepare(neo_pg *pg, const neo_statement *statement, int timeout, int *failed)
{
    int completed;
    *failed = 0;
    if (*find_prepared_entry(pg, statement) & 1)
        return NULL;
    int was_sent = PQsendPrepare(pg->conn, statement->name, statement->sql, statement->params, NULL);
    PGresult *result = neo_pg_await(pg, was_sent, timeout, &completed);
    int is_known = neo_state_is_class(neo_result_state(result), "42P05");
    *failed = !neo_result_is_success(result) && (!is_known || pg->mode != NEO_PG_REQUEST);
    if (is_known || !*failed)
        set_prepared(pg, statement, 1);
    if (*failed)
        return result;
    PQclear(result);
    return NULL;
}

/* ---------------------------------------------------------------- execution */

static int send_statement(neo_pg *pg, const neo_statement *statement, const char *const *values)
{
    if (!is_text(pg, statement))
        return PQsendQueryPrepared(pg->conn, statement->name, statement->params, values, statement->lengths, statement->formats,
                                   0);
    if (!statement->params && !statement->time_limit)
        return PQsendQuery(pg->conn, statement->sql);
    return PQsendQueryParams(pg->conn, statement->sql, statement->params, NULL, values, statement->lengths, statement->formats,
                             0);
}

/* A pipeline is one transaction until its end, so the setting is reset by then, also behind a pooler. The results are those of
 * the setting, of the statement, and the end of the pipeline. After a failure to send, the connection is unusable. */
static PGresult *execute_limited(neo_pg *pg, const neo_statement *statement, const char *const *values, int timeout,
                                 int *completed)
{
    static const char set[] = "select set_config('statement_timeout', $1, true)";
    char limit[16];
    const char *const limits[] = {limit};
    int ignored;
    apr_snprintf(limit, sizeof limit, "%d", statement->time_limit);
    int was_sent = PQenterPipelineMode(pg->conn) && PQsendQueryParams(pg->conn, set, 1, NULL, limits, NULL, NULL, 0) &&
                   send_statement(pg, statement, values) && PQpipelineSync(pg->conn);
    PQclear(neo_pg_await(pg, was_sent, timeout, &ignored));
    PGresult *result = neo_pg_await(pg, was_sent && !pg->timed_out, timeout, completed);
    if (was_sent && !pg->timed_out && PQstatus(pg->conn) == CONNECTION_OK)
        PQclear(PQgetResult(pg->conn));
    PQexitPipelineMode(pg->conn);
    return result;
}

/* Whether a failed statement can be executed again: it certainly did nothing, or only reads. */
static int can_retry(neo_pg *pg, neo_pg_mode mode, const neo_statement *statement, const PGresult *result, int completed)
{
    const char *state = neo_result_state(result);
    if (pg->timed_out)
        return 0;
    int is_stale = neo_state_is_class(state, "0A000"); /* its plan */
    if (!is_text(pg, statement) && (is_stale || neo_state_is_class(state, "26000"))) {
        char deallocate[sizeof "deallocate " + NEO_STATEMENT_NAME];
        apr_snprintf(deallocate, sizeof deallocate, "deallocate %s", statement->name);
        if (is_stale)
            PQclear(PQexec(pg->conn, deallocate));
        set_prepared(pg, statement, 0);
        return 1;
    }
    if (neo_state_is_class(state, "40001") || neo_state_is_class(state, "40P01")) /* rolled back */
        return (!is_text(pg, statement) || statement->params) && PQtransactionStatus(pg->conn) != PQTRANS_INERROR;
    if (!may_reconnect(pg, mode))
        return 0;
    if (neo_state_is_class(state, "25006")) /* the primary became a standby: a new connection may find the new primary */
        return neo_pg_reconnect(pg);
    if (PQstatus(pg->conn) == CONNECTION_OK)
        return 0;
    return !statement->writes || (neo_state_is_class(state, "57P") && !completed);
}

/* Runs a statement, and again if it can be repeated. *is_undone: if it failed, it changed nothing. */
static PGresult *execute_with_retries(neo_pg *pg, neo_pg_mode mode, const neo_statement *statement, const char *const *values,
                                      int timeout, int *is_undone)
{
    PGresult *result = NULL;
    int is_retry = 1, failed = 0, completed;
    *is_undone = 1; /* until it is sent */
    for (int attempt = 0; attempt < modes[mode].attempts && is_retry; attempt++) {
        PQclear(result);
        result = NULL;
        /* A write must not be sent over a lost connection, so it is looked at before; a read is sent again. */
        if (may_reconnect(pg, mode) && (statement->writes || attempt > 0) && !neo_pg_is_alive(pg) && !neo_pg_reconnect(pg))
            break;
        if (!neo_pg_is_accepted(pg)) {
            is_retry = modes[mode].reconnects;
            continue;
        }
        if (!is_text(pg, statement))
            result = prepare(pg, statement, timeout, &failed);
        if (failed) { /* it can be repeated, because nothing was executed */
            is_retry = PQstatus(pg->conn) != CONNECTION_OK && !pg->timed_out;
            continue;
        }
        result = statement->time_limit ? execute_limited(pg, statement, values, timeout, &completed)
                                       : neo_pg_await(pg, send_statement(pg, statement, values), timeout, &completed);
        *is_undone = !statement->writes || (*neo_result_state(result) && !completed);
        is_retry = !neo_result_is_success(result) && can_retry(pg, mode, statement, result, completed);
    }
    return result;
}

/* ---------------------------------------------------------------- failures */

/* Whether a transaction failed because of a conflict, a server shutdown or what a pooler's connection has prepared, so that it
 * can begin again. */
static int can_begin_again(neo_pg *pg, const neo_statement *statement, const neo_rows *rows, apr_pool_t *pool)
{
    const char *state = neo_rows_state(rows);
    int is_read_only = neo_state_is_class(state, "25006");
    int is_server = is_read_only || neo_state_is_class(state, "0A000") || neo_state_is_class(state, "57P");
    int is_unknown = neo_state_is_class(state, "26000");
    if (pg->timed_out || !(is_server || is_unknown || neo_state_is_class(state, "42P05") || neo_state_is_class(state, "40") ||
                           PQstatus(pg->conn) != CONNECTION_OK))
        return 0;
    if (is_unknown && !is_text(pg, statement))
        set_prepared(pg, statement, 0);
    neo_log(is_read_only ? rows->error->message : NEO_LOG_TRANSACTION_RETRIED, pg->log_context,
            "transaction rolled back%s, starting it again: %s", neo_state_note(rows->native, pool), rows->message);
    if (is_server)
        PQreset(pg->conn);
    return 1;
}

static neo_pg_status read_outcome(neo_pg *pg, neo_pg_mode mode, const neo_statement *statement, PGresult *result, int is_undone,
                                  apr_pool_t *pool, neo_rows *rows)
{
    neo_pg_status status = neo_result_read(pg, result, pool, rows);
    rows->is_undone |= status != NEO_PG_OK && is_undone;
    if (status == NEO_PG_TIMEOUT && (statement->time_limit || mode == NEO_PG_SNAPSHOT))
        status = NEO_PG_TIME_LIMIT;
    if (modes[mode].failure == RETURN || pg->is_replica)
        return status;
    if (status != NEO_PG_OK && modes[mode].failure == BEGIN_AGAIN && can_begin_again(pg, statement, rows, pool))
        return NEO_PG_RETRY;
    /* An error with an SQLSTATE over a connection that is still open comes from a server that has rolled back. */
    if (status != NEO_PG_OK && modes[mode].failure == RETURN_UNDONE && PQstatus(pg->conn) == CONNECTION_OK &&
        *neo_rows_state(rows))
        return NEO_PG_RETRY;
    neo_rows_report(pg, status, rows, pool);
    return status;
}

/* ---------------------------------------------------------------- running */

static neo_pg_status run_within(neo_pg *pg, neo_pg_mode mode, const neo_statement *statement, const char *const *values,
                                int timeout, apr_pool_t *pool, neo_rows *rows)
{
    int is_undone, limit = pg->is_replica && mode != NEO_PG_SNAPSHOT ? NEO_PG_PROBE_TIMEOUT_S : timeout;
    PGresult *result = execute_with_retries(pg, mode, statement, values, limit, &is_undone);
    return read_outcome(pg, mode, statement, result, is_undone, pool, rows);
}

neo_pg_status neo_pg_run(neo_pg *pg, const neo_statement *statement, const char *const *values, apr_pool_t *pool,
                         neo_rows *rows)
{
    return run_within(pg, pg->mode, statement, values, modes[pg->mode].timeout, pool, rows);
}

neo_pg_status neo_pg_run_as(neo_pg *pg, neo_pg_mode mode, const neo_statement *statement, const char *const *values,
                            apr_pool_t *pool, neo_rows *rows)
{
    return run_within(pg, mode, statement, values, modes[mode].timeout, pool, rows);
}

neo_pg_status neo_pg_exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool, neo_rows *rows)
{
    const neo_statement statement = {.sql = sql, .params = params, .writes = 1};
    return neo_pg_run_as(pg, NEO_PG_ADMIN, &statement, values, pool, rows);
}

const char *neo_pg_query(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_exec(pg, sql, params, values, pool, rows) == NEO_PG_OK ? NULL : rows->message;
}

neo_pg_status neo_pg_exec_once(neo_pg *pg, const char *sql, int seconds, apr_pool_t *pool, neo_rows *rows)
{
    const neo_statement statement = {.sql = sql, .writes = 1};
    return run_within(pg, NEO_PG_ONCE, &statement, NULL, seconds, pool, rows);
}

/* ---------------------------------------------------------------- results that are received later */

void neo_pg_send(neo_pg *pg, const neo_statement *statement, const char *const *values)
{
    int failed = 0;
    pg->sent.statement = NULL;
    if ((!neo_pg_is_alive(pg) && !neo_pg_reconnect(pg)) || !neo_pg_verify(pg))
        return;
    PQclear(prepare(pg, statement, NEO_PG_TIMEOUT_S, &failed));
    if (failed || !send_statement(pg, statement, values))
        return;
    pg->sent.statement = statement;
    pg->sent.until = neo_steady_seconds() + NEO_PG_TIMEOUT_S;
}

int neo_pg_is_answered(neo_pg *pg)
{
    return !pg->sent.statement || !PQconsumeInput(pg->conn) || !PQisBusy(pg->conn) || neo_steady_seconds() >= pg->sent.until;
}

/* Runs the statement if it was not sent or can be repeated. */
neo_pg_status neo_pg_receive(neo_pg *pg, const neo_statement *statement, const char *const *values, apr_pool_t *pool,
                             neo_rows *rows)
{
    int completed;
    long long left = pg->sent.until - neo_steady_seconds();
    if (!pg->sent.statement)
        return neo_pg_run(pg, statement, values, pool, rows);
    pg->sent.statement = NULL;
    PGresult *result = neo_pg_await(pg, 1, left > 0 ? (int)left : 0, &completed);
    if (neo_result_is_success(result) || !can_retry(pg, NEO_PG_REQUEST, statement, result, completed))
        return read_outcome(pg, NEO_PG_REQUEST, statement, result, 0, pool, rows);
    PQclear(result);
    return neo_pg_run(pg, statement, values, pool, rows);
}

/* ---------------------------------------------------------------- listening */

neo_pg_status neo_pg_listen(neo_pg *pg, const char *channel, apr_pool_t *pool, neo_rows *rows)
{
    neo_rows ignored;
    const char *sql = apr_psprintf(pool, "listen %s; select pg_backend_pid()", channel);
    neo_pg_status status = neo_pg_exec_once(pg, sql, NEO_PG_TIMEOUT_S, pool, rows);
    /* A pooler sends a made-up process id when a connection starts. */
    if (status != NEO_PG_OK || atoi(neo_rows_value(rows, 0, 0)) == PQbackendPID(pg->conn))
        return status;
    (void)!neo_pg_exec_once(pg, "unlisten *", NEO_PG_TIMEOUT_S, pool, &ignored);
    rows->message = "a connection pooler does not pass on notifications";
    return NEO_PG_FAILED;
}
