/* SPDX-License-Identifier: Apache-2.0 */
/* Lists: reads limit, filters and cursor, and makes a page with page_info and the Link header. */
#include <apr_escape.h>
#include <apr_general.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "core/encode.h"
#include "list.h"
#include "schema/validate.h"

#define DEFAULT_LIMIT 25
#define MAX_LIMIT     100
#define MAX_VALUES    100 /* for one filter */

/* The prefix of the ids in the list. */
static const char *id_prefix(const neo_call *call)
{
    return call->match.operation->prefix ? call->match.operation->prefix : call->match.resource->prefix;
}

static int read_limit(neo_call *call, neo_problem **problem)
{
    const char *text = apr_table_get(call->query, "limit");
    long long limit = DEFAULT_LIMIT;
    if (text && (!neo_integer_parse(text, &limit) || limit < 1 || limit > MAX_LIMIT))
        neo_problem_field(problem, call->pool, NEO_VALIDATION_LIMIT_OUT_OF_RANGE, "", "limit",
                          "must be an integer from 1 to %d", MAX_LIMIT);
    return (int)limit;
}

/* Adds the value, or the values that it expands to. Returns NULL or an error. */
static const char *read_value(neo_call *call, const neo_filter *filter, const char *text, apr_array_header_t *values)
{
    const char *const *all = filter->expand ? filter->expand(text, call->pool) : NULL;
    for (const char *const *v = all; v && *v; v++)
        APR_ARRAY_PUSH(values, const char *) = *v;
    if (all)
        return NULL;
    const char *error = neo_condition_value(filter, id_prefix(call), text, call->pool, &APR_ARRAY_PUSH(values, const char *));
    if (error && neo_filter_accepts_several(filter) && strchr(text, ','))
        return apr_pstrcat(call->pool, error, "; a comma between values must not be percent-encoded", NULL);
    return error;
}

/* Returns NULL and sets *condition, or returns the error of a value. */
static const char *read_filter_values(neo_call *call, const neo_filter *filter, const char *const *texts, int count,
                                      neo_condition *condition)
{
    apr_array_header_t *values = apr_array_make(call->pool, count, sizeof(const char *));
    const char *error = count > MAX_VALUES ? apr_psprintf(call->pool, "must have at most %d values", MAX_VALUES) : NULL;
    for (int i = 0; i < count && !error; i++)
        error = read_value(call, filter, texts[i], values);
    *condition = (neo_condition){filter, (const char *const *)values->elts, values->nelts};
    return error;
}

static void read_filters(neo_call *call, const neo_filter *filters, neo_listing *list, neo_problem **problem)
{
    for (const neo_filter *f = filters; f && f->name; f++) {
        int count;
        const char *const *texts = neo_call_values(call, f->name, &count);
        if (!count)
            continue;
        const char *error = read_filter_values(call, f, texts, count, &APR_ARRAY_PUSH(list->conditions, neo_condition));
        if (error)
            neo_problem_field(problem, call->pool, NEO_VALIDATION_PARAMETER_INVALID, "", f->name, "%s", error);
        for (int i = 0; i < count; i++)
            neo_buf_puts(&list->filters, apr_pstrcat(call->pool, i ? "" : "&", i ? "" : f->name, i ? "," : "=",
                                                     apr_pescape_urlencoded(call->pool, texts[i]), NULL));
    }
}

static void read_all_filters(neo_call *call, neo_listing *list, neo_problem **problem)
{
    list->conditions = apr_array_make(call->pool, 4, sizeof(neo_condition));
    neo_buf_init(&list->filters, call->pool, 64);
    if (call->match.operation->filters)
        read_filters(call, call->match.operation->filters, list, problem);
    else {
        read_filters(call, call->match.resource->filters, list, problem);
        read_filters(call, neo_common_filters, list, problem);
    }
}

