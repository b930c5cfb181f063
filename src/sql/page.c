/* SPDX-License-Identifier: Apache-2.0 */
/* Generates and runs the SQL of paged, filtered lists (see sql/page.h). */
#include "sql/page.h"

#include <apr_general.h>
#include <apr_strings.h>
#include <string.h>

#include "core/clock.h"
#include "core/encode.h"
#include "core/id.h"
#include "schema/validate.h"
#include "sql/reference.h"

#define TIME_LIMIT_MS 2000

static const char *moment_value(const neo_filter *filter, const char *prefix, const char *text, apr_pool_t *pool,
                                const char **value)
{
    neo_ms ms;
    char *out = apr_palloc(pool, NEO_ID_SIZE > NEO_MS_TEXT_SIZE ? NEO_ID_SIZE : NEO_MS_TEXT_SIZE);
    if (!neo_ms_parse(text, &ms))
        return "must be " NEO_TIMESTAMP_FORM "; write a plus sign as %2B in a query";
    if (filter->value == NEO_VALUE_CREATED_AT)
        neo_id_bound(out, prefix, ms, filter->kind == NEO_FILTER_TO);
    else
        neo_ms_format(out, ms);
    *value = out;
    return NULL;
}

static const char *enum_value(const neo_filter *filter, const char *text, apr_pool_t *pool, const char **value)
{
    for (const char *const *v = filter->values; *v; v++)
        if (strcmp(*v, text) == 0) {
            *value = *v;
            return NULL;
        }
    return apr_pstrcat(pool, "must be ", neo_join_alternatives(filter->values, pool), NULL);
}

/* An id of any kind is accepted: one that the list cannot have is like one that it does not have. */
static int is_any_id(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyz") == NEO_PREFIX_LEN - 1 && text[NEO_PREFIX_LEN - 1] == '_' &&
           neo_id_is(text, text);
}

/* The characters that a part of a text is compared by: without spaces and combining marks (U+0300 to U+036F), which folding
 * removes. */
static int folded_length(const char *text)
{
    int length = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        int is_mark = *c == 0xCC || (*c == 0xCD && c[1] < 0xB0);
        length += *c != ' ' && (*c & 0xC0) != 0x80 && !is_mark;
    }
    return length;
}

const char *neo_condition_value(const neo_filter *filter, const char *prefix, const char *text, apr_pool_t *pool,
                                const char **value)
{
    long long number;
    if (!*text)
        return "must not be empty";
    if (filter->value == NEO_VALUE_ENUM)
        return enum_value(filter, text, pool, value);
    if (filter->value == NEO_VALUE_TIMESTAMP || filter->value == NEO_VALUE_CREATED_AT)
        return moment_value(filter, prefix, text, pool, value);
    if (filter->value == NEO_VALUE_DATE && !neo_date_is_valid(text))
        return "must be " NEO_DATE_FORM;
    if (filter->value == NEO_VALUE_MONTH && !neo_date_is_valid(apr_pstrcat(pool, text, "-01", NULL)))
        return "must be a month (2026-01)";
    if (filter->value == NEO_VALUE_ID && !is_any_id(text))
        return apr_pstrcat(pool, "must be an id (", prefix, "…)", NULL);
    if (filter->value == NEO_VALUE_REFERENCE && !is_any_id(text))
        return "must be an id: three letters, an underscore, and 26 digits and letters";
    if (filter->value == NEO_VALUE_INTEGER && !neo_integer_parse(text, &number))
        return "must be an integer";
    if (filter->kind == NEO_FILTER_CONTAINS && folded_length(text) < NEO_MIN_CONTAINED)
        return apr_psprintf(pool, "must have at least %d characters", NEO_MIN_CONTAINED);
    *value = text;
    return NULL;
}

neo_listed neo_listed_rows(const neo_resource *resource, const char *organization, apr_pool_t *pool)
{
    return (neo_listed){
        .answer = "t.representation",
        .from = apr_psprintf(pool, "neoapi.%s t where t.organization_id = %s", neo_table_name(resource), organization),
        .prefix = resource->prefix};
}

