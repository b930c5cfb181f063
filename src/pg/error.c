/* SPDX-License-Identifier: Apache-2.0 */
/* The table of PostgreSQL's errors (see pg/error.h). */
#include "pg/error.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "libpq.h"

#define SOON_S           5
#define LATER_S          60 /* an administrator must act first */
#define CONNECT_LIMIT_MS 1000

/* PostgreSQL, appendix A. The first class that matches applies. */
static const neo_pg_error errors[] = {
    {"23505", NEO_PG_UNIQUE_VIOLATION, NEO_LOG_STATEMENT_FAILED, NULL, 0},
    {"23503", NEO_PG_FK_VIOLATION, NEO_LOG_STATEMENT_FAILED, NULL, 0},
    {"NEO01", NEO_PG_LIMIT_REACHED, NEO_LOG_STATEMENT_FAILED, NULL, 0},
    {NEO_SQLSTATE_REPLACED, NEO_PG_UNAVAILABLE, NEO_LOG_REPLACED, "the database server has been replaced by another one",
     SOON_S},
    {"53100", NEO_PG_UNAVAILABLE, NEO_LOG_DISK_FULL, "the database's disk is full", LATER_S},
    {"53300", NEO_PG_UNAVAILABLE, NEO_LOG_CONNECTION_LIMIT, "the database has no free connection slot", SOON_S},
    {"25006", NEO_PG_UNAVAILABLE, NEO_LOG_READ_ONLY, "the database refuses writes: it is a standby or read-only", SOON_S},
    {"57P03", NEO_PG_UNAVAILABLE, NEO_LOG_STARTING, "the database is starting, stopping or recovering", SOON_S},
    {"28", NEO_PG_UNAVAILABLE, NEO_LOG_ROLE_REFUSED, "the database refuses httpd's role", LATER_S},
    {"3D000", NEO_PG_UNAVAILABLE, NEO_LOG_NO_DATABASE, "the database does not exist", LATER_S},
    {"57014", NEO_PG_TIMEOUT, NEO_LOG_STATEMENT_TIMEOUT, "the database cancelled a statement", SOON_S},
    {"42P01", NEO_PG_SCHEMA, NEO_LOG_SCHEMA_OLD, "the database's schema is not the one that this module needs", SOON_S},
    {"42703", NEO_PG_SCHEMA, NEO_LOG_SCHEMA_OLD, "the database's schema is not the one that this module needs", SOON_S},
    {"3F000", NEO_PG_SCHEMA, NEO_LOG_SCHEMA_OLD, "the database's schema is not the one that this module needs", SOON_S},
    {"42883", NEO_PG_SCHEMA, NEO_LOG_SCHEMA_OLD, "the database's schema is not the one that this module needs", SOON_S},
    {"55P03", NEO_PG_UNAVAILABLE, NEO_LOG_STATEMENT_TIMEOUT, "a lock in the database was not released in time", SOON_S},
    {"40", NEO_PG_UNAVAILABLE, NEO_LOG_DATABASE_UNAVAILABLE, "the database rolled back a statement", SOON_S},
    {"53", NEO_PG_UNAVAILABLE, NEO_LOG_DATABASE_UNAVAILABLE, "the database has too few resources", SOON_S},
    {"57", NEO_PG_UNAVAILABLE, NEO_LOG_DATABASE_UNAVAILABLE, "the database closed the connection", SOON_S},
    {"08", NEO_PG_UNAVAILABLE, NEO_LOG_DATABASE_UNAVAILABLE, "the database cannot be reached or does not respond", SOON_S},
};

static const neo_pg_error lost = {"", NEO_PG_UNAVAILABLE, NEO_LOG_DATABASE_UNAVAILABLE,
                                  "the database cannot be reached or does not respond", SOON_S};
static const neo_pg_error other = {"XX", NEO_PG_FAILED, NEO_LOG_STATEMENT_FAILED, "the database rejected a statement", 0};

int neo_state_is_class(const char *state, const char *class)
{
    return strncmp(state, class, strlen(class)) == 0;
}

const neo_pg_error *neo_pg_error_find(const char *sqlstate)
{
    for (size_t i = 0; *sqlstate && i < sizeof errors / sizeof *errors; i++)
        if (neo_state_is_class(sqlstate, errors[i].class))
            return &errors[i];
    return *sqlstate ? &other : &lost;
}

const char *neo_pg_error_fix(const neo_pg_error *error)
{
    return neo_messages[error->message].fix;
}

void neo_message_find_state(const char *message, char state[NEO_SQLSTATE_SIZE])
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    *state = '\0';
    for (const char *at = message; (at = strstr(at, ":  ")); at++)
        if (strspn(at + 3, letters) == NEO_SQLSTATE_SIZE - 1 && at[3 + NEO_SQLSTATE_SIZE - 1] == ':') {
            memcpy(state, at + 3, NEO_SQLSTATE_SIZE - 1);
            state[NEO_SQLSTATE_SIZE - 1] = '\0';
        }
}

const neo_pg_error *neo_pg_connect_error(const char *conninfo)
{
    char state[NEO_SQLSTATE_SIZE];
    PGconn *conn = PQconnectStart(conninfo);
    if (!conn)
        abort();
    PQsetErrorVerbosity(conn, PQERRORS_VERBOSE);
    PostgresPollingStatusType next = PQstatus(conn) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
    long long until = neo_steady_ms() + CONNECT_LIMIT_MS, left;
    while (next != PGRES_POLLING_OK && next != PGRES_POLLING_FAILED && (left = until - neo_steady_ms()) > 0) {
        struct pollfd polled = {PQsocket(conn), next == PGRES_POLLING_READING ? POLLIN : POLLOUT, 0};
        if (poll(&polled, 1, (int)left) > 0)
            next = PQconnectPoll(conn);
    }
    neo_message_find_state(PQerrorMessage(conn), state);
    PQfinish(conn);
    return next == PGRES_POLLING_OK ? NULL : neo_pg_error_find(state);
}
