/* The schema's versions: numbered files in sql/, embedded at build time, applied in order, each in a transaction. */
#ifndef NEO_STORE_MIGRATE_H
#define NEO_STORE_MIGRATE_H

#include "store/pg.h"

typedef struct neo_migration {
    int number;
    const char *name; /* the file's name without .sql */
    const char *sql;  /* :runtime stands for the runtime role */
} neo_migration;

extern const neo_migration neo_migrations[];
extern const int neo_migration_count;

/* The number of the newest migration: the version that this build needs. */
int neo_schema_needed(void);

/* The version of the database's schema, 0 where there is none. */
NEO_MUSTCHECK neo_pg_status neo_schema_version(neo_pg *pg, apr_pool_t *pool, int *version);

/* The runtime role that the schema was made for, NULL where there is no schema. */
NEO_MUSTCHECK neo_pg_status neo_schema_runtime(neo_pg *pg, apr_pool_t *pool, const char **role);

/* What the database has under a number that this build knows by another name, which only a build that was never released can
 * have left there; NULL where there is no such thing. The runtime role may not look. */
const char *neo_schema_foreign_migration(neo_pg *pg, apr_pool_t *pool);

/* Told before each migration runs. */
typedef void (*neo_migrate_progress)(const neo_migration *migration, void *data);

/* Told when a migration was rolled back because others use its tables, and before it is tried again. */
typedef void (*neo_migrate_blocked)(const char *who, void *data);

/* Brings the schema to neo_schema_needed(), acting as the schema's owner; where there is no schema, it is made and belongs to
 * the current role. Safe when two run at once: the second waits, then finds nothing to do. `runtime` is the runtime role's
 * name, and must be the same every time. A migration that fails is rolled back whole, and those before it stay. One
 * that waits for others' locks keeps nobody waiting for longer than moments: it is rolled back and tried again, for minutes.
 * Returns NULL, or what went wrong. */
const char *neo_migrate(neo_pg *pg, const char *runtime, neo_migrate_progress progress, neo_migrate_blocked blocked, void *data,
                        apr_pool_t *pool);

#endif
