/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAPI document: paths, operations and the whole (see openapi/openapi.h). */
#include "openapi/openapi.h"

#include <apr_strings.h>
#include <string.h>

#include "resources/scope.h"
#include "schema/batch.h"
#include "schema/rules.h"

/* ---------------------------------------------------------------- parameters */

static const struct {
    unsigned int accepts;
    const char *component;
} taken[] = {
    {NEO_ACCEPTS_PAGE, "Limit"},
    {NEO_ACCEPTS_PAGE, "Cursor"},
    {NEO_ACCEPTS_SORT, "Sort"},
    {NEO_ACCEPTS_SORT_BY_ID, "SortByCreation"},
    {NEO_ACCEPTS_COUNT, "Count"},
    {NEO_ACCEPTS_IDEMPOTENCY_KEY, "IdempotencyKey"},
    {NEO_ACCEPTS_IF_MATCH, "IfMatch"},
    {NEO_ACCEPTS_IF_NONE_MATCH, "IfNoneMatch"},
    {NEO_ACCEPTS_IMPORT, "Import"},
    {NEO_ACCEPTS_FOLLOW, "Order"},
    {NEO_ACCEPTS_FOLLOW, "After"},
    {NEO_ACCEPTS_FOLLOW, "Wait"},
    {NEO_ACCEPTS_ORGANIZATION_ID, "OrganizationId"},
};

#define ID NEO_JSON({"type" : "string", "pattern" : "^[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}$"})

static neo_json *filter_schema(const neo_filter *filter, apr_pool_t *pool)
{
    static const char *const schemas[] = {
        [NEO_VALUE_TEXT] = NEO_JSON({"type" : "string", "minLength" : 1}),
        [NEO_VALUE_ENUM] = NEO_JSON({"type" : "string", "enum" : []}),
        [NEO_VALUE_TIMESTAMP] = NEO_JSON({"type" : "string", "format" : "date-time"}),
        [NEO_VALUE_CREATED_AT] = NEO_JSON({"type" : "string", "format" : "date-time"}),
        [NEO_VALUE_DATE] = NEO_JSON({"type" : "string", "format" : "date"}),
        [NEO_VALUE_MONTH] = NEO_JSON({"type" : "string", "pattern" : "^(1[89]|[2-9][0-9])[0-9]{2}-(0[1-9]|1[0-2])$"}),
        [NEO_VALUE_INTEGER] = NEO_JSON({"type" : "integer", "format" : "int64"}),
        [NEO_VALUE_ID] = ID,
        [NEO_VALUE_REFERENCE] = ID,
    };
    neo_json *schema = neo_openapi_json(pool, "%s", schemas[filter->value]);
    if (filter->kind == NEO_FILTER_CONTAINS)
        neo_json_set_integer(schema, "minLength", NEO_MIN_CONTAINED, pool);
    for (const char *const *v = filter->values; v && *v; v++)
        neo_json_append_string(neo_json_get(schema, "enum"), *v, pool);
    return schema;
}

/* A filter with several values is an array, separated by commas. */
static void set_filter_schema(neo_json *parameter, const neo_filter *filter, const char *example, apr_pool_t *pool)
{
    neo_json *schema = filter_schema(filter, pool);
    if (neo_filter_accepts_several(filter)) {
        neo_json *list = neo_openapi_json(pool, NEO_JSON({"type" : "array", "minItems" : 1, "maxItems" : 100}));
        neo_json_set(list, "items", schema);
        neo_json_set_boolean(parameter, "explode", 0, pool);
        schema = list;
    }
    neo_json_set(parameter, "schema", schema);
    if (example)
        neo_json_set(parameter, "example", neo_openapi_json(pool, neo_filter_accepts_several(filter) ? "[%s]" : "%s", example));
}

