/* SPDX-License-Identifier: Apache-2.0 */
/* Tells clients that what a request uses is deprecated: the headers Deprecation (RFC 9745), Sunset (RFC 8594) and Link. */
#include <apr_strings.h>
#include <apr_time.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "core/clock.h"

/* Sets *at to the beginning of the day. */
static void read_day(const char *day, neo_ms *at, apr_pool_t *pool)
{
    if (!neo_ms_parse(apr_pstrcat(pool, day, "T00:00:00Z", NULL), at))
        abort(); /* a mistake in the source */
}

/* A response has one Deprecation and one Sunset: of all that the request uses, the earliest. There is a link for each. */
typedef struct {
    neo_call *call;
    neo_ms since, sunset; /* 0: none */
} marks;

static void add_mark(marks *m, const neo_deprecation *mark)
{
    apr_pool_t *pool = m->call->pool;
    neo_ms since, sunset = 0;
    if (!mark)
        return;
    read_day(mark->since, &since, pool);
    if (mark->sunset)
        read_day(mark->sunset, &sunset, pool);
    if (!m->since || since < m->since)
        m->since = since;
    if (sunset && (!m->sunset || sunset < m->sunset))
        m->sunset = sunset;
    const char *link = apr_pstrcat(pool, "<", m->call->site->docs_url, "/", mark->page, ">; rel=\"deprecation\"", NULL);
    const char *links = apr_table_get(m->call->response->headers, "Link");
    if (!links || !strstr(links, link))
        apr_table_mergen(m->call->response->headers, "Link", link);
}

/* Marks the fields of `value`: an object with these fields, or a list of them. A member that is null is written, too. */
static void add_written(marks *m, const neo_field *fields, neo_json *value)
{
    for (apr_size_t i = 0; neo_json_get_kind(value) == NEO_JSON_ARRAY && i < neo_json_size(value); i++)
        add_written(m, fields, neo_json_at(value, i));
    if (neo_json_get_kind(value) != NEO_JSON_OBJECT)
        return;
    for (const neo_field *f = fields; f->name; f++) {
        neo_json *member = f->deprecated || f->fields ? neo_json_get(value, f->name) : NULL;
        if (!member)
            continue;
        add_mark(m, f->deprecated);
        if (f->fields)
            add_written(m, f->fields, member);
    }
}

static void add_body(marks *m, const neo_operation *operation, const neo_resource *resource)
{
    neo_json *body = m->call->body;
    if (!(operation->accepts & NEO_ACCEPTS_BATCH)) {
        add_written(m, resource->fields, body);
        return;
    }
    neo_json *operations = neo_json_get_kind(body) == NEO_JSON_OBJECT ? neo_json_get(body, "operations") : NULL;
    for (apr_size_t i = 0; operations && neo_json_get_kind(operations) == NEO_JSON_ARRAY && i < neo_json_size(operations);
         i++) {
        neo_json *one = neo_json_at(operations, i);
        neo_json *data = neo_json_get_kind(one) == NEO_JSON_OBJECT ? neo_json_get(one, "data") : NULL;
        if (data)
            add_written(m, resource->fields, data);
    }
}

/* The fields that the query filters by, sorts by ("-updated_at") or asks for. */
static void add_query(marks *m, const neo_resource *resource)
{
    const apr_array_header_t *all = apr_table_elts(m->call->query);
    for (int i = 0; i < all->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(all, i, apr_table_entry_t);
        int is_sort = strcmp(entry->key, "sort") == 0, is_named = is_sort || strcmp(entry->key, "fields") == 0;
        const char *name = is_named ? entry->val + (is_sort && *entry->val == '-') : entry->key;
        const neo_field *field = is_named ? neo_field_named(resource->fields, name) : neo_filter_field(resource, name);
        if (field)
            add_mark(m, field->deprecated);
    }
}

void neo_call_show_deprecation(neo_call *call)
{
    const neo_operation *operation = call->match.operation;
    marks m = {.call = call};
    if (!operation)
        return;
    const neo_resource *resource = call->match.resource, *sent = operation->body ? operation->body : resource;
    add_mark(&m, operation->deprecated);
    if (call->body && sent)
        add_body(&m, operation, sent);
    if (call->query && resource && !operation->filters)
        add_query(&m, resource);
    if (m.since)
        neo_call_set_header(call, "Deprecation", apr_psprintf(call->pool, "@%" APR_INT64_T_FMT, (apr_int64_t)(m.since / 1000)));
    if (m.sunset) {
        char *date = apr_palloc(call->pool, APR_RFC822_DATE_LEN);
        apr_rfc822_date(date, m.sunset * 1000);
        neo_call_set_header(call, "Sunset", date);
    }
}
