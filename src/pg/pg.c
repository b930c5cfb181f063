/* SPDX-License-Identifier: Apache-2.0 */
/* Connections, and running statements on them (see pg/pg.h). */
#include <apr_strings.h>
#include <errno.h>
#include <libpq-events.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/clock.h"
#include "core/log.h"
#include "libpq.h"
#include "pg/error.h"

#define MAX_ATTEMPTS 10 /* of neo_pg_exec, after conflicts with other transactions */

/* mod_dbd resets a broken connection with PQreset and reports success; this event is the only sign of it. */
static int on_event(PGEventId id, void *info, void *data)
{
    (void)data;
    if (id == PGEVT_CONNRESET) {
        neo_pg *pg = PQinstanceData(((PGEventConnReset *)info)->conn, on_event);
        if (pg)
            memset(pg->prepared, 0, sizeof pg->prepared);
    } else if (id == PGEVT_CONNDESTROY)
        free(PQinstanceData(((PGEventConnDestroy *)info)->conn, on_event));
    return 1;
}

neo_pg *neo_pg_of(neo_pg_native *conn)
{
    neo_pg *pg = PQinstanceData(conn, on_event);
    if (pg)
        return pg;
    pg = calloc(1, sizeof *pg);
    if (!pg || !PQregisterEventProc(conn, on_event, "neoapi", NULL) || !PQsetInstanceData(conn, on_event, pg)) {
        free(pg);
        return NULL;
    }
    pg->conn = conn;
    return pg;
}

void neo_pg_set_log_context(neo_pg *pg, void *log_context)
{
    pg->log_context = log_context;
}

void neo_pg_set_watch(neo_pg *pg, neo_pg_watch *watch)
{
    pg->watch = watch;
}

void neo_pg_set_user_data(neo_pg *pg, void *user_data)
{
    pg->user_data = user_data;
}

void *neo_pg_user_data(const neo_pg *pg)
{
    return pg->user_data;
}

static apr_status_t finish(void *conn)
{
    PQfinish(conn);
    return APR_SUCCESS;
}

neo_pg *neo_pg_connect(const char *conninfo, apr_pool_t *pool, const char **error)
{
    PGconn *conn = PQconnectdb(conninfo);
    if (!conn)
        abort();
    apr_pool_cleanup_register(pool, conn, finish, apr_pool_cleanup_null);
    neo_pg *pg = PQstatus(conn) == CONNECTION_OK ? neo_pg_of(conn) : NULL;
    if (!pg)
        *error = apr_pstrdup(pool, PQerrorMessage(conn));
    return pg;
}

int neo_pg_has_password(const char *conninfo)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    int found = 0;
    for (const PQconninfoOption *o = options; o && o->keyword; o++)
        found |= o->val && *o->val && strcmp(o->keyword, "password") == 0;
    PQconninfoFree(options);
    return found;
}

/* An idle socket is readable if there is a notice, a notification or the end of the connection. All of it is read, because a
 * server sends the reason before it closes a connection. */
int neo_pg_is_alive(neo_pg *pg)
{
    struct pollfd polled = {PQsocket(pg->conn), POLLIN, 0};
    if (PQstatus(pg->conn) != CONNECTION_OK)
        return 0;
    while (poll(&polled, 1, 0) > 0)
        if (!PQconsumeInput(pg->conn))
            return 0;
    return PQstatus(pg->conn) == CONNECTION_OK;
}

int neo_pg_reconnect(neo_pg *pg)
{
    PQreset(pg->conn);
    return PQstatus(pg->conn) == CONNECTION_OK;
}

static apr_status_t clear(void *result)
{
    PQclear(result);
    return APR_SUCCESS;
}

int neo_result_is_success(const PGresult *result)
{
    return PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK;
}

const char *neo_result_state(const PGresult *result)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    return state ? state : "";
}

int neo_state_is_class(const char *state, const char *class)
{
    return strncmp(state, class, strlen(class)) == 0;
}

/* libpq's messages have several lines and a newline at the end. */
static const char *one_line(const char *text, apr_pool_t *pool)
{
    char *line = apr_pstrdup(pool, text), *end = line + strlen(line);
    while (end > line && end[-1] == '\n')
        *--end = '\0';
    for (char *c = line; (c = strpbrk(c, "\n\t"));)
        *c = ' ';
    return line;
}

