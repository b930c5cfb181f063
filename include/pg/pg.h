/* SPDX-License-Identifier: Apache-2.0 */
/* PostgreSQL connections and statements; only src/pg uses libpq.
 *
 * Connections come from mod_dbd in httpd, from neo_pg_connect in neoapictl and the tests. The state of a connection (its
 * prepared statements) is attached to the PGconn and cleared when the connection is reset, even by mod_dbd.
 *
 * Before a statement is sent, the socket is checked, so that no request fails because the server was restarted. A statement
 * that only reads is retried once over a new connection; one that writes is retried only if it certainly was not executed. */
#ifndef NEO_PG_PG_H
#define NEO_PG_PG_H

#include <apr_pools.h>

#include "core/encode.h"

typedef struct pg_conn neo_pg_native; /* libpq's PGconn */
typedef struct neo_pg neo_pg;

typedef enum neo_pg_status {
    NEO_PG_OK,
    NEO_PG_UNIQUE_VIOLATION, /* unique_violation; rows->constraint names it */
    NEO_PG_FK_VIOLATION,     /* foreign_key_violation; rows->constraint names it */
    NEO_PG_LIMIT_REACHED,    /* a limit of the plan, NEO01: rows->constraint names it, rows->detail is its value */
    NEO_PG_RETRY,       /* in a transaction: it failed because of a conflict or an outage; roll back and begin again. See also
                         * NEO_PG_OPTIONAL */
    NEO_PG_UNAVAILABLE, /* no connection, a timeout or a refusal; a write may have been executed, unless rows->is_undone */
    NEO_PG_TIME_LIMIT,  /* the statement exceeded its time_limit */
    NEO_PG_TIMEOUT,     /* the server cancelled the statement, which did nothing: statement_timeout */
    NEO_PG_SCHEMA,      /* the schema is not the one that the statement needs; it did nothing */
    NEO_PG_FAILED,      /* any other error */
} neo_pg_status;

/* A statement. If it has a fingerprint, it is prepared at protocol level at its first use on each connection, under a name that
 * is made of the fingerprint, because behind a pooler a connection may have statements of another version of the module.
 * Otherwise it is sent as text, and planned for its values. Those of .sql files are constants that sql/embed.sh writes. */
#define NEO_STATEMENT_NAME (sizeof "neoapi_" - 1 + NEO_FINGERPRINT_SIZE)
typedef struct neo_statement {
    const char *sql; /* as text without parameters, it may be several statements */
    int params;
    int writes;       /* never repeated if it may have been executed */
    int is_on_demand; /* only prepared on connections that have few such statements */
    int time_limit;   /* milliseconds, outside a transaction, sent with the statement; 0: the connection's own limit */
    const int *formats, *lengths; /* for each value: 1 and its bytes in binary format, 0 for a text; NULL: all are texts */
    unsigned long long fingerprint;
    char name[NEO_STATEMENT_NAME];
} neo_statement;

/* A prepared statement for sql/embed.sh. */
#define NEO_PREPARED(count, may_write, digits, text)                                                                           \
    {                                                                                                                          \
        .sql = (text), .params = (count), .writes = (may_write), .fingerprint = 0x##digits##ULL, .name = "neoapi_" #digits     \
    }

/* A statement of a .sql file and its values, as two arguments of a function. The values are those of a struct with a member for
 * each parameter, so that the compiler checks their number. */
#define NEO_BIND(name, ...)                                                                                                    \
    &name##_sql, (const char *const *)&(const name##_values)                                                                   \
    {                                                                                                                          \
        __VA_ARGS__                                                                                                            \
    }

/* SQL that may be repeated, because it changes no data, as a statement that is not prepared. */
#define NEO_QUERY(text, count) (&(const neo_statement){.sql = (text), .params = (count)})

/* How a statement is run. */
typedef enum neo_pg_mode {
    NEO_PG_REQUEST,  /* within NEO_PG_TIMEOUT_S; it is repeated once, over a new connection if need be; failures are logged */
    NEO_PG_OPTIONAL, /* like NEO_PG_REQUEST for a statement whose work can be done otherwise: after an error it returns
                      * NEO_PG_RETRY without logging it if the statement certainly changed nothing */
    NEO_PG_PROBE,    /* like NEO_PG_REQUEST, within 3 seconds and without logging failures */
    NEO_PG_ADMIN,    /* without a timeout, over the same connection, not logged; repeated after serialization failures and
                      * deadlocks unless a transaction is open or it may be several statements */
    NEO_PG_ONCE,     /* over the same connection, not logged, never repeated */
    NEO_PG_TRANSACTION, /* between neo_pg_begin and commit or rollback; never repeated */
    NEO_PG_SNAPSHOT,    /* after neo_pg_begin_snapshot: for at most a minute (NEO_PG_TIME_LIMIT); never repeated */
    NEO_PG_MODES
} neo_pg_mode;

