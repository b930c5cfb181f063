/* SPDX-License-Identifier: Apache-2.0 */
/* Applies migrations (see sql/migrate.h). */
#include "sql/migrate.h"

#include <apr_strings.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/crypto.h"
#include "core/encode.h"
#include "sql/migrate.sql.h"
#include "sql/representation.h"

#define PLACEHOLDER  ":runtime"
#define LOCK_TIMEOUT "55P03"              /* SQLSTATE */
#define RETRY_DELAY  apr_time_from_sec(2) /* in which waiting queries of others run */
#define MAX_RETRIES  30

int neo_schema_needed(void)
{
    return neo_migrations[neo_migration_count - 1].number;
}

neo_pg_status neo_schema_version(neo_pg *pg, apr_pool_t *pool, int *version)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run(pg, NEO_QUERY(recorded_sql, 0), NULL, pool, &rows);
    *version = 0;
    if (status != NEO_PG_OK || rows.count == 0)
        return status;
    status = neo_pg_run(pg, NEO_QUERY(version_sql, 0), NULL, pool, &rows);
    if (status == NEO_PG_OK)
        *version = atoi(neo_rows_value(&rows, 0, 0));
    return status;
}

neo_pg_status neo_schema_probe_write(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run_as(pg, NEO_PG_PROBE, NEO_QUERY(probe_write_sql, 0), NULL, pool, rows);
}

neo_pg_status neo_schema_runtime(neo_pg *pg, apr_pool_t *pool, const char **role)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_exec(pg, runtime_sql, 0, NULL, pool, &rows);
    *role = status == NEO_PG_OK && rows.count ? apr_pstrdup(pool, neo_rows_value(&rows, 0, 0)) : NULL;
    return status == NEO_PG_SCHEMA ? NEO_PG_OK : status;
}

/* An error message if one of these differs from this build's migration of that number. */
static const char *foreign_migration_in(const neo_rows *rows, apr_pool_t *pool)
{
    for (int r = 0; r < rows->count; r++)
        for (int i = 0; i < neo_migration_count; i++)
            if (neo_migrations[i].number == atoi(neo_rows_value(rows, r, 0)) &&
                strcmp(neo_migrations[i].name, neo_rows_value(rows, r, 1)) != 0)
                return apr_psprintf(pool, "this schema was made by another build: its migration %d is %s, this build's is %s",
                                    neo_migrations[i].number, neo_rows_value(rows, r, 1), neo_migrations[i].name);
    return NULL;
}

const char *neo_schema_foreign_migration(neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    if (neo_pg_exec(pg, applied_sql, 0, NULL, pool, &rows) != NEO_PG_OK)
        return apr_psprintf(pool, "cannot read which migrations were applied: %s", rows.message);
    return foreign_migration_in(&rows, pool);
}

static const char *checksum(const neo_migration *migration, apr_pool_t *pool)
{
    unsigned char hash[NEO_SHA256_SIZE];
    char *text = apr_palloc(pool, 2 * sizeof hash + 1);
    neo_sha256(migration->sql, strlen(migration->sql), hash);
    neo_hex(hash, sizeof hash, text);
    return text;
}

const char *neo_schema_difference(neo_pg *pg, apr_pool_t *pool)
{
    neo_rows rows;
    if (neo_pg_exec(pg, "select has_column_privilege('neoapi.schema_migration', 'checksum', 'select')", 0, NULL, pool, &rows) !=
        NEO_PG_OK)
        return rows.message;
    if (!neo_rows_is_true(&rows, 0, 0))
        return NULL;
    if (neo_pg_exec(pg, applied_sql, 0, NULL, pool, &rows) != NEO_PG_OK)
        return rows.message;
    const char *foreign = foreign_migration_in(&rows, pool);
    for (int i = 0; i < neo_migration_count && !foreign; i++) {
        const neo_migration *m = &neo_migrations[i];
        int row = 0;
        while (row < rows.count && atoi(neo_rows_value(&rows, row, 0)) != m->number)
            row++;
        if (row == rows.count)
            foreign = apr_psprintf(pool, "the migration %s was not applied", m->name);
        else if (strcmp(neo_rows_value(&rows, row, 2), checksum(m, pool)) != 0)
            foreign = apr_psprintf(pool, "the migration %s was applied with another content than this build's", m->name);
    }
    return foreign;
}

/* Replaces each :runtime by the role; `::runtime` would be a cast, and `:runtimes` another name. */
static const char *filled_in(const char *sql, const char *role, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, strlen(sql) + 1024);
    for (const char *from = sql, *at = sql; from; from = at) {
        at = strstr(at, PLACEHOLDER);
        if (!at) {
            neo_buf_puts(&out, from);
            break;
        }
        const char *after = at + strlen(PLACEHOLDER);
        neo_buf_add(&out, from, (apr_size_t)(at - from));
        if ((at > sql && at[-1] == ':') || isalnum((unsigned char)*after) || *after == '_')
            neo_buf_puts(&out, PLACEHOLDER);
        else
            neo_buf_puts(&out, role);
        at = after;
    }
    return out.ptr;
}

typedef struct {
    neo_pg *pg;
    const char *runtime;
    neo_migrate_progress progress;
    neo_migrate_blocked blocked;
    void *data;
    apr_pool_t *pool;
    int retries;     /* so far, of the next migration */
    int *is_blocked; /* it timed out waiting for a lock */
} run;

/* Runs one statement or several. Returns NULL, or an error message. */
static const char *run_sql(const run *r, const char *sql, neo_rows *rows)
{
    if (neo_pg_exec(r->pg, sql, 0, NULL, r->pool, rows) == NEO_PG_OK)
        return NULL;
    *r->is_blocked |= strcmp(neo_rows_state(rows), LOCK_TIMEOUT) == 0;
    return rows->message;
}