neo_pg_status neo_pg_read_result(neo_pg *pg, PGresult *result, apr_pool_t *pool, neo_rows *rows)
{
    memset(rows, 0, sizeof *rows);
    rows->native = result;
    if (result)
        apr_pool_cleanup_register(pool, result, clear, apr_pool_cleanup_null);
    if (neo_result_is_success(result)) {
        rows->count = PQntuples(result);
        return NEO_PG_OK;
    }
    int is_connected = PQstatus(pg->conn) == CONNECTION_OK;
    rows->error = neo_pg_error_find(neo_result_state(result));
    rows->is_undone = is_connected && *neo_result_state(result);
    rows->constraint = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
    rows->detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    rows->message = one_line(primary ? primary : PQerrorMessage(pg->conn), pool);
    if (!is_connected)
        return NEO_PG_UNAVAILABLE;
    return rows->error->status == NEO_PG_TIMEOUT && pg->time_limit ? NEO_PG_TIME_LIMIT : rows->error->status;
}

const char *neo_state_note(const PGresult *result, apr_pool_t *pool)
{
    const char *state = neo_result_state(result);
    return *state ? apr_pstrcat(pool, " (SQLSTATE ", state, ")", NULL) : "";
}

neo_pg_status neo_pg_finished(neo_pg *pg, PGresult *result, apr_pool_t *pool, neo_rows *rows)
{
    neo_pg_status status = neo_pg_read_result(pg, result, pool, rows);
    int is_error = status != NEO_PG_OK && status != NEO_PG_TIME_LIMIT && rows->error->sentence;
    if (is_error && !(pg->watch && pg->watch->error == rows->error))
        neo_log(rows->error->message, pg->log_context, "%s%s: %s", rows->error->sentence, neo_state_note(rows->native, pool),
                rows->message);
    if (pg->watch)
        *pg->watch = is_error ? (neo_pg_watch){rows->error, pg->watch->failures + 1} : (neo_pg_watch){0};
    return status;
}

/* Waits until the socket is readable. After the timeout it shuts the socket down, so that libpq takes the connection for
 * lost. */
static int wait_for_more(neo_pg *pg, long long until)
{
    struct pollfd polled = {PQsocket(pg->conn), POLLIN, 0};
    long long left = until - neo_steady_seconds();
    if (until != NEO_PG_NO_TIMEOUT && left <= 0) {
        pg->timed_out = 1;
        shutdown(polled.fd, SHUT_RDWR);
    }
    return poll(&polled, 1, until == NEO_PG_NO_TIMEOUT ? -1 : (int)(left > 0 ? left * 1000 : 0)) >= 0 || errno == EINTR;
}

/* Waits until libpq has a result. Returns 0 if the connection is lost or timed out. Every second read is done without poll(),
 * because after the first piece of a long answer the next one has mostly arrived. */
static int wait_for_result(neo_pg *pg, long long until)
{
    for (int is_likely = 0; PQisBusy(pg->conn); is_likely = !is_likely)
        if ((!is_likely && !wait_for_more(pg, until)) || !PQconsumeInput(pg->conn))
            return 0;
    return 1;
}

PGresult *neo_pg_await(neo_pg *pg, int was_sent, int timeout, int *completed)
{
    PGresult *last = NULL, *next;
    long long until = timeout == NEO_PG_NO_TIMEOUT ? NEO_PG_NO_TIMEOUT : neo_steady_seconds() + timeout;
    *completed = 0;
    pg->timed_out = 0;
    while (was_sent && (wait_for_result(pg, until), next = PQgetResult(pg->conn))) {
        *completed |= neo_result_is_success(next);
        if (*neo_result_state(last) &&
            !*neo_result_state(next)) { /* keep the reason for which the server closed the connection */
            PQclear(next);
            continue;
        }
        PQclear(last);
        last = next;
    }
    return last;
}

