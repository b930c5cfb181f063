/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of an operation's sample, made from its row and the examples of fields (see openapi/reference.h).
 * The requests before the sample's own create what it changes or refers to; only reads use what exists. So that all can be sent
 * twice, unique fields get random values. */
#include <apr_lib.h>
#include <apr_strings.h>
#include <string.h>

#include "openapi/reference.h"
#include "resources/list.h"

typedef struct {
    apr_pool_t *pool;
    apr_array_header_t *steps;
    apr_table_t *variables; /* "{broker_id}" by the id in examples that it replaces */
    int depth;              /* 0: the sample's own request; more: one before it */
    int unique_count[2];    /* the number of variables {unique}, {unique_2}, … of its own request and of those before it */
} maker;

static neo_json *make_body(maker *m, const neo_resource *resource);

/* What has no collection of its own to be created in: where its ids are found. A test makes a delivery. */
static const struct {
    const char *name, *prefix, *method, *path;
} listed[] = {
    {"conversation_id", "wac_", "GET", "whatsapp/conversations?window_open=true&limit=1"},
    {"message_id", "wam_", "GET", "whatsapp/conversations/{conversation_id}/messages?limit=1"},
    {"delivery_id", "whd_", "POST", "webhooks/{webhook_id}/test"},
    {"event_id", "evt_", "GET", "events?limit=1"},
};

static void add_step(maker *m, neo_sample_step step)
{
    *(neo_sample_step *)apr_array_push(m->steps) = step;
}

static const char *numbered(maker *m, const char *name, int number)
{
    return number == 1 ? name : apr_psprintf(m->pool, "%s_%d", name, number);
}

/* "broker_id"; that of a second broker is "broker_id_2". */
static const char *new_variable(maker *m, const char *name)
{
    int count = 1;
    for (int i = 0; i < m->steps->nelts; i++) {
        const char *other = APR_ARRAY_IDX(m->steps, i, neo_sample_step).variable;
        count += other && strncmp(other, name, strlen(name)) == 0;
    }
    return numbered(m, name, count);
}

static const char *add_braces(maker *m, const char *name)
{
    return apr_pstrcat(m->pool, "{", name, "}", NULL);
}

/* ---------------------------------------------------------------- ids */

static const char *create_resource(maker *m, const neo_resource *resource)
{
    m->depth++;
    neo_json *body = make_body(m, resource); /* first, because its references come first */
    m->depth--;
    const char *name = new_variable(m, apr_pstrcat(m->pool, resource->name, "_id", NULL));
    add_step(m, (neo_sample_step){name, resource->prefix, "POST", resource->collection, body});
    return add_braces(m, name);
}

static const char *look_up(maker *m, const char *name, const char *prefix, const char *path)
{
    add_step(m, (neo_sample_step){name, prefix, "GET", path, NULL});
    return add_braces(m, name);
}

static const char *look_up_listed(maker *m, size_t i)
{
    add_step(m, (neo_sample_step){listed[i].name, listed[i].prefix, listed[i].method, listed[i].path, NULL});
    return add_braces(m, listed[i].name);
}

static const neo_resource *resource_with_prefix(const char *id)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if (strncmp(id, (*r)->prefix, strlen((*r)->prefix)) == 0)
            return *r;
    return NULL;
}

static int is_id(const char *text)
{
    return text && strlen(text) == 30 && text[3] == '_' && strcspn(text, " .{") == 30;
}

/* The variable instead of an id of the examples; NULL if there is none of that kind. */
static const char *replace_id(maker *m, const char *text)
{
    const char *variable = apr_table_get(m->variables, text);
    const neo_resource *resource = resource_with_prefix(text);
    if (!variable && resource)
        variable = create_resource(m, resource);
    for (size_t i = 0; !variable && i < sizeof listed / sizeof *listed; i++)
        if (strncmp(text, listed[i].prefix, strlen(listed[i].prefix)) == 0)
            variable = look_up_listed(m, i);
    if (variable)
        apr_table_set(m->variables, text, variable);
    return variable;
}