static neo_json *filter_parameter(const neo_filter *filter, const neo_resource *resource, apr_pool_t *pool)
{
    neo_json *parameter = neo_json_make_object(pool);
    const neo_field *field = resource ? neo_field_named(resource->fields, filter->name) : NULL;
    const neo_field *compared = resource ? neo_filter_field(resource, filter->name) : NULL;
    neo_json_set_string(parameter, "name", filter->name, pool);
    neo_json_set_string(parameter, "in", "query", pool);
    neo_json_set_string(parameter, "description", filter->doc, pool);
    if (compared)
        neo_openapi_deprecate(parameter, compared->deprecated, pool);
    set_filter_schema(parameter, filter, filter->example ? filter->example : field ? field->example : NULL, pool);
    return parameter;
}

/* creci of brokers is broker_creci; the common filters, without a resource, have their own names. */
static const char *filter_component(const neo_filter *filter, const neo_resource *resource, apr_pool_t *pool)
{
    return resource ? apr_pstrcat(pool, resource->name, "_", filter->name, NULL) : filter->name;
}

static void add_filter_components(const neo_openapi_builder *builder, const neo_filter *filters, const neo_resource *resource)
{
    for (const neo_filter *f = filters; f && f->name; f++)
        neo_openapi_add(builder, "parameters", filter_component(f, resource, builder->pool),
                        filter_parameter(f, resource, builder->pool));
}

static void refer_to_filters(const neo_openapi_builder *builder, neo_json *parameters, const neo_filter *filters,
                             const neo_resource *resource)
{
    for (const neo_filter *f = filters; f && f->name; f++)
        neo_json_append(parameters, neo_openapi_ref(builder, "parameters", filter_component(f, resource, builder->pool)));
}

/* The filters of a list: the operation's own, or those of the resource and of every resource. */
static void add_filters(const neo_openapi_builder *builder, neo_json *parameters, const neo_operation *operation,
                        const neo_resource *resource)
{
    for (const neo_filter *f = operation->filters; f && f->name; f++)
        neo_json_append(parameters, filter_parameter(f, NULL, builder->pool));
    if (!operation->filters) {
        refer_to_filters(builder, parameters, resource->filters, resource);
        refer_to_filters(builder, parameters, neo_common_filters, NULL);
    }
}

static void add_fields_parameter(const neo_openapi_builder *builder, const neo_resource *resource)
{
    neo_json *parameter = neo_openapi_add_template(builder, "parameters", "{resource}_fields", resource);
    neo_json *names = neo_json_get(neo_json_get(neo_json_get(parameter, "schema"), "items"), "enum");
    for (const char *const *name = neo_response_field_names(resource, builder->pool); *name; name++)
        neo_json_append_string(names, *name, builder->pool);
}

static neo_json *make_parameters(const neo_openapi_builder *builder, const neo_operation *operation,
                                 const neo_resource *resource)
{
    neo_json *parameters = neo_json_make_array(builder->pool);
    if (operation->access != NEO_ACCESS_PUBLIC)
        neo_json_append(parameters, neo_openapi_ref(builder, "parameters", "Organization"));
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (neo_operation_accepts(operation, resource) & taken[i].accepts)
            neo_json_append(parameters, neo_openapi_ref(builder, "parameters", taken[i].component));
    if (operation->accepts & NEO_ACCEPTS_FIELDS)
        neo_json_append(parameters,
                        neo_openapi_ref(builder, "parameters", neo_openapi_fill(builder, "{resource}_fields", resource)));
    if (operation->accepts & NEO_ACCEPTS_FILTERS)
        add_filters(builder, parameters, operation, resource);
    return parameters;
}

/* ---------------------------------------------------------------- bodies */

static neo_json *request_body(const neo_openapi_builder *builder, const neo_operation *operation, const neo_resource *resource)
{
    neo_shape shape = operation->accepts & NEO_ACCEPTS_MERGE_PATCH ? NEO_SHAPE_PATCH : NEO_SHAPE_INPUT;
    neo_json *body = neo_openapi_json(builder->pool, NEO_JSON({"required" : true, "content" : {}}));
    const neo_resource *sent = operation->body ? operation->body : resource;
    const char *schema = operation->accepts & NEO_ACCEPTS_BATCH ? neo_openapi_fill(builder, "{Resource}Batch", resource)
                                                                : neo_openapi_schema_name(sent, shape, builder->pool);
    neo_json *content = neo_openapi_content(builder, schema);
    neo_json_set(neo_json_get(body, "content"), "application/json", content);
    if (shape == NEO_SHAPE_PATCH)
        neo_json_set(neo_json_get(body, "content"), "application/merge-patch+json", content);
    return body;
}

