/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on the resource with an external id: finds its id, and continues as for that id. */
#include <apr_escape.h>
#include <string.h>

#include "call.h"
#include "core/encode.h"
#include "core/json.h"
#include "sql/reference.h"

static neo_problem *external_id_error(const neo_call *call, neo_code code, const char *what)
{
    neo_problem *problem = NULL;
    neo_problem_field(&problem, call->pool, code, call->match.resource->name, "external_id", "%s", what);
    return problem;
}

/* Sets call->external_id from the path as it was sent: httpd has decoded the other one, but perhaps not its slashes. */
static neo_problem *decode_external_id(neo_call *call)
{
    const char *sent = strrchr(call->request->instance, '/');
    const char *id = sent ? apr_punescape_url(call->pool, sent + 1, NULL, NULL, 0) : NULL;
    int is_text = id && *id && neo_utf8_is_valid(id, strlen(id));
    for (const unsigned char *c = (const unsigned char *)id; is_text && *c; c++)
        is_text = *c >= 0x20 && *c != 0x7F;
    call->match.subresource_id = NULL; /* the resource itself is meant */
    call->match.id = "";
    call->external_id = id;
    return is_text ? NULL
                   : external_id_error(call, NEO_VALIDATION_PARAMETER_INVALID,
                                       "must be percent-encoded UTF-8 without control characters");
}

/* Sets call->match.id; "": no resource has the external id. */
static neo_problem *look_up_id(neo_call *call)
{
    neo_external_id wanted = {.resource = call->match.resource, .external_id = call->external_id};
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = neo_call_acquire(call, &pg);
    if (problem)
        return problem;
    neo_pg_status status = neo_external_id_find(pg, &call->actor, &wanted, 1, call->pool, &rows);
    neo_call_release(call, pg);
    call->match.id = wanted.id ? wanted.id : "";
    return status == NEO_PG_OK ? NULL : neo_call_failed(call, status, &rows);
}

/* Adds the external id to the body, which may leave it out. */
static neo_problem *complete_body(neo_call *call)
{
    const neo_json *own = neo_json_get(call->body, "external_id");
    const char *text = neo_json_string_at(call->body, "external_id");
    if (own && !(text && strcmp(text, call->external_id) == 0))
        return external_id_error(call, NEO_VALIDATION_FIELD_INVALID, "must be that of the path, or absent");
    if (!own && neo_json_get_kind(call->body) == NEO_JSON_OBJECT)
        neo_json_set_string(call->body, "external_id", call->external_id, call->pool);
    return NULL;
}

typedef neo_problem *(*action)(neo_call *call, neo_result *result);

/* A merge into nothing: RFC 7396 leaves out the members that are null. */
static neo_problem *create_with_external_id(neo_call *call, action change, neo_result *result)
{
    neo_json *sent = call->body;
    neo_problem *problem = neo_call_check_if_match(call, (neo_text){0});
    if (problem)
        return problem;
    if (change == neo_call_patch)
        call->body = neo_json_merge_patch(neo_json_make_object(call->pool), sent, call->pool);
    problem = neo_call_create(call, result);
    call->body = sent;
    return problem;
}

/* Changes what was found, or creates. *again: another request has deleted, renamed or created the resource in between. */
static neo_problem *write_found(neo_call *call, action change, neo_result *result, int *again)
{
    int exists = *call->match.id != '\0';
    neo_problem *problem = exists ? change(call, result) : create_with_external_id(call, change, result);
    if (problem && exists)
        *again = problem->kind == NEO_NOT_FOUND_RESOURCE;
    else if (problem)
        *again = problem->kind == NEO_CONFLICT_DUPLICATE && problem->field && strcmp(problem->field, "external_id") == 0;
    return problem;
}

static neo_problem *change_or_create(neo_call *call, action change, neo_result *result)
{
    neo_problem *problem = decode_external_id(call);
    int again = 1;
    if (!problem)
        problem = complete_body(call);
    if (problem)
        return problem;
    for (int attempt = 0; attempt < NEO_CALL_MAX_ATTEMPTS && again; attempt++) {
        again = 0;
        problem = look_up_id(call);
        if (!problem)
            problem = write_found(call, change, result, &again);
    }
    return again ? neo_call_failed(call, NEO_PG_RETRY, NULL) : problem;
}

neo_problem *neo_call_upsert(neo_call *call, neo_result *result)
{
    return change_or_create(call, neo_call_replace, result);
}

neo_problem *neo_call_merge(neo_call *call, neo_result *result)
{
    return change_or_create(call, neo_call_patch, result);
}

static neo_problem *find_by_path(neo_call *call)
{
    neo_problem *problem = decode_external_id(call);
    return problem ? problem : look_up_id(call);
}

neo_problem *neo_call_read_external(neo_call *call, neo_result *result)
{
    neo_problem *problem = find_by_path(call);
    return problem ? problem : neo_call_read(call, result);
}

neo_problem *neo_call_delete_external(neo_call *call, neo_result *result)
{
    neo_problem *problem = find_by_path(call);
    return problem ? problem : neo_call_delete(call, result);
}
