/* Statements made from a resource's table, and running them (see store/table.h). */
#include "store/table.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"

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

/* Adds `format` for each writable field, its name in the place of every %s. */
static void add_fields(neo_buf *sql, const neo_resource *resource, const char *separator, const char *format)
{
    const char *between = "";
    for (const neo_field *f = resource->fields; f->name; f++) {
        if (!is_writable(f))
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
        between = separator;
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

/* One delivery for each active subscription that wants this event. `stem` and `at` are the parameters with the ids' block and
 * the moment; $1 is the organization; `changed` the step whose rows are told. */
static void add_told(neo_buf *sql, const neo_resource *resource, const char *changed, const char *event, const char *stem,
                     const char *at)
{
    neo_buf_printf(sql,
                   ", told as (insert into neoapi.webhook_delivery"
                   " (organization_id, id, subscription_id, event_type, payload, created_at)"
                   " select $1, neoapi.block_id(%s, row_number() over ()), s.id, '%s.%s', ",
                   stem, resource->name, event);
    add_payload(sql, resource);
    neo_buf_printf(sql,
                   ", %s::timestamptz from %s r join neoapi.webhook_subscription s on s.organization_id = $1 and s.is_active"
                   " and s.events && array['%s.%s', '*'])",
                   at, changed, resource->name, event);
}

/* $1 organization, $2 id, $3 tenant, $4 moment, $5 actor, $6 body, $7 stem of the deliveries' ids, and with `once`
 * $8 credential, $9 idempotency key, $10 the request's hash.
 *
 * The key is inserted without `on conflict`: of two requests in flight the second waits, fails on the key, is rolled back whole
 * and reads the first one's answer. */
static neo_statement *make_create(const neo_resource *resource, int once, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 4096);
    neo_buf_printf(&sql,
                   "with created as (insert into neoapi.%s as t (organization_id, id, tenant_id, created_at, updated_at,"
                   " created_by, updated_by, ",
                   resource->name);
    add_fields(&sql, resource, ", ", "%s");
    neo_buf_puts(&sql, ") select $1, $2, $3, $4::timestamptz, $4::timestamptz, $5, $5, ");
    add_fields(&sql, resource, ", ", "b.%s");
    neo_buf_printf(&sql, " from json_populate_record(null::neoapi.%s, $6::json) b", resource->name);
    if (once)
        neo_buf_puts(&sql, " where not exists (select from neoapi.idempotency_key"
                           " where organization_id = $1 and credential_id = $8 and key = $9::uuid)");
    neo_buf_puts(&sql, " returning t.*)");
    if (once)
        neo_buf_puts(&sql, ", kept as (insert into neoapi.idempotency_key"
                           " (organization_id, credential_id, key, request_hash, status, answer, expires_at)"
                           " select $1, $8, $9::uuid, decode($10, 'hex'), 201, representation,"
                           " now() + " LIFE_OF_A_KEY " from created)");
    add_told(&sql, resource, "created", "created", "$7", "$4");
    neo_buf_puts(&sql, " select representation from created");
    return neo_statement_make(pool, sql.ptr, once ? 10 : 7, 1);
}

/* $1 organization, $2 id, $3 moment, $4 stem, $5 actor, $6 body, $7 version */
static neo_statement *make_update(const neo_resource *resource, int versioned, apr_pool_t *pool)
{
    neo_buf sql;
    neo_buf_init(&sql, pool, 4096);
    neo_buf_printf(&sql, "with updated as (update neoapi.%s t set ", resource->name);
    add_fields(&sql, resource, ", ", "%s = b.%s");
    neo_buf_printf(&sql,
                   ", updated_at = greatest($3::timestamptz, t.updated_at), updated_by = $5"
                   " from json_populate_record(null::neoapi.%s, $6::json) b where t.organization_id = $1 and t.id = $2%s"
                   " returning t.*)",
                   resource->name, versioned ? " and t.xmin = $7::xid" : "");
    add_told(&sql, resource, "updated", "updated", "$4", "$3");
    neo_buf_puts(&sql, " select representation from updated");
    return neo_statement_make(pool, sql.ptr, versioned ? 7 : 6, 1);
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
        return apr_psprintf(pool, "select t.representation, t.id, false %s order by t.id desc limit %s", of, limit);
    return apr_psprintf(pool,
                        "select p.representation, p.id, e.exist from (select exists (select %s and t.id >= %s) as exist) e"
                        " left join (select t.representation, t.id %s and t.id < %s order by t.id desc limit %s) p on true"
                        " order by p.id desc",
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
    s->list_first = neo_statement_make(pool, list_sql(resource, "", "$2::int", NULL, pool), 2, 0);
    s->list_next = neo_statement_make(pool, list_sql(resource, "", "$2::int", "$3", pool), 3, 0);
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

neo_pg_status neo_table_create(neo_pg *pg, const neo_resource *resource, const neo_actor *actor, const neo_once *once,
                               neo_text body, apr_pool_t *pool, char id[NEO_ID_SIZE], neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], stem[NEO_ID_STEM_SIZE], hash[2 * sizeof once->hash + 1];
    const statements *s = of(resource);
    neo_ms_format(now, neo_id_issue(id, resource->prefix));
    neo_id_issue_block(stem, "whd_");
    if (once)
        neo_hex(once->hash, sizeof once->hash, hash);
    const char *values[] = {
        actor->organization, id, actor->tenant, now, actor->name, body.ptr, stem, actor->credential, once ? once->key : NULL,
        once ? hash : NULL};
    return neo_pg_run(pg, once ? s->create_once : s->create, values, pool, rows);
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
                               const char *version, neo_text body, apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], stem[NEO_ID_STEM_SIZE];
    neo_ms_format(now, neo_now_ms());
    neo_id_issue_block(stem, "whd_");
    const char *values[] = {actor->organization, id, now, stem, actor->name, body.ptr, version};
    return neo_pg_run(pg, of(resource)->update[version != NULL], values, pool, rows);
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
