/* SPDX-License-Identifier: Apache-2.0 */
/* Generates and runs statements that write several rows (see store/batch.h).
 *
 * {rows} is a JSON array of objects: the members of a row's body, and others whose names begin with "item_". {references} is a
 * JSON array of the references in all bodies. */
#include "store/batch.h"

#include <apr_strings.h>
#include <string.h>

#include "core/json.h"
#include "model/references.h"
#include "store/column.h"
#include "store/event.h"
#include "store/mutual.h"
#include "store/reference.h"

#define THIS_ROW        "t.organization_id = {organization} and t.id = item.item_id"
#define HAS_MISSING     "exists (select from missing where missing.item_number = item.item_number)"
#define NEXT_UPDATED_AT NEO_NEXT_UPDATED_AT("item_now", "before")
#define OF_ITEM         "item.item_number, item.item_id_block, item.item_now"

typedef struct {
    const neo_resource *resource;
    neo_sql *lock_organization, *lock, *create[2] /* [1]: strict */, *update, *delete;
} statements;

static statements *made;

/* ---------------------------------------------------------------- generate */

/* Adds the names of the written fields, each after `before`. */
static void add_names(neo_buf *sql, const neo_resource *resource, const char *before)
{
    for (const neo_field *f = resource->fields; f->name; f++)
        if (neo_write_is_parameter(f))
            neo_buf_printf(sql, "%s%s", before, f->name);
}

/* The first CTE: item (item_number, item_id, item_id_block, item_now), followed by the fields of the body. */
static void add_items(neo_buf *sql, const neo_resource *resource, int has_body)
{
    neo_buf_puts(sql, "with item as materialized (select * from json_to_recordset({rows}::json) as i (item_number int,"
                      " item_id text collate \"C\", item_id_block text, item_now timestamptz");
    for (const neo_field *f = resource->fields; has_body && f->name; f++)
        if (neo_write_is_parameter(f))
            neo_buf_printf(sql, ", %s %s", f->name, neo_columns[f->type].type);
    neo_buf_puts(sql, has_body ? ")), " : ", item_cleared_block text)), ");
}

static void add_references(neo_buf *sql, const neo_resource *resource)
{
    if (!neo_has_references(resource))
        return;
    neo_buf_puts(sql, "ref as materialized (select * from json_to_recordset({references}::json)"
                      " as r (item_number int, path text, target text)), ");
    neo_reference_add_missing(sql, resource, "item_number, path");
}

/* The final select: the rows of the CTE `happened`, and the refusals. */
static void add_answer(neo_buf *sql, const neo_resource *resource, const char *happened, const char *column,
                       const char *refusal)
{
    if (resource->has_events)
        neo_event_add(sql, &(neo_event){.resource = resource,
                                        .happened = happened,
                                        .from = happened,
                                        .before = strcmp(happened, "updated") == 0 ? "before" : NULL,
                                        .number = "",
                                        .order = "r.item_number",
                                        .id_block = "r.item_id_block",
                                        .now = "r.item_now"});
    neo_buf_printf(sql, " select %s, %s, null, item_number from %s", column,
                   strcmp(happened, "deleted") == 0 ? neo_mutual_deliveries(resource)
                   : resource->has_events           ? "(select count(*) from queued_deliveries)"
                                                    : "0",
                   happened);
    if (refusal)
        neo_buf_printf(sql, " union all select null, 0, %s", refusal);
}

