/* SPDX-License-Identifier: Apache-2.0 */
/* The parameter `fields`: responses with some members of a resource only. The members are copied as they are stored, so that
 * they are not parsed. */
#include <string.h>

#include "call.h"
#include "schema/validate.h"

#define MAX_NAMES 100

static int has_name(const char *const *names, const char *name, apr_size_t len)
{
    while (*names && !(strlen(*names) == len && memcmp(*names, name, len) == 0))
        names++;
    return *names != NULL;
}

const char *const *neo_call_read_fields(const neo_call *call, neo_problem **problem)
{
    int count;
    const char *const *values = neo_call_values(call, "fields", &count);
    if (!count)
        return NULL;
    const char *const *allowed = neo_response_field_names(call->match.resource, call->pool);
    if (count > MAX_NAMES)
        neo_problem_field(problem, call->pool, NEO_VALIDATION_PARAMETER_INVALID, "", "fields", "must have at most %d names",
                          MAX_NAMES);
    for (int i = 0; i < count; i++)
        if (!has_name(allowed, values[i], strlen(values[i]))) {
            neo_problem_field(problem, call->pool, NEO_VALIDATION_PARAMETER_INVALID, "", "fields", "must be among %s",
                              neo_join_alternatives(allowed, call->pool));
            break;
        }
    return values;
}

/* The end of the string that begins at the quote. */
static const char *after_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at + 1;
}

/* The comma or bracket after the value. */
static const char *after_value(const char *at, const char *end)
{
    for (int depth = 0; at < end;) {
        if (depth == 0 && strchr(",}]", *at))
            return at;
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at = *at == '"' ? after_string(at, end) : at + 1;
    }
    return end;
}

void neo_project(neo_text representation, const char *const *fields, neo_buf *out)
{
    const char *at = representation.ptr + 1, *end = representation.ptr + representation.len;
    int count = 0;
    neo_buf_putc(out, '{');
    while (at < end && *at == '"') {
        const char *member = at, *colon = after_string(at, end);
        at = after_value(colon, end);
        if (has_name(fields, member + 1, (apr_size_t)(colon - member) - 2)) {
            if (count++)
                neo_buf_putc(out, ',');
            neo_buf_add(out, member, (apr_size_t)(at - member));
        }
        at++;
    }
    neo_buf_putc(out, '}');
}

neo_text neo_call_projected(const neo_call *call, neo_text representation, const char *const *fields)
{
    neo_buf out;
    if (!fields)
        return representation;
    neo_buf_init(&out, call->pool, representation.len);
    neo_project(representation, fields, &out);
    return neo_buf_text(&out);
}
