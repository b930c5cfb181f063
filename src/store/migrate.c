/* Applying the schema's versions (see store/migrate.h). */
#include "store/migrate.h"

#include <apr_strings.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "libpq.h"

#define PLACEHOLDER  ":runtime"
#define LOCK_TIMEOUT "55P03"              /* SQLSTATE */
#define RETRY_DELAY  apr_time_from_sec(2) /* in which everybody else gets on */
#define MAX_WAITS    30

/* Each migration has a transaction of its own, which starts by waiting for whoever else is migrating. The lock ends with the
 * transaction, so that it also holds through a pooler. What the connecting role has set for itself must not reach in here. A
 * change of a table that waits for somebody's long transaction keeps all lookups waiting behind it: so it waits for moments
 * only, and comes again. */
static const char begin_sql[] = "begin isolation level read committed read write;"
                                "set local statement_timeout = 0;"
                                "set local lock_timeout = 0;"
                                "set local search_path = public;"
                                "set local client_encoding = 'UTF8';"
                                "set local client_min_messages = warning;"
                                "select pg_advisory_xact_lock(5653418271302);"
                                "set local lock_timeout = '3s'";

/* Who has been using tables of the schema for that long. Other roles' moments are not told to everyone. */
static const char blockers_sql[] =
    "select string_agg(format('process %s (%s)', pid, concat_ws(', ', usename, nullif(application_name, ''))), ', ')"
    " from pg_catalog.pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()"
    " and (xact_start is null or xact_start < clock_timestamp() - interval '3 s')"
    " and pid in (select l.pid from pg_catalog.pg_locks l join pg_catalog.pg_class c on c.oid = l.relation"
    " join pg_catalog.pg_namespace n on n.oid = c.relnamespace where n.nspname = 'neoapi' and l.granted)";

static const char owner_sql[] = "select pg_get_userbyid(nspowner) from pg_catalog.pg_namespace where nspname = 'neoapi'";

static const char recorded_sql[] = "select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
                                   " where n.nspname = 'neoapi' and c.relname = 'schema_migration'";

static const char version_sql[] = "select coalesce(max(number), 0) from neoapi.schema_migration";

static const char applied_sql[] = "select number, name from neoapi.schema_migration order by number";

static const char runtime_sql[] = "select value from neoapi.setting where name = 'runtime_role'";

/* What the migrations are recorded in. Three gaps are for the runtime role as an identifier, the last for it as a literal. */
static const char record_sql[] = "create table neoapi.schema_migration (number int primary key, name text not null,"
                                 " applied_at timestamptz not null default now());"
                                 "create table neoapi.setting (name text primary key, value text not null);"
                                 "grant usage on schema neoapi to %s;"
                                 "grant select (number) on neoapi.schema_migration to %s;"
                                 "grant select on neoapi.setting to %s;"
                                 "insert into neoapi.setting (name, value) values ('runtime_role', %s)";

int neo_schema_needed(void)
{
    return neo_migrations[neo_migration_count - 1].number;
}

neo_pg_status neo_schema_version(neo_pg *pg, apr_pool_t *pool, int *version)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_query(pg, recorded_sql, 0, NULL, pool, &rows);
    *version = 0;
    if (status != NEO_PG_OK || rows.count == 0)
        return status;
    status = neo_pg_query(pg, version_sql, 0, NULL, pool, &rows);
    if (status == NEO_PG_OK)
        *version = atoi(neo_rows_value(&rows, 0, 0));
    return status;
}

neo_pg_status neo_schema_runtime(neo_pg *pg, apr_pool_t *pool, const char **role)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_exec(pg, runtime_sql, 0, NULL, pool, &rows);
    *role = status == NEO_PG_OK && rows.count ? apr_pstrdup(pool, neo_rows_value(&rows, 0, 0)) : NULL;
    return status == NEO_PG_SCHEMA ? NEO_PG_OK : status;
}

/* Which of these is another migration than this build's of that number. */
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
        return apr_psprintf(pool, "which migrations were applied cannot be read: %s", rows.message);
    return foreign_migration_in(&rows, pool);
}

/* `sql` with the role's name in every place that is left for it; `::runtime` would be a cast, `:runtimes` something else. */
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
    int waits;       /* that the next migration has had behind others */
    int *is_blocked; /* somebody else's lock was waited for in vain */
} run;

/* One statement or several. Returns NULL, or what went wrong. */
static const char *run_sql(const run *r, const char *sql, neo_rows *rows)
{
    if (neo_pg_exec(r->pg, sql, 0, NULL, r->pool, rows) == NEO_PG_OK)
        return NULL;
    *r->is_blocked |= rows->native && strcmp(neo_result_state(rows->native), LOCK_TIMEOUT) == 0;
    return rows->message;
}