static neo_sql *make_create(const neo_resource *resource, int is_strict, apr_pool_t *pool)
{
    int refers = neo_has_references(resource);
    neo_buf sql;
    neo_buf_init(&sql, pool, 8192);
    add_items(&sql, resource, 1);
    add_references(&sql, resource);
    neo_buf_printf(&sql,
                   "made as (insert into neoapi.%s as t (organization_id, id, tenant_id, created_at, updated_at, created_by,"
                   " updated_by",
                   neo_table_of(resource));
    add_names(&sql, resource, ", ");
    neo_buf_puts(&sql, ") select {organization}, item_id, {tenant}, item_now, item_now, {actor}, {actor}");
    add_names(&sql, resource, ", item.");
    neo_buf_printf(&sql, " from item%s order by item_number%s", refers ? " where not " HAS_MISSING : "",
                   is_strict ? "" : " on conflict do nothing");
    neo_write_add_returning(&sql, resource);
    neo_buf_puts(&sql, "), created as (select made.*, " OF_ITEM " from made join item on item.item_id = made.id)");
    if (refers)
        neo_buf_puts(&sql, ", stored_references as (insert into neoapi.reference (organization_id, source_id, path, target_id)"
                           " select {organization}, created.id, path, target from created join ref using (item_number))");
    add_answer(&sql, resource, "created", "representation", refers ? "path, item_number from missing" : NULL);
    return neo_sql_make(pool, sql.ptr, 1);
}

static void add_updated_references(neo_buf *sql)
{
    neo_buf_puts(
        sql, ", removed_references as (delete from neoapi.reference r using updated where r.organization_id = {organization}"
             " and r.source_id = updated.id and not exists (select from ref"
             " where ref.item_number = updated.item_number and ref.path = r.path)),"
             " stored_references as (insert into neoapi.reference (organization_id, source_id, path, target_id)"
             " select {organization}, updated.id, path, target from updated join ref using (item_number)"
             " where not exists (select from neoapi.reference r where r.organization_id = {organization}"
             " and r.source_id = updated.id and r.path = ref.path and r.target_id = ref.target)"
             " on conflict (organization_id, source_id, path) do update set target_id = excluded.target_id)");
}

static const char *new_value(const neo_resource *resource, const neo_field *field, int number, apr_pool_t *pool)
{
    (void)resource, (void)number;
    return neo_write_is_parameter(field) ? apr_pstrcat(pool, "item.", field->name, NULL) : NULL;
}

/* Rows that would not change are not written; they are answered as they are. The caller has locked all of them. */
static neo_sql *make_update(const neo_resource *resource, apr_pool_t *pool)
{
    int refers = neo_has_references(resource);
    neo_buf sql;
    neo_buf_init(&sql, pool, 8192);
    add_items(&sql, resource, 1);
    add_references(&sql, resource);
    neo_buf_printf(&sql,
                   "before as materialized (select t.* from item join neoapi.%s t on " THIS_ROW "),"
                   " updated as (update neoapi.%s t set ",
                   neo_table_of(resource), neo_table_of(resource));
    for (const neo_field *f = resource->fields; f->name; f++)
        if (neo_write_is_parameter(f))
            neo_buf_printf(&sql, "%s = item.%s, ", f->name, f->name);
    neo_buf_printf(&sql,
                   "updated_at = " NEXT_UPDATED_AT ", updated_by = {actor}"
                   " from item join before on before.id = item.item_id where " THIS_ROW "%s and ",
                   refers ? " and not " HAS_MISSING : "");
    neo_event_add_differs(&sql, resource, "before", new_value);
    neo_buf_puts(&sql, " returning t.*, " OF_ITEM ")");
    if (refers)
        add_updated_references(&sql);
    add_answer(&sql, resource, "updated", "representation", refers ? "path, item_number from missing" : NULL);
    neo_buf_printf(&sql,
                   " union all select before.representation, 0, null, item_number from before join item"
                   " on item.item_id = before.id where not exists (select from updated where updated.id = before.id)%s",
                   refers ? " and not " HAS_MISSING : "");
    return neo_sql_make(pool, sql.ptr, 1);
}