/* A result. It belongs to the pool of the call. */
typedef struct neo_rows {
    struct pg_result *native;
    int count;
    const char *constraint;           /* the name of the violated constraint, otherwise NULL */
    const char *detail;               /* an error's detail, otherwise NULL */
    const char *message;              /* the server's error message; only for the log and neoapictl */
    const struct neo_pg_error *error; /* what it means (see pg/error.h); NULL if there is none */
    int is_undone;                    /* after an error: the statement certainly changed nothing */
} neo_rows;

/* Makes a prepared statement. `sql` is copied. */
neo_statement *neo_statement_make(apr_pool_t *pool, const char *sql, int params, int writes);

/* Lets a statement be prepared, unless a connection has 32 such statements already: each takes memory in a server process. */
void neo_statement_prepare_on_demand(neo_statement *statement);

/* The neo_pg of an open connection; always the same one. NULL if memory is exhausted. */
neo_pg *neo_pg_attach(neo_pg_native *conn);
void neo_pg_set_log_context(neo_pg *pg, void *log_context); /* for neo_log */

/* The state of a background thread's statements: an error is logged when it begins, and again only after a success. It belongs
 * to the thread, whose connections change. */
typedef struct neo_pg_watch {
    const struct neo_pg_error *error; /* the last statement's, NULL after a success */
    int failures;                     /* since the last success */
} neo_pg_watch;
void neo_pg_set_watch(neo_pg *pg, neo_pg_watch *watch); /* NULL: every error is logged */

/* Checks whether statements may be sent to a server. It is called before the first statement over a connection, also one that
 * was opened again, and before each statement outside a transaction until it sets *verified to a number other than 0 that it
 * recognizes. If it returns false, the connection is closed; statements then fail with the SQLSTATE NEO_SQLSTATE_REPLACED
 * unless a new connection is accepted. */
#define NEO_SQLSTATE_REPLACED "NEO02"
typedef int neo_pg_verifier(neo_pg *pg, void *baton, unsigned int *verified);
void neo_pg_set_verifier(neo_pg *pg, neo_pg_verifier *verifier, void *baton);

/* Calls the verifier if there is one. Returns false if neither this connection nor a new one is accepted. */
int neo_pg_verify(neo_pg *pg);

/* Why the last new connection was refused, also by the verifier. */
const struct neo_pg_error *neo_pg_refusal(const neo_pg *pg);

/* Lets the verifier check an accepted connection again, behind which a pooler may have changed the server. */
void neo_pg_suspect(neo_pg *pg);

/* A pointer for the owner of the connection. */
void neo_pg_set_user_data(neo_pg *pg, void *user_data);
void *neo_pg_user_data(const neo_pg *pg);

/* Opens a connection that is closed with the pool. Returns NULL and sets *error to libpq's message on failure. */
neo_pg *neo_pg_connect(const char *conninfo, apr_pool_t *pool, const char **error);
/* The same to a replica, whose statements only read and can be executed on the primary instead: they have three seconds, a lost
 * connection is not replaced, and failures are not logged. Without a connect_timeout, connecting has three seconds, too. */
neo_pg *neo_pg_connect_replica(const char *conninfo, apr_pool_t *pool, const char **error);

/* Whether the connection is open and in no transaction. Sends nothing. */
int neo_pg_is_idle(neo_pg *pg);

/* Opens a connection like `pg` to the n-th server of the list in its connection string, whatever that accepts. Sets *host to
 * its name, NULL if there are not so many, or only one; then, and if it does not connect within two seconds, returns NULL. */
neo_pg *neo_pg_connect_nth(const neo_pg *pg, int n, apr_pool_t *pool, const char **host, const char **error);

/* The servers and the database that the connection string names, or its service. */
const char *neo_pg_servers(const neo_pg *pg, apr_pool_t *pool);

/* Whether a connection string has a password. */
int neo_pg_has_password(const char *conninfo);

/* Returns NULL if libpq can parse the connection string, otherwise "is not a connection string, …" with libpq's reason, which
 * is left out where it could repeat a password. */
const char *neo_pg_conninfo_error(const char *conninfo, apr_pool_t *pool);

/* Runs a statement; `values` are `params` texts or what `formats` says, NULL for null. In a transaction its mode is that of the
 * transaction, otherwise NEO_PG_REQUEST. */
NEO_MUSTCHECK neo_pg_status neo_pg_run(neo_pg *pg, const neo_statement *statement, const char *const *values, apr_pool_t *pool,
                                       neo_rows *rows);
