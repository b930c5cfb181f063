/* SPDX-License-Identifier: Apache-2.0 */
/* Removes an organization or a tenant (see admin/purge.h). */
#include "admin/purge.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <apr_time.h>
#include <stdlib.h>
#include <string.h>

#include "admin/import.h"
#include "admin/purge.sql.h"
#include "resources/noun.h"

#define STEP_ROWS   5000
#define MAX_IDLE    10                 /* consecutive passes that removed nothing because they were held up */
#define MAX_MISSED  10                 /* consecutive steps that found only rows that others were changing */
#define RETRY_DELAY APR_TIME_C(300000) /* microseconds, after such a pass */

/* A table, or a partition of one. */
typedef struct {
    const char *name;
    const char *whole; /* the table that it is a partition of, or itself */
} table;

/* ---------------------------------------------------------------- what is removed */

static const char *find_owner(neo_purge *purge, apr_pool_t *pool)
{
    neo_rows rows;
    const char *error = purge->tenant ? neo_pg_query(purge->pg, find_tenant_sql, 1, &purge->tenant, pool, &rows)
                                      : neo_pg_query(purge->pg, find_organization_sql, 1, &purge->organization, pool, &rows);
    if (error)
        return error;
    if (!rows.count)
        return purge->tenant ? neo_noun_tenant.missing : neo_noun_organization.missing;
    purge->name = neo_rows_value(&rows, 0, 0);
    purge->organizations = neo_rows_value(&rows, 0, 1);
    return NULL;
}

/* Adds a count; the counts of partitions of one table are added up. */
static void add_count(neo_json *what, const char *name, long long rows, apr_pool_t *pool)
{
    apr_size_t last = neo_json_size(what);
    neo_json *row = last ? neo_json_at(what, last - 1) : NULL;
    if (rows == 0)
        return;
    if (row && strcmp(neo_json_string(neo_json_get(row, "what")), name) == 0) {
        rows += neo_json_integer(neo_json_get(row, "rows"));
        neo_json_set_integer(row, "rows", rows, pool);
        return;
    }
    row = neo_json_make_object(pool);
    neo_json_set_string(row, "what", name, pool);
    neo_json_set_integer(row, "rows", rows, pool);
    neo_json_append(what, row);
}

static const char *add_row_count(neo_purge *purge, const char *name, const char *sql, const char *value, neo_json *what,
                                 apr_pool_t *pool)
{
    neo_rows rows;
    const char *error = neo_pg_query(purge->pg, sql, 1, &value, pool, &rows);
    if (!error)
        add_count(what, name, atoll(neo_rows_value(&rows, 0, 0)), pool);
    return error;
}

/* The rows that are removed at the end, with a tenant and with one organization. */
static const struct {
    const char *name, *tenant_sql, *organization_sql;
} accounts[] = {
    {"api_key", "select count(*) from neoapi.credential where tenant_id = $1 and organization_id is not null",
     "select count(*) from neoapi.credential where organization_id = $1"},
    {"token", "select count(*) from neoapi.credential where tenant_id = $1 and user_id is not null", NULL},
    {"user", "select count(*) from neoapi.app_user where tenant_id = $1", NULL},
    {"organization", "select count(*) from neoapi.organization where tenant_id = $1", NULL},
};

const char *neo_purge_begin(neo_purge *purge, apr_pool_t *pool, neo_json **what)
{
    neo_rows rows;
    const char *error = find_owner(purge, pool), *only_data = purge->is_data_only ? "true" : "false";
    *what = neo_json_make_array(pool);
    if (error || (error = neo_pg_query(purge->pg, tables_sql, 1, &only_data, pool, &rows)))
        return error;
    purge->tables = apr_array_make(pool, rows.count, sizeof(table));
    for (int r = 0; !error && r < rows.count; r++) {
        const table t = {neo_rows_value(&rows, r, 0), neo_rows_value(&rows, r, 1)};
        const char *dot = strchr(t.whole, '.');
        APR_ARRAY_PUSH(purge->tables, table) = t;
        error = add_row_count(purge, dot ? dot + 1 : t.whole,
                              apr_psprintf(pool, "select count(*) from %s where organization_id = any ($1::text[])", t.name),
                              purge->organizations, *what, pool);
    }
    for (apr_size_t i = 0; !error && !purge->is_data_only && i < sizeof accounts / sizeof *accounts; i++) {
        const char *sql = purge->tenant ? accounts[i].tenant_sql : accounts[i].organization_sql;
        if (sql)
            error =
                add_row_count(purge, accounts[i].name, sql, purge->tenant ? purge->tenant : purge->organization, *what, pool);
    }
    return error;
}

/* ---------------------------------------------------------------- removing */

const char *neo_purge_close(neo_purge *purge, apr_pool_t *pool)
{
    neo_rows rows;
    const char *error = neo_import_lock(purge->pg, purge->organizations, pool);
    if (error || purge->is_data_only)
        return error;
    error = purge->tenant ? neo_pg_query(purge->pg, revoke_tenant_sql, 1, &purge->tenant, pool, &rows)
                          : neo_pg_query(purge->pg, revoke_organization_sql, 1, &purge->organization, pool, &rows);
    return error ? error : neo_pg_query(purge->pg, deactivate_subscriptions_sql, 1, &purge->organizations, pool, &rows);
}

/* Rows that others have locked are left for the end, when a step that waits holds few locks itself. A row that was changed
 * during the wait has a new version, which this statement does not see: *is_left. NEO_PG_SCHEMA: the partition was dropped.
 * NEO_PG_FK_VIOLATION: a new row refers to one of these, which are left for the next pass. */
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

/* Requests that were in flight when the credentials were revoked may have written to tables that were done, so passes follow
 * until one removes nothing. If credentials stay valid, that may never happen: then one pass is enough. */
static const char *end_pass(neo_purge *purge, int *is_over)
{
    *is_over = !purge->is_held_up && (purge->is_data_only || purge->since_pass == 0);
    purge->idle = purge->is_held_up && (purge->is_data_only || purge->since_pass == 0) ? purge->idle + 1 : 0;
    if (purge->idle)
        apr_sleep(RETRY_DELAY);
    purge->table = 0;
    purge->since_pass = 0;
    purge->is_held_up = 0;
    return purge->idle < MAX_IDLE ? NULL : "rows that are not removed refer to the rest, or other sessions keep adding rows";
}

const char *neo_purge_step(neo_purge *purge, apr_pool_t *pool, long long *removed, int *is_over)
{
    *is_over = 0;
    *removed = 0;
    if (purge->table == purge->tables->nelts)
        return end_pass(purge, is_over);
    int is_left;
    const char *error = remove_some(purge, APR_ARRAY_IDX(purge->tables, purge->table, table).name, pool, removed, &is_left);
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
    return error;
}

const char *neo_purge_finish(neo_purge *purge, apr_pool_t *pool)
{
    neo_rows rows;
    if (purge->is_data_only)
        return NULL;
    if (!purge->tenant)
        return neo_pg_query(purge->pg, finish_organization_sql, 1, &purge->organization, pool, &rows);
    /* An organization that was created meanwhile stays, and with it the tenant. */
    const char *values[] = {purge->tenant, purge->organizations};
    neo_pg_status status = neo_pg_exec(purge->pg, finish_tenant_sql, 2, values, pool, &rows);
    return status == NEO_PG_OK             ? NULL
           : status == NEO_PG_FK_VIOLATION ? "another organization or user was added to the tenant during the purge"
                                           : rows.message;
}