/* ---------------------------------------------------------------- conditions */

/* A statement under construction: the conditions and the values of its parameters. */
typedef struct {
    const neo_listed *listed;
    const neo_order *order;
    apr_pool_t *pool;
    neo_buf where;
    apr_array_header_t *values;
    const char *limit, *before, *position; /* SQL; `before` NULL: the first page */
    int has_total;
    const apr_array_header_t *source; /* see add_source; NULL: the listed table */
    neo_buf range;                    /* the conditions about the time of creation, for the source's ids */
    int conditions;                   /* the number of the others */
    int is_disjoint;                  /* no id is in two of the source's selects */
    int is_source_possible;
    const char *merged; /* a select of values of listed->merged; see select_merged_rows; NULL if there is none */
    const apr_array_header_t *alternatives; /* conditions, one of which must hold; see select_alternatives; NULL: none */
} filtering;

static const char *parameter(filtering *f, const char *value)
{
    APR_ARRAY_PUSH(f->values, const char *) = value;
    return apr_pstrcat(f->pool, "$", apr_itoa(f->pool, f->values->nelts), NULL);
}

/* The text with `value` in the place of each %s. */
static const char *fill(const filtering *f, const char *text, const char *value)
{
    const char *filled = "";
    for (const char *hole; (hole = strstr(text, "%s")); text = hole + 2)
        filled = apr_pstrcat(f->pool, filled, apr_pstrmemdup(f->pool, text, (apr_size_t)(hole - text)), value, NULL);
    return apr_pstrcat(f->pool, filled, text, NULL);
}

static const char *join(const filtering *f, const apr_array_header_t *texts, const char *between)
{
    const char *joined = "";
    for (int i = 0; i < texts->nelts; i++)
        joined = apr_pstrcat(f->pool, joined, i ? between : "", APR_ARRAY_IDX(texts, i, const char *), NULL);
    return joined;
}

/* The values of a condition as the right side of its comparison. */
static const char *right_side(filtering *f, const neo_condition *condition)
{
    const char *right = condition->filter->right ? condition->filter->right : "%s", *all = "";
    for (int i = 0; i < condition->count; i++)
        all = apr_pstrcat(f->pool, all, i ? ", " : "", fill(f, right, parameter(f, condition->values[i])), NULL);
    return all;
}

/* A select of the ids of resources that refer to one of the values from `from` to `to` - 1. A value that is not an id of a kind
 * that can be referred to finds nothing. */
static const char *referring(filtering *f, const neo_condition *condition, int from, int to)
{
    const char *target = "";
    for (int i = from; i < to; i++) {
        const char *column = neo_reference_column(condition->values[i], f->pool), * or = i > from ? " or " : "";
        target = column ? apr_pstrcat(f->pool, target, or, "r.", column, " = ", parameter(f, condition->values[i]), NULL)
                        : apr_pstrcat(f->pool, target, or, "false", NULL);
    }
    return apr_psprintf(f->pool,
                        "select r.source_id from neoapi.reference r where r.organization_id = $1 and (%s)"
                        " and r.source_id > '%s' and r.source_id < '%s~' and r.field = '%s'",
                        target, f->listed->prefix, f->listed->prefix, condition->filter->left);
}

/* Returns the select of ids of each value. */
static apr_array_header_t *source_selects(filtering *f, const neo_condition *condition)
{
    const neo_filter *filter = condition->filter;
    apr_array_header_t *all = apr_array_make(f->pool, condition->count, sizeof(const char *));
    for (int i = 0; i < condition->count; i++) {
        if (filter->kind == NEO_FILTER_REFERS)
            APR_ARRAY_PUSH(all, const char *) = referring(f, condition, i, i + 1);
        for (int v = 0; filter->kind == NEO_FILTER_SOURCES && filter->values[v]; v++)
            if (strcmp(filter->values[v], condition->values[i]) == 0)
                APR_ARRAY_PUSH(all, const char *) =
                    apr_pstrcat(f->pool, "select r.source_id from (", filter->sources[v], ") r where true", NULL);
    }
    return all;
}

