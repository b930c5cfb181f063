/* SPDX-License-Identifier: Apache-2.0 */
/* What the pg*.c files share. */
#ifndef NEO_PG_LIBPQ_H
#define NEO_PG_LIBPQ_H

#include <libpq-fe.h>

#include "pg/pg.h"

#define NEO_PG_STATEMENTS 1024 /* a byte each in every connection; a resource with batches has 17 */

/* Seconds. Longer than the recommended statement_timeout, so that a server that works ends the statement itself. */
#define NEO_PG_TIMEOUT_S  11
#define NEO_PG_NO_TIMEOUT -1

struct neo_pg {
    PGconn *conn;
    void *log_context;
    void *user_data;
    neo_pg_watch *watch; /* NULL: every error is logged */
    int timed_out;       /* the last statement timed out */
    int time_limit;      /* milliseconds; 0: none */
    int in_transaction;  /* between neo_pg_begin and commit or rollback */
    struct {
        const neo_statement *statement; /* NULL: none was sent, so neo_pg_receive runs it */
        long long until;                /* neo_steady_seconds at which it times out */
    } sent;
    unsigned char prepared[NEO_PG_STATEMENTS];
};

/* ---------------------------------------------------------------- results; NULL is one that never arrived */

int neo_result_is_success(const PGresult *result);
const char *neo_result_state(const PGresult *result); /* SQLSTATE; "" if there is none, as for libpq's own errors */
/* " (SQLSTATE …)", or "" */
const char *neo_state_note(const PGresult *result, apr_pool_t *pool);
int neo_state_is_class(const char *state, const char *class);

/* Converts a result to `rows` and a status. Takes ownership of the result. */
neo_pg_status neo_pg_read_result(neo_pg *pg, PGresult *result, apr_pool_t *pool, neo_rows *rows);

/* The same, and logs failures. */
neo_pg_status neo_pg_finished(neo_pg *pg, PGresult *result, apr_pool_t *pool, neo_rows *rows);

/* ---------------------------------------------------------------- running a statement */

int neo_pg_is_alive(neo_pg *pg); /* as far as known without a query */
int neo_pg_reconnect(neo_pg *pg);

/* Prepares the statement unless the connection has it. If that fails, sets *failed and returns the result. */
PGresult *neo_pg_prepare(neo_pg *pg, const neo_statement *statement, int *failed);

/* False if it could not be sent. */
int neo_pg_send_prepared(neo_pg *pg, const neo_statement *statement, const char *const *values);

/* Waits up to `timeout` seconds and returns the last result, or NULL. *completed: the server reported the command complete,
 * which it does before it commits; an error without that means that nothing was committed. */
PGresult *neo_pg_await(neo_pg *pg, int was_sent, int timeout, int *completed);
PGresult *neo_pg_execute(neo_pg *pg, const neo_statement *statement, const char *const *values, int *completed);
PGresult *neo_pg_execute_text(neo_pg *pg, const char *sql, int params, const char *const *values, int timeout);

/* Executes the prepared statement, or if it is NULL the SQL, with the connection's time_limit. */
PGresult *neo_pg_execute_limited(neo_pg *pg, const neo_statement *statement, const char *sql, int params,
                                 const char *const *values, int *completed);

/* Whether a failed statement can be executed again: it certainly did nothing, or only reads. */
int neo_pg_can_retry(neo_pg *pg, const neo_statement *statement, const PGresult *result, int completed);

/* Runs SQL that is safe to repeat, over a new connection if the old one is lost or its server became a standby. */
PGresult *neo_pg_exec_reconnecting(neo_pg *pg, const char *sql, int params, const char *const *values);

/* The status of a statement in a transaction; takes ownership of the result. NEO_PG_RETRY if it failed because of a conflict, a
 * server shutdown or an unknown prepared statement. `statement` may be NULL. */
neo_pg_status neo_pg_finished_in_transaction(neo_pg *pg, const neo_statement *statement, PGresult *result, apr_pool_t *pool,
                                             neo_rows *rows);

#endif