/* The name of the schema of a success. */
static const char *answer_schema(const neo_openapi_builder *builder, const neo_operation *operation,
                                 const neo_resource *resource)
{
    if (operation->schema)
        return operation->schema;
    if (operation->accepts & NEO_ACCEPTS_BATCH)
        return neo_openapi_fill(builder, "{Resource}BatchResult", resource);
    if (operation->accepts & NEO_ACCEPTS_PAGE)
        return neo_openapi_fill(builder, "{Resource}List", resource);
    int is_made = operation->is_create && neo_openapi_has_schema(resource, NEO_SHAPE_CREATED);
    return neo_openapi_schema_name(resource, is_made ? NEO_SHAPE_CREATED : NEO_SHAPE_ANSWER, builder->pool);
}

/* ---------------------------------------------------------------- responses */

/* {"schema": {"type": "string"}} */
static neo_json *page_content(apr_pool_t *pool)
{
    neo_json *content = neo_json_make_object(pool), *schema = neo_json_make_object(pool);
    neo_json_set_string(schema, "type", "string", pool);
    neo_json_set(content, "schema", schema);
    return content;
}

static neo_json *make_success(const neo_openapi_builder *builder, const neo_operation *operation, const neo_resource *resource,
                              int status)
{
    apr_pool_t *pool = builder->pool;
    neo_json *success = neo_json_make_object(pool), *content = neo_json_make_object(pool);
    int existed = status == operation->status_existing;
    const char *answer = existed ? operation->answer_existing : operation->answer;
    unsigned int headers = operation->response_headers & ~(existed ? (unsigned int)NEO_RESPONSE_LOCATION : 0u);
    if (operation->accepts & NEO_ACCEPTS_IDEMPOTENCY_KEY)
        headers |= NEO_RESPONSE_REPLAYED;
    if (operation->deprecated) {
        headers |= NEO_RESPONSE_DEPRECATED;
        neo_openapi_add_template(builder, "headers", "Deprecation", NULL);
        neo_openapi_add_template(builder, "headers", "Sunset", NULL);
    }
    neo_json_set_string(success, "description", neo_openapi_fill(builder, answer, resource), pool);
    neo_json_set(success, "headers", neo_openapi_headers(builder, headers));
    if (operation->media_type) {
        neo_json_set(content, apr_pstrmemdup(pool, operation->media_type, strcspn(operation->media_type, ";")),
                     resource ? neo_openapi_content(builder, answer_schema(builder, operation, resource))
                              : neo_openapi_template(builder, operation->verb, NULL));
        if (operation->page)
            neo_json_set(content, "text/html", page_content(pool));
        neo_json_set(success, "content", content);
    }
    return success;
}

static void add_success(const neo_openapi_builder *builder, neo_json *responses, const neo_operation *operation,
                        const neo_resource *resource)
{
    int is_resource = resource && !operation->schema && operation->response_headers == NEO_RESPONSE_ETAG;
    /* The name of a response that several operations have. */
    const char *shared = !operation->media_type ? "Deleted" : is_resource ? resource->title : NULL;
    neo_json *success = make_success(builder, operation, resource, operation->status);
    neo_json_set(responses, apr_itoa(builder->pool, operation->status),
                 shared ? neo_openapi_share(builder, shared, success) : success);
    if (operation->status_existing)
        neo_json_set(responses, apr_itoa(builder->pool, operation->status_existing),
                     make_success(builder, operation, resource, operation->status_existing));
    if (operation->accepts & NEO_ACCEPTS_IF_NONE_MATCH)
        neo_json_set(responses, "304", neo_openapi_ref(builder, "responses", "NotModified"));
}

