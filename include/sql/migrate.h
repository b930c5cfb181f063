/* SPDX-License-Identifier: Apache-2.0 */
/* Migrations: numbered files in sql/, embedded at build time, applied in order, each in a transaction. With the last one, the
 * functions are installed that are generated from the tables of fields. */
#ifndef NEO_SQL_MIGRATE_H
#define NEO_SQL_MIGRATE_H

#include "pg/pg.h"

typedef struct neo_migration {
    int number;       /* 0: an installation of a generated function */
    const char *name; /* the file's name without .sql */
    const char *sql;  /* :runtime is replaced by the runtime role */
} neo_migration;

extern const neo_migration neo_migrations[];
extern const int neo_migration_count;

/* The number of the newest migration: the version that this build needs. */
int neo_schema_needed(void);

/* The version of the database's schema; 0 if there is none. */
NEO_MUSTCHECK neo_pg_status neo_schema_version(neo_pg *pg, apr_pool_t *pool, int *version);

/* Fails if the database cannot execute writes: it is read-only, or its disk is full. Costs a file that is created and removed,
 * and a commit. */
NEO_MUSTCHECK neo_pg_status neo_schema_probe_write(neo_pg *pg, apr_pool_t *pool, neo_rows *rows);

/* The runtime role that the schema was made for; NULL if there is no schema. */
NEO_MUSTCHECK neo_pg_status neo_schema_runtime(neo_pg *pg, apr_pool_t *pool, const char **role);

/* An error message if the database has a migration whose name differs from this build's migration of that number, which only an
 * unreleased build can have left; else NULL. The runtime role lacks the permission. */
const char *neo_schema_foreign_migration(neo_pg *pg, apr_pool_t *pool);

/* Why the schema is not the one that this build's migrations up to its newest one make: a migration is missing, or has another
 * name or content; else NULL. NULL if the role may not read the records, as the runtime role. */
const char *neo_schema_difference(neo_pg *pg, apr_pool_t *pool);

/* Called before each migration, and before each installation of a function. */
typedef void (*neo_migrate_progress)(const neo_migration *migration, void *data);

/* Called before a migration is tried again that was rolled back because others use its tables. */
typedef void (*neo_migrate_blocked)(const char *who, void *data);

/* Brings the schema to neo_schema_needed(), as the schema's owner; if there is no schema, it is created and owned by the
 * current role. Two can run at once: the second waits, then finds nothing to do. `runtime` is the runtime role's name, the same
 * at every call. A migration that fails is rolled back; those before it stay. A migration that waits for a lock blocks other
 * queries, so it is rolled back after 3 seconds and tried again, for about two minutes. Returns NULL, or an error message. */
const char *neo_migrate(neo_pg *pg, const char *runtime, neo_migrate_progress progress, neo_migrate_blocked blocked, void *data,
                        apr_pool_t *pool);

#endif
