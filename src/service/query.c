/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the query: decodes it and refuses repeated and unknown parameters. list.c checks the values. */
#include <apr_escape.h>
#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/encode.h"

static int is_parameter(const neo_call *call, const char *name)
{
    unsigned int accepts = neo_operation_accepts(call->match.operation, call->match.resource);
    return (accepts & NEO_ACCEPTS_IMPORT && strcmp(name, "import") == 0) ||
           (accepts & NEO_ACCEPTS_PAGE && (strcmp(name, "limit") == 0 || strcmp(name, "cursor") == 0 ||
                                           neo_operation_filter(call->match.operation, call->match.resource, name)));
}

/* Decodes one side of name=value; NULL if it is not percent-encoded UTF-8 without control characters. */
static const char *decode(const char *text, apr_pool_t *pool)
{
    const char *decoded = apr_punescape_url(pool, text, NULL, NULL, 1);
    if (!decoded || !neo_utf8_is_valid(decoded, strlen(decoded)))
        return NULL;
    for (const unsigned char *c = (const unsigned char *)decoded; *c; c++)
        if (*c < 0x20 || *c == 0x7F)
            return NULL;
    return decoded;
}

static const char *shown(const char *name, apr_pool_t *pool)
{
    return neo_utf8_length(name) <= 60 ? name : apr_psprintf(pool, "a name of %d bytes", (int)strlen(name));
}

static void read_pair(neo_call *call, char *pair, neo_problem **problem)
{
    apr_pool_t *pool = call->pool;
    char *equals = strchr(pair, '=');
    if (equals)
        *equals = '\0';
    const char *name = decode(pair, pool), *value = equals ? decode(equals + 1, pool) : "";
    if (!name)
        neo_problem_field(problem, pool, NEO_VALIDATION_PARAMETER_INVALID, "", "query",
                          "must be percent-encoded UTF-8 without control characters");
    else if (!is_parameter(call, name))
        neo_problem_field(problem, pool, NEO_VALIDATION_UNKNOWN_PARAMETER, "", shown(name, pool),
                          "is not a parameter of this operation");
    else if (!value)
        neo_problem_field(problem, pool, NEO_VALIDATION_PARAMETER_INVALID, "", name,
                          "must be percent-encoded UTF-8 without control characters");
    else if (apr_table_get(call->query, name))
        neo_problem_field(problem, pool, NEO_VALIDATION_PARAMETER_INVALID, "", name, "must be sent only once");
    else
        apr_table_setn(call->query, name, value);
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
    if (!(call->match.operation->accepts & NEO_ACCEPTS_PAGE))
        return problem;
    call->query_problem = problem; /* the list adds what is wrong with the values */
    return NULL;
}
