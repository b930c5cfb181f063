/* Statements made from a resource's table, and running them (see store/table.h). */
#include "store/table.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "store/idempotency.h"

#define THIS_ROW "organization_id = {organization} and id = {id}"

typedef struct {
    const neo_resource *resource;
    neo_sql *create[2]; /* [1]: with an idempotency key */
    neo_sql *read, *read_version, *list_first, *list_next;
    neo_sql *update[2], *delete[2]; /* [1]: only where the row has the version */
} statements;

static statements *made;

/* ---------------------------------------------------------------- pieces of SQL */

static const char *table_of(const neo_resource *resource)
{
    return resource->table ? resource->table : resource->name;
}

static const neo_field *secret_of(const neo_resource *resource)
{
    for (const neo_field *f = resource->fields; f->name; f++)
        if (f->flags & NEO_SECRET)
            return f;
    return NULL;
}

static int is_writable(const neo_field *field)
{
    return !(field->flags & NEO_SERVER);
}

static int is_in_event(const neo_field *field)
{
    return field->flags & NEO_IN_EVENT;
}

/* Adds the names of the fields that `is_wanted`, each with `before` in front. */
static void add_names(neo_buf *sql, const neo_resource *resource, int (*is_wanted)(const neo_field *), const char *before)
{
    for (const neo_field *f = resource->fields; f->name; f++)
        if (is_wanted(f))
            neo_buf_printf(sql, "%s%s", before, f->name);
}

/* Adds the writable fields as parameters: "{field0}, {field1}", or with names "name = {field0}, creci = {field1}". */
static void add_parameters(neo_buf *sql, const neo_resource *resource, int with_names)
{
    int number = 0;
    for (const neo_field *f = resource->fields; f->name; f++)
        if (is_writable(f)) {
            neo_buf_printf(sql, "%s%s%s{field%d}", number ? ", " : "", with_names ? f->name : "", with_names ? " = " : "",
                           number);
            number++;
        }
}

/* What a write gives to the steps after it: the answer, and what events tell. */
static void add_returning(neo_buf *sql, const neo_resource *resource)
{
    neo_buf_puts(sql, secret_of(resource) ? " returning t.representation, t.secret" : " returning t.representation");
    add_names(sql, resource, is_in_event, ", t.");
    neo_buf_putc(sql, ')');
}

static void add_payload(neo_buf *sql, const neo_resource *resource)
{
    const char *between = "";
    neo_buf_puts(sql, "json_strip_nulls(json_build_object(");
    for (const neo_field *f = resource->fields; f->name; f++)
        if (f->flags & NEO_IN_EVENT) {
            neo_buf_printf(sql, f->type == NEO_TIMESTAMP ? "%s'%s', neoapi.instant(r.%s)" : "%s'%s', r.%s", between, f->name,
                           f->name);
            between = ", ";
        }
    neo_buf_puts(sql, "))");
}

/* One delivery for each active subscription that wants to know what happened to the rows of the step of that name; then the
 * statement's answer: `columns` of these rows, and how many deliveries there are. The last digits of the subscription's id,
 * which no other subscription of the organization has, choose the id in the block: to number the rows would cost as much as to
 * write one. */
static void add_told(neo_buf *sql, const neo_resource *resource, const char *happened, const char *columns)
{
    if (!resource->has_events) {
        neo_buf_printf(sql, " select %s, 0 from %s", columns, happened);
        return;
    }
    neo_buf_printf(sql,
                   ", told as (insert into neoapi.webhook_delivery"
                   " (organization_id, id, subscription_id, event_type, payload, created_at)"
                   " select {organization}, {stem} || right(s.id, 4), s.id, '%s.%s', ",
                   resource->name, happened);
    add_payload(sql, resource);
    neo_buf_printf(sql,
                   ", {now}::timestamptz from %s r join neoapi.webhook_subscription s on s.organization_id = {organization}"
                   " and s.is_active and s.events && array['%s.%s', '*'] returning organization_id, id, subscription_id),"
                   " queued as (insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)"
                   " select id, organization_id, subscription_id, now() from told)"
                   " select %s, (select count(*) from told) from %s",
                   happened, resource->name, happened, columns, happened);
}

