/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the query: decodes it, splits lists of values, and refuses unknown parameters and those that are repeated but have one
 * value. list.c checks the values. */
#include <apr_escape.h>
#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/encode.h"

#define MALFORMED "must be percent-encoded UTF-8 without control characters"

enum { UNKNOWN, SINGLE, SEVERAL };

static const struct {
    const char *name;
    unsigned int accepts;
    int kind;
} parameters[] = {
    {"limit", NEO_ACCEPTS_PAGE, SINGLE},
    {"cursor", NEO_ACCEPTS_PAGE, SINGLE},
    {"sort", NEO_ACCEPTS_SORT | NEO_ACCEPTS_SORT_BY_ID, SINGLE},
    {"count", NEO_ACCEPTS_COUNT, SINGLE},
    {"fields", NEO_ACCEPTS_FIELDS, SEVERAL},
    {"import", NEO_ACCEPTS_IMPORT, SINGLE},
    {"order", NEO_ACCEPTS_FOLLOW, SINGLE},
    {"after", NEO_ACCEPTS_FOLLOW, SINGLE},
    {"wait", NEO_ACCEPTS_FOLLOW, SINGLE},
    {"organization_id", NEO_ACCEPTS_ORGANIZATION_ID, SINGLE},
};
#define PARAMETERS (sizeof parameters / sizeof *parameters)

static unsigned int accepts(const neo_call *call)
{
    return neo_operation_accepts(call->match.operation, call->match.resource);
}

/* Whether a parameter of this name has one value or several. */
static int parameter_kind(const neo_call *call, const char *name)
{
    for (apr_size_t i = 0; i < PARAMETERS; i++)
        if (accepts(call) & parameters[i].accepts && strcmp(name, parameters[i].name) == 0)
            return parameters[i].kind;
    const neo_filter *filter =
        accepts(call) & NEO_ACCEPTS_FILTERS ? neo_operation_filter(call->match.operation, call->match.resource, name) : NULL;
    return !filter ? UNKNOWN : neo_filter_accepts_several(filter) ? SEVERAL : SINGLE;
}

static void add_name(neo_buf *names, const char *name)
{
    neo_buf_printf(names, "%s%s", names->len ? ", " : "", name);
}

static void add_filter_names(neo_buf *names, const neo_filter *filters)
{
    for (const neo_filter *filter = filters; filter && filter->name; filter++)
        add_name(names, filter->name);
}

static const char *unknown_parameter(const neo_call *call)
{
    const neo_match *match = &call->match;
    neo_buf names;
    neo_buf_init(&names, call->pool, 512);
    for (apr_size_t i = 0; i < PARAMETERS; i++)
        if (accepts(call) & parameters[i].accepts)
            add_name(&names, parameters[i].name);
    if (accepts(call) & NEO_ACCEPTS_FILTERS && match->operation->filters)
        add_filter_names(&names, match->operation->filters);
    else if (accepts(call) & NEO_ACCEPTS_FILTERS) {
        add_filter_names(&names, match->resource->filters);
        add_filter_names(&names, neo_common_filters);
    }
    return names.len ? apr_pstrcat(call->pool, "is not a parameter of this operation, which has ", names.ptr, NULL)
                     : "is not a parameter of this operation, which has none";
}

const char *neo_call_decode(const char *text, apr_pool_t *pool)
{
    const char *decoded = apr_punescape_url(pool, text, NULL, NULL, 1);
    if (!decoded || !neo_utf8_is_valid(decoded, strlen(decoded)))
        return NULL;
    for (const unsigned char *c = (const unsigned char *)decoded; *c; c++)
        if (*c < 0x20 || *c == 0x7F)
            return NULL;
    return decoded;
}

/* Adds the value, or the values separated by commas. Each is decoded separately, so that an encoded comma is part of a
 * value. */
