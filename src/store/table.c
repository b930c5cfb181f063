/* Statements made from a resource's table, and running them (see store/table.h). */
#include "store/table.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

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

/* Adds `format` for each writable field, its name in the place of every %s. */
static void add_fields(neo_buf *sql, const neo_resource *resource, const char *format)
{
    const char *between = "";
    for (const neo_field *f = resource->fields; f->name; f++) {
        if (f->flags & NEO_SERVER)
            continue;
        neo_buf_puts(sql, between);
        for (const char *from = format, *at; from; from = at) {
            at = strstr(from, "%s");
            neo_buf_add(sql, from, at ? (apr_size_t)(at - from) : strlen(from));
            if (at) {
                neo_buf_puts(sql, f->name);
                at += 2;
            }
        }
        between = ", ";
    }
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
 * statement's answer: `columns` of these rows, and how many deliveries there are. */
static void add_told(neo_buf *sql, const neo_resource *resource, const char *happened, const char *columns)
{
    if (!resource->has_events) {
        neo_buf_printf(sql, " select %s, 0 from %s", columns, happened);
        return;
    }
    neo_buf_printf(sql,
                   ", told as (insert into neoapi.webhook_delivery"
                   " (organization_id, id, subscription_id, event_type, payload, created_at)"
                   " select {organization}, neoapi.block_id({stem}, row_number() over ()), s.id, '%s.%s', ",
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
                   " created_by, updated_by, %s",
                   table_of(resource), secret ? "secret, " : "");
    add_fields(&sql, resource, "%s");
    neo_buf_printf(&sql,
                   ") select {organization}, {id}, {tenant}, {now}::timestamptz, {now}::timestamptz, {actor}, {actor}, %s",
                   secret ? "{secret}, " : "");
    add_fields(&sql, resource, "b.%s");
    neo_buf_printf(&sql, " from json_populate_record(null::neoapi.%s, {body}::json) b%s returning t.*)%s", table_of(resource),
                   once ? " where " NEO_ONCE_IS_FREE : "",
                   !once    ? ""
                   : secret ? NEO_ONCE_KEEP("201", "representation", "secret", "created")
                            : NEO_ONCE_KEEP("201", "representation", "null", "created"));
    add_told(&sql, resource, "created", "representation");
    return neo_sql_make(pool, sql.ptr, 1);
}

static neo_sql *make_update(const neo_resource *resource, int versioned, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 4096);
    neo_buf_printf(&sql, "with updated as (update neoapi.%s t set ", table_of(resource));
    add_fields(&sql, resource, "%s = b.%s");
    neo_buf_printf(&sql,
                   ", updated_at = greatest({now}::timestamptz, t.updated_at), updated_by = {actor}"
                   " from json_populate_record(null::neoapi.%s, {body}::json) b"
                   " where t.organization_id = {organization} and t.id = {id}%s returning t.*)",
                   table_of(resource), versioned ? " and t.xmin = {version}::xid" : "");
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

/* `where` begins with " and" or is empty; `limit` and `before` are parameters, `before` NULL for the first page. A further page
 * also finds out whether the place that it begins at has earlier ones. */
static const char *list_sql(const neo_resource *resource, const char *organization, const char *where, const char *limit,
                            const char *before, apr_pool_t *pool)
{
    const char *of =
        apr_psprintf(pool, "from neoapi.%s t where t.organization_id = %s%s", table_of(resource), organization, where);
    if (!before)
        return apr_psprintf(pool, "select t.representation, t.id, false %s order by t.id desc limit %s::int", of, limit);
    return apr_psprintf(pool,
                        "select p.representation, p.id, e.exist from (select exists (select %s and t.id >= %s) as exist) e"
                        " left join (select t.representation, t.id %s and t.id < %s order by t.id desc limit %s::int) p on true"
                        " order by p.id desc",
                        of, before, of, before, limit);
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
    s->list_first = neo_sql_make(pool, list_sql(resource, "{organization}", "", "{limit}", NULL, pool), 0);
    s->list_next = neo_sql_make(pool, list_sql(resource, "{organization}", "", "{limit}", "{before}", pool), 0);
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

neo_pg_status neo_table_create(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_once *once,
                               const neo_new *row, apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], stem[NEO_ID_STEM_SIZE];
    neo_values v = about(actor, row->id);
    neo_ms_format(now, row->created_at);
    neo_id_issue_block(stem, "whd_");
    v.of[NEO_PARAM_NOW] = now;
    v.of[NEO_PARAM_STEM] = stem;
    v.of[NEO_PARAM_BODY] = row->body.ptr;
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
                               const char *version, neo_text body, apr_pool_t *pool, neo_rows *rows)
{
    neo_values v = about(actor, id);
    v.of[NEO_PARAM_BODY] = body.ptr;
    return change(pg, of(resource)->update, &v, version, pool, rows);
}

neo_pg_status neo_table_delete(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                               const char *version, apr_pool_t *pool, neo_rows *rows)
{
    neo_values v = about(actor, id);
    return change(pg, of(resource)->delete, &v, version, pool, rows);
}

/* ---------------------------------------------------------------- lists */

/* A text as a pattern that finds it anywhere: what LIKE takes for wildcards is escaped. */
static const char *pattern_of(const char *text, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 2 * strlen(text) + 3);
    neo_buf_putc(&out, '%');
    for (; *text; text++) {
        if (strchr("%_\\", *text))
            neo_buf_putc(&out, '\\');
        neo_buf_putc(&out, *text);
    }
    neo_buf_putc(&out, '%');
    return out.ptr;
}