/* The union of these selects, restricted by `bound`. Each is ordered like its index, so that they are merged, not sorted. */
static const char *union_all(const filtering *f, const apr_array_header_t *all, const char *bound, const char *order)
{
    neo_buf sql;
    neo_buf_init(&sql, f->pool, 512);
    for (int i = 0; i < all->nelts; i++)
        neo_buf_printf(&sql, "%s(%s%s%s)", i ? " union all " : "", APR_ARRAY_IDX(all, i, const char *), bound, order);
    return sql.ptr;
}

/* The first condition about references becomes the source of the list, read in the index's order, so that a page reads only the
 * references on it, however many there are. So does a condition with sources if there is no other one, except about the time of
 * creation, which also holds for the source's ids. Otherwise they are ordinary conditions, also if the list is not in the order
 * of ids or has few: then the planner chooses the first index, which it cannot with a union or an order. */
static void add_source(filtering *f, const neo_condition *condition)
{
    int has_sources = condition->filter->kind == NEO_FILTER_SOURCES;
    if (!has_sources && !f->is_source_possible) {
        neo_buf_printf(&f->where, " and t.id in (%s)", referring(f, condition, 0, condition->count));
        return;
    }
    apr_array_header_t *all = source_selects(f, condition);
    if (f->source || (has_sources && f->conditions > 1))
        neo_buf_printf(&f->where, " and t.id in (%s)", union_all(f, all, "", has_sources ? "" : " order by r.source_id desc"));
    else {
        f->source = all;
        f->is_disjoint = has_sources;
    }
}

/* The values, without repetitions, of which the list has rows. */
static const char *merged_values(filtering *f, const neo_condition *condition)
{
    const char *all = "";
    for (int i = 0; i < condition->count; i++)
        all = apr_pstrcat(f->pool, all, i ? ", " : "", parameter(f, condition->values[i]), NULL);
    const char *restriction = f->listed->values ? apr_pstrcat(f->pool, " intersect ", f->listed->values, NULL) : "";
    return apr_pstrcat(f->pool, "select distinct unnest(array[", all, "]::text[])", restriction, NULL);
}

/* Without a page, the conditions are ordinary ones. */
static void add_alternatives(filtering *f, const neo_filter *filter, const char *comparison)
{
    apr_array_header_t *all = apr_array_make(f->pool, 2, sizeof(const char *));
    for (const char *const *a = filter->alternatives; *a; a++)
        APR_ARRAY_PUSH(all, const char *) = fill(f, *a, comparison);
    if (f->limit && !f->order->column)
        f->alternatives = all;
    else
        neo_buf_puts(&f->where, apr_pstrcat(f->pool, " and (", join(f, all, " or "), ")", NULL));
}

/* Makes a text a LIKE pattern that finds it anywhere. Wildcards are escaped after the text was normalized, because that can
 * produce them: U+FF05 becomes a percent sign. */
#define ANYWHERE      "like ('%' || replace(replace(replace("
#define ANYWHERE_ENDS ", E'\\\\', E'\\\\\\\\'), '%', E'\\\\%'), '_', E'\\\\_') || '%')"

