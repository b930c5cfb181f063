/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: opening, resetting and waiting; notifications; what libpq computes with a connection (see pg/pg.h). */
#include <apr_strings.h>
#include <apr_tables.h>
#include <errno.h>
#include <libpq-events.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/clock.h"
#include "libpq.h"

/* mod_dbd resets a broken connection with PQreset and reports success; this event is the only sign of it. */
static int on_event(PGEventId id, void *info, void *data)
{
    (void)data;
    if (id == PGEVT_CONNRESET) {
        neo_pg *pg = PQinstanceData(((PGEventConnReset *)info)->conn, on_event);
        if (pg) {
            memset(&pg->prepared, 0, sizeof pg->prepared);
            *pg->refusal = '\0';
            pg->verified = 0;
        }
    } else if (id == PGEVT_CONNDESTROY)
        free(PQinstanceData(((PGEventConnDestroy *)info)->conn, on_event));
    return 1;
}

neo_pg *neo_pg_attach(neo_pg_native *conn)
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

void neo_pg_set_verifier(neo_pg *pg, neo_pg_verifier *verifier, void *baton)
{
    pg->verifier = verifier;
    pg->verifier_baton = baton;
}

void neo_pg_set_user_data(neo_pg *pg, void *user_data)
{
    pg->user_data = user_data;
}

void *neo_pg_user_data(const neo_pg *pg)
{
    return pg->user_data;
}

static apr_status_t finish_connection(void *conn)
{
    PQfinish(conn);
    return APR_SUCCESS;
}

static neo_pg *adopt(PGconn *conn, apr_pool_t *pool, const char **error)
{
    if (!conn)
        abort();
    apr_pool_cleanup_register(pool, conn, finish_connection, apr_pool_cleanup_null);
    neo_pg *pg = PQstatus(conn) == CONNECTION_OK ? neo_pg_attach(conn) : NULL;
    if (!pg)
        *error = apr_pstrdup(pool, PQerrorMessage(conn));
    return pg;
}

neo_pg *neo_pg_connect(const char *conninfo, apr_pool_t *pool, const char **error)
{
    return adopt(PQconnectdb(conninfo), pool, error);
}

/* The n-th part of a list, or NULL. */
static const char *list_part(const char *list, int n, apr_pool_t *pool)
{
    for (; list && n; n--)
        list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL;
    return list ? apr_pstrmemdup(pool, list, strcspn(list, ",")) : NULL;
}

/* Of equal keywords the last one applies. A port can be that of all servers. */
neo_pg *neo_pg_connect_nth(const neo_pg *pg, int n, apr_pool_t *pool, const char **host, const char **error)
{
    static const char *const last[][2] = {{"service", ""}, {"target_session_attrs", "any"}, {"connect_timeout", "2"}, {0}};
    PQconninfoOption *options = PQconninfo(pg->conn);
    apr_array_header_t *names = apr_array_make(pool, 64, sizeof(char *)), *values = apr_array_make(pool, 64, sizeof(char *));
    *host = NULL;
    for (const PQconninfoOption *o = options; o && o->keyword; o++) {
        int is_host = strcmp(o->keyword, "host") == 0, is_list = is_host || strcmp(o->keyword, "hostaddr") == 0;
        const char *part = is_list || strcmp(o->keyword, "port") == 0 ? list_part(o->val, n, pool) : NULL;
        *host = is_host && o->val && strchr(o->val, ',') ? part : *host;
        APR_ARRAY_PUSH(names, const char *) = apr_pstrdup(pool, o->keyword);
        APR_ARRAY_PUSH(values, const char *) = part || is_list ? part : apr_pstrdup(pool, o->val);
    }
    PQconninfoFree(options);
    for (int i = 0; i < 4; i++) {
        APR_ARRAY_PUSH(names, const char *) = last[i][0];
        APR_ARRAY_PUSH(values, const char *) = last[i][1];
    }
    return *host ? adopt(PQconnectdbParams((const char *const *)names->elts, (const char *const *)values->elts, 0), pool, error)
                 : NULL;
}

