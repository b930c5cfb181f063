/* One PostgreSQL connection and the one way to run a statement on it; the only room (src/store/pg*.c) that knows libpq.
 *
 * A connection is lent, never asked for: by mod_dbd inside httpd, by neo_pg_connect in neoapictl and the tests. What is known
 * of it (which statements it has prepared) hangs on the PGconn itself and is forgotten when it is reset, whoever resets it.
 *
 * Before a statement is sent the socket is looked at, so that a server that was restarted since costs no request. A statement
 * that only reads is repeated once over a new connection; one that writes only where it surely was not executed. */
#ifndef NEO_STORE_PG_H
#define NEO_STORE_PG_H

#include <apr_pools.h>

#include "core/encode.h"

typedef struct pg_conn neo_pg_native; /* libpq's PGconn */
typedef struct neo_pg neo_pg;

typedef enum neo_pg_status {
    NEO_PG_OK,
    NEO_PG_UNIQUE_VIOLATION, /* unique_violation; rows->constraint names it */
    NEO_PG_FK_VIOLATION,     /* foreign_key_violation; rows->constraint names it */
    NEO_PG_RETRY,            /* in a transaction alone: it is undone for no fault of its own; roll it back and begin it again */
    NEO_PG_UNAVAILABLE, /* no connection, or none that could do it in time; for a write: whether it was done is not known */
    NEO_PG_SCHEMA,      /* the schema is missing or older than the statement; nothing was done */
    NEO_PG_FAILED,      /* anything else; the server's message has been logged */
} neo_pg_status;

/* A statement the API runs again and again: prepared at protocol level at its first use on each connection. Its name comes from
 * its text: behind a pooler, a connection may have statements of another version of the module. */
#define NEO_STATEMENT_NAME (sizeof "neoapi_" - 1 + NEO_FINGERPRINT_SIZE) /* the print of its SQL */
typedef struct neo_statement {
    char name[NEO_STATEMENT_NAME];
    const char *sql;
    int params;
    int writes; /* 1: never repeated once it may have been executed */
    int slot;   /* given by neo_statement_make */
} neo_statement;

/* What a statement answered. The bytes belong to the pool it was run with. */
typedef struct neo_rows {
    struct pg_result *native;
    int count;
    const char *constraint; /* of a violation, else NULL */
    const char *message;    /* the server's message of a failure, for the log and neoapictl alone */
} neo_rows;

/* Makes a statement. There is room for 992 in a process; call it at start-up, from one thread. `sql` is copied. */
neo_statement *neo_statement_make(apr_pool_t *pool, const char *sql, int params, int writes);

/* The statement with a text that is made of a request and only reads: the same one each time, in this process. NULL beyond the
 * first 32, since each of them takes memory of every connection's server process; neo_pg_query runs them as well. */
const neo_statement *neo_statement_of(const char *sql, int params);

/* What we know of a connection that somebody opened; the same neo_pg for the same connection until it is closed.
 * `log_context` is given to the log with messages. NULL where memory is out. */
neo_pg *neo_pg_of(neo_pg_native *conn);
void neo_pg_set_log_context(neo_pg *pg, void *log_context);

/* Whoever lends the connection may leave a note on it, to know it again when it comes back. */
void neo_pg_set_user_data(neo_pg *pg, void *user_data);
void *neo_pg_user_data(const neo_pg *pg);

/* Opens a connection of one's own, closed with the pool. Returns NULL and sets *wrong to libpq's sentence. */
neo_pg *neo_pg_connect(const char *conninfo, apr_pool_t *pool, const char **wrong);

/* Runs a prepared statement; `values` are `params` texts, NULL for null. */
NEO_MUSTCHECK neo_pg_status neo_pg_run(neo_pg *pg, const neo_statement *statement, const char *const *values, apr_pool_t *pool,
                                       neo_rows *rows);

/* The same in two steps, so that its caller can do something else meanwhile: it is sent; when it is answered (neo_pg_socket can
 * be read, or the server has taken too long), the answer is received. Nothing else is run on the connection in between, and
 * `values` stay as they are. What cannot be sent is run when its answer is asked for. */
void neo_pg_send(neo_pg *pg, const neo_statement *statement, const char *const *values);
int neo_pg_is_answered(neo_pg *pg);
NEO_MUSTCHECK neo_pg_status neo_pg_receive(neo_pg *pg, const neo_statement *statement, const char *const *values,
                                           apr_pool_t *pool, neo_rows *rows);

/* Several statements in one transaction, which sees at each of them what others have committed. In between neo_pg_run repeats
 * nothing: after a failure the transaction goes back to its mark, or is rolled back; after NEO_PG_RETRY and NEO_PG_UNAVAILABLE,
 * the latter alone. Whoever borrowed the connection ends the transaction. */
NEO_MUSTCHECK neo_pg_status neo_pg_begin(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);
/* Sets the mark, or goes back to it. It is at the beginning until it is set. */
NEO_MUSTCHECK neo_pg_status neo_pg_savepoint(neo_pg *pg, int is_rollback, apr_pool_t *pool, neo_rows *rows);
/* NEO_PG_UNAVAILABLE alone means that it is not known whether it was committed. */
NEO_MUSTCHECK neo_pg_status neo_pg_commit(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);
void neo_pg_roll_back(neo_pg *pg);

/* Runs a statement once, planned for these very values; it must only read. */
NEO_MUSTCHECK neo_pg_status neo_pg_query(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                                         neo_rows *rows);

/* Runs a statement of an administrator's tool: it may write, and may be inside a transaction. With `params` 0 it may be several
 * statements. It is repeated only where it is one, outside of a transaction, that was rolled back for the sake of another. */
NEO_MUSTCHECK neo_pg_status neo_pg_exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                                        neo_rows *rows);

const char *neo_rows_value(const neo_rows *rows, int row, int column); /* NULL for null */
neo_text neo_rows_text(const neo_rows *rows, int row, int column);
int neo_rows_is_true(const neo_rows *rows, int row, int column);

/* `text` as an SQL literal or identifier, quotes included. */
const char *neo_pg_literal(neo_pg *pg, const char *text, apr_pool_t *pool);
const char *neo_pg_identifier(neo_pg *pg, const char *text, apr_pool_t *pool);

/* What a role's password is stored as, so that the password itself never reaches the server or its log. Returns NULL and sets
 * *wrong to libpq's sentence. */
const char *neo_pg_password_verifier(neo_pg *pg, const char *role, const char *password, apr_pool_t *pool, const char **wrong);

/* Listening. neo_pg_listen also finds out whether notifications can arrive at all: not through a pooler that lends server
 * connections by transaction, which it answers with NEO_PG_FAILED and a message in rows->message. */
NEO_MUSTCHECK neo_pg_status neo_pg_listen(neo_pg *pg, const char *channel, apr_pool_t *pool, neo_rows *rows);
/* Runs statements on this very connection, once, and waits so many seconds at most. */
NEO_MUSTCHECK neo_pg_status neo_pg_exec_once(neo_pg *pg, const char *sql, int seconds, apr_pool_t *pool, neo_rows *rows);
int neo_pg_socket(neo_pg *pg);
/* Reads what has arrived without waiting. Returns the number of notifications, -1 if the connection is lost. */
int neo_pg_notifications(neo_pg *pg);

#endif
