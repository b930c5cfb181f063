/* SPDX-License-Identifier: Apache-2.0 */
/* Lists: reads limit, filters and cursor, and makes a page with page_info and the Link header. */
#include <apr_escape.h>
#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/encode.h"
#include "list.h"
#include "store/delivery.h"
#include "store/whatsapp.h"

#define DEFAULT_LIMIT 25
#define MAX_LIMIT     100
#define MAX_VALUES    100 /* of one filter */

enum { ANSWER, HAS_EARLIER };

/* The prefix of the ids in the list. */
static const char *prefix_of(const neo_call *call)
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

/* Adds the value, or the values that it expands to. Returns NULL, or what is wrong. */
static const char *read_value(neo_call *call, const neo_filter *filter, const char *text, apr_array_header_t *values)
{
    if (filter->expand) {
        const char *const *all = filter->expand(text, call->pool);
        for (const char *const *v = all; v && *v; v++)
            APR_ARRAY_PUSH(values, const char *) = *v;
        return all ? NULL : apr_psprintf(call->pool, "must be a known value, such as %s", filter->example);
    }
    const char *wrong = neo_condition_value(filter, prefix_of(call), text, call->pool, &APR_ARRAY_PUSH(values, const char *));
    if (wrong && neo_filter_accepts_several(filter) && strchr(text, ','))
        return apr_pstrcat(call->pool, wrong, "; a comma between values must not be percent-encoded", NULL);
    return wrong;
}

/* NULL, or what is wrong with the values; sets *condition. */
static const char *read_values(neo_call *call, const neo_filter *filter, const char *const *texts, int count,
                               neo_condition *condition)
{
    apr_array_header_t *values = apr_array_make(call->pool, count, sizeof(const char *));
    const char *wrong = count > MAX_VALUES ? apr_psprintf(call->pool, "must have at most %d values", MAX_VALUES) : NULL;
    for (int i = 0; i < count && !wrong; i++)
        wrong = read_value(call, filter, texts[i], values);
    *condition = (neo_condition){filter, (const char *const *)values->elts, values->nelts};
    return wrong;
}