const char *neo_pg_servers(const neo_pg *pg, apr_pool_t *pool)
{
    static const char *const keywords[] = {"host", "hostaddr", "port", "dbname"};
    const char *servers = "";
    PQconninfoOption *options = PQconninfo(pg->conn);
    for (const PQconninfoOption *o = options; o && o->keyword; o++)
        for (int i = 0; i < 4; i++)
            if (o->val && strcmp(o->keyword, keywords[i]) == 0)
                servers = apr_pstrcat(pool, servers, *servers ? " " : "", o->keyword, "=", o->val, NULL);
    PQconninfoFree(options);
    return servers;
}

/* What `dbname` expands to replaces what comes before it. */
neo_pg *neo_pg_connect_replica(const char *conninfo, apr_pool_t *pool, const char **error)
{
    static const char *const keywords[] = {"connect_timeout", "dbname", NULL};
    const char *const values[] = {APR_STRINGIFY(NEO_PG_PROBE_TIMEOUT_S), conninfo, NULL};
    neo_pg *pg = adopt(PQconnectdbParams(keywords, values, 1), pool, error);
    if (pg)
        pg->is_replica = 1;
    else
        *error = neo_one_line(*error, pool);
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

const char *neo_pg_conninfo_error(const char *conninfo, apr_pool_t *pool)
{
    char *why = NULL;
    PQconninfoOption *options = PQconninfoParse(conninfo, &why);
    const char *reason = why && !strstr(conninfo, "://") && !strstr(conninfo, "password") ? why : "";
    const char *error =
        options ? NULL
                : apr_psprintf(pool, "is not a connection string, such as \"host=db.example.com dbname=neoapi\"%s%.*s",
                               *reason ? ": " : "", (int)strcspn(reason, "\n"), reason);
    PQconninfoFree(options);
    PQfreemem(why);
    return error;
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

int neo_pg_is_idle(neo_pg *pg)
{
    return neo_pg_is_alive(pg) && PQtransactionStatus(pg->conn) == PQTRANS_IDLE;
}

/* Only verbose messages have the SQLSTATE of a refused connection. */
int neo_pg_reconnect(neo_pg *pg)
{
    PGVerbosity verbosity = PQsetErrorVerbosity(pg->conn, PQERRORS_VERBOSE);
    PQreset(pg->conn);
    PQsetErrorVerbosity(pg->conn, verbosity);
    int is_connected = PQstatus(pg->conn) == CONNECTION_OK;
    neo_message_find_state(is_connected ? "" : PQerrorMessage(pg->conn), pg->refusal);
    return is_connected;
}

/* The verifier's own statements are not verified. A transaction may have failed, or have a snapshot from before. */
int neo_pg_is_accepted(neo_pg *pg)
{
    neo_pg_verifier *verifier = pg->mode == NEO_PG_REQUEST ? pg->verifier : NULL;
    if (!verifier)
        return 1;
    pg->verifier = NULL;
    int is_accepted = verifier(pg, pg->verifier_baton, &pg->verified);
    pg->verifier = verifier;
    if (!is_accepted && PQstatus(pg->conn) == CONNECTION_OK) {
        shutdown(PQsocket(pg->conn), SHUT_RDWR);
        while (PQstatus(pg->conn) == CONNECTION_OK && PQconsumeInput(pg->conn))
            continue;
        apr_cpystrn(pg->refusal, NEO_SQLSTATE_REPLACED, sizeof pg->refusal);
    }
    return PQstatus(pg->conn) == CONNECTION_OK;
}

const neo_pg_error *neo_pg_refusal(const neo_pg *pg)
{
    return neo_pg_error_find(pg->refusal);
}

void neo_pg_suspect(neo_pg *pg)
{
    pg->verified = pg->verified ? UINT_MAX - 1 : 0;
}

int neo_pg_verify(neo_pg *pg)
{
    return neo_pg_is_accepted(pg) || (neo_pg_reconnect(pg) && neo_pg_is_accepted(pg));
}

/* ---------------------------------------------------------------- waiting for results */

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

/* ---------------------------------------------------------------- notifications */

int neo_pg_socket(neo_pg *pg)
{
    return PQsocket(pg->conn);
}

int neo_pg_notifications(neo_pg *pg)
{
    int count = 0;
    if (!PQconsumeInput(pg->conn) || PQstatus(pg->conn) != CONNECTION_OK)
        return -1;
    for (PGnotify *notice; (notice = PQnotifies(pg->conn)); count++)
        PQfreemem(notice);
    return count;
}

/* ---------------------------------------------------------------- texts */

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
        *error = neo_one_line(PQerrorMessage(pg->conn), pool);
    return verifier;
}
