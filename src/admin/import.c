/* SPDX-License-Identifier: Apache-2.0 */
/* Imports the resources of an organization (see admin/import.h). */
#include "admin/import.h"

#include <apr_strings.h>
#include <apr_time.h>
#include <stdlib.h>
#include <string.h>

#include "admin/import.sql.h"
#include "admin/import_sql.h"
#include "core/clock.h"
#include "core/id.h"
#include "resources/list.h"
#include "resources/noun.h"
#include "schema/import.h"
#include "schema/references.h"
#include "sql/write.h"

#define MAX_ATTEMPTS 10                 /* after conflicts with others */
#define RETRY_DELAY  APR_TIME_C(300000) /* microseconds */
#define ACTOR        "neoapictl"

struct neo_import {
    neo_pg *pg;
    const char *organization, *tenant;
    neo_import_events events;
    const neo_resource **kinds;
    neo_sql **write;
    neo_sql **references; /* by kind; NULL: its references are foreign keys */
    neo_sql **finish;     /* by kind, of lines that are written; NULL: neither references to later rows nor a finish_function */
    const char *find;
    int kind;         /* index of the one being written or finished */
    int is_finishing; /* all rows are written */
    long long before; /* the last line of the previous batch */
};

/* ---------------------------------------------------------------- begin */

/* Retried, because the server needs a moment to notice that the connection of an interrupted import is lost. */
const char *neo_import_lock(neo_pg *pg, const char *organizations, apr_pool_t *pool)
{
    neo_rows rows;
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        if (neo_pg_exec(pg, lock_sql, 1, &organizations, pool, &rows) != NEO_PG_OK)
            return rows.message;
        if (neo_rows_is_true(&rows, 0, 0))
            return NULL;
        apr_sleep(RETRY_DELAY);
    }
    return "another import into this organization, or a purge of it, is running";
}

static const char *find_tenant(neo_import *import, apr_pool_t *pool)
{
    neo_rows rows;
    const char *error = neo_import_lock(import->pg, apr_pstrcat(pool, "{", import->organization, "}", NULL), pool);
    if (!error)
        error = neo_pg_query(import->pg, "select tenant_id from neoapi.organization where id = $1", 1, &import->organization,
                             pool, &rows);
    if (error)
        return error;
    import->tenant = rows.count ? neo_rows_value(&rows, 0, 0) : NULL;
    return rows.count ? NULL : neo_noun_organization.missing;
}

/* Whether a kind's rows can refer to rows that are written after them. */
static int refers_to_later_kind(const neo_import *import, int kind)
{
    for (int k = kind; import->kinds[k]; k++)
        if (neo_can_refer_to(import->kinds[kind], import->kinds[k]))
            return 1;
    return 0;
}

const char *neo_import_begin(neo_pg *pg, const char *organization, neo_import_events events, apr_pool_t *pool,
                             neo_import **made, const char **tenant)
{
    neo_import *import = apr_pcalloc(pool, sizeof *import);
    neo_rows rows;
    int count = 0;
    *import = (neo_import){.pg = pg, .organization = organization, .events = events, .kinds = neo_import_order(pool)};
    while (import->kinds[count])
        count++;
    import->write = apr_palloc(pool, (apr_size_t)count * sizeof *import->write);
    import->references = apr_pcalloc(pool, (apr_size_t)count * sizeof *import->references);
    import->finish = apr_pcalloc(pool, (apr_size_t)count * sizeof *import->finish);
    for (int k = 0; k < count; k++) {
        import->write[k] = import->kinds[k]->import_function ? neo_import_call_sql(import->kinds[k], pool)
                                                             : neo_write_import(import->kinds[k], events, pool);
        if (!import->kinds[k]->has_foreign_keys)
            import->references[k] = neo_import_references_sql(&import->kinds[k], 0, pool);
        if (import->kinds[k]->finish_function)
            import->finish[k] = neo_import_finish_sql(import->kinds[k], pool);
        else if (refers_to_later_kind(import, k))
            import->finish[k] = neo_import_references_sql(&import->kinds[k], 1, pool);
    }
    import->find = neo_import_find_sql(import->kinds, pool);
    const char *error = find_tenant(import, pool);
    if (!error)
        error = neo_pg_query(import->pg, begin_sql, 0, NULL, pool, &rows);
    *made = import;
    *tenant = import->tenant;
    return error;
}