/* A copy of a value with variables for ids, without members whose id has none: they are optional. */
static neo_json *replace_ids(maker *m, neo_json *value)
{
    neo_json_kind kind = neo_json_get_kind(value);
    const char *variable = is_id(neo_json_string(value)) ? replace_id(m, neo_json_string(value)) : NULL;
    if (variable)
        return neo_json_make_string(variable, m->pool);
    if (kind != NEO_JSON_OBJECT && kind != NEO_JSON_ARRAY)
        return value;
    neo_json *copy = kind == NEO_JSON_OBJECT ? neo_json_make_object(m->pool) : neo_json_make_array(m->pool);
    for (void *member = neo_json_first(value); member; member = neo_json_next(value, member)) {
        neo_json *replaced = replace_ids(m, neo_json_member_value(member));
        if (!is_id(neo_json_string(replaced)))
            neo_json_set(copy, neo_json_member_key(member), replaced);
    }
    for (apr_size_t i = 0; kind == NEO_JSON_ARRAY && i < neo_json_size(value); i++)
        neo_json_append(copy, replace_ids(m, neo_json_at(value, i)));
    return copy;
}

/* ---------------------------------------------------------------- bodies */

/* "{unique}", with another number for each resource. */
static const char *new_unique(maker *m)
{
    return add_braces(m, numbered(m, "unique", ++m->unique_count[m->depth > 0]));
}

/* With random digits instead of the last ones, at most eight: a telephone number stays one. */
static neo_json *make_unique(maker *m, const neo_json *example)
{
    const char *text = neo_json_string(example);
    size_t end = strlen(text), digits = 0;
    while (end && !apr_isdigit(text[end - 1]))
        end--;
    while (digits < 8 && digits < end && apr_isdigit(text[end - digits - 1]))
        digits++;
    return neo_json_make_string(
        apr_pstrcat(m->pool, apr_pstrmemdup(m->pool, text, end - digits), new_unique(m), text + end, NULL), m->pool);
}

/* The required fields, with their examples. */
static neo_json *make_members(maker *m, const neo_field *fields)
{
    neo_json *body = neo_json_make_object(m->pool);
    for (const neo_field *f = fields; f->name; f++) {
        if (f->flags & (NEO_SERVER | NEO_NOT_IN_EXAMPLE) || !(f->flags & (NEO_REQUIRED | NEO_CONDITIONAL)))
            continue;
        neo_json *value = f->example ? neo_openapi_json(m->pool, "%s", f->example) : make_members(m, f->fields);
        if (!f->example && f->type == NEO_LIST) {
            neo_json *list = neo_json_make_array(m->pool);
            neo_json_append(list, value);
            value = list;
        }
        neo_json_set(body, f->name, f->flags & NEO_UNIQUE ? make_unique(m, value) : value);
    }
    return body;
}

static neo_json *make_body(maker *m, const neo_resource *resource)
{
    return replace_ids(m, make_members(m, resource->fields));
}

static neo_json *make_patch(maker *m, const neo_resource *resource)
{
    neo_json *patch = neo_openapi_sample(resource, NEO_SHAPE_PATCH, m->pool);
    for (const neo_field *f = resource->fields; f->name; f++)
        if (f->flags & NEO_UNIQUE && neo_json_string_at(patch, f->name))
            neo_json_set(patch, f->name, make_unique(m, neo_json_get(patch, f->name)));
    return replace_ids(m, patch);
}

/* Creates one resource and changes another. */
static neo_json *make_batch(maker *m, const neo_resource *resource)
{
    neo_json *batch = neo_openapi_json(m->pool, NEO_JSON({"operations" : [ {"method" : "create"}, {"method" : "update"} ]}));
    neo_json *operations = neo_json_get(batch, "operations"), *update = neo_json_at(operations, 1);
    const char *id = create_resource(m, resource);
    neo_json_set(neo_json_at(operations, 0), "data", make_body(m, resource));
    neo_json_set_string(update, "id", id, m->pool);
    neo_json_set(update, "data", make_patch(m, resource));
    return batch;
}

/* ---------------------------------------------------------------- the operation itself */

/* Whether it acts on what exists. */
static int uses_existing(const neo_reference_entry *entry)
{
    return strcmp(entry->method, "GET") == 0 && !strstr(entry->path, "{delivery_id}");
}