/* Takes the role of the schema's owner for this transaction, so that it owns everything that is created. */
static const char *become_owner(const run *r)
{
    neo_rows rows;
    const char *error = run_sql(r, owner_sql, &rows);
    if (error)
        return error;
    if (rows.count == 0)
        return run_sql(r, "create schema neoapi", &rows);
    const char *owner = neo_pg_identifier(r->pg, neo_rows_value(&rows, 0, 0), r->pool);
    error = run_sql(r, apr_pstrcat(r->pool, "set local role ", owner, NULL), &rows);
    return error ? apr_psprintf(r->pool, "this role may not act as %s, which owns the schema: %s", owner, error) : NULL;
}

static const char *make_record(const run *r)
{
    neo_rows rows;
    const char *error = run_sql(r, recorded_sql, &rows);
    if (error || rows.count)
        return error;
    const char *sql = apr_pstrcat(r->pool, filled_in(record_sql, neo_pg_identifier(r->pg, r->runtime, r->pool), r->pool),
                                  "; insert into neoapi.setting (name, value) values ('runtime_role', ",
                                  neo_pg_literal(r->pg, r->runtime, r->pool), ")", NULL);
    return run_sql(r, sql, &rows);
}

static const char *check_runtime(const run *r)
{
    neo_rows rows;
    const char *error = run_sql(r, runtime_sql, &rows);
    const char *recorded = !error && rows.count ? neo_rows_value(&rows, 0, 0) : r->runtime;
    if (strcmp(recorded, r->runtime) != 0)
        return apr_psprintf(r->pool, "the schema was made for the runtime role %s, not for %s", recorded, r->runtime);
    return error;
}

static const char *apply(const run *r, const neo_migration *migration)
{
    neo_rows rows;
    if (r->progress && !r->retries)
        r->progress(migration, r->data);
    const char *error = run_sql(r, filled_in(migration->sql, neo_pg_identifier(r->pg, r->runtime, r->pool), r->pool), &rows);
    if (!error && migration->number)
        error = run_sql(
            r,
            apr_psprintf(r->pool, "insert into neoapi.schema_migration (number, name, checksum) values (%d, %s, '%s')",
                         migration->number, neo_pg_literal(r->pg, migration->name, r->pool), checksum(migration, r->pool)),
            &rows);
    return error ? apr_psprintf(r->pool, "migration %s failed and was rolled back: %s", migration->name, error) : NULL;
}

/* Installs the functions that differ from this build's. */
static const char *install_functions(const run *r)
{
    const neo_resource **outdated;
    neo_rows rows;
    const char *error = NULL;
    if (neo_representation_outdated(r->pg, r->pool, &outdated, &rows) != NEO_PG_OK)
        return rows.message;
    for (; *outdated && !error; outdated++) {
        neo_script script = neo_representation_script(*outdated, r->pool);
        error = apply(r, &(neo_migration){0, script.name, script.sql});
    }
    return error;
}

/* Applies the next migration in the open transaction, and with the last one, or if there is none, the functions. A schema that
 * is newer than this build keeps its functions. *left: there was a migration. */
static const char *apply_next(const run *r, int *left)
{
    neo_rows rows;
    const char *error = become_owner(r);
    if (!error)
        error = make_record(r);
    if (!error)
        error = check_runtime(r);
    if (!error)
        error = run_sql(r, applied_sql, &rows);
    if (!error)
        error = foreign_migration_in(&rows, r->pool);
    if (!error)
        error = run_sql(r, version_sql, &rows);
    if (error)
        return error;
    int version = atoi(neo_rows_value(&rows, 0, 0)), next = 0;
    while (next < neo_migration_count && neo_migrations[next].number <= version)
        next++;
    *left = next < neo_migration_count;
    if (*left) {
        error = apply(r, &neo_migrations[next]);
        version = neo_migrations[next].number;
    }
    return error || version != neo_schema_needed() ? error : install_functions(r);
}

/* Applies the next migration in a separate transaction. */
static const char *migrate_next(const run *r, int *left)
{
    neo_rows rows;
    const char *error = run_sql(r, begin_sql, &rows);
    *r->is_blocked = 0;
    if (!error)
        error = apply_next(r, left);
    const char *unfinished = run_sql(r, error ? "rollback" : "commit", &rows);
    if (!error && unfinished)
        error = apr_psprintf(r->pool, "it is unknown whether the last migration was committed; run this again: %s", unfinished);
    return error;
}

static const char *blockers(const run *r)
{
    neo_rows rows;
    const char *error = run_sql(r, blockers_sql, &rows), *found = error ? NULL : neo_rows_value(&rows, 0, 0);
    return found ? found : "a process that has ended";
}

const char *neo_migrate(neo_pg *pg, const char *runtime, neo_migrate_progress progress, neo_migrate_blocked blocked, void *data,
                        apr_pool_t *pool)
{
    int is_blocked = 0;
    run r = {pg, runtime, progress, blocked, data, pool, 0, &is_blocked};
    const char *error = NULL;
    for (int left = 1; left && !error;) {
        error = migrate_next(&r, &left);
        if (!is_blocked) {
            r.retries = 0;
            continue;
        }
        const char *who = blockers(&r);
        if (r.retries++ == MAX_RETRIES)
            return apr_psprintf(pool, "%s; blocked by: %s; end that, or run this again later", error, who);
        if (r.blocked)
            r.blocked(who, data);
        error = NULL;
        left = 1;
        apr_sleep(RETRY_DELAY);
    }
    return error;
}