static void read_filters(neo_call *call, const neo_filter *filters, neo_listing *list, neo_problem **problem)
{
    for (const neo_filter *f = filters; f && f->name; f++) {
        int count;
        const char *const *texts = neo_call_values(call, f->name, &count);
        if (!count)
            continue;
        const char *wrong = read_values(call, f, texts, count, &APR_ARRAY_PUSH(list->conditions, neo_condition));
        if (wrong)
            neo_problem_field(problem, call->pool, NEO_VALIDATION_PARAMETER_INVALID, "", f->name, "%s", wrong);
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

neo_problem *neo_listing_read(neo_call *call, neo_listing *list)
{
    neo_problem *problem = call->query_problem;
    list->limit = read_limit(call, &problem);
    read_all_filters(call, list, &problem);
    return problem;
}

neo_problem *neo_call_read_conditions(neo_call *call, neo_selection *selection)
{
    neo_listing list;
    neo_problem *problem = call->query_problem;
    read_all_filters(call, &list, &problem);
    *selection = (neo_selection){.conditions = (const neo_condition *)list.conditions->elts, .count = list.conditions->nelts};
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
    apr_size_t size = 512;
    for (int i = 0; i < page->count; i++)
        size += neo_rows_text(page->rows, i, ANSWER).len + 1;
    neo_buf out;
    neo_buf_init(&out, call->pool, size);
    neo_buf_puts(&out, "{\"items\":[");
    for (int i = 0; i < page->count; i++) {
        neo_text answer = neo_rows_text(page->rows, i, ANSWER);
        if (i)
            neo_buf_putc(&out, ',');
        neo_buf_add(&out, answer.ptr, answer.len);
    }
    neo_buf_puts(&out, "],\"page_info\":{");
    add_cursor(&out, "\"start_cursor\"", page->cursors[0]);
    add_cursor(&out, "\"end_cursor\"", page->cursors[1]);
    neo_buf_puts(&out, page->has_more ? "\"has_next_page\":true," : "\"has_next_page\":false,");
    neo_buf_puts(&out, page->has_earlier ? "\"has_previous_page\":true}}" : "\"has_previous_page\":false}}");
    return neo_buf_text(&out);
}

void neo_listing_link(neo_call *call, const neo_listing *list, const char *at)
{
    neo_call_set_header(call, "Link",
                        apr_pstrcat(call->pool, "<", call->site->base_url, call->request->path, "?limit=",
                                    apr_itoa(call->pool, list->limit), at, list->filters.ptr, ">; rel=\"next\"", NULL));
}

/* The page of at most limit + 1 rows; the additional one only shows that there is a next page. */
static neo_text page_of(neo_call *call, const neo_listing *list, const neo_rows *rows, int is_first)
{
    const char *cursors[2] = {NULL, NULL};
    int count = rows->count > 0 && neo_rows_value(rows, 0, ANSWER) ? rows->count : 0;
    neo_page page = {.rows = rows,
                     .count = count > list->limit ? list->limit : count,
                     .cursors = cursors,
                     .has_more = count > list->limit,
                     .has_earlier = !is_first && neo_rows_is_true(rows, 0, HAS_EARLIER)};
    if (count)
        neo_cursor_seal(call, list->filters.ptr,
                        (const char *const[]){neo_call_id_of(neo_rows_text(rows, 0, ANSWER), call->pool),
                                              neo_call_id_of(neo_rows_text(rows, page.count - 1, ANSWER), call->pool)},
                        cursors);
    if (page.has_more)
        neo_listing_link(call, list, apr_pstrcat(call->pool, "&cursor=", cursors[1], NULL));
    return neo_page_body(call, &page);
}

neo_selection neo_listing_selection(const neo_listing *list, const char *before)
{
    return (neo_selection){(const neo_condition *)list->conditions->elts, list->conditions->nelts, before, list->limit + 1};
}

neo_problem *neo_list_with(neo_call *call, neo_page_fetcher fetch, neo_result *result)
{
    neo_listing list;
    neo_pg *pg;
    neo_rows rows;
    char before[NEO_ID_SIZE];
    const char *cursor = apr_table_get(call->query, "cursor");
    neo_problem *problem = neo_listing_read(call, &list);
    if (!problem && cursor)
        problem = neo_cursor_open(call, list.filters.ptr, cursor, prefix_of(call), before);
    if (problem || (problem = neo_call_acquire(call, &pg)))
        return problem;
    neo_selection selection = neo_listing_selection(&list, cursor ? before : NULL);
    neo_pg_status status = fetch(call, pg, &selection, &rows);
    neo_call_release(call, pg);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, &rows);
    *result = (neo_result){.status = 200, .body = page_of(call, &list, &rows, !cursor)};
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

static neo_pg_status fetch_deliveries(neo_call *call, neo_pg *pg, const neo_selection *selection, neo_rows *rows)
{
    return neo_delivery_list(pg, &call->actor, call->match.id, NULL, selection, call->pool, rows);
}

neo_problem *neo_call_list_deliveries(neo_call *call, neo_result *result)
{
    neo_problem *problem = neo_call_find(call);
    return problem ? problem : neo_list_with(call, fetch_deliveries, result);
}

static neo_pg_status fetch_conversations(neo_call *call, neo_pg *pg, const neo_selection *selection, neo_rows *rows)
{
    return neo_whatsapp_list(pg, &call->actor, selection, call->pool, rows);
}

neo_problem *neo_call_list_conversations(neo_call *call, neo_result *result)
{
    return neo_list_with(call, fetch_conversations, result);
}

static neo_pg_status fetch_messages(neo_call *call, neo_pg *pg, const neo_selection *selection, neo_rows *rows)
{
    return neo_whatsapp_list_messages(pg, &call->actor, call->match.id, selection, call->pool, rows);
}

neo_problem *neo_call_list_messages(neo_call *call, neo_result *result)
{
    neo_result conversation;
    neo_problem *problem = neo_call_read_conversation(call, &conversation);
    return problem ? problem : neo_list_with(call, fetch_messages, result);
}
