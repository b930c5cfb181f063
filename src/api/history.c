/* SPDX-License-Identifier: Apache-2.0 */
/* Imports history: resources that are created in any status, with their original timestamps. */
#include <string.h>

#include "call.h"
#include "schema/business_rules.h"
#include "schema/import.h"

#define ROLE "org_admin"

neo_problem *neo_call_read_import(const neo_call *call, int *is_import)
{
    neo_problem *problem = NULL;
    *is_import = neo_call_read_boolean(call, "import", &problem);
    if (*is_import && strcmp(call->principal->role, ROLE) != 0)
        problem = neo_problem_make(call->pool, NEO_FORBIDDEN_PERMISSIONS,
                                   "Only a credential with the role " ROLE " can import history; this one has the role %s.",
                                   call->principal->role);
    return problem;
}

static neo_ms read_time(const neo_json *row, const char *name, neo_ms otherwise)
{
    const char *text = neo_json_string_at(row, name);
    neo_ms ms;
    return text && neo_ms_parse(text, &ms) ? ms : otherwise;
}

/* The error of a timestamp of the history, or NULL. */
static const char *check_history_time(const neo_resource *resource, const neo_field *field, const neo_json *row, neo_ms now)
{
    neo_ms created = read_time(row, "created_at", now), time = read_time(row, field->name, now);
    if (time > now)
        return "must not be in the future";
    if (strcmp(field->name, "updated_at") == 0 && time < created)
        return "must not be before created_at";
    if (neo_transition_sets(resource, field) && !neo_transition_has_set(resource, field, neo_json_string_at(row, "status")))
        return "cannot be set: no transition that sets it leads to this status";
    return NULL;
}

/* Without them it was created now, and last changed by this request. */
static neo_json *read_times(const neo_resource *resource, const neo_json *row, neo_ms now, neo_problem **problem,
                            apr_pool_t *pool)
{
    char text[NEO_MS_TEXT_SIZE];
    neo_json *times = neo_json_make_object(pool);
    neo_ms_format(text, now);
    neo_json_set_string(times, "created_at", text, pool);
    neo_json_set_string(times, "updated_at", text, pool);
    for (const neo_field *f = resource->fields; f->name; f++) {
        neo_json *value = f->type == NEO_TIMESTAMP && f->flags & NEO_SERVER ? neo_json_get(row, f->name) : NULL;
        const char *error = value ? check_history_time(resource, f, row, now) : NULL;
        if (error)
            neo_problem_field(problem, pool, NEO_VALIDATION_FIELD_INVALID, resource->name, f->name, "%s", error);
        else if (value)
            neo_json_set(times, f->name, value);
    }
    return times;
}

neo_problem *neo_call_check_history(neo_call *call, neo_json **clean, neo_new *row)
{
    const neo_resource *resource = call->match.resource;
    const neo_import_owner owner = {call->actor.tenant, call->actor.organization, "", .has_only_times = 1};
    neo_ms now = neo_now_ms();
    neo_json *columns, *body = call->body;
    neo_problem *problem = neo_call_resolve_references(call, NULL, &body);
    if (!problem)
        problem = neo_import_check(resource, body, &owner, call->pool, &columns, clean);
    if (problem)
        return problem;
    row->times = read_times(resource, columns, now, &problem, call->pool);
    row->created_at = read_time(row->times, "created_at", now);
    return problem;
}
