/* Removing an organization or a tenant (see store/purge.h). */
#include "store/purge.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <apr_time.h>
#include <stdlib.h>
#include <string.h>

#include "store/import.h"

#define STEP_ROWS   5000               /* rows */
#define MAX_IDLE    10                 /* passes that something held up, one after the other */
#define MAX_MISSED  10                 /* steps that found nothing but what was being changed */
#define RETRY_DELAY APR_TIME_C(300000) /* microseconds, after one of these */

/* A table, or a partition of one. */
typedef struct {
    const char *name;
    const char *whole; /* the table that it is a partition of, or itself */
} table;

/* $1: of data only. What refers to others comes before them. Those that say who there is come last, in one transaction. */
static const char tables_sql[] =
    "with recursive owned as (select c.oid, coalesce(i.inhparent, c.oid) as whole from pg_class c"
    " join pg_attribute a on a.attrelid = c.oid and a.attname = 'organization_id' and not a.attisdropped"
    " left join pg_inherits i on i.inhrelid = c.oid where c.relnamespace = 'neoapi'::regnamespace and c.relkind = 'r'"
    " and c.relname <> all ('{credential,token_organization}')"
    " and not ($1::boolean and c.relname = any ('{webhook_subscription,whatsapp_number}'))),"
    " deep (oid, depth) as (select oid, 0 from owned union all select k.confrelid, deep.depth + 1 from deep"
    " join pg_constraint k on k.conrelid = deep.oid and k.contype = 'f' and k.confrelid <> k.conrelid where deep.depth < 20)"
    " select oid::regclass, whole::regclass from owned join deep using (oid) group by oid, whole"
    " order by max(depth), oid::regclass::text";

static const char *exec(const neo_purge *purge, const char *sql, const char *value, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_exec(purge->pg, sql, value ? 1 : 0, &value, pool, rows) == NEO_PG_OK ? NULL : rows->message;
}

/* ---------------------------------------------------------------- what there is */

static const char *find(neo_purge *purge, apr_pool_t *pool)
{
    neo_rows rows;
    const char *wrong =
        purge->tenant
            ? exec(purge,
                   "select name, array(select id from neoapi.organization where tenant_id = t.id) from neoapi.tenant t"
                   " where id = $1",
                   purge->tenant, pool, &rows)
            : exec(purge, "select name, array[id] from neoapi.organization where id = $1", purge->organization, pool, &rows);
    if (wrong)
        return wrong;
    if (!rows.count)
        return purge->tenant ? "there is no such tenant; see: neoapictl tenant list"
                             : "there is no such organization; see: neoapictl organization list";
    purge->name = neo_rows_value(&rows, 0, 0);
    purge->organizations = neo_rows_value(&rows, 0, 1);
    return NULL;
}

/* Adds how many there are; one thing is one row, however many partitions it has. */
static void add_count(neo_json *what, const char *name, long long rows, apr_pool_t *pool)
{
    apr_size_t last = neo_json_size(what);
    neo_json *row = last ? neo_json_at(what, last - 1) : NULL;
    if (rows == 0)
        return;
    if (row && strcmp(neo_json_string(neo_json_get(row, "what")), name) == 0) {
        rows += neo_json_integer(neo_json_get(row, "rows"));
        neo_json_set(row, "rows", neo_json_make_integer(rows, pool));
        return;
    }
    row = neo_json_make_object(pool);
    neo_json_set(row, "what", neo_json_make_string(name, pool));
    neo_json_set(row, "rows", neo_json_make_integer(rows, pool));
    neo_json_append(what, row);
}

static const char *count(neo_purge *purge, const char *name, const char *sql, const char *value, neo_json *what,
                         apr_pool_t *pool)
{
    neo_rows rows;
    const char *wrong = exec(purge, sql, value, pool, &rows);
    if (!wrong)
        add_count(what, name, atoll(neo_rows_value(&rows, 0, 0)), pool);
    return wrong;
}

/* Who there is: of a tenant, and of one organization. */
static const struct {
    const char *name, *of_tenant, *of_organization;
} people[] = {
    {"api_key", "select count(*) from neoapi.credential where tenant_id = $1 and organization_id is not null",
     "select count(*) from neoapi.credential where organization_id = $1"},
    {"token", "select count(*) from neoapi.credential where tenant_id = $1 and user_id is not null", NULL},
    {"user", "select count(*) from neoapi.app_user where tenant_id = $1", NULL},
    {"organization", "select count(*) from neoapi.organization where tenant_id = $1", NULL},
};

const char *neo_purge_begin(neo_purge *purge, apr_pool_t *pool, neo_json **what)
{
    neo_rows rows;
    const char *wrong = find(purge, pool);
    *what = neo_json_make_array(pool);
    if (wrong || (wrong = exec(purge, tables_sql, purge->is_data_only ? "true" : "false", pool, &rows)))
        return wrong;
    purge->tables = apr_array_make(pool, rows.count, sizeof(table));
    for (int r = 0; !wrong && r < rows.count; r++) {
        const table t = {neo_rows_value(&rows, r, 0), neo_rows_value(&rows, r, 1)};
        const char *dot = strchr(t.whole, '.');
        APR_ARRAY_PUSH(purge->tables, table) = t;
        wrong = count(purge, dot ? dot + 1 : t.whole,
                      apr_psprintf(pool, "select count(*) from %s where organization_id = any ($1::text[])", t.name),
                      purge->organizations, *what, pool);
    }
    for (apr_size_t i = 0; !wrong && !purge->is_data_only && i < sizeof people / sizeof *people; i++) {
        const char *sql = purge->tenant ? people[i].of_tenant : people[i].of_organization;
        if (sql)
            wrong = count(purge, people[i].name, sql, purge->tenant ? purge->tenant : purge->organization, *what, pool);
    }
    return wrong;
}

