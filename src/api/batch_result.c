/* SPDX-License-Identifier: Apache-2.0 */
/* The response of a batch: a result for each operation, or the problem of an atomic batch. */
#include <apr_strings.h>
#include <string.h>

#include "batch_item.h"

const neo_item *neo_batch_first_problem(const neo_work *w)
{
    for (int n = 0; n < w->batch.count; n++)
        if (w->items[n].problem)
            return &w->items[n];
    return NULL;
}

static void add_result(neo_work *w, neo_buf *out, const neo_item *i, int is_first)
{
    static const int statuses[] = {[NEO_METHOD_CREATE] = 201, [NEO_METHOD_UPDATE] = 200, [NEO_METHOD_DELETE] = 204};
    neo_call *call = w->call;
    neo_problem_frame frame = {call->request->instance, call->request->id, call->site->docs_url};
    int status = i->problem ? neo_problem_status(i->problem) : statuses[i->method];
    neo_text text = i->problem ? neo_problem_json(i->problem, &frame, call->pool) : i->answer;
    neo_buf_printf(out, "%s{\"index\":%d,\"status\":%d", is_first ? "" : ",", i->row.number, status);
    if (i->problem || i->method != NEO_METHOD_DELETE) {
        neo_buf_puts(out, i->problem ? ",\"error\":" : ",\"resource\":");
        neo_buf_add(out, text.ptr, text.len);
    }
    if (!i->problem && i->method != NEO_METHOD_DELETE) {
        neo_buf_puts(out, ",\"etag\":");
        neo_buf_json(out, neo_call_etag(call, i->answer));
    }
    neo_buf_putc(out, '}');
}

neo_text neo_batch_response(neo_work *w)
{
    int failed = 0;
    neo_buf out;
    neo_buf_init(&out, w->call->pool, (apr_size_t)w->batch.count * 1024 + 64);
    for (int n = 0; n < w->batch.count; n++)
        failed += w->items[n].problem != NULL;
    neo_buf_printf(&out, "{\"succeeded\":%d,\"failed\":%d,\"results\":[", w->batch.count - failed, failed);
    for (int n = 0; n < w->batch.count; n++)
        add_result(w, &out, &w->items[n], n == 0);
    neo_buf_puts(&out, "]}");
    return neo_buf_text(&out);
}

/* What the batch has created itself is rolled back, so its ids mean nothing. */
static void forget_created(const neo_work *w, const neo_item *i)
{
    for (const neo_item *earlier = w->items; earlier < i; earlier++)
        if (i->problem->existing_id && earlier->method == NEO_METHOD_CREATE &&
            strcmp(earlier->row.id, i->problem->existing_id) == 0)
            i->problem->existing_id = NULL;
}

neo_problem *neo_batch_problem(neo_work *w)
{
    apr_pool_t *pool = w->call->pool;
    const neo_item *first = neo_batch_first_problem(w);
    neo_buf failures;
    neo_buf_init(&failures, pool, 1024);
    for (const neo_item *i = first; i < w->items + w->batch.count; i++)
        if (i->problem) {
            forget_created(w, i);
            add_result(w, &failures, i, i == first);
        }
    const char *part = apr_psprintf(pool, "operations[%d]", first->row.number);
    int is_malformed = first->operation->problem != NULL; /* then the paths begin with the operation */
    neo_problem *whole =
        is_malformed ? first->problem : neo_problem_within(pool, first->problem, part, apr_pstrcat(pool, part, ".data", NULL));
    whole->failures = apr_pstrcat(pool, "[", failures.ptr, "]", NULL);
    return whole;
}
