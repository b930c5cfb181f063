/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef NEO_PG_LIBPQ_H
#define NEO_PG_LIBPQ_H

#include <libpq-fe.h>

#include "pg/error.h"

/* A connection's table of statements is emptied when it is full. A process has about 250; a resource with batches has 17. */
#define NEO_PG_TABLE  1024
#define NEO_PG_FILLED (NEO_PG_TABLE / 4 * 3)

/* Seconds. Longer than the recommended statement_timeout, so that a server that works ends the statement itself. */
#define NEO_PG_TIMEOUT_S       11
#define NEO_PG_NO_TIMEOUT      -1
#define NEO_PG_PROBE_TIMEOUT_S 3
#define NEO_PG_SNAPSHOT_S      60 /* the server's time limit for each statement in a snapshot */

/* The statements that a connection has: a hash table of their fingerprints with linear probing. The lowest bit of an entry says
 * whether the server has the statement. */
typedef struct neo_prepared {
    unsigned long long entries[NEO_PG_TABLE];
    int count, on_demand;
} neo_prepared;

struct neo_pg {
    PGconn *conn;
    void *log_context;
    void *user_data;
    neo_pg_watch *watch;       /* NULL: every error is logged */
    neo_pg_verifier *verifier; /* NULL if there is none */
    void *verifier_baton;
    unsigned int verified;           /* the verifier's; 0 after the connection was opened */
    char refusal[NEO_SQLSTATE_SIZE]; /* the SQLSTATE with which the last new connection was refused; "" if it was not */
    int timed_out;                   /* the last statement timed out */
    int is_replica;                  /* see neo_pg_connect_replica */
    neo_pg_mode mode;                /* NEO_PG_REQUEST, or that of the open transaction */
    struct {
        const neo_statement *statement; /* NULL: none was sent, so neo_pg_receive runs it */
        long long until;                /* neo_steady_seconds at which it times out */
    } sent;
    neo_prepared prepared;
};

int neo_state_is_class(const char *state, const char *class);

/* The SQLSTATE in a verbose message ("…: FATAL:  53300: sorry, too many clients already"), whose words may be translated; "" if
 * there is none. */
void neo_message_find_state(const char *message, char state[NEO_SQLSTATE_SIZE]);

/* ---------------------------------------------------------------- results; NULL is one that never arrived */

int neo_result_is_success(const PGresult *result);
const char *neo_result_state(const PGresult *result); /* SQLSTATE; "" if there is none, as for libpq's own errors */
/* " (SQLSTATE …)", or "" */
const char *neo_state_note(const PGresult *result, apr_pool_t *pool);
/* libpq's messages have several lines and a newline at the end. */
const char *neo_one_line(const char *text, apr_pool_t *pool);

/* Converts a result to `rows` and a status. Takes ownership of the result. */
neo_pg_status neo_result_read(neo_pg *pg, PGresult *result, apr_pool_t *pool, neo_rows *rows);

/* Logs an error, and notes success and error in the connection's watch. */
void neo_rows_report(neo_pg *pg, neo_pg_status status, const neo_rows *rows, apr_pool_t *pool);

/* ---------------------------------------------------------------- connections */

int neo_pg_is_alive(neo_pg *pg); /* sends no query */
int neo_pg_reconnect(neo_pg *pg);
int neo_pg_is_accepted(neo_pg *pg); /* calls the verifier; false if it has closed the connection */

/* Waits up to `timeout` seconds and returns the last result, or NULL. *completed: the server reported the command complete,
 * which it does before it commits; an error without that means that nothing was committed. */
PGresult *neo_pg_await(neo_pg *pg, int was_sent, int timeout, int *completed);

#endif
