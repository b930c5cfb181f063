/* Statements made from a resource's table, and running them (see store/table.h). */
#include "store/table.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "core/json.h"

#define LIFE_OF_A_KEY "interval '24 hours'"

typedef struct {
    const neo_resource *resource;
    neo_statement *create, *create_once, *read, *read_version, *list_first, *list_next;
    neo_statement *update[2], *delete[2]; /* [1]: only where the row has the version */
} statements;

static statements *made;

/* ---------------------------------------------------------------- pieces of SQL */

static int is_writable(const neo_field *field)
{
    return !(field->flags & NEO_SERVER);
}

/* Adds the writable fields as parameters, the first one being $`next`: "$7, $8", or with names "name = $7, creci = $8". Returns
 * the number after the last. */
static int add_parameters(neo_buf *sql, const neo_resource *resource, int with_names, int next)
{
    const char *between = "";
    for (const neo_field *f = resource->fields; f->name; f++) {
        if (!is_writable(f))
            continue;
        neo_buf_printf(sql, "%s%s%s$%d", between, with_names ? f->name : "", with_names ? " = " : "", next++);
        between = ", ";
    }
    return next;
}

/* Adds the names of the fields that `is_wanted`, each with `before` in front. */
static void add_names(neo_buf *sql, const neo_resource *resource, int (*is_wanted)(const neo_field *), const char *before)
{
    for (const neo_field *f = resource->fields; f->name; f++)
        if (is_wanted(f))
            neo_buf_printf(sql, "%s%s", before, f->name);
}

static int is_in_event(const neo_field *field)
{
    return field->flags & NEO_IN_EVENT;
}

/* What a write gives to the steps after it: the answer, and what events tell. */
static void add_returning(neo_buf *sql, const neo_resource *resource)
{
    neo_buf_puts(sql, " returning t.representation");
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

/* One delivery for each active subscription that wants this event. `stem` and `at` are the parameters with the ids' block and
 * the moment; $1 is the organization; `changed` the step whose rows are told. The last digits of the subscription's id, which
 * no other subscription of the organization has, choose the id in the block: to number the rows would cost as much as to write
 * one. */
static void add_told(neo_buf *sql, const neo_resource *resource, const char *changed, const char *event, const char *stem,
                     const char *at)
{
    neo_buf_printf(sql,
                   ", told as (insert into neoapi.webhook_delivery"
                   " (organization_id, id, subscription_id, event_type, payload, created_at)"
                   " select $1, %s || right(s.id, 4), s.id, '%s.%s', ",
                   stem, resource->name, event);
    add_payload(sql, resource);
    neo_buf_printf(sql,
                   ", %s::timestamptz from %s r join neoapi.webhook_subscription s on s.organization_id = $1 and s.is_active"
                   " and s.events && array['%s.%s', '*'])",
                   at, changed, resource->name, event);
}

/* $1 organization, $2 id, $3 tenant, $4 moment, $5 actor, $6 stem of the deliveries' ids, with `once` $7 credential,
 * $8 idempotency key, $9 the request's hash; then the fields.
 *
 * The key is inserted without `on conflict`: of two requests in flight the second waits, fails on the key, is rolled back whole
 * and reads the first one's answer. */
static neo_statement *make_create(const neo_resource *resource, int once, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 4096);
    neo_buf_printf(&sql,
                   "with created as (insert into neoapi.%s as t (organization_id, id, tenant_id, created_at, updated_at,"
                   " created_by, updated_by",
                   resource->name);
    add_names(&sql, resource, is_writable, ", ");
    neo_buf_puts(&sql, ") select $1, $2, $3, $4::timestamptz, $4::timestamptz, $5, $5, ");
    int next = add_parameters(&sql, resource, 0, once ? 10 : 7);
    if (once)
        neo_buf_puts(&sql, " where not exists (select from neoapi.idempotency_key"
                           " where organization_id = $1 and credential_id = $7 and key = $8::uuid)");
    add_returning(&sql, resource);
    if (once)
        neo_buf_puts(&sql, ", kept as (insert into neoapi.idempotency_key"
                           " (organization_id, credential_id, key, request_hash, status, answer, expires_at)"
                           " select $1, $7, $8::uuid, decode($9, 'hex'), 201, representation,"
                           " now() + " LIFE_OF_A_KEY " from created)");
    add_told(&sql, resource, "created", "created", "$6", "$4");
    neo_buf_puts(&sql, " select representation from created");
    return neo_statement_make(pool, sql.ptr, next - 1, 1);
}