static neo_sql *make_delete(const neo_resource *resource, apr_pool_t *pool)
{
    int is_target = neo_is_referred_to(resource);
    neo_buf sql;
    neo_buf_init(&sql, pool, 4096);
    add_items(&sql, resource, 0);
    neo_mutual_add_partners(&sql, resource);
    if (is_target) {
        neo_buf_puts(&sql, "used as materialized (select item_number, (");
        neo_reference_add_users(
            &sql, resource, "item.item_id",
            apr_pstrcat(pool,
                        " and not exists (select from item other where other.item_id = r.source_id"
                        " and (other.item_number < item.item_number or exists (select from neoapi.reference back"
                        " where back.organization_id = {organization} and back.source_id = item.item_id"
                        " and back.target_id = other.item_id)))",
                        neo_mutual_but(resource, 1, pool), NULL));
        neo_buf_puts(&sql, ") as users from item), ");
    }
    neo_buf_printf(&sql, "deleted as (delete from neoapi.%s t using item where " THIS_ROW "%s", neo_table_of(resource),
                   is_target ? " and not exists (select from used where used.item_number = item.item_number"
                               " and users is not null)"
                             : "");
    neo_write_add_returning(&sql, resource);
    neo_buf_puts(&sql, ", " OF_ITEM ", item.item_cleared_block)");
    if (neo_has_references(resource))
        neo_buf_puts(&sql, ", removed_references as (delete from neoapi.reference r using deleted"
                           " where r.organization_id = {organization} and r.source_id = deleted.id)");
    neo_mutual_add_cleared(&sql, resource, 1);
    add_answer(&sql, resource, "deleted", "id", is_target ? "users, item_number from used where users is not null" : NULL);
    return neo_sql_make(pool, sql.ptr, 1);
}

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
                                .create = {make_create(resource, 0, pool), make_create(resource, 1, pool)},
                                .update = make_update(resource, pool),
                                .delete = make_delete(resource, pool)};
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

static void add_row(neo_buf *out, const neo_resource *resource, const neo_batch_row *row, apr_pool_t *pool)
{
    char now[NEO_MS_TEXT_SIZE], id_block[NEO_ID_BLOCK_SIZE];
    neo_ms_format(now, row->now);
    neo_buf_printf(out, "{\"item_number\":%d,\"item_id\":\"%s\",\"item_now\":\"%s\"", row->number, row->id, now);
    if (resource->has_events) {
        neo_id_issue_block(id_block, "whd_");
        neo_buf_printf(out, ",\"item_id_block\":\"%s\"", id_block);
    }
    if (!row->body && neo_mutual_field(resource)) {
        neo_id_issue_block(id_block, "whd_");
        neo_buf_printf(out, ",\"item_cleared_block\":\"%s\"", id_block);
    }
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

static const char *references_of(const neo_resource *resource, const neo_batch_row *rows, int count, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 1024);
    for (int i = 0; i < count; i++) {
        const apr_array_header_t *all = rows[i].body ? neo_references(resource, rows[i].body, pool) : NULL;
        for (int n = 0; all && n < all->nelts; n++) {
            const neo_reference *reference = &APR_ARRAY_IDX(all, n, neo_reference);
            neo_buf_printf(&out, "%c{\"item_number\":%d,\"path\":\"%s\",\"target\":\"%s\"}", out.len ? ',' : '[',
                           rows[i].number, reference->path, reference->target);
        }
    }
    neo_buf_puts(&out, out.len ? "]" : "[]");
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

neo_pg_status neo_batch_lock(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_batch_row *rows,
                             int count, apr_pool_t *pool, neo_rows *found)
{
    neo_values v = values_for(resource, actor, rows, count, pool);
    return neo_sql_run(pg, of(resource)->lock, &v, pool, found);
}

neo_pg_status neo_batch_write(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, neo_method method,
                              int is_strict, const neo_batch_row *rows, int count, apr_pool_t *pool, neo_rows *written)
{
    const statements *s = of(resource);
    const neo_sql *const sql[] = {
        [NEO_METHOD_CREATE] = s->create[is_strict != 0], [NEO_METHOD_UPDATE] = s->update, [NEO_METHOD_DELETE] = s->delete};
    neo_values v = values_for(resource, actor, rows, count, pool);
    if (neo_has_references(resource))
        v.of[NEO_PARAM_REFERENCES] = references_of(resource, rows, count, pool);
    return neo_sql_run(pg, sql[method], &v, pool, written);
}
