/* SPDX-License-Identifier: Apache-2.0 */
/* Runs statements that write several rows (see sql/batch.h). */
#include "sql/batch.h"

#include <apr_strings.h>
#include <string.h>

#include "core/json.h"
#include "schema/references.h"
#include "sql/reference.h"
#include "sql/representation.h"

#define GROUP (NEO_WRITE_GROUP | NEO_WRITE_ROWS | NEO_WRITE_LENIENT | NEO_WRITE_IDEMPOTENT)

typedef struct {
    const neo_resource *resource;
    neo_sql *lock_organization, *lock, *lock_targets /* NULL without effects */, *create[2] /* [1]: strict */, *create_group,
        *update, *delete;
} statements;

static statements *made;

/* ---------------------------------------------------------------- generate */

/* Rows are locked in the order of their ids, so that two batches do not deadlock; with the rows that a deletion may clear. */
static neo_sql *make_lock(const neo_resource *resource, apr_pool_t *pool)
{
    const neo_field *mutual = neo_mutual_field(resource);
    const char *partners = mutual ? apr_psprintf(pool,
                                                 " union select p.%s from item join neoapi.%s p on"
                                                 " p.organization_id = {organization} and p.id = item.item_id",
                                                 mutual->name, neo_table_of(resource))
                                  : "";
    return neo_sql_make(
        pool,
        apr_psprintf(pool,
                     "with item as materialized (select * from unnest({item_number[]}::int[], {id[]}::text[]) as i"
                     " (item_number, item_id)),"
                     " wanted as materialized (select item_id as id from item%s)"
                     " select item.item_number, t.representation from wanted join neoapi.%s t"
                     " on t.organization_id = {organization} and t.id = wanted.id"
                     " left join item on item.item_id = t.id order by t.id for no key update of t",
                     partners, neo_table_of(resource)),
        1);
}

static neo_sql *make_lock_targets(const neo_resource *resource, apr_pool_t *pool)
{
    return neo_sql_make(pool,
                        apr_psprintf(pool,
                                     "with item as materialized (select * from unnest({id[]}::text[], {target[]}::text[]) as i"
                                     " (item_id, item_target)),"
                                     " wanted as materialized (select t.%s as id from item join neoapi.%s t"
                                     " on t.organization_id = {organization} and t.id = item.item_id"
                                     " union select item_target from item)"
                                     " select o.id from wanted join neoapi.%s o on o.organization_id = {organization}"
                                     " and o.id = wanted.id order by o.id for no key update of o",
                                     resource->effects->through, neo_table_of(resource),
                                     neo_table_of(neo_effect_target(resource))),
                        1);
}

static neo_sql *make_lock_organization(const neo_resource *resource, apr_pool_t *pool)
{
    return neo_sql_make(
        pool,
        apr_psprintf(pool, "select pg_advisory_xact_lock(hashtext('neoapi.batch.%s'), hashtext({organization}::text))",
                     resource->name),
        1);
}

void neo_batch_make_statements(apr_pool_t *pool)
{
    int count = 0;
    while (neo_resources[count])
        count++;
    made = apr_pcalloc(pool, (apr_size_t)count * sizeof *made);
    statements *s = made;
    for (int i = 0; i < count; i++) {
        const neo_resource *resource = neo_resources[i];
        if (resource->has_batch)
            *s++ = (statements){.resource = resource,
                                .lock_organization = make_lock_organization(resource, pool),
                                .lock = make_lock(resource, pool),
                                .lock_targets = resource->effects ? make_lock_targets(resource, pool) : NULL,
                                .create = {neo_write_create(resource, NEO_WRITE_ROWS | NEO_WRITE_LENIENT, pool),
                                           neo_write_create(resource, NEO_WRITE_ROWS, pool)},
                                .create_group = neo_write_create(resource, GROUP, pool),
                                .update = neo_write_update(resource, NEO_WRITE_ROWS, pool),
                                .delete = neo_write_delete(resource, NEO_WRITE_ROWS, pool)};
    }
}

static const statements *of(const neo_resource *resource)
{
    const statements *s = made;
    while (s->resource != resource)
        s++;
    return s;
}

/* ---------------------------------------------------------------- run */

/* What is written to rows. */
typedef enum { NOTHING, BODY, NEW_BODY } content;