/* Becomes the schema's owner for this transaction, so that everything belongs to it, whoever runs the migration. */
static const char *become_owner(const run *r)
{
    neo_rows rows;
    const char *wrong = run_sql(r, owner_sql, &rows);
    if (wrong)
        return wrong;
    if (rows.count == 0)
        return run_sql(r, "create schema neoapi", &rows);
    const char *owner = neo_pg_identifier(r->pg, neo_rows_value(&rows, 0, 0), r->pool);
    wrong = run_sql(r, apr_pstrcat(r->pool, "set local role ", owner, NULL), &rows);
    return wrong ? apr_psprintf(r->pool, "this role may not act as %s, which owns the schema: %s", owner, wrong) : NULL;
}

static const char *make_record(const run *r)
{
    neo_rows rows;
    const char *wrong = run_sql(r, recorded_sql, &rows);
    if (wrong || rows.count)
        return wrong;
    const char *role = neo_pg_identifier(r->pg, r->runtime, r->pool);
    return run_sql(r, apr_psprintf(r->pool, record_sql, role, role, role, neo_pg_literal(r->pg, r->runtime, r->pool)), &rows);
}

static const char *check_runtime(const run *r)
{
    neo_rows rows;
    const char *wrong = run_sql(r, runtime_sql, &rows);
    const char *remembered = !wrong && rows.count ? neo_rows_value(&rows, 0, 0) : r->runtime;
    if (strcmp(remembered, r->runtime) != 0)
        return apr_psprintf(r->pool, "the schema was made for the runtime role %s, not for %s", remembered, r->runtime);
    return wrong;
}

static const neo_migration *migration_after(int version)
{
    for (int i = 0; i < neo_migration_count; i++)
        if (neo_migrations[i].number > version)
            return &neo_migrations[i];
    return NULL;
}

static const char *apply(const run *r, const neo_migration *migration)
{
    neo_rows rows;
    if (r->progress && !r->waits)
        r->progress(migration, r->data);
    const char *wrong = run_sql(r, filled_in(migration->sql, neo_pg_identifier(r->pg, r->runtime, r->pool), r->pool), &rows);
    if (!wrong)
        wrong = run_sql(r,
                        apr_psprintf(r->pool, "insert into neoapi.schema_migration (number, name) values (%d, %s)",
                                     migration->number, neo_pg_literal(r->pg, migration->name, r->pool)),
                        &rows);
    return wrong ? apr_psprintf(r->pool, "migration %s failed and was rolled back: %s", migration->name, wrong) : NULL;
}

/* Applies the next migration inside the transaction that is open. *left tells whether there was one. */
static const char *apply_next(const run *r, int *left)
{
    neo_rows rows;
    const char *wrong = become_owner(r);
    if (!wrong)
        wrong = make_record(r);
    if (!wrong)
        wrong = check_runtime(r);
    if (!wrong)
        wrong = run_sql(r, applied_sql, &rows);
    if (!wrong)
        wrong = foreign_migration_in(&rows, r->pool);
    if (!wrong)
        wrong = run_sql(r, version_sql, &rows);
    if (wrong)
        return wrong;
    const neo_migration *next = migration_after(atoi(neo_rows_value(&rows, 0, 0)));
    *left = next != NULL;
    return next ? apply(r, next) : NULL;
}

/* The next migration in a transaction of its own. */
static const char *migrate_next(const run *r, int *left)
{
    neo_rows rows;
    const char *wrong = run_sql(r, begin_sql, &rows);
    *r->is_blocked = 0;
    if (!wrong)
        wrong = apply_next(r, left);
    const char *unfinished = run_sql(r, wrong ? "rollback" : "commit", &rows);
    if (!wrong && unfinished)
        wrong = apr_psprintf(r->pool, "whether the last migration was kept is not known, run this again: %s", unfinished);
    return wrong;
}

static const char *blockers(const run *r)
{
    neo_rows rows;
    const char *wrong = run_sql(r, blockers_sql, &rows), *found = wrong ? NULL : neo_rows_value(&rows, 0, 0);
    return found ? found : "nobody who is still there";
}

const char *neo_migrate(neo_pg *pg, const char *runtime, neo_migrate_progress progress, neo_migrate_blocked blocked, void *data,
                        apr_pool_t *pool)
{
    int is_blocked = 0;
    run r = {pg, runtime, progress, blocked, data, pool, 0, &is_blocked};
    const char *wrong = NULL;
    for (int left = 1; left && !wrong;) {
        wrong = migrate_next(&r, &left);
        if (!is_blocked) {
            r.waits = 0;
            continue;
        }
        const char *who = blockers(&r);
        if (r.waits++ == MAX_WAITS)
            return apr_psprintf(pool, "%s; in the way: %s; end that, or run this again later", wrong, who);
        if (r.blocked)
            r.blocked(who, data);
        wrong = NULL;
        left = 1;
        apr_sleep(RETRY_DELAY);
    }
    return wrong;
}