/* $1 organization, $2 id, $3 moment, $4 stem, $5 actor, with `versioned` $6 version; then the fields. */
static neo_statement *make_update(const neo_resource *resource, int versioned, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 4096);
    neo_buf_printf(&sql, "with updated as (update neoapi.%s t set ", resource->name);
    int next = add_parameters(&sql, resource, 1, versioned ? 7 : 6);
    neo_buf_printf(&sql,
                   ", updated_at = greatest($3::timestamptz, t.updated_at), updated_by = $5"
                   " where t.organization_id = $1 and t.id = $2%s",
                   versioned ? " and t.xmin = $6::xid" : "");
    add_returning(&sql, resource);
    add_told(&sql, resource, "updated", "updated", "$4", "$3");
    neo_buf_puts(&sql, " select representation from updated");
    return neo_statement_make(pool, sql.ptr, next - 1, 1);
}

/* $1 organization, $2 id, $3 moment, $4 stem, $5 version */
static neo_statement *make_delete(const neo_resource *resource, int versioned, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 2048);
    neo_buf_printf(&sql, "with deleted as (delete from neoapi.%s t where t.organization_id = $1 and t.id = $2%s returning t.*)",
                   resource->name, versioned ? " and t.xmin = $5::xid" : "");
    add_told(&sql, resource, "deleted", "deleted", "$4", "$3");
    neo_buf_puts(&sql, " select id from deleted");
    return neo_statement_make(pool, sql.ptr, versioned ? 5 : 4, 1);
}

/* $1 organization, then `limit` and, on a further page, `before`; `where` begins with " and" or is empty. A further page also
 * finds out whether the place that it begins at has earlier ones. */
static const char *list_sql(const neo_resource *resource, const char *where, const char *limit, const char *before,
                            apr_pool_t *pool)
{
    const char *of = apr_psprintf(pool, "from neoapi.%s t where t.organization_id = $1%s", resource->name, where);
    if (!before)
        return apr_psprintf(pool, "select t.representation %s order by t.id desc limit %s", of, limit);
    return apr_psprintf(pool,
                        "select p.representation, e.id is not null from (select (select t.id %s and t.id >= %s order by t.id"
                        " limit 1) as id) e left join (select t.representation, t.id %s and t.id < %s order by t.id desc"
                        " limit %s) p on true order by p.id desc",
                        of, before, of, before, limit);
}