static void set_request(neo_values *v, const neo_actor *actor, const neo_idempotency *idempotency, apr_pool_t *pool)
{
    v->of[NEO_PARAM_ORGANIZATION] = actor->organization;
    v->of[NEO_PARAM_TENANT] = actor->tenant;
    v->of[NEO_PARAM_ACTOR] = actor->name;
    v->of[NEO_PARAM_REQUEST] = actor->request;
    neo_idempotency_add(v, actor, idempotency, pool);
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
    neo_id_issue_block(cleared_block, "whd_");
    v.of[NEO_PARAM_ITEM_NUMBER] = apr_itoa(pool, row->number);
    v.of[NEO_PARAM_ID] = row->id;
    v.of[NEO_PARAM_NOW] = now;
    v.of[NEO_PARAM_ID_BLOCK] = id_block;
    v.of[NEO_PARAM_TARGET_ID_BLOCK] = cleared_block; /* of a deletion */
    v.of[NEO_PARAM_TIMESTAMP_FIELD] = row->timestamp_field;
    v.of[NEO_PARAM_TARGET] = row->target.id;
    if (row->actor)
        set_request(&v, row->actor, row->idempotency, pool);
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
        set_request(v, actor, NULL, pool);
    for (int i = 0; i < count; i++)
        each[i] = row_values(resource, rows[i].actor ? rows[i].actor : actor, &rows[i], written, pool);
    return neo_sql_bind(sql, v, each, count, pool);
}

static neo_pg_status run(neo_pg *pg, const neo_sql *sql, const neo_resource *resource, neo_values *v, const neo_actor *actor,
                         const neo_batch_row *rows, int count, content written, apr_pool_t *pool, neo_rows *result)
{
    neo_bound_sql bound = bind_rows(sql, resource, v, actor, rows, count, written, pool);
    return neo_pg_run(pg, bound.statement, bound.values, pool, result);
}

neo_pg_status neo_batch_lock_organization(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, apr_pool_t *pool,
                                          neo_rows *rows)
{
    neo_values v = {0};
    v.of[NEO_PARAM_ORGANIZATION] = actor->organization;
    return neo_sql_run(pg, of(resource)->lock_organization, &v, pool, rows);
}

neo_pg_status neo_batch_lock_targets(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                     const neo_batch_row *rows, int count, apr_pool_t *pool, neo_rows *locked)
{
    return run(pg, of(resource)->lock_targets, resource, &(neo_values){0}, actor, rows, count, NOTHING, pool, locked);
}

neo_pg_status neo_batch_lock(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_batch_row *rows,
                             int count, apr_pool_t *pool, neo_rows *found)
{
    return run(pg, of(resource)->lock, resource, &(neo_values){0}, actor, rows, count, NOTHING, pool, found);
}

static void add_references(neo_values *v, const neo_resource *resource, const neo_batch_row *rows, int count, apr_pool_t *pool)
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
    const statements *s = of(resource);
    const neo_sql *const sql[] = {
        [NEO_METHOD_CREATE] = s->create[is_strict != 0], [NEO_METHOD_UPDATE] = s->update, [NEO_METHOD_DELETE] = s->delete};
    char id_block[NEO_ID_BLOCK_SIZE];
    neo_values v = {0};
    neo_id_issue_block(id_block, "whd_");
    v.of[NEO_PARAM_TARGET_ID_BLOCK] = id_block; /* of the effect's event */
    v.of[NEO_PARAM_TARGET] = rows[0].target.id;
    v.of[NEO_PARAM_TARGET_VERSION] = rows[0].target.version;
    v.of[NEO_PARAM_TARGET_STATUS] = rows[0].target.status;
    add_references(&v, resource, rows, count, pool);
    return run(pg, sql[method], resource, &v, actor, rows, count, contents[method], pool, written);
}

struct neo_batch_group {
    neo_bound_sql sql;
};

const neo_batch_group *neo_batch_group_make(const neo_resource *resource, const neo_batch_row *rows, int count,
                                            apr_pool_t *pool)
{
    neo_values v = {0};
    neo_batch_group *group = apr_palloc(pool, sizeof *group);
    add_references(&v, resource, rows, count, pool);
    group->sql = bind_rows(of(resource)->create_group, resource, &v, NULL, rows, count, NEW_BODY, pool);
    return group;
}

neo_pg_status neo_batch_create_group(neo_pg *pg, const neo_batch_group *group, apr_pool_t *pool, neo_rows *written)
{
    return neo_pg_try(pg, group->sql.statement, group->sql.values, pool, written);
}