/* The key is inserted without `on conflict`: of two requests in flight the second waits, fails on the key, is rolled back whole
 * and reads the first one's answer. */
static neo_sql *make_create(const neo_resource *resource, int once, apr_pool_t *pool)
{
    const neo_field *secret = secret_of(resource);
    neo_buf sql;
    neo_buf_init(&sql, pool, 4096);
    neo_buf_printf(&sql,
                   "with created as (insert into neoapi.%s as t (organization_id, id, tenant_id, created_at, updated_at,"
                   " created_by, updated_by%s",
                   table_of(resource), secret ? ", secret" : "");
    add_names(&sql, resource, is_writable, ", ");
    neo_buf_printf(&sql,
                   ") select {organization}, {id}, {tenant}, {now}::timestamptz, {now}::timestamptz, {actor}, {actor}, %s",
                   secret ? "{secret}, " : "");
    add_parameters(&sql, resource, 0);
    neo_buf_puts(&sql, once ? " where " NEO_ONCE_IS_FREE : "");
    add_returning(&sql, resource);
    if (once)
        neo_buf_puts(&sql, secret ? NEO_ONCE_KEEP("201", "representation", "secret", "created")
                                  : NEO_ONCE_KEEP("201", "representation", "null", "created"));
    add_told(&sql, resource, "created", "representation");
    return neo_sql_make(pool, sql.ptr, 1);
}

static neo_sql *make_update(const neo_resource *resource, int versioned, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 4096);
    neo_buf_printf(&sql, "with updated as (update neoapi.%s t set ", table_of(resource));
    add_parameters(&sql, resource, 1);
    neo_buf_printf(&sql,
                   ", updated_at = greatest({now}::timestamptz, t.updated_at), updated_by = {actor}"
                   " where t.organization_id = {organization} and t.id = {id}%s",
                   versioned ? " and t.xmin = {version}::xid" : "");
    add_returning(&sql, resource);
    add_told(&sql, resource, "updated", "representation");
    return neo_sql_make(pool, sql.ptr, 1);
}

static neo_sql *make_delete(const neo_resource *resource, int versioned, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 2048);
    neo_buf_printf(&sql, "with deleted as (delete from neoapi.%s t where " THIS_ROW "%s returning t.*)", table_of(resource),
                   versioned ? " and t.xmin = {version}::xid" : "");
    add_told(&sql, resource, "deleted", "id");
    return neo_sql_make(pool, sql.ptr, 1);
}

static const char *from_of(const neo_resource *resource, const char *organization, apr_pool_t *pool)
{
    return apr_psprintf(pool, "neoapi.%s t where t.organization_id = %s", table_of(resource), organization);
}

static void make(statements *s, const neo_resource *resource, apr_pool_t *pool)
{
    const char *of = apr_psprintf(pool, "from neoapi.%s where " THIS_ROW, table_of(resource));
    s->resource = resource;
    s->read = neo_sql_make(pool, apr_pstrcat(pool, "select representation ", of, NULL), 0);
    s->read_version = neo_sql_make(pool, apr_pstrcat(pool, "select representation, xmin ", of, NULL), 0);
    for (int more = 0; more < 2; more++) {
        s->create[more] = make_create(resource, more, pool);
        s->update[more] = make_update(resource, more, pool);
        s->delete[more] = make_delete(resource, more, pool);
    }
    neo_listed listed = {"t.representation", from_of(resource, "{organization}", pool)};
    /* Behind a subquery a value cannot change the plan. Otherwise PostgreSQL would plan every execution anew, because a known
     * LIMIT makes it expect less than one that it does not know, and the planning takes longer than the list. */
    s->list_first = neo_sql_make(pool, neo_page_sql(&listed, "", "(select {limit}::int)", NULL, pool), 0);
    s->list_next = neo_sql_make(pool, neo_page_sql(&listed, "", "(select {limit}::int)", "(select {before})", pool), 0);
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

/* ---------------------------------------------------------------- running them */

/* What every statement about one row is given. */
static neo_values about(const neo_actor *actor, const char *id)
{
    neo_values v = {0};
    v.of[NEO_PARAM_ORGANIZATION] = actor->organization;
    v.of[NEO_PARAM_TENANT] = actor->tenant;
    v.of[NEO_PARAM_ACTOR] = actor->name;
    v.of[NEO_PARAM_ID] = id;
    return v;
}

/* An array as PostgreSQL reads it; its texts are names of ours, which need no quotes. */
static const char *array_of(const neo_json *list, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 128);
    for (apr_size_t i = 0; i < neo_json_size(list); i++)
        neo_buf_printf(&out, "%c%s", i ? ',' : '{', neo_json_string(neo_json_at(list, i)));
    neo_buf_putc(&out, '}');
    return out.ptr;
}

