/* neoapictl's connection to the database. */
#ifndef NEO_CTL_SESSION_H
#define NEO_CTL_SESSION_H

#include "ctl/command.h"

/* Where to connect: --database, else the environment's NEOAPI_DATABASE, else the libpq service "neoapi", else (where
 * libpq knows no such service) the database neoapi of this machine. */
const char *neo_ctl_conninfo(const neo_ctl *ctl);

/* Connects as whoever the connection string says. Statements may take as long as they need. Returns NULL and sets *wrong to a
 * sentence. */
neo_pg *neo_ctl_connect(const neo_ctl *ctl, const char *conninfo, const char **wrong);

/* Connects and acts as the schema's owner, for commands that make rows. Also wrong: no schema, one older than this program, a
 * role that may not act as its owner. */
neo_pg *neo_ctl_open(const neo_ctl *ctl, const char **wrong);

/* From here on a statement may take 30 seconds: for commands that look alone, which others wait for. */
const char *neo_ctl_limit_statement_time(const neo_ctl *ctl, neo_pg *pg);

#endif
