/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing batches (see schema/batch.h). */
#include "schema/batch.h"

#include <apr_strings.h>
#include <string.h>

#include "core/entity_tag.h"
#include "core/id.h"

#define MAX_SHOWN 60 /* bytes of an unknown name that are repeated in the error */

const char *const neo_methods[NEO_METHODS + 1] = {[NEO_METHOD_CREATE] = "create",
                                                  [NEO_METHOD_UPDATE] = "update",
                                                  [NEO_METHOD_DELETE] = "delete",
                                                  [NEO_METHOD_UPSERT] = "upsert",
                                                  [NEO_METHOD_MERGE] = "merge"};

static const neo_field operation_fields[] = {
    {.name = "method",
     .type = NEO_ENUM,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED,
     .values = neo_methods,
     .doc = "The operation."},
    {.name = "id",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_CONDITIONAL,
     .max = NEO_ID_SIZE - 1,
     .doc = "Of an update or delete: `{\"external_id\": \"…\"}`, or the id of the resource. Not allowed in others."},
    {.name = "external_id",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_CONDITIONAL,
     .max = 100,
     .doc = "Of an upsert or merge: the `external_id` of the resource. Not allowed in others."},
    {.name = "if_match",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_CONDITIONAL,
     .doc = "The `ETag` that the resource must have, with its quotes, or several, or `*`, as in `If-Match`. Not allowed in a "
            "create."},
    {.name = "data",
     .type = NEO_OBJECT,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_CONDITIONAL,
     .doc = "The resource, or for an update or merge a JSON merge patch. Not allowed in a delete."},
    {0},
};

const neo_field neo_batch_fields[] = {
    {.name = "atomic",
     .type = NEO_BOOLEAN,
     .personal = NEO_NOT_PERSONAL,
     .doc = "Of a batch: whether all operations are executed or none."},
    {.name = "operations",
     .type = NEO_LIST,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED,
     .fields = operation_fields,
     .max_items = NEO_BATCH_MAX_OPERATIONS,
     .doc = "Of a batch: the operations, at least one."},
    {0},
};

typedef struct {
    const neo_resource *resource;
    apr_pool_t *pool;
    neo_problem *problem;
} reader;

static void add_batch_error(reader *r, neo_code code, const char *path, const char *message)
{
    neo_problem_field(&r->problem, r->pool, code, r->resource->name, path, "%s", message);
}

static const char *join(const reader *r, const char *path, const char *name)
{
    return *path ? apr_pstrcat(r->pool, path, ".", name, NULL) : name;
}

/* A member's value; NULL if it is missing or null. */
static neo_json *member(const neo_json *object, const char *name)
{
    neo_json *value = neo_json_get(object, name);
    return value && neo_json_get_kind(value) != NEO_JSON_NULL ? value : NULL;
}

/* Returns whether a value is present and of that kind; adds an error if not. */
static int require_kind(reader *r, const neo_json *value, neo_json_kind kind, const char *path)
{
    if (!value)
        add_batch_error(r, NEO_VALIDATION_FIELD_REQUIRED, path, "is required");
    else if (neo_json_get_kind(value) != kind)
        neo_problem_field(&r->problem, r->pool, NEO_VALIDATION_FIELD_INVALID, r->resource->name, path, "must be %s, not %s",
                          neo_json_kind_name(kind), neo_json_kind_name(neo_json_get_kind(value)));
    return value && neo_json_get_kind(value) == kind;
}

static void refuse_unknown_names(reader *r, neo_json *object, const char *const *names, const char *path)
{
    for (void *m = neo_json_first(object); m; m = neo_json_next(object, m)) {
        const char *key = neo_json_member_key(m);
        const char *const *n = names;
        while (*n && strcmp(*n, key) != 0)
            n++;
        if (!*n && strlen(key) <= MAX_SHOWN)
            add_batch_error(r, NEO_VALIDATION_UNKNOWN_FIELD, join(r, path, key), "is not a field of a batch");
        else if (!*n)
            add_batch_error(r, NEO_VALIDATION_UNKNOWN_FIELD, *path ? path : "body", "has an unknown field");
    }
}

