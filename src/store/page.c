/* Paged, filtered lists (see store/page.h). */
#include "store/page.h"

#include <apr_strings.h>
#include <string.h>

#include "core/clock.h"
#include "core/id.h"

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

static const char *moment_value(const neo_filter *filter, const char *prefix, const char *text, apr_pool_t *pool,
                                const char **value)
{
    neo_ms ms;
    char *out = apr_palloc(pool, NEO_ID_SIZE > NEO_MS_TEXT_SIZE ? NEO_ID_SIZE : NEO_MS_TEXT_SIZE);
    if (!neo_ms_parse(text, &ms))
        return "must be a date-time of RFC 3339, such as 2026-01-31T13:45:10.123Z (a plus sign is written %2B in a query)";
    if (filter->value == NEO_VALUE_CREATED_AT)
        neo_id_bound(out, prefix, ms, filter->kind == NEO_FILTER_TO);
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

const char *neo_condition_value(const neo_filter *filter, const char *prefix, const char *text, apr_pool_t *pool,
                                const char **value)
{
    if (!*text)
        return "must not be empty";
    if (filter->value == NEO_VALUE_ENUM)
        return enum_value(filter, text, pool, value);
    if (filter->value == NEO_VALUE_MOMENT || filter->value == NEO_VALUE_CREATED_AT)
        return moment_value(filter, prefix, text, pool, value);
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

const char *neo_page_sql(const neo_listed *listed, const char *where, const char *limit, const char *before, apr_pool_t *pool)
{
    const char *of = apr_pstrcat(pool, "from ", listed->from, where, NULL);
    if (!before)
        return apr_psprintf(pool, "select %s %s order by t.id desc limit %s", listed->answer, of, limit);
    return apr_psprintf(
        pool,
        "select p.answer, e.id is not null from (select (select t.id %s and t.id >= %s order by t.id limit 1) as id) e"
        " left join (select %s as answer, t.id %s and t.id < %s order by t.id desc limit %s) p on true"
        " order by p.id desc",
        of, before, listed->answer, of, before, limit);
}

neo_pg_status neo_page_run(neo_pg *pg, const neo_listed *listed, const char *const *values, int count,
                           const neo_selection *selection, apr_pool_t *pool, neo_rows *rows)
{
    filtering f;
    neo_buf_init(&f.where, pool, 256);
    f.values = apr_array_make(pool, 8, sizeof(const char *));
    for (int i = 0; i < count; i++)
        parameter(&f, values[i], pool);
    const char *limit = apr_pstrcat(pool, parameter(&f, apr_itoa(pool, selection->limit), pool), "::int", NULL);
    const char *before = selection->before ? parameter(&f, selection->before, pool) : NULL;
    for (int i = 0; i < selection->count; i++)
        add_condition(&f, &selection->conditions[i], pool);
    return neo_pg_query(pg, neo_page_sql(listed, f.where.ptr, limit, before, pool), f.values->nelts,
                        (const char *const *)f.values->elts, pool, rows);
}