/* ---------------------------------------------------------------- operations */

const char *neo_openapi_operation_id(const neo_operation *operation, const neo_resource *resource, apr_pool_t *pool)
{
    const neo_openapi_builder builder = {.pool = pool};
    const char *noun = !strstr(operation->path, "{collection}")                         ? ""
                       : operation->accepts & (NEO_ACCEPTS_FILTERS | NEO_ACCEPTS_BATCH) ? "{Collection}"
                                                                                        : "{Resource}";
    return neo_openapi_fill(&builder, apr_pstrcat(pool, operation->verb, noun, NULL), resource);
}

static neo_json *make_operation(const neo_openapi_builder *builder, const neo_operation *operation,
                                const neo_resource *resource)
{
    apr_pool_t *pool = builder->pool;
    neo_json *made = neo_json_make_object(pool), *tags = neo_json_make_array(pool), *responses = neo_json_make_object(pool);
    const char *doc = operation->doc;
    if (operation->access == NEO_ACCESS_READ || operation->access == NEO_ACCESS_WRITE) {
        int is_read = operation->access == NEO_ACCESS_READ;
        neo_scopes scope = is_read ? NEO_SCOPE_READ(resource->area) : NEO_SCOPE_WRITE(resource->area);
        doc = apr_pstrcat(pool, doc, " Needs the scope `", neo_scope_text(scope, pool), "`.", NULL);
    }
    const char *tag = operation->tag ? operation->tag : neo_openapi_fill(builder, "{Collection}", resource);
    neo_json *parameters = make_parameters(builder, operation, resource);
    neo_json_append_string(tags, tag, pool);
    neo_json_set(made, "tags", tags);
    neo_json_set_string(made, "summary", neo_openapi_fill(builder, operation->summary, resource), pool);
    neo_json_set_string(made, "description", neo_openapi_fill(builder, doc, resource), pool);
    neo_openapi_deprecate(made, operation->deprecated, pool);
    neo_json_set_string(made, "operationId", neo_openapi_operation_id(operation, resource, pool), pool);
    if (operation->access == NEO_ACCESS_PUBLIC)
        neo_json_set(made, "security", neo_json_make_array(pool));
    if (neo_json_size(parameters))
        neo_json_set(made, "parameters", parameters);
    if (operation->accepts & NEO_ACCEPTS_BODY)
        neo_json_set(made, "requestBody", request_body(builder, operation, resource));
    add_success(builder, responses, operation, resource);
    neo_openapi_problems(builder, responses, operation, resource);
    neo_json_set(made, "responses", responses);
    neo_json *own = neo_openapi_template(builder, apr_pstrcat(pool, operation->verb, ".operation", NULL), NULL);
    return own ? neo_json_merge_patch(made, own, pool) : made;
}

/* ---------------------------------------------------------------- paths */

static neo_json *make_path(const neo_openapi_builder *builder, neo_json *paths, const neo_operation *operation,
                           const neo_resource *resource)
{
    const char *key = apr_pstrcat(builder->pool, "/", neo_openapi_fill(builder, operation->path, resource), NULL);
    neo_json *path = neo_json_get(paths, key), *parameters = neo_json_make_array(builder->pool);
    if (path)
        return path;
    path = neo_json_make_object(builder->pool);
    if (strstr(key, "{id}"))
        neo_json_append(parameters,
                        neo_openapi_ref(builder, "parameters", neo_openapi_fill(builder, "{Resource}Id", resource)));
    if (strstr(key, "{delivery_id}"))
        neo_json_append(parameters, neo_openapi_ref(builder, "parameters", "DeliveryId"));
    if (strstr(key, "{message_id}"))
        neo_json_append(parameters, neo_openapi_ref(builder, "parameters", "MessageId"));
    if (neo_operation_is_by_external_id(operation))
        neo_json_append(parameters, neo_openapi_ref(builder, "parameters", "ExternalId"));
    if (neo_json_size(parameters))
        neo_json_set(path, "parameters", parameters);
    neo_json_set(paths, key, path);
    return path;
}