static void make(statements *s, const neo_resource *resource, apr_pool_t *pool)
{
    const char *of = apr_psprintf(pool, "from neoapi.%s where organization_id = $1 and id = $2", resource->name);
    s->resource = resource;
    s->create = make_create(resource, 0, pool);
    s->create_once = make_create(resource, 1, pool);
    s->read = neo_statement_make(pool, apr_pstrcat(pool, "select representation ", of, NULL), 2, 0);
    s->read_version = neo_statement_make(pool, apr_pstrcat(pool, "select representation, xmin ", of, NULL), 2, 0);
    for (int versioned = 0; versioned < 2; versioned++) {
        s->update[versioned] = make_update(resource, versioned, pool);
        s->delete[versioned] = make_delete(resource, versioned, pool);
    }
    /* Behind a subquery a value cannot change the plan. Otherwise PostgreSQL would plan every execution anew, because a known
     * LIMIT makes it expect less than one that it does not know, and the planning takes longer than the list. */
    s->list_first = neo_statement_make(pool, list_sql(resource, "", "(select $2::int)", NULL, pool), 2, 0);
    s->list_next = neo_statement_make(pool, list_sql(resource, "", "(select $2::int)", "(select $3)", pool), 3, 0);
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

/* Room for the statement's values; behind the first `own` stand the fields of `body`. */
static const char **values_of(const neo_statement *statement, int own, const neo_resource *resource, const neo_json *body,
                              apr_pool_t *pool)
{
    const char **values = apr_pcalloc(pool, (apr_size_t)statement->params * sizeof *values);
    int next = own;
    for (const neo_field *f = resource->fields; f->name; f++) {
        if (!is_writable(f))
            continue;
        const neo_json *value = neo_json_get(body, f->name);
        if (value)
            values[next] = neo_json_kind_of(value) == NEO_JSON_STRING ? neo_json_string(value) : neo_json_text(value, pool).ptr;
        next++;
    }
    return values;
}

neo_pg_status neo_table_create(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_once *once,
                               const neo_json *body, apr_pool_t *pool, char id[NEO_ID_SIZE], neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], stem[NEO_ID_STEM_SIZE], hash[2 * sizeof once->hash + 1];
    const neo_statement *statement = once ? of(resource)->create_once : of(resource)->create;
    neo_ms_format(now, neo_id_issue(id, resource->prefix));
    neo_id_issue_block(stem, "whd_");
    const char *own[] = {actor->organization,     id,  actor->tenant, now, actor->name, stem, actor->credential,
                         once ? once->key : NULL, hash};
    int count = once ? 9 : 6;
    const char **values = values_of(statement, count, resource, body, pool);
    if (once)
        neo_hex(once->hash, sizeof once->hash, hash);
    memcpy(values, own, (apr_size_t)count * sizeof *own);
    return neo_pg_run(pg, statement, values, pool, rows);
}

neo_pg_status neo_table_read(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id, apr_pool_t *pool,
                             neo_rows *rows)
{
    const char *values[] = {actor->organization, id};
    return neo_pg_run(pg, of(resource)->read, values, pool, rows);
}

neo_pg_status neo_table_read_version(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                                     apr_pool_t *pool, neo_rows *rows)
{
    const char *values[] = {actor->organization, id};
    return neo_pg_run(pg, of(resource)->read_version, values, pool, rows);
}

neo_pg_status neo_table_update(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                               const char *version, const neo_json *body, apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], stem[NEO_ID_STEM_SIZE];
    const neo_statement *statement = of(resource)->update[version != NULL];
    neo_ms_format(now, neo_now_ms());
    neo_id_issue_block(stem, "whd_");
    const char *own[] = {actor->organization, id, now, stem, actor->name, version};
    int count = version ? 6 : 5;
    const char **values = values_of(statement, count, resource, body, pool);
    memcpy(values, own, (apr_size_t)count * sizeof *own);
    return neo_pg_run(pg, statement, values, pool, rows);
}

neo_pg_status neo_table_delete(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const char *id,
                               const char *version, apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], stem[NEO_ID_STEM_SIZE];
    neo_ms_format(now, neo_now_ms());
    neo_id_issue_block(stem, "whd_");
    const char *values[] = {actor->organization, id, now, stem, version};
    return neo_pg_run(pg, of(resource)->delete[version != NULL], values, pool, rows);
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
    parameter(&f, organization, pool);
    const char *at_most = apr_pstrcat(pool, parameter(&f, limit, pool), "::int", NULL);
    const char *before = selection->before ? parameter(&f, selection->before, pool) : NULL;
    for (int i = 0; i < selection->count; i++)
        add_condition(&f, &selection->conditions[i], pool);
    return neo_pg_query(pg, list_sql(resource, f.where.ptr, at_most, before, pool), f.values->nelts,
                        (const char *const *)f.values->elts, pool, rows);
}

neo_pg_status neo_table_list(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_selection *selection,
                             apr_pool_t *pool, neo_rows *rows)
{
    const char *limit = apr_itoa(pool, selection->limit);
    const char *values[] = {actor->organization, limit, selection->before};
    const statements *s = of(resource);
    if (selection->count)
        return list_filtered(pg, resource, actor->organization, selection, limit, pool, rows);
    return neo_pg_run(pg, selection->before ? s->list_next : s->list_first, values, pool, rows);
}
