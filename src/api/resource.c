/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on one resource: create, read, patch, replace, delete. */
#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/json.h"
#include "core/secret.h"
#include "schema/business_rules.h"
#include "schema/import.h"
#include "schema/references.h"
#include "schema/validate.h"

/* ---------------------------------------------------------------- refusals of a statement */

static int has_refusals(const neo_rows *rows)
{
    return rows->count > 0 && !neo_rows_value(rows, 0, NEO_WRITTEN_ANSWER);
}

void neo_call_add_missing(neo_call *call, neo_problem **problem, const char *path)
{
    neo_problem_field(problem, call->pool, NEO_VALIDATION_FIELD_NOT_FOUND, call->match.resource->name, path,
                      "refers to a resource that does not exist in the organization");
}

/* NULL if all references exist. */
static neo_problem *check_references(neo_call *call, const neo_rows *rows)
{
    neo_problem *problem = NULL;
    for (int i = 0; has_refusals(rows) && i < rows->count; i++)
        neo_call_add_missing(call, &problem, neo_rows_value(rows, i, NEO_WRITTEN_REFUSAL));
    return problem;
}

/* "a, b and c" */
static const char *join_names(const apr_array_header_t *names, apr_pool_t *pool)
{
    const char *all = "";
    for (int i = 0; i < names->nelts; i++)
        all = apr_pstrcat(pool, all,
                          i == 0                  ? ""
                          : i == names->nelts - 1 ? " and "
                                                  : ", ",
                          APR_ARRAY_IDX(names, i, const char *), NULL);
    return all;
}

/* `users` as in sql/reference.h. Ids are named only of the kinds that the credential may read. */
neo_problem *neo_call_in_use(neo_call *call, const char *users)
{
    apr_pool_t *pool = call->pool;
    apr_array_header_t *kinds = apr_array_make(pool, 4, sizeof(char *)), *ids = apr_array_make(pool, 4, sizeof(char *));
    char *rest = apr_pstrdup(pool, users), *path;
    while ((path = strsep(&rest, ","))) {
        const char *kind = strsep(&path, " "), *id = strsep(&path, " ");
        const neo_resource *resource = neo_resource_named(kind);
        APR_ARRAY_PUSH(kinds, const char *) = apr_pstrcat(pool, strchr("aeiou", *kind) ? "an " : "a ", kind, NULL);
        if (resource && call->scopes & NEO_SCOPE_READ(resource->area))
            APR_ARRAY_PUSH(ids, const char *) = apr_pstrcat(pool, id, " (", path, ")", NULL);
    }
    return neo_problem_make(pool, NEO_CONFLICT_IN_USE,
                            "The %s cannot be deleted while %s %s to it. Remove the references first%s%s.",
                            call->match.resource->name, join_names(kinds, pool), kinds->nelts > 1 ? "refer" : "refers",
                            ids->nelts ? ", such as " : "", join_names(ids, pool));
}

/* ---------------------------------------------------------------- create */

/* Some resources' ids have a suffix that must be unique in the organization. */
static int is_id_taken(const neo_call *call, const neo_rows *rows)
{
    const char *index = apr_pstrcat(call->pool, neo_table_name(call->match.resource), "_id_suffix", NULL);
    return rows->constraint && strcmp(rows->constraint, index) == 0;
}

/* The keys of a subscription to write that signs with them. It keeps those that it has. */
static neo_key_pair make_keys(neo_call *call, const char *id, const neo_json *body)
{
    return neo_webhook_needs_keys(call->match.resource, body) ? neo_key_pair_make(&call->site->keys, id, call->pool)
                                                              : (neo_key_pair){0};
}

static neo_pg_status insert(neo_call *call, neo_pg *pg, void *baton, neo_rows *rows)
{
    neo_new *row = baton;
    neo_json *body = row->body;
    const char *secret = row->secret;
    if (row->times)
        neo_import_new_id(row->id, call->match.resource->prefix, row->created_at);
    else
        row->created_at = neo_id_issue(row->id, call->match.resource->prefix);
    row->secret = secret ? neo_secret_seal(&call->site->keys, row->id, secret, call->pool) : NULL;
    row->body = neo_call_seal(call, row->id, body);
    row->keys = make_keys(call, row->id, body);
    neo_pg_status status = neo_table_create(pg, call->match.resource, &call->actor, call->idempotency, row, call->pool, rows);
    row->secret = secret;
    row->body = body;
    return status == NEO_PG_UNIQUE_VIOLATION && is_id_taken(call, rows) ? NEO_PG_RETRY : status;
}