/* ---------------------------------------------------------------- collect */

static void add_member(neo_buf *out, const char *name, const char *value)
{
    if (!value)
        return;
    neo_buf_printf(out, ",\"%s\":", name);
    neo_buf_json(out, value);
}

const char *neo_import_find(neo_import *import, neo_import_lookup *lookups, int count, apr_pool_t *pool)
{
    neo_buf list;
    neo_rows rows;
    neo_buf_init(&list, pool, (apr_size_t)count * 160 + 2);
    for (int i = 0; i < count; i++) {
        neo_buf_printf(&list, "%c{\"n\":%d,\"kind\":\"%s\"", i ? ',' : '[', i, lookups[i].kind->name);
        add_member(&list, "given", lookups[i].given);
        add_member(&list, "external", lookups[i].external_id);
        add_member(&list, "fresh", lookups[i].id);
        neo_buf_putc(&list, '}');
    }
    neo_buf_putc(&list, ']');
    const char *values[] = {import->organization, list.ptr};
    const char *error = neo_pg_query(import->pg, import->find, 2, values, pool, &rows);
    for (int r = 0; !error && r < rows.count; r++)
        lookups[atoi(neo_rows_value(&rows, r, 0))].id = neo_rows_value(&rows, r, 1);
    return error;
}

static void add_line(const neo_import *import, neo_buf *out, const neo_import_line *line, apr_pool_t *pool)
{
    char id_block[NEO_ID_BLOCK_SIZE];
    neo_buf_printf(out, "%c{\"number\":%lld,\"kind\":\"%s\",\"id\":\"%s\"", out->len ? ',' : '[', line->number,
                   line->kind->name, line->id);
    if (import->events == NEO_IMPORT_WEBHOOKS) {
        neo_id_issue_block(id_block, "whd_");
        neo_buf_printf(out, ",\"id_block\":\"%s\"", id_block);
    }
    if (line->row) {
        neo_text row = neo_json_text(line->row, pool);
        neo_buf_puts(out, ",\"body\":");
        neo_buf_add(out, row.ptr, row.len);
    }
    neo_buf_putc(out, '}');
}

const char *neo_import_collect(neo_import *import, const neo_import_line *lines, int count, apr_pool_t *pool)
{
    neo_buf rows, references;
    neo_rows done;
    neo_buf_init(&rows, pool, (apr_size_t)count * 1024 + 2);
    neo_buf_init(&references, pool, (apr_size_t)count * 256 + 2);
    for (int i = 0; i < count; i++) {
        add_line(import, &rows, &lines[i], pool);
        const apr_array_header_t *all = lines[i].row ? neo_references(lines[i].kind, lines[i].clean, pool) : NULL;
        for (int r = 0; all && r < all->nelts; r++)
            neo_buf_printf(&references, "%c{\"number\":%lld,\"path\":\"%s\",\"target\":\"%s\"}", references.len ? ',' : '[',
                           lines[i].number, APR_ARRAY_IDX(all, r, neo_reference).path,
                           APR_ARRAY_IDX(all, r, neo_reference).target);
    }
    neo_buf_puts(&rows, rows.len ? "]" : "[]");
    neo_buf_puts(&references, references.len ? "]" : "[]");
    const char *values[] = {rows.ptr, references.ptr};
    return neo_pg_query(import->pg, collect_sql, 2, values, pool, &done);
}

/* ---------------------------------------------------------------- validate */

static const char *duplicate_message(const neo_rows *rows, int row, const char *what, apr_pool_t *pool)
{
    const char *first = neo_rows_value(rows, row, 1);
    return first ? apr_psprintf(pool, "is used by the %s on line %s", what, first)
                 : apr_psprintf(pool, "is used by %s, which is not in the file", neo_rows_value(rows, row, 2));
}