/* The default order is not part of cursors and links, so that it is the same whether it is sent or not. */
static void read_sort(neo_call *call, neo_listing *list, neo_problem **problem)
{
    const char *text = apr_table_get(call->query, "sort");
    apr_array_header_t *names = apr_array_make(call->pool, 5, sizeof(const char *));
    list->order = neo_orders;
    for (const neo_order *o = neo_orders; text && o->name; o++) {
        if (o->column && !(call->match.operation->accepts & NEO_ACCEPTS_SORT))
            continue;
        APR_ARRAY_PUSH(names, const char *) = o->name;
        if (strcmp(o->name, text) == 0) {
            list->order = o;
            if (o != neo_orders)
                neo_buf_puts(&list->filters, apr_pstrcat(call->pool, "&sort=", text, NULL));
            return;
        }
    }
    APR_ARRAY_PUSH(names, const char *) = NULL;
    if (text)
        neo_problem_field(problem, call->pool, NEO_VALIDATION_PARAMETER_INVALID, "", "sort", "must be %s",
                          neo_join_alternatives((const char *const *)names->elts, call->pool));
}

neo_problem *neo_listing_read(neo_call *call, neo_listing *list)
{
    neo_problem *problem = call->query_problem;
    list->limit = read_limit(call, &problem);
    read_all_filters(call, list, &problem);
    read_sort(call, list, &problem);
    list->has_total = neo_call_read_boolean(call, "count", &problem);
    list->fields = neo_call_read_fields(call, &problem);
    return problem;
}

neo_problem *neo_call_read_conditions(neo_call *call, neo_selection *selection)
{
    neo_listing list;
    neo_problem *problem = call->query_problem;
    read_all_filters(call, &list, &problem);
    *selection = (neo_selection){.conditions = (const neo_condition *)list.conditions->elts,
                                 .count = list.conditions->nelts,
                                 .order = &neo_orders[NEO_NEWEST_FIRST]};
    return problem;
}

static void add_cursor(neo_buf *out, const char *name, const char *cursor)
{
    neo_buf_puts(out, name);
    neo_buf_puts(out, cursor ? ":\"" : ":null,");
    if (cursor) {
        neo_buf_puts(out, cursor);
        neo_buf_puts(out, "\",");
    }
}

neo_text neo_page_body(neo_call *call, const neo_page *page)
{
    neo_buf out;
    neo_buf_init(&out, call->pool, neo_rows_size(page->rows) + 512);
    neo_buf_puts(&out, "{\"items\":[");
    for (int i = 0; i < page->count; i++) {
        neo_text answer = neo_rows_text(page->rows, i, NEO_PAGE_ANSWER);
        if (i)
            neo_buf_putc(&out, ',');
        if (page->fields)
            neo_project(answer, page->fields, &out);
        else
            neo_buf_add(&out, answer.ptr, answer.len);
    }
    neo_buf_puts(&out, "],\"page_info\":{");
    add_cursor(&out, "\"start_cursor\"", page->cursors[0]);
    add_cursor(&out, "\"end_cursor\"", page->cursors[1]);
    neo_buf_puts(&out, page->has_more ? "\"has_next_page\":true," : "\"has_next_page\":false,");
    neo_buf_puts(&out, page->has_earlier ? "\"has_previous_page\":true}}" : "\"has_previous_page\":false}}");
    return neo_buf_text(&out);
}

/* Names of fields need no percent-encoding. */
void neo_listing_link(neo_call *call, const neo_listing *list, const char *at)
{
    neo_buf link;
    neo_buf_init(&link, call->pool, 512);
    neo_buf_puts(&link, apr_pstrcat(call->pool, "<", call->site->base_url, call->request->path,
                                    "?limit=", apr_itoa(call->pool, list->limit), at, list->filters.ptr,
                                    list->has_total ? "&count=true" : "", NULL));
    for (int i = 0; list->fields && list->fields[i]; i++)
        neo_buf_puts(&link, apr_pstrcat(call->pool, i ? "," : "&fields=", list->fields[i], NULL));
    neo_buf_puts(&link, ">; rel=\"next\"");
    neo_call_set_header(call, "Link", link.ptr);
}

static neo_place read_place(const neo_call *call, const neo_listing *list, const neo_rows *rows, int row)
{
    neo_place place = {.position = list->order->column ? atoll(neo_rows_value(rows, row, NEO_PAGE_POSITION)) : 0};
    apr_cpystrn(place.id, neo_call_representation_id(neo_rows_text(rows, row, NEO_PAGE_ANSWER), call->pool), sizeof place.id);
    return place;
}