static void add_values(neo_call *call, const char *name, char *text, int kind, neo_problem **problem)
{
    char *one;
    while ((one = kind == SEVERAL ? strsep(&text, ",") : text)) {
        const char *value = neo_call_decode(one, call->pool);
        if (!value) {
            neo_problem_field(problem, call->pool, NEO_VALIDATION_PARAMETER_INVALID, "", name, MALFORMED);
            return;
        }
        apr_table_addn(call->query, name, value);
        if (kind == SINGLE)
            return;
    }
}

static void read_pair(neo_call *call, char *pair, neo_problem **problem)
{
    apr_pool_t *pool = call->pool;
    char *text = pair + strcspn(pair, "=");
    if (*text)
        *text++ = '\0';
    const char *name = neo_call_decode(pair, pool);
    int kind = name ? parameter_kind(call, name) : UNKNOWN;
    if (!name)
        neo_problem_field(problem, pool, NEO_VALIDATION_PARAMETER_INVALID, "", "query", MALFORMED);
    else if (kind == UNKNOWN)
        neo_problem_field(problem, pool, NEO_VALIDATION_UNKNOWN_PARAMETER, "",
                          neo_utf8_length(name) <= 60 ? name : apr_psprintf(pool, "a name of %d bytes", (int)strlen(name)),
                          "%s", unknown_parameter(call));
    else if (kind == SINGLE && apr_table_get(call->query, name))
        neo_problem_field(problem, pool, NEO_VALIDATION_PARAMETER_INVALID, "", name, "must be sent only once");
    else
        add_values(call, name, text, kind, problem);
}

const char *const *neo_call_values(const neo_call *call, const char *name, int *count)
{
    *count = 0;
    if (!apr_table_get(call->query, name))
        return NULL;
    const apr_array_header_t *all = apr_table_elts(call->query);
    const char **values = apr_palloc(call->pool, ((apr_size_t)all->nelts + 1) * sizeof *values);
    for (int i = 0; i < all->nelts; i++) {
        const apr_table_entry_t *entry = &APR_ARRAY_IDX(all, i, apr_table_entry_t);
        if (strcmp(entry->key, name) == 0)
            values[(*count)++] = entry->val;
    }
    values[*count] = NULL;
    return values;
}

int neo_call_read_boolean(const neo_call *call, const char *name, neo_problem **problem)
{
    const char *text = apr_table_get(call->query, name);
    if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        neo_problem_field(problem, call->pool, NEO_VALIDATION_PARAMETER_INVALID, "", name, "must be true or false");
    return text && strcmp(text, "true") == 0;
}

neo_problem *neo_call_read_query(neo_call *call)
{
    neo_problem *problem = NULL;
    call->query = apr_table_make(call->pool, 4);
    if (!call->request->query || !*call->request->query)
        return NULL;
    char *rest = apr_pstrdup(call->pool, call->request->query), *pair;
    while ((pair = strsep(&rest, "&")))
        if (*pair)
            read_pair(call, pair, &problem);
    if (!(call->match.operation->accepts & NEO_ACCEPTS_FILTERS))
        return problem;
    call->query_problem = problem; /* the list adds errors of values */
    return neo_call_check_filters(call);
}

/* ---------------------------------------------------------------- what logs must not have */

static int is_personal(const char *name)
{
    for (const neo_resource *const *r = neo_resources; *r; r++) {
        const neo_field *field = neo_field_named((*r)->fields, name);
        if (field && neo_field_is_personal(field))
            return 1;
    }
    return strcmp(name, "q") == 0;
}

int neo_service_query_is_personal(const char *query)
{
    char name[64];
    for (const char *at = query; at && *at; at += strcspn(at, "&"), at += *at == '&') {
        size_t len = strcspn(at, "=&");
        if (memchr(at, '%', len)) /* an encoded name */
            return 1;
        if (len >= sizeof name)
            continue;
        memcpy(name, at, len);
        name[len] = '\0';
        if (is_personal(name))
            return 1;
    }
    return 0;
}