NEO_MUSTCHECK neo_pg_status neo_pg_run_as(neo_pg *pg, neo_pg_mode mode, const neo_statement *statement,
                                          const char *const *values, apr_pool_t *pool, neo_rows *rows);

/* Runs SQL as NEO_PG_ADMIN; it may write. */
NEO_MUSTCHECK neo_pg_status neo_pg_exec(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool,
                                        neo_rows *rows);
/* The same. Returns NULL, or the error's message. */
const char *neo_pg_query(neo_pg *pg, const char *sql, int params, const char *const *values, apr_pool_t *pool, neo_rows *rows);
/* Runs SQL as NEO_PG_ONCE, and waits up to `seconds`. */
NEO_MUSTCHECK neo_pg_status neo_pg_exec_once(neo_pg *pg, const char *sql, int seconds, apr_pool_t *pool, neo_rows *rows);

/* neo_pg_run in two steps, outside a transaction: send, then receive when neo_pg_is_answered, which can become true when
 * neo_pg_socket is readable or the statement has timed out. In between the connection must not be used and `values` must not
 * change. A statement that cannot be sent is run by neo_pg_receive. */
void neo_pg_send(neo_pg *pg, const neo_statement *statement, const char *const *values);
int neo_pg_is_answered(neo_pg *pg);
NEO_MUSTCHECK neo_pg_status neo_pg_receive(neo_pg *pg, const neo_statement *statement, const char *const *values,
                                           apr_pool_t *pool, neo_rows *rows);

/* A transaction at isolation level read committed. neo_pg_run retries nothing in it. After a failure, roll back to the
 * savepoint or roll back; after NEO_PG_RETRY and NEO_PG_UNAVAILABLE, only the latter is possible. */
NEO_MUSTCHECK neo_pg_status neo_pg_begin(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);
/* Sets the savepoint, or rolls back to it. neo_pg_begin sets it first. */
NEO_MUSTCHECK neo_pg_status neo_pg_savepoint(neo_pg *pg, int is_rollback, apr_pool_t *pool, neo_rows *rows);
/* Only after NEO_PG_UNAVAILABLE is it unknown whether the transaction was committed. */
NEO_MUSTCHECK neo_pg_status neo_pg_commit(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);
void neo_pg_roll_back(neo_pg *pg);

/* A transaction at isolation level repeatable read that only reads: all its statements see the same snapshot. The server ends
 * it if nothing is read for `seconds`. End it with neo_pg_roll_back, also after a failure. */
NEO_MUSTCHECK neo_pg_status neo_pg_begin_snapshot(neo_pg *pg, int seconds, apr_pool_t *pool, neo_rows *rows);

const char *neo_rows_value(const neo_rows *rows, int row, int column); /* NULL for null */
neo_text neo_rows_text(const neo_rows *rows, int row, int column);
int neo_rows_is_true(const neo_rows *rows, int row, int column);
/* The bytes of the memory that the rows take: more than their values have. */
apr_size_t neo_rows_size(const neo_rows *rows);
/* The SQLSTATE of a failed statement; "" if the server sent none. */
const char *neo_rows_state(const neo_rows *rows);

/* `text` as an SQL literal or identifier, quotes included. */
const char *neo_pg_literal(neo_pg *pg, const char *text, apr_pool_t *pool);
const char *neo_pg_identifier(neo_pg *pg, const char *text, apr_pool_t *pool);

/* Array literals: add elements to an empty buffer, then call neo_array_end. The first takes any text, NULL for null. */
void neo_array_add(neo_buf *array, const char *text);

/* Text that needs no quotes, such as an id or a name from our tables. */
void neo_array_add_plain(neo_buf *array, const char *text);
void neo_array_add_number(neo_buf *array, long long number);

/* Completes the array and returns the buffer's text. */
const char *neo_array_end(neo_buf *array);

/* Hashes a role's password as PostgreSQL stores it, so that the password never reaches the server or its log. Returns NULL and
 * sets *error to libpq's message on failure. */
const char *neo_pg_password_verifier(neo_pg *pg, const char *role, const char *password, apr_pool_t *pool, const char **error);

/* Listens. Fails with NEO_PG_FAILED and a message in rows->message behind a pooler that assigns server connections by
 * transaction, because notifications would not arrive. */
NEO_MUSTCHECK neo_pg_status neo_pg_listen(neo_pg *pg, const char *channel, apr_pool_t *pool, neo_rows *rows);
int neo_pg_socket(neo_pg *pg);
/* Reads what has arrived, without waiting. Returns the number of notifications; -1: the connection is lost. */
int neo_pg_notifications(neo_pg *pg);

#endif