static void add_fields(neo_values *v, const neo_resource *resource, const neo_json *body, apr_pool_t *pool)
{
    const char **next = &v->of[NEO_PARAM_FIELD];
    for (const neo_field *f = resource->fields; f->name; f++) {
        if (!is_writable(f))
            continue;
        const neo_json *value = neo_json_get(body, f->name);
        if (value)
            *next = f->type == NEO_ENUM_LIST                     ? array_of(value, pool)
                    : neo_json_kind_of(value) == NEO_JSON_STRING ? neo_json_string(value)
                                                                 : neo_json_text(value, pool).ptr;
        next++;
    }
}

neo_pg_status neo_table_create(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_once *once,
                               const neo_new *row, apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], stem[NEO_ID_STEM_SIZE];
    neo_values v = about(actor, row->id);
    neo_ms_format(now, row->created_at);
    neo_id_issue_block(stem, "whd_");
    v.of[NEO_PARAM_NOW] = now;
    v.of[NEO_PARAM_STEM] = stem;
    add_fields(&v, resource, row->body, pool);
    v.of[NEO_PARAM_SECRET] = row->secret;
    neo_once_add(&v, actor, once, pool);
    return neo_sql_run(pg, of(resource)->create[once != NULL], &v, pool, rows);
}

neo_pg_status neo_table_read(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id, apr_pool_t *pool,
                             neo_rows *rows)
{
    neo_values v = about(actor, id);
    return neo_sql_run(pg, of(resource)->read, &v, pool, rows);
}

neo_pg_status neo_table_read_version(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                                     apr_pool_t *pool, neo_rows *rows)
{
    neo_values v = about(actor, id);
    return neo_sql_run(pg, of(resource)->read_version, &v, pool, rows);
}

/* Update and delete. */
static neo_pg_status change(neo_pg *pg, neo_sql *const sql[2], neo_values *v, const char *version, apr_pool_t *pool,
                            neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], stem[NEO_ID_STEM_SIZE];
    neo_ms_format(now, neo_now_ms());
    neo_id_issue_block(stem, "whd_");
    v->of[NEO_PARAM_NOW] = now;
    v->of[NEO_PARAM_STEM] = stem;
    v->of[NEO_PARAM_VERSION] = version;
    return neo_sql_run(pg, sql[version != NULL], v, pool, rows);
}

neo_pg_status neo_table_update(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                               const char *version, const neo_json *body, apr_pool_t *pool, neo_rows *rows)
{
    neo_values v = about(actor, id);
    add_fields(&v, resource, body, pool);
    return change(pg, of(resource)->update, &v, version, pool, rows);
}

neo_pg_status neo_table_delete(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                               const char *version, apr_pool_t *pool, neo_rows *rows)
{
    neo_values v = about(actor, id);
    return change(pg, of(resource)->delete, &v, version, pool, rows);
}

neo_pg_status neo_table_list(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_selection *selection,
                             apr_pool_t *pool, neo_rows *rows)
{
    const statements *s = of(resource);
    neo_values v = about(actor, NULL);
    if (selection->count) {
        neo_listed listed = {"t.representation", from_of(resource, "$1", pool)};
        return neo_page_run(pg, &listed, &actor->organization, 1, selection, pool, rows);
    }
    v.of[NEO_PARAM_LIMIT] = apr_itoa(pool, selection->limit);
    v.of[NEO_PARAM_BEFORE] = selection->before;
    return neo_sql_run(pg, selection->before ? s->list_next : s->list_first, &v, pool, rows);
}