/* ---------------------------------------------------------------- one operation */

/* A member that is required by some methods and not allowed in others. NULL if it is missing or wrong. */
static neo_json *read_member(reader *r, const neo_json *object, neo_method method, int is_needed, const char *name,
                             neo_json_kind kind, const char *path)
{
    neo_json *value = member(object, name);
    const char *at = join(r, path, name);
    if (is_needed)
        return require_kind(r, value, kind, at) ? value : NULL;
    if (value)
        neo_problem_field(&r->problem, r->pool, NEO_VALIDATION_FIELD_INVALID, r->resource->name, at, "is not allowed in %s %s",
                          strchr("aeiou", *neo_methods[method]) ? "an" : "a", neo_methods[method]);
    return NULL;
}

static int read_method(reader *r, const neo_json *object, const char *path, neo_method *method)
{
    const neo_json *value = member(object, "method");
    const char *at = join(r, path, "method");
    if (!require_kind(r, value, NEO_JSON_STRING, at))
        return 0;
    for (*method = 0; *method < NEO_METHODS; ++*method)
        if (neo_batch_has_method(r->resource, *method) && strcmp(neo_methods[*method], neo_json_string(value)) == 0)
            return 1;
    add_batch_error(r, NEO_VALIDATION_FIELD_INVALID, at,
                    neo_has_external_id(r->resource) ? "must be create, update, delete, upsert or merge"
                                                     : "must be create, update or delete");
    return 0;
}

/* The id of an update or delete, or {"external_id": "…"}. */
static void read_target(reader *r, const neo_json *sent, const char *path, neo_batch_operation *operation)
{
    int has_id = operation->method == NEO_METHOD_UPDATE || operation->method == NEO_METHOD_DELETE;
    const neo_json *value = member(sent, "id");
    if (has_id && value && neo_json_size(value) == 1 && neo_has_external_id(r->resource))
        operation->external_id = neo_json_string_at(value, "external_id");
    if (operation->external_id)
        return;
    if (has_id && value && neo_json_get_kind(value) == NEO_JSON_OBJECT && neo_has_external_id(r->resource)) {
        add_batch_error(r, NEO_VALIDATION_FIELD_INVALID, join(r, path, "id"), "must be a string or {\"external_id\": \"…\"}");
        return;
    }
    const neo_json *id = read_member(r, sent, operation->method, has_id, "id", NEO_JSON_STRING, path);
    operation->id = id ? neo_json_string(id) : NULL;
}

/* Reads the external_id of an upsert or merge, and adds it to the data, which may leave it out. */
static void read_external_id(reader *r, const neo_json *sent, const char *path, neo_batch_operation *operation)
{
    int is_needed = neo_batch_may_create(operation);
    const neo_json *id = read_member(r, sent, operation->method, is_needed, "external_id", NEO_JSON_STRING, path);
    if (!id || !operation->data)
        return;
    operation->external_id = neo_json_string(id);
    const neo_json *own = neo_json_get(operation->data, "external_id");
    const char *text = neo_json_string_at(operation->data, "external_id");
    if (own && !(text && strcmp(text, operation->external_id) == 0))
        add_batch_error(r, NEO_VALIDATION_FIELD_INVALID, join(r, path, "external_id"),
                        "must be that of data, which may leave it out");
    else
        neo_json_set_string(operation->data, "external_id", operation->external_id, r->pool);
}