/* Adds the http URLs that the site does not allow. `clean` has the fields that are valid by themselves. */
static neo_problem *check_schemes(const neo_call *call, const neo_json *clean, neo_problem *problem)
{
    const neo_resource *resource = call->match.resource;
    for (const neo_field *f = resource->fields; f->name && !call->site->allows_http; f++) {
        const char *url = f->flags & NEO_HTTPS ? neo_json_string(neo_json_get(clean, f->name)) : NULL;
        if (url && strncasecmp(url, "http:", 5) == 0)
            neo_problem_field(&problem, call->pool, NEO_VALIDATION_FIELD_INVALID, resource->name, f->name,
                              "must be an https URL");
    }
    return problem;
}

/* `pg` as in neo_call_resolve_references. */
static neo_problem *validate(neo_call *call, neo_pg *pg, neo_json **clean)
{
    neo_json *body = call->body;
    *clean = NULL;
    neo_problem *problem = neo_call_resolve_references(call, pg, &body);
    if (problem)
        return problem;
    problem = neo_validate(call->match.resource, body, call->pool, clean);
    return check_schemes(call, *clean, problem);
}

/* Sets *clean, and the members of `row` about times. */
static neo_problem *check_new(neo_call *call, neo_json **clean, neo_new *row)
{
    int is_import;
    neo_problem *problem = neo_call_read_import(call, &is_import);
    if (problem || is_import)
        return problem ? problem : neo_call_check_history(call, clean, row);
    problem = validate(call, NULL, clean);
    problem = neo_call_check_sealed(call, NULL, *clean, problem);
    return problem ? problem
                   : neo_transition_check(call->match.resource, NULL, neo_json_string(neo_json_get(*clean, "status")),
                                          call->pool, &row->timestamp_field);
}

/* A request that the rules refuse now may have been executed before, with the same idempotency key. */
static neo_problem *check_new_row(neo_call *call, neo_pg *pg, neo_new *row, neo_result *result)
{
    neo_rule_input input = {.resource = call->match.resource, .id = "", .after = row->body, .is_history = row->times != NULL};
    neo_problem *refusal, *problem;
    neo_rows rows;
    int is_free = 1;
    neo_pg_status status = neo_call_check_rules(call, pg, &input, &refusal, &rows);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, &rows);
    row->target = neo_rules_target(&input);
    problem = refusal && call->idempotency ? neo_call_replay(call, pg, NULL, result, &is_free) : NULL;
    return is_free ? refusal : problem;
}

/* Checks the rules and writes the row. Only if the row's target has changed in between, it is not found, and the request starts
 * again. */
static neo_problem *check_and_insert(neo_call *call, neo_pg *pg, neo_new *row, neo_rows *rows, neo_result *result)
{
    neo_problem *problem;
    int attempt = 0;
    *rows = (neo_rows){0};
    do {
        problem = check_new_row(call, pg, row, result);
        if (problem || result->is_replayed)
            return problem;
        problem = neo_call_write_idempotent(call, pg, &(neo_idempotent){.write = insert, .baton = row}, rows, result);
    } while (problem && problem->kind == NEO_NOT_FOUND_RESOURCE && ++attempt < NEO_CALL_MAX_ATTEMPTS);
    return attempt < NEO_CALL_MAX_ATTEMPTS ? problem : neo_call_failed(call, NEO_PG_RETRY, NULL);
}

static neo_problem *create_row(neo_call *call, neo_pg *pg, neo_new *row, neo_result *result)
{
    neo_rows rows;
    neo_problem *problem = check_and_insert(call, pg, row, &rows, result);
    if (problem)
        neo_call_find_duplicate(call, pg, &rows, row->id, row->body, problem);
    if (problem || result->is_replayed || (problem = check_references(call, &rows)))
        return problem;
    *result = (neo_result){.status = 201, .body = neo_rows_text(&rows, 0, NEO_WRITTEN_ANSWER), .secret = row->secret};
    return NULL;
}

neo_problem *neo_call_create(neo_call *call, neo_result *result)
{
    neo_new row = {.secret = neo_secret_field(call->match.resource) ? neo_webhook_secret_make(call->pool) : NULL};
    neo_problem *problem = check_new(call, &row.body, &row);
    return problem ? problem : neo_call_create_shared(call, create_row, &row, result);
}

/* ---------------------------------------------------------------- read */