static neo_json *operation_body(maker *m, const neo_reference_entry *entry)
{
    const neo_operation *operation = entry->operation;
    const neo_resource *sent = operation->body ? operation->body : entry->resource;
    if (!(operation->accepts & NEO_ACCEPTS_BODY))
        return NULL;
    if (operation->accepts & NEO_ACCEPTS_BATCH)
        return make_batch(m, sent);
    if (operation->accepts & NEO_ACCEPTS_MERGE_PATCH && !neo_operation_is_by_external_id(operation))
        return make_patch(m, sent);
    if (operation->body || operation->resource)
        return replace_ids(m, neo_openapi_sample(sent, NEO_SHAPE_INPUT, m->pool));
    return make_body(m, sent);
}

/* The path with variables: "brokers/{broker_id}". Adds the steps that set them. */
static const char *operation_path(maker *m, const neo_reference_entry *entry)
{
    const char *path = entry->path, *id = NULL;
    if (neo_operation_is_by_external_id(entry->operation)) {
        int creates = strcmp(entry->method, "PUT") == 0 || strcmp(entry->method, "PATCH") == 0;
        const char *by_id = apr_pstrcat(m->pool, entry->resource->collection, "/by-external-id/", NULL);
        m->depth += !creates;
        path = apr_pstrcat(m->pool, by_id, "crm-", new_unique(m), NULL);
        neo_json *body = creates ? NULL : make_body(m, entry->resource);
        m->depth = 0;
        if (creates)
            return path;
        add_step(m, (neo_sample_step){"external_id", "crm-", "PUT", path, body});
        return apr_pstrcat(m->pool, by_id, "{external_id}", NULL);
    }
    const char *gap = strstr(path, "{id}");
    if (!gap)
        return path;
    const char *name = apr_pstrcat(m->pool, entry->resource->name, "_id", NULL);
    if (strncmp(path, "whatsapp/", 9) == 0)
        id = look_up_listed(m, 0);
    else if (uses_existing(entry))
        id = look_up(m, strcmp(entry->resource->prefix, "evt_") == 0 ? "event_id" : name, entry->resource->prefix,
                     apr_pstrcat(m->pool, entry->resource->collection, "?limit=1", NULL));
    else
        id = create_resource(m, entry->resource);
    path = apr_pstrcat(m->pool, apr_pstrmemdup(m->pool, path, (apr_size_t)(gap - path)), id, gap + strlen("{id}"), NULL);
    for (size_t i = 1; i < sizeof listed / sizeof *listed; i++)
        if (strstr(path, add_braces(m, listed[i].name)) && !strstr(id, listed[i].name))
            look_up_listed(m, i);
    return path;
}

/* A list without a limit would be long; what needs no credential needs an organization; a person must be named. */
static const char *add_query(maker *m, const neo_reference_entry *entry, const char *path)
{
    unsigned int accepts = neo_operation_accepts(entry->operation, entry->resource);
    if (accepts & NEO_ACCEPTS_ORGANIZATION_ID) {
        return apr_pstrcat(m->pool, path, "?organization_id=", look_up(m, "organization_id", "org_", "me"), NULL);
    }
    const neo_filter *filter = entry->operation->filters;
    if (filter == neo_subject_filters) /* one is required */
        return apr_pstrcat(m->pool, path, "?", filter->name, "=",
                           neo_json_string(neo_openapi_json(m->pool, "%s", filter->example)), NULL);
    return accepts & NEO_ACCEPTS_PAGE ? apr_pstrcat(m->pool, path, "?limit=3", NULL) : path;
}

const apr_array_header_t *neo_sample_steps(const neo_reference *reference, const neo_reference_entry *entry)
{
    apr_pool_t *pool = reference->pool;
    maker m = {.pool = pool, .steps = apr_array_make(pool, 4, sizeof(neo_sample_step)), .variables = apr_table_make(pool, 4)};
    const char *path = operation_path(&m, entry);
    neo_json *body = operation_body(&m, entry);
    add_step(&m, (neo_sample_step){.method = entry->method, .path = add_query(&m, entry, path), .body = body});
    return m.steps;
}