static void add_condition(filtering *f, const neo_condition *condition)
{
    static const char *const operators[][2] = {[NEO_FILTER_EQUAL] = {"in (", ")"},
                                               [NEO_FILTER_MERGED] = {"in (", ")"},
                                               [NEO_FILTER_FROM] = {">= (", ")"},
                                               [NEO_FILTER_TO] = {"<= (", ")"},
                                               [NEO_FILTER_CONTAINS] = {ANYWHERE, ANYWHERE_ENDS},
                                               [NEO_FILTER_OVERLAPS] = {"&& array[", "]"},
                                               [NEO_FILTER_SELECTED] = {"in (", ")"}};
    const neo_filter *filter = condition->filter;
    if (filter->kind == NEO_FILTER_REFERS || filter->kind == NEO_FILTER_SOURCES) {
        add_source(f, condition);
        return;
    }
    if (filter->kind == NEO_FILTER_MERGED && f->listed->merged && (condition->count > 1 || f->listed->values)) {
        f->merged = merged_values(f, condition);
        return;
    }
    const char *selection = filter->selection, *const *ends = operators[filter->kind];
    const char *comparison = apr_pstrcat(f->pool, ends[0], right_side(f, condition), ends[1], NULL);
    if (filter->alternatives) {
        add_alternatives(f, filter, comparison);
        return;
    }
    if (filter->kind == NEO_FILTER_SELECTED)
        comparison = apr_pstrcat(f->pool, "= any (array(", fill(f, selection, comparison), "))", NULL);
    else if (selection)
        comparison = apr_pstrcat(f->pool, "in (", fill(f, selection, comparison), ")", NULL);
    neo_buf_puts(&f->where, apr_pstrcat(f->pool, " and ", filter->left, " ", comparison, NULL));
    if (filter->value == NEO_VALUE_CREATED_AT)
        neo_buf_puts(&f->range, apr_pstrcat(f->pool, " and r.source_id ", comparison, NULL));
}

/* ---------------------------------------------------------------- pages */

/* The ids of the source without repetitions. The planner makes a plan for all rows of a subquery, unless it has a limit, which
 * it can have if no other condition discards rows. A single disjoint select needs none: the planner merges it into the
 * query. */
static const char *select_ids(const filtering *f, const char *bound, const char *direction, const char *limit)
{
    const char *order = apr_pstrcat(f->pool, " order by r.source_id ", direction, NULL);
    if (f->is_disjoint && f->source->nelts == 1)
        return apr_pstrcat(f->pool, APR_ARRAY_IDX(f->source, 0, const char *), bound, NULL);
    if (f->is_disjoint)
        return union_all(f, f->source, bound, apr_pstrcat(f->pool, order, " limit ", limit, NULL));
    return apr_psprintf(f->pool, "select distinct on (r.source_id) r.source_id from (%s) r%s",
                        union_all(f, f->source, bound, order), order);
}

/* The ids of the rows for which one of the alternatives holds: of each no more than the page has. The planner chooses for each
 * whether its index finds few rows, or so many that it is faster to test the rows in the order of the page. */
static const char *select_alternatives(const filtering *f, const char *bound, const char *direction, const char *limit)
{
    apr_array_header_t *all = apr_array_make(f->pool, 2, sizeof(const char *));
    for (int i = 0; i < f->alternatives->nelts; i++)
        APR_ARRAY_PUSH(all, const char *) =
            apr_psprintf(f->pool, "(select t.id as source_id from %s%s and %s%s order by t.id%s limit %s)", f->listed->from,
                         f->where.ptr, APR_ARRAY_IDX(f->alternatives, i, const char *), bound, direction, limit);
    return join(f, all, " union ");
}

/* The listed rows that are after the cursor, or up to it. */
typedef enum { LATER, EARLIER } side;

/* A condition of this side: " and t.id < $3"; "" without a cursor. */
static const char *cursor_condition(const filtering *f, const char *id, side which, int is_descending)
{
    const char *comparison = is_descending ? "<" : ">", *or_equal = which == EARLIER ? "=" : "";
    if (!f->before)
        return "";
    if (!f->order->column)
        return apr_pstrcat(f->pool, " and ", id, " ", comparison, or_equal, " ", f->before, NULL);
    return apr_psprintf(f->pool, " and (%s, %s) %s%s (timestamptz 'epoch' + %s::bigint * interval '1 microsecond', %s)",
                        f->order->column, id, comparison, or_equal, f->position, f->before);
}