static neo_problem *read_resource(neo_call *call, neo_rows *rows)
{
    neo_pg *pg;
    neo_problem *problem = neo_call_acquire_for_id(call, &pg);
    if (problem)
        return problem;
    neo_pg_status status = neo_table_read(pg, call->match.resource, &call->actor, call->match.id, call->pool, rows);
    neo_call_release(call, pg);
    problem = neo_call_check_found(call, status, rows);
    return problem ? problem : neo_call_check_external_id(call, neo_rows_text(rows, 0, 0));
}

neo_problem *neo_call_read(neo_call *call, neo_result *result)
{
    neo_rows rows;
    neo_problem *problem = NULL;
    const char *const *fields = neo_call_read_fields(call, &problem);
    if (problem || (problem = read_resource(call, &rows)))
        return problem;
    *result = (neo_result){.status = 200, .body = neo_call_projected(call, neo_rows_text(&rows, 0, 0), fields)};
    return NULL;
}

neo_problem *neo_call_find(neo_call *call)
{
    neo_rows rows;
    return read_resource(call, &rows);
}

/* ---------------------------------------------------------------- patch, replace, delete */

/* Runs the statement of a write. `version` is the row's as it was read, `current` its representation; NULL and empty: any
 * version. No problem and no status of *result: there is no such row, or not in this version, or a reference was made or
 * deleted at the same time. */
typedef neo_problem *(*writer)(neo_call *call, neo_pg *pg, const char *version, neo_text current, neo_result *result);

/* Optimistic retry: repeats if another writer has changed the row between reading and writing. */
static neo_problem *write_version(neo_call *call, neo_pg *pg, writer write, neo_result *result)
{
    neo_rows rows;
    for (int attempt = 0; attempt < NEO_CALL_MAX_ATTEMPTS; attempt++) {
        neo_pg_status status =
            neo_table_read_version(pg, call->match.resource, &call->actor, call->match.id, call->pool, &rows);
        neo_problem *problem = neo_call_check_found(call, status, &rows);
        if (problem)
            return problem;
        neo_text current = neo_rows_text(&rows, 0, 0);
        problem = neo_call_check_external_id(call, current);
        if (!problem)
            problem = neo_call_check_if_match(call, current);
        if (!problem)
            problem = write(call, pg, neo_rows_value(&rows, 0, 1), current, result);
        if (problem || result->status)
            return problem;
    }
    return neo_call_failed(call, NEO_PG_RETRY, NULL);
}

/* A write that depends on the row's current values needs its version; any other is one statement. */
static neo_problem *write_row(neo_call *call, writer write, int depends, neo_result *result)
{
    neo_pg *pg;
    neo_problem *problem = neo_call_acquire_for_id(call, &pg);
    if (problem)
        return problem;
    if (!depends && !call->external_id && !neo_call_header(call, "If-Match"))
        problem = write(call, pg, NULL, (neo_text){"", 0}, result);
    if (!problem && !result->status)
        problem = write_version(call, pg, write, result);
    neo_call_release(call, pg);
    return problem;
}

/* Sets *is_written if the statement returned rows. */
static neo_problem *check_written(neo_call *call, neo_pg_status status, const neo_rows *rows, int *is_written)
{
    *is_written = status == NEO_PG_OK && rows->count;
    if (*is_written)
        neo_call_notify_dispatcher(call, rows);
    return status == NEO_PG_OK || status == NEO_PG_FK_VIOLATION ? NULL : neo_call_failed(call, status, rows);
}

static neo_problem *check_change(neo_call *call, neo_pg *pg, neo_rule_input *input, neo_change *row)
{
    neo_problem *problem;
    neo_rows rows;
    neo_pg_status status = neo_call_check_change(call, pg, input, row, &problem, &rows);
    return status == NEO_PG_OK ? problem : neo_call_failed(call, status, &rows);
}

/* What the rules need was read after the row. If the row has changed in between, a refusal may be wrong, and the request starts
 * again. */
static neo_problem *refuse_if_unchanged(neo_call *call, neo_pg *pg, const char *version, neo_problem *refusal)
{
    neo_rows rows;
    neo_pg_status status = neo_table_read_version(pg, call->match.resource, &call->actor, call->match.id, call->pool, &rows);
    neo_problem *problem = neo_call_check_found(call, status, &rows);
    if (problem)
        return problem;
    return strcmp(neo_rows_value(&rows, 0, 1), version) == 0 ? refusal : NULL;
}