static void add_operation(const neo_openapi_builder *builder, neo_json *paths, const neo_operation *operation,
                          const neo_resource *resource)
{
    neo_json *path = make_path(builder, paths, operation, resource);
    const char *method = neo_normalize_lower_case(operation->method, builder->pool);
    neo_json_set(path, method, make_operation(builder, operation, resource));
}

/* Whether a path belongs to the resource; to none if it is NULL. */
static int belongs_to(const neo_operation *operation, const neo_resource *resource, apr_pool_t *pool)
{
    const char *first = apr_pstrmemdup(pool, operation->path, strcspn(operation->path, "/"));
    if (strcmp(first, "{collection}") == 0)
        return resource && neo_operation_applies_to(operation, resource);
    return (operation->resource ? operation->resource : neo_find_collection(first)) == resource;
}

static void add_rows(apr_array_header_t *rows, const neo_operation *const *operations, const neo_resource *resource)
{
    for (const neo_operation *const *o = operations; *o; o++)
        if ((*o)->verb && belongs_to(*o, resource, rows->pool))
            APR_ARRAY_PUSH(rows, neo_openapi_row) = (neo_openapi_row){*o, resource};
}

const apr_array_header_t *neo_openapi_rows(const neo_operation *const *operations, apr_pool_t *pool)
{
    apr_array_header_t *rows = apr_array_make(pool, 128, sizeof(neo_openapi_row));
    add_rows(rows, operations, NULL);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        add_rows(rows, operations, *r);
    for (const neo_operation *const *o = operations; *o; o++) /* those of WhatsApp, of the event log */
        if ((*o)->verb && (*o)->resource && neo_resource_named((*o)->resource->name) != (*o)->resource)
            APR_ARRAY_PUSH(rows, neo_openapi_row) = (neo_openapi_row){*o, (*o)->resource};
    return rows;
}

static neo_json *make_paths(const neo_openapi_builder *builder)
{
    neo_json *paths = neo_json_make_object(builder->pool);
    const apr_array_header_t *rows = neo_openapi_rows(builder->operations, builder->pool);
    for (int i = 0; i < rows->nelts; i++) {
        const neo_openapi_row *row = &APR_ARRAY_IDX(rows, i, neo_openapi_row);
        add_operation(builder, paths, row->operation, row->resource);
    }
    return paths;
}

/* ---------------------------------------------------------------- batches */

static neo_json *sample_batch(const neo_openapi_builder *builder, const neo_resource *resource)
{
    apr_pool_t *pool = builder->pool;
    neo_json *batch = neo_openapi_json(pool, NEO_JSON({"atomic" : false, "operations" : []}));
    for (neo_method method = 0; method < NEO_METHOD_UPSERT; method++) {
        neo_json *operation = neo_json_make_object(pool);
        neo_json_set_string(operation, "method", neo_methods[method], pool);
        if (method != NEO_METHOD_CREATE)
            neo_json_set_string(operation, "id", neo_openapi_fill(builder, "{sample_id}", resource), pool);
        if (method != NEO_METHOD_DELETE)
            neo_json_set(operation, "data",
                         neo_openapi_sample(resource, method == NEO_METHOD_UPDATE ? NEO_SHAPE_PATCH : NEO_SHAPE_INPUT, pool));
        neo_json_append(neo_json_get(batch, "operations"), operation);
    }
    return batch;
}