/* A select of one side. If its rows have one of several merged values, it selects of each value no more than the page has, in
 * the order of its index: a plain condition would make the planner sort all these rows, or read all others in the order of ids.
 * If it has a source of ids, each row is looked up by its id: `offset 0` keeps the planner from reversing the join. */
static const char *select_rows(const filtering *f, const char *columns, side which, const char *limit)
{
    apr_pool_t *pool = f->pool;
    int is_descending = f->order->is_descending != (which == EARLIER);
    const char *direction = is_descending ? " desc" : " asc", *column = f->order->column;
    const char *bound = cursor_condition(f, f->source ? "r.source_id" : "t.id", which, is_descending);
    if (f->merged)
        return apr_psprintf(pool,
                            "select %s from (%s) m (value)"
                            " cross join lateral (select t.* from %s%s and %s = m.value%s order by t.id%s limit %s) t"
                            " order by t.id%s limit %s",
                            columns, f->merged, f->listed->from, f->where.ptr, f->listed->merged, bound, direction, limit,
                            direction, limit);
    if (!f->source && !f->alternatives)
        return apr_pstrcat(pool, "select ", columns, " from ", f->listed->from, f->where.ptr, bound, " order by ",
                           column ? column : "", column ? direction : "", column ? ", " : "", "t.id", direction, " limit ",
                           limit, NULL);
    return apr_psprintf(pool,
                        "select %s from (%s) r"
                        " cross join lateral (select t.* from %s and t.id = r.source_id%s offset 0) t"
                        " order by r.source_id%s limit %s",
                        columns,
                        f->alternatives ? select_alternatives(f, bound, direction, limit)
                                        : select_ids(f, apr_pstrcat(pool, f->range.ptr, bound, NULL), direction, limit),
                        f->listed->from, f->where.ptr, direction, limit);
}

/* The columns NEO_PAGE_POSITION and NEO_PAGE_TOTAL. The rows are counted in the order of ids, for which each filter's index
 * is: without an order the planner would read the whole table, which can have few rows of the organization. */
static const char *position_column(const filtering *f)
{
    return f->order->column ? apr_psprintf(f->pool, "(extract(epoch from %s) * 1000000)::bigint", f->order->column) : "null";
}

static const char *total_column(const filtering *f)
{
    filtering all = *f;
    all.order = neo_orders;
    all.before = NULL;
    return f->has_total ? apr_psprintf(f->pool, "(select count(*) from (%s) c)",
                                       select_rows(&all, "t.id", LATER, APR_STRINGIFY(NEO_MAX_TOTAL) " + 1"))
                        : "null";
}

static const char *further_page(const filtering *f)
{
    const char *direction = f->order->is_descending ? " desc" : "";
    const char *columns =
        apr_pstrcat(f->pool, f->listed->answer, " as answer, t.id, ", position_column(f), " as position", NULL);
    return apr_psprintf(f->pool,
                        "select p.answer, e.id is not null, p.position, %s from (select (%s) as id) e"
                        " left join (%s) p on true order by %s%s%sp.id%s",
                        total_column(f), select_rows(f, "t.id", EARLIER, "1"), select_rows(f, columns, LATER, f->limit),
                        f->order->column ? "p.position" : "", f->order->column ? direction : "", f->order->column ? ", " : "",
                        direction);
}

static const char *page_sql(const filtering *f)
{
    const char *answer = f->listed->answer;
    if (f->listed->head)
        return apr_psprintf(f->pool, "%s select p.answer, h.* from head h left join (%s) p on true order by p.id",
                            f->listed->head,
                            select_rows(f, apr_pstrcat(f->pool, answer, " as answer, t.id", NULL), LATER, f->limit));
    if (f->before)
        return further_page(f);
    int is_plain = !f->order->column && !f->has_total;
    const char *more = is_plain ? "" : apr_pstrcat(f->pool, ", false, ", position_column(f), ", ", total_column(f), NULL);
    return select_rows(f, apr_pstrcat(f->pool, answer, more, NULL), LATER, f->limit);
}

