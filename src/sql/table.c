/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the statements of resources (see sql/table.h). */
#include "sql/table.h"

#include <apr_strings.h>
#include <string.h>

#include "core/json.h"
#include "schema/references.h"
#include "sql/reference.h"
#include "sql/representation.h"
#include "sql/statements.h"
#include "sql/table.sql.h"

/* The parameters of every statement about one row. */
static neo_values bind_actor(const neo_actor *actor, const char *id)
{
    neo_values v = {0};
    v.organization = actor->organization;
    v.tenant = actor->tenant;
    v.actor = actor->name;
    v.request = actor->origin;
    v.credential = actor->credential;
    v.address = actor->address;
    v.id = id;
    return v;
}

static void set_fields(neo_values *v, const neo_resource *resource, const neo_json *body, apr_pool_t *pool)
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
    neo_values v = bind_actor(actor, row->id);
    neo_sql_kind kind = row->times ? (idempotency ? NEO_SQL_IMPORT_KEYED : NEO_SQL_IMPORT)
                                   : (idempotency ? NEO_SQL_CREATE_KEYED : NEO_SQL_CREATE);
    neo_ms_format(now, row->times ? neo_now_ms() : row->created_at);
    neo_id_issue_block(id_block, "whd_");
    v.now = now;
    v.id_block = id_block;
    set_fields(&v, resource, row->body, pool);
    v.secret = row->secret;
    v.private_key = row->keys.private_key;
    v.public_key = row->keys.public_key;
    v.timestamp_field = row->timestamp_field;
    v.target = row->target.id;
    v.target_version = row->target.version;
    v.times = row->times ? neo_json_text(row->times, pool).ptr : NULL;
    neo_representation_set(&v, resource, &(neo_new_values){row->id, now, actor, row->body, row->timestamp_field, row->times},
                           pool);
    neo_idempotency_add(&v, actor, idempotency);
    return neo_sql_run(pg, neo_sql_find(resource, kind), &v, pool, rows);
}

neo_pg_status neo_table_read(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id, apr_pool_t *pool,
                             neo_rows *rows)
{
    neo_values v = bind_actor(actor, id);
    return neo_sql_run(pg, neo_sql_find(resource, NEO_SQL_READ), &v, pool, rows);
}

neo_pg_status neo_table_read_version(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                                     apr_pool_t *pool, neo_rows *rows)
{
    neo_values v = bind_actor(actor, id);
    return neo_sql_run(pg, neo_sql_find(resource, NEO_SQL_READ_VERSION), &v, pool, rows);
}

/* The filter of the field's name has the expression of its index. */
neo_pg_status neo_table_find(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_unique_value *value,
                             const char *id, apr_pool_t *pool, neo_rows *rows)
{
    const neo_filter *filter = neo_filter_named(resource, value->field->name);
    const char *left = filter ? filter->left : apr_pstrcat(pool, "t.", value->field->name, NULL);
    const char *right = filter && filter->right ? filter->right : "%s", *hole = strstr(right, "%s");
    const char *sql =
        apr_pstrcat(pool, "select t.id from ", neo_listed_rows(resource, "$1", pool).from, " and ", left, " = ",
                    apr_pstrmemdup(pool, right, (apr_size_t)(hole - right)), "$2", hole + 2,
                    " and t.id <> $3 and ($4::text is null or ", value->status ? "t.status" : "null", " = $4) limit 1", NULL);
    const char *values[] = {actor->organization, value->value, id, value->status};
    return neo_pg_run(pg, NEO_QUERY(sql, 4), values, pool, rows);
}

/* Update and delete. */
static neo_pg_status change(neo_pg *pg, const neo_sql *sql, neo_values *v, const char *version, apr_pool_t *pool,
                            neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], id_block[NEO_ID_BLOCK_SIZE];
    neo_ms_format(now, neo_now_ms());
    neo_id_issue_block(id_block, "whd_");
    v->now = now;
    v->id_block = id_block;
    v->version = version;
    /* NOLINTNEXTLINE(clang-analyzer-core.StackAddressEscape): the callers do not use the values afterwards */
    return neo_sql_run(pg, sql, v, pool, rows);
}

neo_pg_status neo_table_update(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_change *row,
                               apr_pool_t *pool, neo_rows *rows)
{
    char target_id_block[NEO_ID_BLOCK_SIZE];
    neo_values v = bind_actor(actor, row->id);
    set_fields(&v, resource, row->body, pool);
    v.private_key = row->keys.private_key;
    v.public_key = row->keys.public_key;
    v.timestamp_field = row->timestamp_field;
    v.target = row->target.id;
    v.target_version = row->target.version;
    v.target_status = row->target.status;
    neo_id_issue_block(target_id_block, "whd_");
    v.target_id_block = target_id_block;
    return change(pg, neo_sql_find(resource, row->version ? NEO_SQL_UPDATE_VERSION : NEO_SQL_UPDATE), &v, row->version, pool,
                  rows);
}

neo_pg_status neo_table_delete(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                               const char *version, apr_pool_t *pool, neo_rows *rows)
{
    char cleared_id_block[NEO_ID_BLOCK_SIZE];
    neo_values v = bind_actor(actor, id);
    neo_id_issue_block(cleared_id_block, "whd_");
    v.target_id_block = cleared_id_block; /* for the event of the cleared reference (see sql/reference.h) */
    return change(pg, neo_sql_find(resource, version ? NEO_SQL_DELETE_VERSION : NEO_SQL_DELETE), &v, version, pool, rows);
}