/* The request and the result of a batch of the resource. */
static void add_batch(const neo_openapi_builder *builder, const neo_resource *resource)
{
    apr_pool_t *pool = builder->pool;
    static const char *const schemas[NEO_METHODS] = {"{Resource}BatchCreate", "{Resource}BatchUpdate", "{Resource}BatchDelete",
                                                     "{Resource}BatchUpsert", "{Resource}BatchMerge"};
    neo_json *batch = neo_openapi_add_template(builder, "schemas", "{Resource}Batch", resource);
    neo_json *operations = neo_json_get(neo_json_get(neo_json_get(batch, "properties"), "operations"), "items");
    for (neo_method method = 0; method < NEO_METHODS; method++) {
        if (!neo_batch_has_method(resource, method))
            continue;
        const char *name = neo_openapi_fill(builder, schemas[method], resource);
        neo_json_append(neo_json_get(operations, "oneOf"), neo_openapi_ref(builder, "schemas", name));
        neo_json_set_string(neo_json_get(neo_json_get(operations, "discriminator"), "mapping"), neo_methods[method],
                            apr_pstrcat(pool, "#/components/schemas/", name, NULL), pool);
        neo_openapi_add_template(builder, "schemas", schemas[method], resource);
    }
    neo_openapi_add_template(builder, "schemas", "{Resource}BatchResult", resource);
    neo_openapi_example(builder, neo_openapi_fill(builder, "{Resource}Batch", resource), sample_batch(builder, resource));
}

/* ---------------------------------------------------------------- the whole */

static void add_components(const neo_openapi_builder *builder)
{
    static const neo_resource lists[] = {
        {.title = "Delivery", .collection = "deliveries"},        {.title = "Event", .collection = "events"},
        {.title = "Conversation", .collection = "conversations"}, {.title = "Message", .collection = "messages"},
        {.title = "Template", .collection = "templates"},         {.title = "AuditEntry", .collection = "entries"}};
    add_filter_components(builder, neo_common_filters, NULL);
    for (const neo_resource *const *r = neo_resources; *r; r++) {
        neo_openapi_schemas(builder, *r);
        if ((*r)->has_batch)
            add_batch(builder, *r);
        neo_openapi_add_template(builder, "parameters", "{Resource}Id", *r);
        add_fields_parameter(builder, *r);
        add_filter_components(builder, (*r)->filters, *r);
    }
    neo_openapi_event_components(builder);
    neo_openapi_schema(builder, &neo_conversation_input, NEO_SHAPE_INPUT, "The lead to write to, and the template.");
    neo_openapi_schema(builder, &neo_whatsapp_started, NEO_SHAPE_ANSWER,
                       "A conversation and its first message. Fields without a value are absent.");
    neo_openapi_schema(builder, &neo_message_input, NEO_SHAPE_INPUT, "A message to send into a conversation.");
    neo_openapi_schema(builder, &neo_whatsapp_template, NEO_SHAPE_ANSWER,
                       "A message template. Fields without a value are absent.");
    neo_openapi_schema(builder, &neo_read_input, NEO_SHAPE_INPUT, "Which messages were seen.");
    neo_openapi_schema(builder, &neo_conversation_changes, NEO_SHAPE_PATCH, "Changes to a conversation (JSON merge patch).");
    neo_openapi_add_template(builder, "parameters", "{Resource}Id", &neo_conversation);
    add_fields_parameter(builder, &neo_conversation);
    neo_openapi_add_template(builder, "parameters", "{Resource}Id", &neo_event_log);
    for (apr_size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        neo_openapi_add_template(builder, "schemas", "{Resource}List", &lists[i]);
}

neo_json *neo_openapi_document(const neo_operation *const *operations, const char *base_url, const char *docs_url,
                               apr_pool_t *pool)
{
    apr_size_t len = strlen(base_url);
    neo_openapi_builder builder = {.pool = pool,
                                   .operations = operations,
                                   .base = apr_pstrmemdup(pool, base_url, len && base_url[len - 1] == '/' ? len - 1 : len),
                                   .docs_url = docs_url,
                                   .objects = apr_hash_make(pool)};
    neo_json *document = neo_openapi_begin(&builder);
    add_components(&builder);
    neo_json_set(document, "paths", make_paths(&builder));
    neo_json_set(document, "webhooks", neo_openapi_webhooks(&builder));
    neo_json_set(document, "components", builder.components);
    return document;
}
