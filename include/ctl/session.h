/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl's connection to the database. */
#ifndef NEO_CTL_SESSION_H
#define NEO_CTL_SESSION_H

#include "ctl/command.h"

/* The connection string: --database, else NEOAPI_DATABASE, else service=neoapi_admin or service=neoapi if libpq knows it,
 * else dbname=neoapi. */
const char *neo_ctl_conninfo(const neo_ctl *ctl);

/* Returns the first line of a file. On failure returns NULL and sets *error. */
const char *neo_ctl_read_password(const char *path, apr_pool_t *pool, const char **error);

/* Passes the first line of the file in NEOAPI_DATABASE_PASSWORD_FILE to libpq, if that variable is set. Unlike libpq's password
 * file it may be readable by a group, as the secrets of containers are. Returns NULL, or an error. */
const char *neo_ctl_load_password(const neo_ctl *ctl);

/* Connects, without a statement timeout. On failure returns NULL and sets *error to the error, and what to do. */
neo_pg *neo_ctl_connect(const neo_ctl *ctl, const char *conninfo, const char **error);

/* Connects like neo_ctl_connect, but *error is only the error, and *fix what to do. */
neo_pg *neo_ctl_connect_or_fix(const neo_ctl *ctl, const char *conninfo, const char **error, const char **fix);

/* Connects and sets the role to the schema's owner. Also fails if there is no schema, if it is older than this program, or if
 * the role is not a member of the owner. neo_ctl_open_to_read also calls neo_ctl_check_primary. neo_ctl_open is for commands
 * that change or export something: it also records the command in the audit log, before it begins. */
neo_pg *neo_ctl_open(const neo_ctl *ctl, const char **error);
neo_pg *neo_ctl_open_to_read(const neo_ctl *ctl, const char **error);
neo_pg *neo_ctl_open_any(const neo_ctl *ctl, const char **error);

/* Names the system user and the command to the audit log, for the changes of this session. Returns NULL, or an error. */
const char *neo_ctl_set_actor(const neo_ctl *ctl, neo_pg *pg);
/* Adds the command to the audit log. neo_ctl_record_as_owner first sets the role to the schema's owner, then resets it. Return
 * NULL, or an error. */
const char *neo_ctl_record_command(const neo_ctl *ctl, neo_pg *pg);
const char *neo_ctl_record_as_owner(const neo_ctl *ctl, neo_pg *pg);

/* Looks for another server of the connection string that accepts writes. Returns a sentence about it, or NULL, and sets
 * *is_replaced if it has replaced this one. The remedy is that of NEO_LOG_REPLACED. */
const char *neo_ctl_find_second_primary(const neo_ctl *ctl, neo_pg *pg, int *is_replaced);

/* Returns an error if another server of the connection string has replaced this one, where a revocation would be lost. */
const char *neo_ctl_check_primary(const neo_ctl *ctl, neo_pg *pg);

/* Runs a statement that returns no rows. Returns NULL, or an error. */
const char *neo_ctl_exec(const neo_ctl *ctl, neo_pg *pg, const char *sql);

/* For read-only commands that monitoring waits for. */
#define NEO_CTL_LIMIT_STATEMENTS "set statement_timeout to '30s'"

/* Updates the schema and prints each migration; adds "version" and "applied" to the report. Returns NULL, or an error. */
const char *neo_ctl_apply_migrations(const neo_ctl *ctl, neo_pg *pg, const char *runtime, neo_json *report);

#endif