PGresult *neo_pg_prepare(neo_pg *pg, const neo_statement *statement, int *failed)
{
    int completed;
    *failed = 0;
    if (pg->prepared[statement->slot])
        return NULL;
    int was_sent = PQsendPrepare(pg->conn, statement->name, statement->sql, statement->params, NULL);
    PGresult *result = neo_pg_await(pg, was_sent, NEO_PG_TIMEOUT_S, &completed);
    /* 42P05: behind a pooler the server connection may have it already */
    *failed = PQresultStatus(result) != PGRES_COMMAND_OK && strcmp(neo_result_state(result), "42P05") != 0;
    if (*failed)
        return result;
    PQclear(result);
    pg->prepared[statement->slot] = 1;
    return NULL;
}

int neo_pg_send_prepared(neo_pg *pg, const neo_statement *statement, const char *const *values)
{
    return PQsendQueryPrepared(pg->conn, statement->name, statement->params, values, NULL, NULL, 0);
}

PGresult *neo_pg_execute(neo_pg *pg, const neo_statement *statement, const char *const *values, int *completed)
{
    if (pg->time_limit)
        return neo_pg_execute_limited(pg, statement, NULL, 0, values, completed);
    return neo_pg_await(pg, neo_pg_send_prepared(pg, statement, values), NEO_PG_TIMEOUT_S, completed);
}

PGresult *neo_pg_execute_text(neo_pg *pg, const char *sql, int params, const char *const *values, int timeout)
{
    int completed;
    if (pg->time_limit)
        return neo_pg_execute_limited(pg, NULL, sql, params, values, &completed);
    int was_sent = params ? PQsendQueryParams(pg->conn, sql, params, NULL, values, NULL, NULL, 0) : PQsendQuery(pg->conn, sql);
    return neo_pg_await(pg, was_sent, timeout, &completed);
}

/* By a serialization failure or a deadlock. */
static int was_rolled_back(const PGresult *result)
{
    const char *state = neo_result_state(result);
    return neo_state_is_class(state, "40001") || neo_state_is_class(state, "40P01");
}

int neo_pg_can_retry(neo_pg *pg, const neo_statement *statement, const PGresult *result, int completed)
{
    const char *state = neo_result_state(result);
    if (pg->timed_out)
        return 0;
    if (neo_state_is_class(state, "26000") || neo_state_is_class(state, "0A000")) { /* unknown statement, or stale plan */
        char deallocate[40];
        apr_snprintf(deallocate, sizeof deallocate, "deallocate %s", statement->name);
        if (neo_state_is_class(state, "0A000"))
            PQclear(PQexec(pg->conn, deallocate));
        pg->prepared[statement->slot] = 0;
        return 1;
    }
    if (was_rolled_back(result))
        return 1;
    if (neo_state_is_class(state, "25006")) /* the primary became a standby: a new connection may find the new primary */
        return neo_pg_reconnect(pg);
    if (PQstatus(pg->conn) == CONNECTION_OK)
        return 0;
    return !statement->writes || (neo_state_is_class(state, "57P") && !completed);
}

PGresult *neo_pg_exec_reconnecting(neo_pg *pg, const char *sql, int params, const char *const *values)
{
    PGresult *result = NULL;
    for (int attempt = 0, is_standby = 0; attempt < 2; attempt++) {
        PQclear(result);
        result = NULL;
        if (attempt > 0 && (is_standby || !neo_pg_is_alive(pg)) && !neo_pg_reconnect(pg)) /* a read fails and is retried */
            break;
        result = neo_pg_execute_text(pg, sql, params, values, NEO_PG_TIMEOUT_S);
        is_standby = neo_state_is_class(neo_result_state(result), "25006");
        if ((PQstatus(pg->conn) == CONNECTION_OK && !is_standby) || pg->timed_out)
            break;
    }
    return result;
}

/* Runs a statement outside a transaction, and again if it can be retried. *is_undone: if it failed, it changed nothing. */
static PGresult *run_retrying(neo_pg *pg, const neo_statement *statement, const char *const *values, int *is_undone)
{
    PGresult *result = NULL;
    int is_retry = 1, completed;
    *is_undone = 1; /* until it is sent */
    for (int attempt = 0; attempt < 2 && is_retry; attempt++) {
        PQclear(result);
        result = NULL;
        if ((statement->writes || attempt > 0) && !neo_pg_is_alive(pg) &&
            !neo_pg_reconnect(pg)) /* a read fails and is retried */
            break;
        result = neo_pg_prepare(pg, statement, &is_retry); /* can be retried: nothing was executed */
        if (is_retry)
            is_retry = PQstatus(pg->conn) != CONNECTION_OK && !pg->timed_out;
        else {
            result = neo_pg_execute(pg, statement, values, &completed);
            *is_undone = !statement->writes || (*neo_result_state(result) && !completed);
            is_retry = !neo_result_is_success(result) && neo_pg_can_retry(pg, statement, result, completed);
        }
    }
    return result;
}