static void read_operation(reader *r, neo_json *sent, const char *path, neo_batch_operation *operation)
{
    static const char *const names[] = {"method", "id", "external_id", "if_match", "data", NULL};
    if (!require_kind(r, sent, NEO_JSON_OBJECT, path))
        return;
    refuse_unknown_names(r, sent, names, path);
    if (!read_method(r, sent, path, &operation->method))
        return;
    neo_method method = operation->method;
    read_target(r, sent, path, operation);
    operation->data = read_member(r, sent, method, method != NEO_METHOD_DELETE, "data", NEO_JSON_OBJECT, path);
    read_external_id(r, sent, path, operation);
    const neo_json *if_match = member(sent, "if_match");
    if (if_match)
        if_match = read_member(r, sent, method, method != NEO_METHOD_CREATE, "if_match", NEO_JSON_STRING, path);
    operation->if_match = if_match ? neo_json_string(if_match) : NULL;
    if (if_match && !neo_entity_tags_are_valid(operation->if_match))
        add_batch_error(r, NEO_VALIDATION_FIELD_INVALID, join(r, path, "if_match"), NEO_ENTITY_TAGS_FORM);
}

/* ---------------------------------------------------------------- the body */

static void read_operations(reader *r, const neo_json *list, neo_batch *batch)
{
    if (!require_kind(r, list, NEO_JSON_ARRAY, "operations"))
        return;
    apr_size_t count = neo_json_size(list);
    if (count > NEO_BATCH_MAX_OPERATIONS)
        neo_problem_field(&r->problem, r->pool, NEO_VALIDATION_BATCH_TOO_LARGE, "", "operations",
                          "must have at most %d elements, not %d", NEO_BATCH_MAX_OPERATIONS, (int)count);
    else if (count == 0)
        add_batch_error(r, NEO_VALIDATION_FIELD_INVALID, "operations", "must have at least one element");
    if (count == 0 || count > NEO_BATCH_MAX_OPERATIONS)
        return;
    batch->count = (int)count;
    batch->operations = apr_pcalloc(r->pool, count * sizeof *batch->operations);
    for (apr_size_t i = 0; i < count; i++) {
        reader one = {r->resource, r->pool, NULL};
        read_operation(&one, neo_json_at(list, i), apr_psprintf(r->pool, "operations[%d]", (int)i), &batch->operations[i]);
        if (one.problem)
            batch->operations[i] = (neo_batch_operation){.method = NEO_METHODS, .problem = one.problem};
    }
}

neo_problem *neo_batch_read(const neo_resource *resource, neo_json *body, apr_pool_t *pool, neo_batch *batch)
{
    static const char *const names[] = {"atomic", "operations", NULL};
    reader r = {resource, pool, NULL};
    *batch = (neo_batch){0};
    if (neo_json_get_kind(body) != NEO_JSON_OBJECT) {
        neo_problem_field(&r.problem, pool, NEO_VALIDATION_MALFORMED_JSON, "", "body", "must be a JSON object, not %s",
                          neo_json_kind_name(neo_json_get_kind(body)));
        return r.problem;
    }
    const neo_json *atomic = member(body, "atomic");
    batch->is_atomic = atomic && require_kind(&r, atomic, NEO_JSON_BOOLEAN, "atomic") && neo_json_is_true(atomic);
    refuse_unknown_names(&r, body, names, "");
    read_operations(&r, member(body, "operations"), batch);
    return r.problem;
}

int neo_batch_may_affect(const neo_resource *resource, const neo_batch_operation *operation)
{
    int may_update = operation->method == NEO_METHOD_UPDATE || neo_batch_may_create(operation);
    return resource->effects &&
           (operation->method == NEO_METHOD_DELETE || (may_update && neo_json_get(operation->data, "status")));
}

int neo_batch_cost(int operations)
{
    return (operations + NEO_BATCH_OPERATIONS_PER_REQUEST - 1) / NEO_BATCH_OPERATIONS_PER_REQUEST;
}

int neo_batch_may_create(const neo_batch_operation *operation)
{
    return operation->method == NEO_METHOD_UPSERT || operation->method == NEO_METHOD_MERGE;
}

int neo_batch_has_method(const neo_resource *resource, neo_method method)
{
    return method < NEO_METHOD_UPSERT || neo_has_external_id(resource);
}
