/* SPDX-License-Identifier: Apache-2.0 */
/* Generates and runs the statements of resources (see sql/table.h). */
#include "sql/table.h"

#include <apr_strings.h>
#include <string.h>

#include "core/json.h"
#include "schema/references.h"
#include "sql/column.h"
#include "sql/reference.h"
#include "sql/representation.h"
#include "sql/snapshot.h"

#define THIS_ROW "organization_id = {organization} and id = {id}"

typedef struct {
    const neo_resource *resource;
    neo_listed listed;
    neo_sql *create[2], *import[2]; /* [1]: with an idempotency key; import: only of resources with transitions */
    neo_sql *read, *read_version, *list_first, *list_next;
    neo_sql *update[2], *delete[2]; /* [1]: only if the row has the version */
} statements;

static statements *made;

/* ---------------------------------------------------------------- generate */

static const char *from_of(const neo_resource *resource, const char *organization, apr_pool_t *pool)
{
    return apr_psprintf(pool, "neoapi.%s t where t.organization_id = %s", neo_table_of(resource), organization);
}

static void make(statements *s, const neo_resource *resource, apr_pool_t *pool)
{
    const char *of = apr_psprintf(pool, "from neoapi.%s where " THIS_ROW, neo_table_of(resource));
    s->resource = resource;
    s->read = neo_sql_make(pool, apr_pstrcat(pool, "select representation ", of, NULL), 0);
    s->read_version = neo_sql_make(pool, apr_pstrcat(pool, "select representation, xmin ", of, NULL), 0);
    for (int more = 0; more < 2; more++) {
        unsigned int key = more ? NEO_WRITE_IDEMPOTENT : 0, version = more ? NEO_WRITE_VERSION : 0;
        s->create[more] = neo_write_create(resource, key, pool);
        s->import[more] = resource->transitions ? neo_write_create(resource, key | NEO_WRITE_HISTORY, pool) : NULL;
        s->update[more] = neo_write_update(resource, version, pool);
        s->delete[more] = neo_write_delete(resource, version, pool);
    }
    s->listed = (neo_listed){.answer = "t.representation", .from = from_of(resource, "$1", pool), .prefix = resource->prefix};
    neo_listed listed = s->listed;
    listed.from = from_of(resource, "{organization}", pool);
    /* The subqueries hide the values from the planner. Otherwise it would plan every execution anew, because a known LIMIT
     * costs less than an unknown one, and planning takes longer than the list. */
    s->list_first = neo_sql_make(pool, neo_page_sql(&listed, "(select {limit}::int)", NULL, pool), 0);
    s->list_next = neo_sql_make(pool, neo_page_sql(&listed, "(select {limit}::int)", "(select {before})", pool), 0);
}

void neo_table_make_statements(apr_pool_t *pool)
{
    int count = 0;
    while (neo_resources[count])
        count++;
    made = apr_pcalloc(pool, (apr_size_t)count * sizeof *made);
    for (int i = 0; i < count; i++)
        make(&made[i], neo_resources[i], pool);
}

static const statements *of(const neo_resource *resource)
{
    const statements *s = made;
    while (s->resource != resource)
        s++;
    return s;
}

/* ---------------------------------------------------------------- run */

/* The parameters of every statement about one row. */
static neo_values values_for(const neo_actor *actor, const char *id)
{
    neo_values v = {0};
    v.of[NEO_PARAM_ORGANIZATION] = actor->organization;
    v.of[NEO_PARAM_TENANT] = actor->tenant;
    v.of[NEO_PARAM_ACTOR] = actor->name;
    v.of[NEO_PARAM_REQUEST] = actor->request;
    v.of[NEO_PARAM_ID] = id;
    return v;
}

static void add_fields(neo_values *v, const neo_resource *resource, const neo_json *body, apr_pool_t *pool)
{
    neo_reference_values references;
    neo_write_set_fields(v, resource, body, pool);
    neo_references_begin(&references, pool);
    neo_references_add(&references, resource, body, 1);
    neo_references_end(&references, v);
}

neo_pg_status neo_table_create(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                               const neo_idempotency *idempotency, const neo_new *row, apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], id_block[NEO_ID_BLOCK_SIZE];
    neo_values v = values_for(actor, row->id);
    neo_sql *const *sql = row->times ? of(resource)->import : of(resource)->create;
    neo_ms_format(now, row->times ? neo_now_ms() : row->created_at);
    neo_id_issue_block(id_block, "whd_");
    v.of[NEO_PARAM_NOW] = now;
    v.of[NEO_PARAM_ID_BLOCK] = id_block;
    add_fields(&v, resource, row->body, pool);
    v.of[NEO_PARAM_SECRET] = row->secret;
    v.of[NEO_PARAM_TIMESTAMP_FIELD] = row->timestamp_field;
    v.of[NEO_PARAM_TIMES] = row->times ? neo_json_text(row->times, pool).ptr : NULL;
    neo_representation_set(&v, resource, &(neo_new_values){row->id, now, actor, row->body, row->timestamp_field, row->times},
                           pool);
    neo_idempotency_add(&v, actor, idempotency, pool);
    return neo_sql_run(pg, sql[idempotency != NULL], &v, pool, rows);
}