neo_pg_status neo_pg_run(neo_pg *pg, const neo_statement *statement, const char *const *values, apr_pool_t *pool,
                         neo_rows *rows)
{
    int failed, completed, is_undone;
    if (pg->in_transaction) {
        PGresult *result = neo_pg_prepare(pg, statement, &failed);
        return neo_pg_finished_in_transaction(pg, statement,
                                              failed ? result : neo_pg_execute(pg, statement, values, &completed), pool, rows);
    }
    neo_pg_status status = neo_pg_finished(pg, run_retrying(pg, statement, values, &is_undone), pool, rows);
    rows->is_undone |= is_undone;
    return status;
}

/* An error with an SQLSTATE over a connection that is still open comes from a server that has rolled back. */
neo_pg_status neo_pg_try(neo_pg *pg, const neo_statement *statement, const char *const *values, apr_pool_t *pool,
                         neo_rows *rows)
{
    int is_undone;
    PGresult *result = run_retrying(pg, statement, values, &is_undone);
    if (!neo_result_is_success(result) && PQstatus(pg->conn) == CONNECTION_OK && *neo_result_state(result)) {
        (void)neo_pg_read_result(pg, result, pool, rows);
        return NEO_PG_RETRY;
    }
    neo_pg_status status = neo_pg_finished(pg, result, pool, rows);
    rows->is_undone |= is_undone;
    return status;
}

neo_pg_status neo_pg_query(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_finished(pg, neo_pg_exec_reconnecting(pg, sql, params, values), pool, rows);
}

neo_pg_status neo_pg_query_unlogged(neo_pg *pg, const char *sql, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_read_result(pg, neo_pg_exec_reconnecting(pg, sql, 0, NULL), pool, rows);
}

neo_pg_status neo_pg_exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool, neo_rows *rows)
{
    PGresult *result = NULL;
    int is_retry = 1;
    for (int attempt = 0; attempt < MAX_ATTEMPTS && is_retry; attempt++) {
        PQclear(result);
        result = neo_pg_execute_text(pg, sql, params, values, NEO_PG_NO_TIMEOUT);
        is_retry = params && was_rolled_back(result) && PQtransactionStatus(pg->conn) == PQTRANS_IDLE;
    }
    return neo_pg_read_result(pg, result, pool, rows);
}

const char *neo_rows_value(const neo_rows *rows, int row, int column)
{
    return PQgetisnull(rows->native, row, column) ? NULL : PQgetvalue(rows->native, row, column);
}

neo_text neo_rows_text(const neo_rows *rows, int row, int column)
{
    return (neo_text){PQgetvalue(rows->native, row, column), (apr_size_t)PQgetlength(rows->native, row, column)};
}

const char *neo_rows_state(const neo_rows *rows)
{
    return neo_result_state(rows->native);
}

int neo_rows_is_true(const neo_rows *rows, int row, int column)
{
    return PQgetvalue(rows->native, row, column)[0] == 't';
}

static const char *quoted(char *text, apr_pool_t *pool)
{
    const char *copy = text ? apr_pstrdup(pool, text) : NULL;
    PQfreemem(text);
    return copy;
}

const char *neo_pg_literal(neo_pg *pg, const char *text, apr_pool_t *pool)
{
    return quoted(PQescapeLiteral(pg->conn, text, strlen(text)), pool);
}

const char *neo_pg_identifier(neo_pg *pg, const char *text, apr_pool_t *pool)
{
    return quoted(PQescapeIdentifier(pg->conn, text, strlen(text)), pool);
}

const char *neo_pg_password_verifier(neo_pg *pg, const char *role, const char *password, apr_pool_t *pool, const char **error)
{
    const char *verifier = quoted(PQencryptPasswordConn(pg->conn, password, role, NULL), pool);
    if (!verifier)
        *error = one_line(PQerrorMessage(pg->conn), pool);
    return verifier;
}