/* `before` is the resource as it was read, NULL if that does not matter. */
static neo_problem *update_row(neo_call *call, neo_pg *pg, const char *version, const neo_json *before, neo_json *clean,
                               neo_result *result)
{
    const neo_resource *resource = call->match.resource;
    neo_rows rows;
    int is_written;
    neo_change row = {.id = call->match.id,
                      .version = version,
                      .body = neo_call_seal(call, call->match.id, clean),
                      .keys = make_keys(call, call->match.id, clean)};
    neo_rule_input input = {.resource = resource, .id = call->match.id, .before = before, .after = clean};
    neo_problem *problem = resource->preconditions ? check_change(call, pg, &input, &row) : NULL;
    if (problem)
        return refuse_if_unchanged(call, pg, version, problem);
    neo_pg_status status = neo_table_update(pg, resource, &call->actor, &row, call->pool, &rows);
    problem = check_written(call, status, &rows, &is_written);
    if (problem)
        neo_call_find_duplicate(call, pg, &rows, row.id, clean, problem);
    if (!problem && is_written && !(problem = check_references(call, &rows)))
        *result = (neo_result){.status = 200, .body = neo_rows_text(&rows, 0, NEO_WRITTEN_ANSWER)};
    return problem;
}

static neo_problem *patch_row(neo_call *call, neo_pg *pg, const char *version, neo_text current, neo_result *result)
{
    const char *error;
    neo_json *clean = NULL, *before = neo_json_parse(current, call->pool, &error);
    if (!before)
        return neo_problem_internal(call->pool);
    neo_json *merged = neo_json_merge_patch(before, call->body, call->pool);
    neo_problem *problem = neo_call_resolve_references(call, pg, &merged);
    if (problem)
        return problem;
    problem = neo_validate_merged(call->match.resource, merged, call->body, call->pool, &clean);
    problem = check_schemes(call, clean, problem);
    problem = neo_call_check_sealed(call, before, clean, problem);
    return problem ? problem : update_row(call, pg, version, before, clean, result);
}

static neo_problem *replace_row(neo_call *call, neo_pg *pg, const char *version, neo_text current, neo_result *result)
{
    const char *error;
    neo_json *clean, *before = NULL;
    if ((call->match.resource->preconditions || neo_call_keeps_sealed(call)) &&
        !(before = neo_json_parse(current, call->pool, &error)))
        return neo_problem_internal(call->pool);
    neo_problem *problem = validate(call, pg, &clean);
    problem = neo_call_check_sealed(call, before, clean, problem);
    return problem ? problem : update_row(call, pg, version, before, clean, result);
}

/* `current` is empty if the resource has no rules. */
static neo_problem *check_deletion(neo_call *call, neo_pg *pg, neo_text current)
{
    const char *error;
    neo_rule_input input = {.resource = call->match.resource, .id = call->match.id};
    neo_problem *problem;
    neo_rows rows;
    if (!input.resource->preconditions)
        return NULL;
    if (!(input.before = neo_json_parse(current, call->pool, &error)))
        return neo_problem_internal(call->pool);
    neo_pg_status status = neo_call_check_rules(call, pg, &input, &problem, &rows);
    return status == NEO_PG_OK ? problem : neo_call_failed(call, status, &rows);
}

static neo_problem *delete_row(neo_call *call, neo_pg *pg, const char *version, neo_text current, neo_result *result)
{
    neo_rows rows;
    int is_written;
    neo_problem *refusal = check_deletion(call, pg, current);
    if (refusal)
        return refusal;
    neo_pg_status status = neo_table_delete(pg, call->match.resource, &call->actor, call->match.id, version, call->pool, &rows);
    neo_problem *problem = check_written(call, status, &rows, &is_written);
    if (problem || !is_written)
        return problem;
    if (has_refusals(&rows))
        return neo_call_in_use(call, neo_rows_value(&rows, 0, NEO_WRITTEN_REFUSAL));
    result->status = 204;
    return NULL;
}

neo_problem *neo_call_patch(neo_call *call, neo_result *result)
{
    return write_row(call, patch_row, 1, result);
}

/* References are separate rows, which a statement sees as of its start, so it must not update a newer version of the row. */
neo_problem *neo_call_replace(neo_call *call, neo_result *result)
{
    const neo_resource *resource = call->match.resource;
    return write_row(call, replace_row, resource->preconditions || neo_has_references(resource) || neo_call_keeps_sealed(call),
                     result);
}

neo_problem *neo_call_delete(neo_call *call, neo_result *result)
{
    const neo_resource *resource = call->match.resource;
    return write_row(call, delete_row, resource->preconditions || neo_has_references(resource), result);
}