neo_pg_status neo_table_read(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id, apr_pool_t *pool,
                             neo_rows *rows)
{
    neo_values v = values_for(actor, id);
    return neo_sql_run(pg, of(resource)->read, &v, pool, rows);
}

neo_pg_status neo_table_read_version(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                                     apr_pool_t *pool, neo_rows *rows)
{
    neo_values v = values_for(actor, id);
    return neo_sql_run(pg, of(resource)->read_version, &v, pool, rows);
}

/* The filter of the field's name has the expression of its index. */
neo_pg_status neo_table_find(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_unique_value *value,
                             const char *id, apr_pool_t *pool, neo_rows *rows)
{
    const neo_filter *filter = neo_filter_named(resource, value->field->name);
    const char *left = filter ? filter->left : apr_pstrcat(pool, "t.", value->field->name, NULL);
    const char *right = filter && filter->right ? filter->right : "%s", *hole = strstr(right, "%s");
    const char *sql =
        apr_pstrcat(pool, "select t.id from ", from_of(resource, "$1", pool), " and ", left, " = ",
                    apr_pstrmemdup(pool, right, (apr_size_t)(hole - right)), "$2", hole + 2,
                    " and t.id <> $3 and ($4::text is null or ", value->status ? "t.status" : "null", " = $4) limit 1", NULL);
    const char *values[] = {actor->organization, value->value, id, value->status};
    return neo_pg_query(pg, sql, 4, values, pool, rows);
}

/* Update and delete. */
static neo_pg_status change(neo_pg *pg, neo_sql *const sql[2], neo_values *v, const char *version, apr_pool_t *pool,
                            neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], id_block[NEO_ID_BLOCK_SIZE];
    neo_ms_format(now, neo_now_ms());
    neo_id_issue_block(id_block, "whd_");
    v->of[NEO_PARAM_NOW] = now;
    v->of[NEO_PARAM_ID_BLOCK] = id_block;
    v->of[NEO_PARAM_VERSION] = version;
    /* NOLINTNEXTLINE(clang-analyzer-core.StackAddressEscape): the callers do not use the values afterwards */
    return neo_sql_run(pg, sql[version != NULL], v, pool, rows);
}

neo_pg_status neo_table_update(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_change *row,
                               apr_pool_t *pool, neo_rows *rows)
{
    const statements *s = of(resource);
    char target_id_block[NEO_ID_BLOCK_SIZE];
    neo_values v = values_for(actor, row->id);
    add_fields(&v, resource, row->body, pool);
    v.of[NEO_PARAM_TIMESTAMP_FIELD] = row->timestamp_field;
    v.of[NEO_PARAM_TARGET] = row->target.id;
    v.of[NEO_PARAM_TARGET_VERSION] = row->target.version;
    v.of[NEO_PARAM_TARGET_STATUS] = row->target.status;
    neo_id_issue_block(target_id_block, "whd_");
    v.of[NEO_PARAM_TARGET_ID_BLOCK] = target_id_block;
    return change(pg, s->update, &v, row->version, pool, rows);
}

neo_pg_status neo_table_delete(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                               const char *version, apr_pool_t *pool, neo_rows *rows)
{
    char cleared_id_block[NEO_ID_BLOCK_SIZE];
    neo_values v = values_for(actor, id);
    neo_id_issue_block(cleared_id_block, "whd_");
    v.of[NEO_PARAM_TARGET_ID_BLOCK] = cleared_id_block; /* of the event of sql/mutual.h */
    return change(pg, of(resource)->delete, &v, version, pool, rows);
}

neo_pg_status neo_table_list(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_selection *selection,
                             apr_pool_t *pool, neo_rows *rows)
{
    const statements *s = of(resource);
    neo_values v = values_for(actor, NULL);
    if (!neo_selection_is_plain(selection))
        return neo_page_run(pg, &s->listed, &actor->organization, 1, selection, pool, rows);
    v.of[NEO_PARAM_LIMIT] = apr_itoa(pool, selection->limit);
    v.of[NEO_PARAM_BEFORE] = selection->before;
    return neo_sql_run(pg, selection->before ? s->list_next : s->list_first, &v, pool, rows);
}

neo_pg_status neo_table_open_snapshot(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                      const neo_selection *selection, apr_pool_t *pool, neo_rows *rows)
{
    const apr_array_header_t *parameters;
    const char *sql = neo_page_all(&of(resource)->listed, &actor->organization, 1, selection, pool, &parameters);
    return neo_snapshot_open(pg, sql, parameters, pool, rows);
}