static const char *check_index(const neo_import *import, const neo_resource *kind, const neo_rows *index, int row,
                               neo_import_report report, void *data, apr_pool_t *pool)
{
    neo_rows rows;
    const char *status, *name = neo_rows_value(index, row, 0);
    const neo_field *field = neo_unique_field(kind, name, &status);
    const char *sql = neo_import_duplicates_sql(kind, neo_rows_value(index, row, 1), neo_rows_value(index, row, 2),
                                                neo_rows_value(index, row, 3), pool);
    const char *error = neo_pg_query(import->pg, sql, 1, &import->organization, pool, &rows);
    for (int r = 0; !error && r < rows.count; r++)
        report(data, atoll(neo_rows_value(&rows, r, 0)), field ? field->name : name,
               duplicate_message(&rows, r, kind->name, pool));
    return error;
}

static const char *check_unique(const neo_import *import, const neo_resource *kind, neo_import_report report, void *data,
                                apr_pool_t *pool)
{
    neo_rows rows;
    const char *table = apr_psprintf(pool, "neoapi.%s", neo_table_name(kind));
    const char *error = neo_pg_query(import->pg, unique_indexes_sql, 1, &table, pool, &rows);
    for (int r = 0; !error && r < rows.count; r++)
        error = check_index(import, kind, &rows, r, report, data, pool);
    return error;
}

static const char *check_ids(const neo_import *import, neo_import_report report, void *data, apr_pool_t *pool)
{
    neo_rows rows;
    const char *error = neo_pg_query(import->pg, duplicate_ids_sql, 0, NULL, pool, &rows);
    for (int r = 0; !error && r < rows.count; r++)
        report(data, atoll(neo_rows_value(&rows, r, 0)), "id", duplicate_message(&rows, r, "row", pool));
    return error;
}

static const char *check_leads(const neo_import *import, neo_import_report report, void *data, apr_pool_t *pool)
{
    neo_rows rows;
    const char *error = neo_pg_query(import->pg, foreign_leads_sql, 1, &import->organization, pool, &rows);
    for (int r = 0; !error && r < rows.count; r++)
        report(data, atoll(neo_rows_value(&rows, r, 0)), "id", "is used by a lead of another organization");
    return error;
}

const char *neo_import_validate(neo_import *import, neo_import_report report, void *data, apr_pool_t *pool)
{
    neo_rows rows;
    const char *error = neo_pg_query(import->pg, index_sql, 0, NULL, pool, &rows);
    if (!error)
        error = check_ids(import, report, data, pool);
    if (!error)
        error = check_leads(import, report, data, pool);
    for (const neo_resource **k = import->kinds; !error && *k; k++)
        if (!(*k)->import_function) /* which leaves what exists */
            error = check_unique(import, *k, report, data, pool);
    if (!error)
        error = neo_pg_query(import->pg, neo_import_missing_sql(neo_import_kinds, pool), 1, &import->organization, pool, &rows);
    for (int r = 0; !error && r < rows.count; r++)
        report(data, atoll(neo_rows_value(&rows, r, 0)), neo_rows_value(&rows, r, 1),
               "refers to a row that is neither in the file nor in the organization");
    return error ? error : neo_import_check_rules(import->pg, import->organization, report, data, pool);
}

const char *neo_import_store_ids(neo_import *import, apr_pool_t *pool)
{
    neo_rows rows;
    const char *error = neo_pg_query(import->pg, store_ids_sql, 1, &import->organization, pool, &rows);
    while (!error && strcmp(neo_rows_value(&rows, 0, 0), "0") != 0)
        error = neo_pg_query(import->pg, store_ids_sql, 1, &import->organization, pool, &rows);
    return error;
}

/* ---------------------------------------------------------------- write */

static neo_pg_status run(neo_import *import, const neo_sql *sql, const char *since, apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE];
    neo_values v = {0};
    neo_ms_format(now, neo_now_ms());
    v.organization = import->organization;
    v.tenant = import->tenant;
    v.now = now;
    v.actor = ACTOR;
    v.before = apr_ltoa(pool, (long)import->before);
    v.since = since;
    return neo_sql_run(import->pg, sql, &v, pool, rows);
}

