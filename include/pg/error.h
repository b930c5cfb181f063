/* SPDX-License-Identifier: Apache-2.0 */
/* What PostgreSQL's errors mean: for requests, the log, and administrators. One table serves all of them. */
#ifndef NEO_PG_ERROR_H
#define NEO_PG_ERROR_H

#include "core/log.h"
#include "pg/pg.h"

#define NEO_SQLSTATE_SIZE 6 /* with the terminating null */

typedef struct neo_pg_error {
    const char *class; /* an SQLSTATE or its beginning; neo_pg_error_find returns the same row for it */
    neo_pg_status status;
    neo_message message;  /* it is logged with this number and remedy */
    const char *sentence; /* what happened, such as "the database's disk is full"; NULL if it is not logged */
    int retry_after;      /* seconds until it is worth trying again */
} neo_pg_error;

/* Never NULL: "" is a lost connection, and an unknown SQLSTATE a failed statement. */
const neo_pg_error *neo_pg_error_find(const char *sqlstate);

/* What to do. */
const char *neo_pg_error_fix(const neo_pg_error *error);

/* Finds out why a server refused a connection, by trying once more for at most a second: libpq has the SQLSTATE of such
 * errors only in its verbose messages. Returns the error for "" if there is no server, NULL if it accepts the connection now.
 */
const neo_pg_error *neo_pg_connect_error(const char *conninfo);

#endif