neo_pg_status neo_table_list(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_selection *selection,
                             apr_pool_t *pool, neo_rows *rows)
{
    neo_values v = bind_actor(actor, NULL);
    if (!neo_selection_is_plain(selection)) {
        const neo_listed listed = neo_listed_rows(resource, "$1", pool);
        return neo_page_run(pg, &listed, &actor->organization, 1, selection, pool, rows);
    }
    v.limit = apr_itoa(pool, selection->limit);
    v.before = selection->before;
    return neo_sql_run(pg, neo_sql_find(resource, selection->before ? NEO_SQL_LIST_FURTHER : NEO_SQL_LIST), &v, pool, rows);
}

/* ---------------------------------------------------------------- snapshots */

/* A cursor keeps the memory of both sides small, and lets the server end the transaction of a client that does not continue,
 * which it could not while it sends. */

enum { IS_WITHIN_ORGANIZATION, IS_WITHIN_TENANT, POSITION };

neo_pg_status neo_snapshot_begin(neo_pg *pg, const neo_actor *actor, int seconds, apr_pool_t *pool, neo_snapshot *snapshot)
{
    neo_rows rows;
    const char *values[] = {actor->organization, actor->tenant};
    neo_pg_status status = neo_pg_begin_snapshot(pg, seconds, pool, &rows);
    if (status == NEO_PG_OK)
        status = neo_pg_run(pg, NEO_QUERY(begin_snapshot_sql, 2), values, pool, &rows);
    if (status == NEO_PG_OK)
        *snapshot = (neo_snapshot){neo_rows_is_true(&rows, 0, IS_WITHIN_ORGANIZATION),
                                   neo_rows_is_true(&rows, 0, IS_WITHIN_TENANT), neo_rows_value(&rows, 0, POSITION)};
    return status;
}

neo_pg_status neo_snapshot_fetch(neo_pg *pg, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, NEO_QUERY("fetch " APR_STRINGIFY(NEO_SNAPSHOT_ROWS) " from snapshot", 0), NULL, pool, rows);
}

neo_pg_status neo_table_open_snapshot(neo_pg *pg, const neo_resource *resource, const neo_actor *actor,
                                      const neo_selection *selection, apr_pool_t *pool, neo_rows *rows)
{
    const apr_array_header_t *parameters;
    neo_listed listed = neo_listed_rows(resource, "$1", pool);
    const char *sql = neo_page_all(&listed, &actor->organization, 1, selection, pool, &parameters);
    return neo_pg_run(pg, NEO_QUERY(apr_pstrcat(pool, "declare snapshot no scroll cursor for ", sql, NULL), parameters->nelts),
                      (const char *const *)parameters->elts, pool, rows);
}

/* ---------------------------------------------------------------- what rules read */

#define TODAY       0
#define VALUE(read) (1 + 2 * (read)) /* the column of a resource's representation, or of a row as JSON */
#define XMIN(read)  (2 + 2 * (read)) /* its version, or null */
#define IS_READ(r)  ((r)->resource || (r)->sql)

/* Resources that read the same share a statement. */
static struct {
    const neo_read *reads;
    const neo_statement *statement;
} * made;

static const neo_statement *find_statement(const neo_read *reads)
{
    int i = 0;
    while (made[i].reads && made[i].reads != reads)
        i++;
    return made[i].statement;
}

static neo_statement *make_statement(const neo_read *reads, apr_pool_t *pool)
{
    int parameters = 2;
    const char *values = "", *sources = "";
    for (int i = 0; IS_READ(&reads[i]); i++) {
        const neo_read *r = &reads[i];
        values =
            apr_psprintf(pool, r->resource ? "%s, r%d.representation, r%d.xmin" : "%s, row_to_json(r%d), null", values, i, i);
        sources = r->resource ? apr_psprintf(pool, "%s left join neoapi.%s r%d on r%d.organization_id = $1 and r%d.id = $%d",
                                             sources, neo_table_name(r->resource), i, i, i, ++parameters)
                              : apr_psprintf(pool, "%s left join lateral (%s) r%d on true", sources, r->sql, i);
    }
    return neo_statement_make(pool,
                              apr_pstrcat(pool, "select (now() at time zone 'America/Sao_Paulo')::date", values,
                                          " from (values (1)) one", sources, NULL),
                              parameters, 0);
}

void neo_rule_input_make_statements(apr_pool_t *pool)
{
    int count = 0;
    made = apr_pcalloc(pool, ((apr_size_t)neo_resource_index(NULL) + 1) * sizeof *made);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if ((*r)->reads && !find_statement((*r)->reads)) {
            made[count].statement = make_statement((*r)->reads, pool);
            made[count++].reads = (*r)->reads;
        }
}

neo_pg_status neo_rule_input_read(neo_pg *pg, const neo_actor *actor, neo_rule_input *input, apr_pool_t *pool, neo_rows *rows)
{
    const neo_read *reads = input->resource->reads;
    const neo_resource *target = neo_effect_target(input->resource);
    const char *values[2 + NEO_MAX_READS] = {actor->organization, input->id}, *error;
    int count = 2;
    for (const neo_read *r = reads; IS_READ(r); r++)
        if (r->resource)
            values[count++] = neo_rule_related_id(input, r->resource);
    neo_pg_status status = neo_pg_run(pg, find_statement(reads), values, pool, rows);
    if (status != NEO_PG_OK)
        return status;
    input->today = neo_rows_value(rows, 0, TODAY);
    for (int i = 0; IS_READ(&reads[i]); i++) {
        input->read[i] =
            neo_rows_value(rows, 0, VALUE(i)) ? neo_json_parse(neo_rows_text(rows, 0, VALUE(i)), pool, &error) : NULL;
        if (target && reads[i].resource == target)
            input->read_version = neo_rows_value(rows, 0, XMIN(i));
    }
    return status;
}
