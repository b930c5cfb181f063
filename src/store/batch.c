/* SPDX-License-Identifier: Apache-2.0 */
/* Runs statements that write several rows (see store/batch.h). */
#include "store/batch.h"

#include <apr_strings.h>
#include <string.h>

#include "core/json.h"
#include "model/references.h"
#include "store/reference.h"

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
    return neo_sql_make(pool,
                        apr_psprintf(pool,
                                     "with item as materialized (select * from json_to_recordset({rows}::json) as i"
                                     " (item_number int, item_id text collate \"C\")),"
                                     " wanted as materialized (select item_id as id from item%s)"
                                     " select item.item_number, t.representation from wanted join neoapi.%s t"
                                     " on t.organization_id = {organization} and t.id = wanted.id"
                                     " left join item on item.item_id = t.id order by t.id for no key update of t",
                                     partners, neo_table_of(resource)),
                        1);
}

static neo_sql *make_lock_targets(const neo_resource *resource, apr_pool_t *pool)
{
    const char *through = resource->effects->through;
    return neo_sql_make(pool,
                        apr_psprintf(pool,
                                     "with item as materialized (select * from json_to_recordset({rows}::json) as i"
                                     " (item_id text collate \"C\", item_target text collate \"C\")),"
                                     " wanted as materialized (select t.%s as id from item join neoapi.%s t"
                                     " on t.organization_id = {organization} and t.id = item.item_id"
                                     " union select item_target from item)"
                                     " select o.id from wanted join neoapi.%s o on o.organization_id = {organization}"
                                     " and o.id = wanted.id order by o.id for no key update of o",
                                     through, neo_table_of(resource),
                                     neo_table_of(neo_field_named(resource->fields, through)->refers)),
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

/* Adds the members of a row of a group about its request. */
static void add_request(neo_buf *out, const neo_batch_row *row)
{
    const neo_actor *actor = row->actor;
    neo_buf_printf(out, ",\"item_organization\":\"%s\",\"item_tenant\":\"%s\",\"item_actor\":\"%s\"", actor->organization,
                   actor->tenant, actor->name);
    neo_buf_puts(out, ",\"item_request\":");
    neo_buf_json(out, actor->request);
    if (row->idempotency) {
        char hash[2 * sizeof row->idempotency->hash + 1];
        neo_hex(row->idempotency->hash, sizeof row->idempotency->hash, hash);
        neo_buf_printf(out, ",\"item_credential\":\"%s\",\"item_key\":\"%s\",\"item_hash\":\"%s\"", actor->credential,
                       row->idempotency->key, hash);
    }
}

static void add_row(neo_buf *out, const neo_resource *resource, const neo_batch_row *row, apr_pool_t *pool)
{
    char now[NEO_MS_TEXT_SIZE], id_block[NEO_ID_BLOCK_SIZE];
    neo_ms_format(now, row->now);
    neo_buf_printf(out, "{\"item_number\":%d,\"item_id\":\"%s\",\"item_now\":\"%s\"", row->number, row->id, now);
    if (resource->has_events) {
        neo_id_issue_block(id_block, "whd_");
        neo_buf_printf(out, ",\"item_id_block\":\"%s\"", id_block);
    }
    if (row->timestamp_field)
        neo_buf_printf(out, ",\"item_timestamp_field\":\"%s\"", row->timestamp_field);
    if (row->target.id)
        neo_buf_printf(out, ",\"item_target\":\"%s\"", row->target.id);
    if (!row->body && neo_mutual_field(resource)) {
        neo_id_issue_block(id_block, "whd_");
        neo_buf_printf(out, ",\"item_cleared_block\":\"%s\"", id_block);
    }
    if (row->actor)
        add_request(out, row);
    if (row->body) {
        neo_text body = neo_json_text(row->body, pool); /* without its opening brace */
        neo_buf_putc(out, neo_json_size(row->body) ? ',' : ' ');
        neo_buf_add(out, body.ptr + 1, body.len - 1);
    } else
        neo_buf_putc(out, '}');
}

static const char *rows_of(const neo_resource *resource, const neo_batch_row *rows, int count, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, (apr_size_t)count * 512 + 16);
    for (int i = 0; i < count; i++) {
        neo_buf_putc(&out, i ? ',' : '[');
        add_row(&out, resource, &rows[i], pool);
    }
    neo_buf_putc(&out, ']');
    return out.ptr;
}

static neo_values values_for(const neo_resource *resource, const neo_actor *actor, const neo_batch_row *rows, int count,
                             apr_pool_t *pool)
{
    neo_values v = {0};
    v.of[NEO_PARAM_ORGANIZATION] = actor->organization;
    v.of[NEO_PARAM_TENANT] = actor->tenant;
    v.of[NEO_PARAM_ACTOR] = actor->name;
    v.of[NEO_PARAM_REQUEST] = actor->request;
    v.of[NEO_PARAM_ROWS] = rows_of(resource, rows, count, pool);
    return v;
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
    neo_values v = values_for(resource, actor, rows, count, pool);
    return neo_sql_run(pg, of(resource)->lock_targets, &v, pool, locked);
}

neo_pg_status neo_batch_lock(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_batch_row *rows,
                             int count, apr_pool_t *pool, neo_rows *found)
{
    neo_values v = values_for(resource, actor, rows, count, pool);
    return neo_sql_run(pg, of(resource)->lock, &v, pool, found);
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
    const statements *s = of(resource);
    const neo_sql *const sql[] = {
        [NEO_METHOD_CREATE] = s->create[is_strict != 0], [NEO_METHOD_UPDATE] = s->update, [NEO_METHOD_DELETE] = s->delete};
    char now[NEO_MS_TEXT_SIZE], id_block[NEO_ID_BLOCK_SIZE];
    neo_values v = values_for(resource, actor, rows, count, pool);
    neo_ms_format(now, rows[0].now);
    neo_id_issue_block(id_block, "whd_");
    v.of[NEO_PARAM_NOW] = now; /* of the effect's event, with the next */
    v.of[NEO_PARAM_TARGET_ID_BLOCK] = id_block;
    v.of[NEO_PARAM_TARGET] = rows[0].target.id;
    v.of[NEO_PARAM_TARGET_VERSION] = rows[0].target.version;
    v.of[NEO_PARAM_TARGET_STATUS] = rows[0].target.status;
    add_references(&v, resource, rows, count, pool);
    return neo_sql_run(pg, sql[method], &v, pool, written);
}

struct neo_batch_group {
    const neo_sql *sql;
    neo_values values;
};

const neo_batch_group *neo_batch_group_make(const neo_resource *resource, const neo_batch_row *rows, int count,
                                            apr_pool_t *pool)
{
    neo_batch_group *group = apr_pcalloc(pool, sizeof *group);
    group->sql = of(resource)->create_group;
    group->values.of[NEO_PARAM_ROWS] = rows_of(resource, rows, count, pool);
    add_references(&group->values, resource, rows, count, pool);
    return group;
}

neo_pg_status neo_batch_create_group(neo_pg *pg, const neo_batch_group *group, apr_pool_t *pool, neo_rows *written)
{
    return neo_sql_try(pg, group->sql, &group->values, pool, written);
}
