/* SPDX-License-Identifier: Apache-2.0 */
/* Runs statements that write several rows (see sql/batch.h). */
#include "sql/batch.h"

#include <apr_strings.h>

#include "schema/references.h"
#include "sql/reference.h"
#include "sql/representation.h"

/* What is written to rows. */
typedef enum { NOTHING, BODY, NEW_BODY } content;

static void set_origin(neo_values *v, const neo_actor *actor, const neo_idempotency *idempotency)
{
    v->organization = actor->organization;
    v->tenant = actor->tenant;
    v->actor = actor->name;
    v->request = actor->origin;
    neo_idempotency_add(v, actor, idempotency);
}

/* The parameters about a row. */
static neo_values row_values(const neo_resource *resource, const neo_actor *actor, const neo_batch_row *row, content written,
                             apr_pool_t *pool)
{
    neo_values v = {0};
    char *now = apr_palloc(pool, NEO_MS_TEXT_SIZE), *id_block = apr_palloc(pool, NEO_ID_BLOCK_SIZE),
         *cleared_block = apr_palloc(pool, NEO_ID_BLOCK_SIZE);
    neo_ms_format(now, row->now);
    neo_id_issue_block(id_block, "whd_");
    if (written == NOTHING)
        neo_id_issue_block(cleared_block, "whd_");
    v.item_number = apr_itoa(pool, row->number);
    v.id = row->id;
    v.now = now;
    v.id_block = id_block;
    v.target_id_block = written == NOTHING ? cleared_block : NULL; /* only a deletion clears references of others */
    v.timestamp_field = row->timestamp_field;
    v.target = row->target.id;
    if (row->actor)
        set_origin(&v, row->actor, row->idempotency);
    if (written != NOTHING)
        neo_write_set_fields(&v, resource, row->body, pool);
    if (written == NEW_BODY)
        neo_representation_set(&v, resource, &(neo_new_values){row->id, now, actor, row->body, row->timestamp_field, NULL},
                               pool);
    return v;
}

static neo_bound_sql bind_rows(const neo_sql *sql, const neo_resource *resource, neo_values *v, const neo_actor *actor,
                               const neo_batch_row *rows, int count, content written, apr_pool_t *pool)
{
    neo_values *each = apr_palloc(pool, (apr_size_t)count * sizeof *each);
    if (actor)
        set_origin(v, actor, NULL);
    for (int i = 0; i < count; i++)
        each[i] = row_values(resource, rows[i].actor ? rows[i].actor : actor, &rows[i], written, pool);
    return neo_sql_bind(sql, v, each, count, pool);
}

static neo_pg_status run_rows(neo_pg *pg, const neo_sql *sql, const neo_resource *resource, neo_values *v,
                              const neo_actor *actor, const neo_batch_row *rows, int count, content written, apr_pool_t *pool,
                              neo_rows *result)
{
    neo_bound_sql bound = bind_rows(sql, resource, v, actor, rows, count, written, pool);
    return neo_pg_run(pg, bound.statement, bound.values, pool, result);
}

neo_pg_status neo_batch_lock_organization(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, apr_pool_t *pool,
                                          neo_rows *rows)
{
    neo_values v = {0};
    v.organization = actor->organization;
    return neo_sql_run(pg, neo_sql_find(resource, NEO_SQL_LOCK_ORGANIZATION), &v, pool, rows);
}

neo_pg_status neo_batch_lock(neo_pg *pg, neo_sql_kind kind, const neo_resource *resource, const neo_actor *actor,
                             const neo_batch_row *rows, int count, apr_pool_t *pool, neo_rows *found)
{
    return run_rows(pg, neo_sql_find(resource, kind), resource, &(neo_values){0}, actor, rows, count, NOTHING, pool, found);
}

static void set_references(neo_values *v, const neo_resource *resource, const neo_batch_row *rows, int count, apr_pool_t *pool)
{
    neo_reference_values references;
    neo_references_begin(&references, pool);
    for (int i = 0; i < count; i++)
        if (rows[i].body)
            neo_references_add(&references, resource, rows[i].body, rows[i].number);
    neo_references_end(&references, v);
}

neo_pg_status neo_batch_write(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, neo_method method,
                              int is_strict, const neo_batch_row *rows, int count, apr_pool_t *pool, neo_rows *written)
{
    static const content contents[] = {
        [NEO_METHOD_CREATE] = NEW_BODY, [NEO_METHOD_UPDATE] = BODY, [NEO_METHOD_DELETE] = NOTHING};
    const neo_sql_kind kinds[] = {[NEO_METHOD_CREATE] = is_strict ? NEO_SQL_CREATE_ROWS_STRICT : NEO_SQL_CREATE_ROWS,
                                  [NEO_METHOD_UPDATE] = NEO_SQL_UPDATE_ROWS,
                                  [NEO_METHOD_DELETE] = NEO_SQL_DELETE_ROWS};
    char id_block[NEO_ID_BLOCK_SIZE];
    neo_values v = {0};
    neo_id_issue_block(id_block, "whd_");
    v.target_id_block = id_block; /* for the effect's event */
    v.target = rows[0].target.id;
    v.target_version = rows[0].target.version;
    v.target_status = rows[0].target.status;
    set_references(&v, resource, rows, count, pool);
    return run_rows(pg, neo_sql_find(resource, kinds[method]), resource, &v, actor, rows, count, contents[method], pool,
                    written);
}

neo_bound_sql neo_batch_group_make(const neo_resource *resource, const neo_batch_row *rows, int count, apr_pool_t *pool)
{
    neo_values v = {0};
    set_references(&v, resource, rows, count, pool);
    return bind_rows(neo_sql_find(resource, NEO_SQL_CREATE_GROUP), resource, &v, NULL, rows, count, NEW_BODY, pool);
}

neo_pg_status neo_batch_create_group(neo_pg *pg, const neo_bound_sql *group, apr_pool_t *pool, neo_rows *written)
{
    return neo_pg_run_as(pg, NEO_PG_OPTIONAL, group->statement, group->values, pool, written);
}