static void init_filtering(filtering *f, const neo_listed *listed, const neo_order *order, apr_pool_t *pool)
{
    *f = (filtering){.listed = listed, .order = order, .pool = pool, .merged = listed->values};
    f->values = apr_array_make(pool, 8, sizeof(const char *));
    neo_buf_init(&f->where, pool, 256);
    neo_buf_init(&f->range, pool, 64);
}

const char *neo_page_sql(const neo_listed *listed, const char *limit, const char *before, apr_pool_t *pool)
{
    filtering f;
    init_filtering(&f, listed, neo_orders, pool);
    f.limit = limit;
    f.before = before;
    return page_sql(&f);
}

int neo_selection_is_plain(const neo_selection *selection)
{
    return !selection->count && selection->order == neo_orders && !selection->has_total;
}

/* Starts a statement with the values of the parameters in `from`. A list of few ids looks these up, not a source of ids. */
static void init_with_values(filtering *f, const neo_listed *listed, const char *const *values, int count,
                             const neo_selection *selection, apr_pool_t *pool)
{
    init_filtering(f, listed, selection->order, pool);
    f->is_source_possible = !f->order->column;
    f->has_total = selection->has_total;
    for (int i = 0; i < selection->count; i++) {
        f->conditions += selection->conditions[i].filter->value != NEO_VALUE_CREATED_AT;
        f->is_source_possible &= selection->conditions[i].filter->value != NEO_VALUE_ID;
    }
    for (int i = 0; i < count; i++)
        parameter(f, values[i]);
}

static void add_conditions(filtering *f, const neo_selection *selection)
{
    for (int i = 0; i < selection->count; i++)
        add_condition(f, &selection->conditions[i]);
}

/* The condition with force_custom_plan makes PostgreSQL plan a prepared statement for the values of each execution. After five
 * executions it would use a generic plan if that is as good on average, but organizations differ by orders of magnitude. In a
 * generic plan this condition includes a function with a very high cost; with the value false it is optimized away. */
neo_pg_status neo_page_run(neo_pg *pg, const neo_listed *listed, const char *const *values, int count,
                           const neo_selection *selection, apr_pool_t *pool, neo_rows *rows)
{
    filtering f;
    int is_prepared = 1; /* saves parsing, which pays only for texts that recur: those with one value for each filter */
    for (int i = 0; i < selection->count; i++)
        is_prepared &= selection->conditions[i].count <= 1;
    init_with_values(&f, listed, values, count, selection, pool);
    f.limit = apr_pstrcat(pool, parameter(&f, apr_itoa(pool, selection->limit)), "::int", NULL);
    f.before = selection->before ? parameter(&f, selection->before) : NULL;
    f.position = f.before && f.order->column ? parameter(&f, selection->position) : NULL;
    add_conditions(&f, selection);
    if (is_prepared && !listed->head)
        neo_buf_puts(&f.where,
                     apr_pstrcat(pool, " and (not ", parameter(&f, "false"), "::boolean or neoapi.force_custom_plan())", NULL));
    neo_statement statement = {.sql = page_sql(&f), .params = f.values->nelts};
    if (selection->count || selection->has_total) /* without filters an index gives the page in each order */
        statement.time_limit = TIME_LIMIT_MS;
    if (is_prepared)
        neo_statement_prepare_on_demand(&statement);
    return neo_pg_run(pg, &statement, (const char *const *)f.values->elts, pool, rows);
}

const char *neo_page_all(const neo_listed *listed, const char *const *values, int count, const neo_selection *selection,
                         apr_pool_t *pool, const apr_array_header_t **parameters)
{
    filtering f;
    init_with_values(&f, listed, values, count, selection, pool);
    add_conditions(&f, selection);
    *parameters = f.values;
    return select_rows(&f, listed->answer, LATER, "all");
}
