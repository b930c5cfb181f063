/* What the files of libpq's room (pg*.c) share. */
#ifndef NEO_STORE_LIBPQ_H
#define NEO_STORE_LIBPQ_H

#include <libpq-fe.h>

#include "store/pg.h"

#define NEO_PG_STATEMENTS 1024 /* a byte each in every connection; a resource with batch has sixteen */

/* How long a server may take for a statement before it is taken for hung: longer than the statement_timeout that is
 * recommended, so that a server that lives says so itself. Seconds. */
#define NEO_PG_TIMEOUT_S  11
#define NEO_PG_NO_TIMEOUT -1

struct neo_pg {
    PGconn *conn;
    void *log_context;
    void *user_data;
    int timed_out;      /* the server took too long for the last statement */
    int in_transaction; /* a transaction was begun and not ended yet */
    struct {
        const neo_statement *statement; /* NULL: none, or it is to be run when its answer is asked for */
        long long until;                /* seconds of neo_steady_seconds: then the server has taken too long */
    } sent;
    unsigned char prepared[NEO_PG_STATEMENTS];
};

/* ---------------------------------------------------------------- results; each of them takes NULL for one that never came */

int neo_result_is_success(const PGresult *result);
const char *neo_result_state(const PGresult *result); /* SQLSTATE, "" where there is none */
int neo_state_is_class(const char *state, const char *class);

/* Puts a result into `rows`, or says what failed. Takes the result. */
neo_pg_status neo_pg_read_result(neo_pg *pg, PGresult *result, apr_pool_t *pool, neo_rows *rows);

/* The same for a statement of the API: failures are logged. */
neo_pg_status neo_pg_finished(neo_pg *pg, PGresult *result, apr_pool_t *pool, neo_rows *rows);

/* ---------------------------------------------------------------- steps of running a statement */

int neo_pg_is_alive(neo_pg *pg); /* as far as can be seen without asking */
int neo_pg_reconnect(neo_pg *pg);

/* Prepares where it is not yet done. Returns NULL, or what went wrong. */
PGresult *neo_pg_prepare(neo_pg *pg, const neo_statement *statement, int *failed);

/* False where it could not be sent. */
int neo_pg_send_prepared(neo_pg *pg, const neo_statement *statement, const char *const *values);

/* Waits for the answer to what was sent, so many seconds at most, and returns its last result, NULL where there is none.
 * *completed tells whether the server reported the command complete: it does so before it commits, so that an error without it
 * means that nothing was committed. */
PGresult *neo_pg_await(neo_pg *pg, int was_sent, int timeout, int *completed);
PGresult *neo_pg_execute(neo_pg *pg, const neo_statement *statement, const char *const *values, int *completed);
PGresult *neo_pg_execute_text(neo_pg *pg, const char *sql, int params, const char *const *values, int timeout);

/* Whether a failed execution surely did nothing, or only read, so that it can be done again. */
int neo_pg_can_retry(neo_pg *pg, const neo_statement *statement, const PGresult *result, int completed);

/* Runs what does nothing by itself, over a new connection where the old one is lost. */
PGresult *neo_pg_exec_reconnecting(neo_pg *pg, const char *sql, int params, const char *const *values);

/* What a step of a transaction came to; takes the result. Where another transaction, a server that goes, or one that does not
 * know a statement made it fail, the whole can be done again. `statement` may be NULL. */
neo_pg_status neo_pg_finished_in_transaction(neo_pg *pg, const neo_statement *statement, PGresult *result, apr_pool_t *pool,
                                             neo_rows *rows);

#endif