static const char *moment_value(const neo_resource *resource, const neo_filter *filter, const char *text, apr_pool_t *pool,
                                const char **value)
{
    neo_ms ms;
    char *out = apr_palloc(pool, NEO_ID_SIZE > NEO_MS_TEXT_SIZE ? NEO_ID_SIZE : NEO_MS_TEXT_SIZE);
    if (!neo_ms_parse(text, &ms))
        return "must be a date-time of RFC 3339, such as 2026-01-31T13:45:10.123Z (a plus sign is written %2B in a query)";
    if (filter->value == NEO_VALUE_CREATED_AT)
        neo_id_bound(out, resource->prefix, ms, filter->kind == NEO_FILTER_TO);
    else
        neo_ms_format(out, ms);
    *value = out;
    return NULL;
}

static const char *enum_value(const neo_filter *filter, const char *text, apr_pool_t *pool, const char **value)
{
    const char *all = "";
    for (const char *const *v = filter->values; *v; v++) {
        if (strcmp(*v, text) == 0) {
            *value = *v;
            return NULL;
        }
        all = apr_pstrcat(pool, all, *all ? ", " : "", *v, NULL);
    }
    return apr_pstrcat(pool, "must be one of ", all, NULL);
}

const char *neo_condition_value(const neo_resource *resource, const neo_filter *filter, const char *text, apr_pool_t *pool,
                                const char **value)
{
    if (!*text)
        return "must not be empty";
    if (filter->value == NEO_VALUE_ENUM)
        return enum_value(filter, text, pool, value);
    if (filter->value == NEO_VALUE_MOMENT || filter->value == NEO_VALUE_CREATED_AT)
        return moment_value(resource, filter, text, pool, value);
    *value = filter->kind == NEO_FILTER_CONTAINS ? pattern_of(text, pool) : text;
    return NULL;
}

/* What is being put together: the conditions' SQL, and the values of its parameters. */
typedef struct {
    neo_buf where;
    apr_array_header_t *values;
} filtering;

static const char *parameter(filtering *f, const char *value, apr_pool_t *pool)
{
    APR_ARRAY_PUSH(f->values, const char *) = value;
    return apr_psprintf(pool, "$%d", f->values->nelts);
}

static void add_condition(filtering *f, const neo_condition *condition, apr_pool_t *pool)
{
    static const char *const operators[] = {
        [NEO_FILTER_EQUAL] = "in (", [NEO_FILTER_FROM] = ">= (", [NEO_FILTER_TO] = "<= (", [NEO_FILTER_CONTAINS] = "like ("};
    const neo_filter *filter = condition->filter;
    const char *right = filter->right ? filter->right : "%s";
    const char *hole = strstr(right, "%s");
    neo_buf_printf(&f->where, " and %s %s", filter->left, operators[filter->kind]);
    for (int i = 0; i < condition->count; i++)
        neo_buf_printf(&f->where, "%s%.*s%s%s", i ? ", " : "", (int)(hole - right), right,
                       parameter(f, condition->values[i], pool), hole + 2);
    neo_buf_putc(&f->where, ')');
}

/* A filtered list is planned for its very values: how many rows one of them selects decides which index serves it best. */
static neo_pg_status list_filtered(neo_pg *pg, const neo_resource *resource, const char *organization,
                                   const neo_selection *selection, const char *limit, apr_pool_t *pool, neo_rows *rows)
{
    filtering f;
    neo_buf_init(&f.where, pool, 256);
    f.values = apr_array_make(pool, 8, sizeof(const char *));
    const char *owner = parameter(&f, organization, pool), *at_most = parameter(&f, limit, pool);
    const char *before = selection->before ? parameter(&f, selection->before, pool) : NULL;
    for (int i = 0; i < selection->count; i++)
        add_condition(&f, &selection->conditions[i], pool);
    return neo_pg_query(pg, list_sql(resource, owner, f.where.ptr, at_most, before, pool), f.values->nelts,
                        (const char *const *)f.values->elts, pool, rows);
}

neo_pg_status neo_table_list(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_selection *selection,
                             apr_pool_t *pool, neo_rows *rows)
{
    const char *limit = apr_itoa(pool, selection->limit);
    const statements *s = of(resource);
    neo_values v = about(actor, NULL);
    if (selection->count)
        return list_filtered(pg, resource, actor->organization, selection, limit, pool, rows);
    v.of[NEO_PARAM_LIMIT] = limit;
    v.of[NEO_PARAM_BEFORE] = selection->before;
    return neo_sql_run(pg, selection->before ? s->list_next : s->list_first, &v, pool, rows);
}