static neo_pg_status lock_properties(neo_import *import, apr_pool_t *pool, neo_rows *rows)
{
    const char *refusal = NULL;
    if (import->kinds[import->kind] != &neo_property)
        return NEO_PG_OK;
    neo_pg_status status = neo_import_lock_properties(import->pg, import->organization, apr_ltoa(pool, (long)import->before),
                                                      pool, &refusal, rows);
    if (status != NEO_PG_OK || !refusal)
        return status;
    rows->message = apr_pstrcat(pool, refusal, " This changed during the import", NULL);
    return NEO_PG_FAILED;
}

/* Writes rows, and their references to rows that exist by then, in one transaction. *last is the number of the last line; NULL:
 * there is none left. */
static neo_pg_status write_batch(neo_import *import, apr_pool_t *pool, neo_import_batch *batch, const char **last,
                                 neo_rows *rows)
{
    neo_pg_status status = neo_pg_begin(import->pg, pool, rows);
    *last = NULL;
    if (status == NEO_PG_OK)
        status = lock_properties(import, pool, rows);
    if (status == NEO_PG_OK)
        status = run(import, import->write[import->kind], NULL, pool, rows);
    if (status == NEO_PG_OK && (*last = neo_rows_value(rows, 0, 0))) {
        *batch = (neo_import_batch){.rows = atoll(neo_rows_value(rows, 0, 1)),
                                    .created = atoll(neo_rows_value(rows, 0, 2)),
                                    .updated = atoll(neo_rows_value(rows, 0, 3)),
                                    .skipped = atoll(neo_rows_value(rows, 0, 4))};
        if (import->references[import->kind])
            status = run(import, import->references[import->kind], *last, pool, rows);
    }
    if (status == NEO_PG_OK)
        status = neo_pg_commit(import->pg, pool, rows);
    else
        neo_pg_roll_back(import->pg);
    if (status != NEO_PG_OK)
        *batch = (neo_import_batch){0};
    return status;
}

static void advance_kind(neo_import *import, neo_import_batch *batch)
{
    import->before = 0;
    import->kind++;
    if (!import->kinds[import->kind] && !import->is_finishing) {
        import->is_finishing = 1;
        import->kind = 0;
    }
    while (import->is_finishing && import->kinds[import->kind] && !import->finish[import->kind])
        import->kind++;
    batch->is_done = !import->kinds[import->kind];
}

static const char *explain(neo_pg_status status, const neo_rows *rows, apr_pool_t *pool)
{
    if (status == NEO_PG_UNIQUE_VIOLATION)
        return apr_psprintf(pool, "another row got the same unique value during the import (%s)", rows->constraint);
    if (status == NEO_PG_SCHEMA || status == NEO_PG_UNAVAILABLE) /* the temporary tables were lost with the connection */
        return "the connection to the database was lost";
    if (status == NEO_PG_FK_VIOLATION)
        return "a row that another one refers to was deleted during the import";
    return rows->message;
}

/* Finishes as many lines as a batch of rows has. */
static neo_pg_status finish_batch(neo_import *import, apr_pool_t *pool, const char **last, neo_rows *rows)
{
    const char *values[] = {import->kinds[import->kind]->name, apr_ltoa(pool, (long)import->before)};
    neo_pg_status status = neo_pg_exec(import->pg,
                                       "select max(number) from (select number from import_line where kind = $1"
                                       " and number > $2::bigint order by number limit " NEO_IMPORT_BATCH_ROWS ") l",
                                       2, values, pool, rows);
    *last = status == NEO_PG_OK ? neo_rows_value(rows, 0, 0) : NULL;
    return *last ? run(import, import->finish[import->kind], *last, pool, rows) : status;
}

const char *neo_import_write(neo_import *import, apr_pool_t *pool, neo_import_batch *batch)
{
    neo_rows rows;
    const char *last = NULL;
    neo_pg_status status = NEO_PG_RETRY;
    *batch = (neo_import_batch){0};
    for (int attempt = 0; attempt < MAX_ATTEMPTS && (status == NEO_PG_RETRY || status == NEO_PG_FK_VIOLATION); attempt++)
        status =
            import->is_finishing ? finish_batch(import, pool, &last, &rows) : write_batch(import, pool, batch, &last, &rows);
    if (status != NEO_PG_OK)
        return explain(status, &rows, pool);
    if (last)
        import->before = atoll(last);
    else
        advance_kind(import, batch);
    return NULL;
}