/* The page of at most limit + 1 rows; the additional one only shows that there is a next page. */
static neo_text make_page(neo_call *call, const neo_listing *list, const neo_rows *rows, int is_first)
{
    const char *cursors[2] = {NULL, NULL};
    int count = rows->count > 0 && neo_rows_value(rows, 0, NEO_PAGE_ANSWER) ? rows->count : 0;
    call->rows = count > list->limit ? list->limit : count;
    neo_page page = {.rows = rows,
                     .count = call->rows,
                     .cursors = cursors,
                     .fields = list->fields,
                     .has_more = count > list->limit,
                     .has_earlier = !is_first && neo_rows_is_true(rows, 0, NEO_PAGE_HAS_EARLIER)};
    if (count)
        neo_cursor_seal(call, list->filters.ptr,
                        (const neo_place[]){read_place(call, list, rows, 0), read_place(call, list, rows, page.count - 1)},
                        cursors);
    if (page.has_more)
        neo_listing_link(call, list, apr_pstrcat(call->pool, "&cursor=", cursors[1], NULL));
    if (list->has_total) {
        const char *total = rows->count ? neo_rows_value(rows, 0, NEO_PAGE_TOTAL) : "0";
        neo_call_set_header(call, "X-Total-Count",
                            atoi(total) > NEO_MAX_TOTAL ? APR_STRINGIFY(NEO_MAX_TOTAL) "+" : apr_pstrdup(call->pool, total));
    }
    return neo_page_body(call, &page);
}

neo_selection neo_listing_selection(const neo_listing *list)
{
    return (neo_selection){.conditions = (const neo_condition *)list->conditions->elts,
                           .count = list->conditions->nelts,
                           .order = list->order,
                           .limit = list->limit + 1,
                           .has_total = list->has_total};
}

/* From a replica if one is ready, otherwise from the primary. The primary reads a page that an index gives at about the cost of
 * its position, so it answers. */
static neo_problem *fetch_page(neo_call *call, neo_page_fetcher fetch, const neo_selection *selection, neo_rows *rows)
{
    neo_pg *pg = NULL;
    neo_pg_status status = NEO_PG_UNAVAILABLE;
    neo_problem *problem = neo_selection_is_plain(selection) ? NULL : neo_call_acquire_read(call, 0, &pg);
    if (!problem && pg) {
        status = fetch(call, pg, selection, rows);
        if (status == NEO_PG_OK && !call->request->host->confirm_read(call->request->context))
            status = NEO_PG_RETRY;
        neo_call_release(call, pg);
    }
    if (problem || status == NEO_PG_OK)
        return problem;
    if ((problem = neo_call_acquire(call, &pg)))
        return problem;
    status = fetch(call, pg, selection, rows);
    neo_call_release(call, pg);
    return status == NEO_PG_OK ? NULL : neo_call_failed(call, status, rows);
}

neo_problem *neo_list_with(neo_call *call, neo_page_fetcher fetch, neo_result *result)
{
    neo_listing list;
    neo_rows rows;
    neo_place before = {0};
    const char *cursor = apr_table_get(call->query, "cursor");
    neo_problem *problem = neo_listing_read(call, &list);
    if (!problem && cursor)
        problem = neo_cursor_open(call, list.filters.ptr, cursor, id_prefix(call), &before);
    if (problem)
        return problem;
    neo_selection selection = neo_listing_selection(&list);
    if (cursor) {
        selection.before = before.id;
        selection.position = apr_psprintf(call->pool, "%" APR_INT64_T_FMT, (apr_int64_t)before.position);
    }
    if ((problem = fetch_page(call, fetch, &selection, &rows)))
        return problem;
    *result = (neo_result){.status = 200, .body = make_page(call, &list, &rows, !cursor)};
    return NULL;
}

static neo_pg_status fetch_resources(neo_call *call, neo_pg *pg, const neo_selection *selection, neo_rows *rows)
{
    return neo_table_list(pg, call->match.resource, &call->actor, selection, call->pool, rows);
}

neo_problem *neo_call_list(neo_call *call, neo_result *result)
{
    return neo_list_with(call, fetch_resources, result);
}