/* ---------------------------------------------------------------- removing */

const char *neo_purge_close(neo_purge *purge, apr_pool_t *pool)
{
    neo_rows rows;
    const char *wrong = neo_import_lock(purge->pg, purge->organizations, pool);
    if (wrong || purge->is_data_only)
        return wrong;
    if (purge->tenant)
        wrong = exec(purge, "update neoapi.credential set revoked_at = coalesce(revoked_at, now()) where tenant_id = $1",
                     purge->tenant, pool, &rows);
    else
        wrong = exec(purge,
                     "with keys as (update neoapi.credential set revoked_at = coalesce(revoked_at, now())"
                     " where organization_id = $1) delete from neoapi.token_organization where organization_id = $1",
                     purge->organization, pool, &rows);
    return wrong ? wrong
                 : exec(purge,
                        "update neoapi.webhook_subscription set is_active = false"
                        " where organization_id = any ($1::text[]) and is_active",
                        purge->organizations, pool, &rows);
}

/* Rows that somebody else is at are left for the end: a step that waits then has little in hand that others wait for. A row
 * that was changed while it was waited for is a new one, which this statement does not see: *is_left. A partition may have been
 * dropped meanwhile; and where rows still arrive, a new one may refer to one that is to go, which then waits for the next pass.
 */
static const char *remove_some(neo_purge *purge, const char *name, apr_pool_t *pool, long long *removed, int *is_left)
{
    neo_rows rows;
    const char *sql =
        apr_psprintf(pool,
                     "with found as materialized (select ctid as at from %s where organization_id = any ($1::text[])"
                     " limit %d for update%s),"
                     " gone as (delete from %s where ctid = any (array(select at from found)) returning 1)"
                     " select (select count(*) from gone), count(*) from found",
                     name, STEP_ROWS, purge->is_at_end ? "" : " skip locked", name);
    neo_pg_status status = neo_pg_exec(purge->pg, sql, 1, &purge->organizations, pool, &rows);
    *removed = status == NEO_PG_OK ? atoll(neo_rows_value(&rows, 0, 0)) : 0;
    *is_left = status == NEO_PG_OK && (*removed == STEP_ROWS || *removed < atoll(neo_rows_value(&rows, 0, 1)));
    purge->is_held_up |= status == NEO_PG_FK_VIOLATION;
    return status == NEO_PG_OK || status == NEO_PG_SCHEMA || status == NEO_PG_FK_VIOLATION ? NULL : rows.message;
}

/* What was in flight when the credentials ended may have written behind it, so it begins anew until there is nothing. Where
 * they have not ended that may never be: then it is over when each table has been gone through once. */
static const char *end_pass(neo_purge *purge, int *is_over)
{
    *is_over = !purge->is_held_up && (purge->is_data_only || purge->since_pass == 0);
    purge->idle = purge->is_held_up && (purge->is_data_only || purge->since_pass == 0) ? purge->idle + 1 : 0;
    if (purge->idle)
        apr_sleep(RETRY_DELAY);
    purge->table = 0;
    purge->since_pass = 0;
    purge->is_held_up = 0;
    return purge->idle < MAX_IDLE ? NULL : "something that is not to go refers to what is left, or somebody still writes";
}

const char *neo_purge_step(neo_purge *purge, apr_pool_t *pool, long long *removed, int *is_over)
{
    *is_over = 0;
    *removed = 0;
    if (purge->table == purge->tables->nelts)
        return end_pass(purge, is_over);
    int is_left;
    const char *wrong = remove_some(purge, APR_ARRAY_IDX(purge->tables, purge->table, table).name, pool, removed, &is_left);
    purge->since_pass += *removed;
    purge->missed = is_left && !*removed ? purge->missed + 1 : 0;
    if (purge->missed == MAX_MISSED) {
        purge->is_held_up = 1;
        is_left = purge->missed = 0;
    }
    if (!is_left) {
        purge->table += purge->is_at_end;
        purge->is_at_end = !purge->is_at_end;
    }
    return wrong;
}

/* An organization that was made meanwhile stays, and with it the tenant and all that is the tenant's. */
static const char *finish_tenant(neo_purge *purge, apr_pool_t *pool)
{
    neo_rows rows;
    const char *values[] = {purge->tenant, purge->organizations};
    neo_pg_status status =
        neo_pg_exec(purge->pg,
                    "with reach as (delete from neoapi.token_organization where tenant_id = $1),"
                    " keys as (delete from neoapi.credential where tenant_id = $1),"
                    " people as (delete from neoapi.app_user where tenant_id = $1),"
                    " places as (delete from neoapi.organization where tenant_id = $1 and id = any ($2::text[]))"
                    " delete from neoapi.tenant where id = $1",
                    2, values, pool, &rows);
    return status == NEO_PG_OK             ? NULL
           : status == NEO_PG_FK_VIOLATION ? "the tenant was given another organization or user meanwhile"
                                           : rows.message;
}

const char *neo_purge_finish(neo_purge *purge, apr_pool_t *pool)
{
    neo_rows rows;
    if (purge->is_data_only)
        return NULL;
    if (purge->tenant)
        return finish_tenant(purge, pool);
    return exec(purge,
                "with reach as (delete from neoapi.token_organization where organization_id = $1),"
                " keys as (delete from neoapi.credential where organization_id = $1)"
                " delete from neoapi.organization where id = $1",
                purge->organization, pool, &rows);
}
