/* The description's paths and operations, and the whole of it (see model/openapi.h). */
#include "model/openapi.h"

#include <apr_lib.h>
#include <apr_strings.h>
#include <string.h>

#include "model/openapi_draft.h"
#include "model/yaml.h"

/* ---------------------------------------------------------------- parameters */

static const struct {
    unsigned int takes;
    const char *component;
} taken[] = {
    {NEO_TAKES_PAGE, "Limit"},
    {NEO_TAKES_PAGE, "Cursor"},
    {NEO_TAKES_IDEMPOTENCY_KEY, "IdempotencyKey"},
    {NEO_TAKES_IF_MATCH, "IfMatch"},
    {NEO_TAKES_IF_NONE_MATCH, "IfNoneMatch"},
};

static neo_json *filter_schema(const neo_filter *filter, apr_pool_t *pool)
{
    static const char *const schemas[] = {
        [NEO_VALUE_TEXT] = NEO_JSON({"type" : "string", "minLength" : 1}),
        [NEO_VALUE_ENUM] = NEO_JSON({"type" : "string", "enum" : []}),
        [NEO_VALUE_TIMESTAMP] = NEO_JSON({"type" : "string", "format" : "date-time"}),
        [NEO_VALUE_CREATED_AT] = NEO_JSON({"type" : "string", "format" : "date-time"}),
        [NEO_VALUE_DATE] = NEO_JSON({"type" : "string", "format" : "date"}),
        [NEO_VALUE_INTEGER] = NEO_JSON({"type" : "integer", "format" : "int64"}),
    };
    neo_json *schema = neo_draft_json(pool, "%s", schemas[filter->value]);
    for (const char *const *v = filter->values; v && *v; v++)
        neo_json_append(neo_json_get(schema, "enum"), neo_json_make_string(*v, pool));
    return schema;
}

static int takes_several(const neo_filter *filter)
{
    return filter->kind == NEO_FILTER_EQUAL || filter->kind == NEO_FILTER_OVERLAPS || filter->kind == NEO_FILTER_REFERS;
}

/* What can have several values is an array, written with commas. */
static void set_filter_schema(neo_json *parameter, const neo_filter *filter, const char *example, apr_pool_t *pool)
{
    neo_json *schema = filter_schema(filter, pool);
    if (takes_several(filter)) {
        neo_json *list = neo_draft_json(pool, NEO_JSON({"type" : "array", "minItems" : 1, "maxItems" : 100}));
        neo_json_set(list, "items", schema);
        neo_draft_text(parameter, "style", "form", pool);
        neo_json_set(parameter, "explode", neo_json_make_boolean(0, pool));
        schema = list;
    }
    neo_json_set(parameter, "schema", schema);
    if (example)
        neo_json_set(parameter, "example",
                     takes_several(filter) ? neo_draft_json(pool, "[%s]", example) : neo_draft_json(pool, "%s", example));
}

static neo_json *filter_parameter(const neo_filter *filter, const neo_resource *resource, apr_pool_t *pool)
{
    neo_json *parameter = neo_json_make_object(pool);
    const neo_field *field = resource ? neo_field_named(resource->fields, filter->name) : NULL;
    neo_draft_text(parameter, "name", filter->name, pool);
    neo_draft_text(parameter, "in", "query", pool);
    neo_draft_text(parameter, "description", filter->doc, pool);
    set_filter_schema(parameter, filter, filter->example ? filter->example : field ? field->example : NULL, pool);
    return parameter;
}

/* creci of brokers is broker_creci; the common filters, without a resource, have their own names. */
static const char *filter_component(const neo_filter *filter, const neo_resource *resource, apr_pool_t *pool)
{
    return resource ? apr_pstrcat(pool, resource->name, "_", filter->name, NULL) : filter->name;
}

static void add_filter_components(const neo_draft *draft, const neo_filter *filters, const neo_resource *resource)
{
    for (const neo_filter *f = filters; f && f->name; f++)
        neo_draft_add(draft, "parameters", filter_component(f, resource, draft->pool),
                      filter_parameter(f, resource, draft->pool));
}

static void refer_to_filters(const neo_draft *draft, neo_json *parameters, const neo_filter *filters,
                             const neo_resource *resource)
{
    for (const neo_filter *f = filters; f && f->name; f++)
        neo_json_append(parameters, neo_draft_ref(draft, "parameters", filter_component(f, resource, draft->pool)));
}

/* What an operation's list can be narrowed by: its own filters, or those of the resource and of every resource. */
static void add_filters(const neo_draft *draft, neo_json *parameters, const neo_operation *operation,
                        const neo_resource *resource)
{
    for (const neo_filter *f = operation->filters; f && f->name; f++)
        neo_json_append(parameters, filter_parameter(f, NULL, draft->pool));
    if (!operation->filters) {
        refer_to_filters(draft, parameters, resource->filters, resource);
        refer_to_filters(draft, parameters, neo_common_filters, NULL);
    }
}

static neo_json *parameters_of(const neo_draft *draft, const neo_operation *operation, const neo_resource *resource)
{
    neo_json *parameters = neo_json_make_array(draft->pool);
    if (operation->access != NEO_ACCESS_PUBLIC)
        neo_json_append(parameters, neo_draft_ref(draft, "parameters", "Organization"));
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (operation->takes & taken[i].takes)
            neo_json_append(parameters, neo_draft_ref(draft, "parameters", taken[i].component));
    if (operation->takes & NEO_TAKES_PAGE)
        add_filters(draft, parameters, operation, resource);
    return parameters;
}

/* The id in a resource's path. */
static const char *id_component(const neo_draft *draft, const neo_resource *resource)
{
    return neo_draft_fill(draft, "{Resource}Id", resource);
}

static void add_id_parameter(const neo_draft *draft, const neo_resource *resource)
{
    neo_json *parameter = neo_draft_json(draft->pool, NEO_JSON({"name" : "id", "in" : "path", "required" : true}));
    neo_json *schema = neo_draft_json(draft->pool, NEO_JSON({"type" : "string"}));
    neo_draft_text(parameter, "description", neo_draft_fill(draft, "The id of the {resource}.", resource), draft->pool);
    neo_draft_text(schema, "pattern", neo_draft_id_pattern(resource->prefix, draft->pool), draft->pool);
    neo_json_set(parameter, "schema", schema);
    neo_draft_text(parameter, "example", neo_draft_fill(draft, "{sample_id}", resource), draft->pool);
    neo_draft_add(draft, "parameters", id_component(draft, resource), parameter);
}

/* ---------------------------------------------------------------- bodies */

static neo_json *request_body(const neo_draft *draft, const neo_operation *operation, const neo_resource *resource)
{
    neo_shape shape = operation->takes & NEO_TAKES_MERGE_PATCH ? NEO_SHAPE_PATCH : NEO_SHAPE_INPUT;
    neo_json *body = neo_draft_json(draft->pool, NEO_JSON({"required" : true, "content" : {}}));
    const neo_resource *sent = operation->body ? operation->body : resource;
    const char *schema = operation->takes & NEO_TAKES_BATCH ? neo_draft_fill(draft, "{Resource}Batch", resource)
                                                            : neo_draft_schema_name(sent, shape, draft->pool);
    neo_json *content = neo_draft_content(draft, schema, resource->name);
    neo_json_set(neo_json_get(body, "content"), "application/json", content);
    if (shape == NEO_SHAPE_PATCH)
        neo_json_set(neo_json_get(body, "content"), "application/merge-patch+json", content);
    return body;
}

static neo_json *answer_content(const neo_draft *draft, const neo_operation *operation, const neo_resource *resource)
{
    if (!resource)
        return neo_draft_answer(draft, (neo_action)(operation - neo_operations));
    if (operation->schema)
        return neo_draft_content(draft, operation->schema, operation->part ? operation->part : resource->name);
    if (operation->takes & NEO_TAKES_BATCH)
        return neo_draft_content(draft, neo_draft_fill(draft, "{Resource}BatchResult", resource), resource->name);
    if (operation->takes & NEO_TAKES_PAGE)
        return neo_draft_content(draft, neo_draft_fill(draft, "{Resource}List", resource), resource->collection);
    int is_made = operation == &neo_operations[NEO_ACTION_CREATE] && neo_draft_has(resource, NEO_SHAPE_MADE);
    neo_shape shape = is_made ? NEO_SHAPE_MADE : NEO_SHAPE_ANSWER;
    return neo_draft_content(draft, neo_draft_schema_name(resource, shape, draft->pool), resource->name);
}

/* ---------------------------------------------------------------- responses */

/* The headers of a success, by what the operation gives and takes. */
static unsigned int success_headers(const neo_operation *operation)
{
    return (operation->gives & NEO_GIVES_ETAG ? NEO_HEADER_ETAG : 0u) |
           (operation->gives & NEO_GIVES_LOCATION ? NEO_HEADER_LOCATION : 0u) |
           (operation->gives & NEO_GIVES_LINK ? NEO_HEADER_LINK : 0u) |
           (operation->takes & NEO_TAKES_IDEMPOTENCY_KEY ? NEO_HEADER_REPLAYED : 0u);
}

static neo_json *empty_response(const neo_draft *draft, const char *description, unsigned int headers)
{
    neo_json *response = neo_json_make_object(draft->pool);
    neo_draft_text(response, "description", description, draft->pool);
    neo_json_set(response, "headers", neo_draft_headers(draft, headers));
    return response;
}

static neo_json *success_of(const neo_draft *draft, const neo_operation *operation, const neo_resource *resource,
                            const char *answer, int has_body)
{
    apr_pool_t *pool = draft->pool;
    neo_json *success = empty_response(draft, neo_draft_fill(draft, answer, resource), success_headers(operation));
    if (operation->media_type && has_body) {
        neo_json *content = neo_json_make_object(pool);
        neo_json_set(content, apr_pstrmemdup(pool, operation->media_type, strcspn(operation->media_type, ";")),
                     answer_content(draft, operation, resource));
        neo_json_set(success, "content", content);
    }
    return success;
}

static void add_success(const neo_draft *draft, neo_json *responses, const neo_operation *operation,
                        const neo_resource *resource, int has_body)
{
    neo_json_set(responses, apr_itoa(draft->pool, operation->status),
                 success_of(draft, operation, resource, operation->answer, has_body));
    if (operation->status_known)
        neo_json_set(responses, apr_itoa(draft->pool, operation->status_known),
                     success_of(draft, operation, resource, operation->answer_known, has_body));
    if (operation->takes & NEO_TAKES_IF_NONE_MATCH)
        neo_json_set(responses, "304", neo_draft_ref(draft, "responses", "NotModified"));
}

/* ---------------------------------------------------------------- operations */

/* NULL where it needs none. */
static const char *scope_of(const neo_operation *operation, const neo_resource *resource, apr_pool_t *pool)
{
    if (operation->access < NEO_ACCESS_READ)
        return NULL;
    return neo_scope_text(
        operation->access == NEO_ACCESS_READ ? NEO_SCOPE_READ(resource->area) : NEO_SCOPE_WRITE(resource->area), pool);
}

/* createBroker, listBrokers, getPrincipal, retryDelivery */
static const char *id_of(const neo_draft *draft, const neo_operation *operation, const neo_resource *resource)
{
    const char *of = !strstr(operation->path, "{collection}")                ? ""
                     : operation->takes & (NEO_TAKES_PAGE | NEO_TAKES_BATCH) ? "{Collection}"
                                                                             : "{Resource}";
    return neo_draft_fill(draft, apr_pstrcat(draft->pool, operation->verb, of, NULL), resource);
}

/* The id of HEAD or OPTIONS beside an operation: headBroker, optionsBrokers, optionsRetryDelivery */
static const char *id_beside(const neo_draft *draft, const char *verb, const neo_operation *operation,
                             const neo_resource *resource)
{
    char *id = apr_pstrdup(draft->pool, id_of(draft, operation, resource));
    if (strcmp(operation->method, "GET") != 0)
        *id = (char)apr_toupper(*id);
    while (*id && !apr_isupper(*id))
        id++;
    return apr_pstrcat(draft->pool, verb, id, NULL);
}

static neo_json *begin(const neo_draft *draft, const neo_operation *operation, const neo_resource *resource, const char *id,
                       const char *summary, const char *description)
{
    apr_pool_t *pool = draft->pool;
    neo_json *begun = neo_json_make_object(pool), *tags = neo_json_make_array(pool), *security = neo_json_make_array(pool);
    const char *tag = operation->tag ? operation->tag : neo_draft_fill(draft, "{Collection}", resource);
    neo_json_append(tags, neo_json_make_string(tag, pool));
    if (operation->access != NEO_ACCESS_PUBLIC)
        neo_json_append(security, neo_draft_json(pool, NEO_JSON({"apiKey" : []})));
    neo_json_set(begun, "tags", tags);
    neo_draft_text(begun, "summary", neo_draft_fill(draft, summary, resource), pool);
    neo_draft_text(begun, "description", neo_draft_fill(draft, description, resource), pool);
    neo_draft_text(begun, "operationId", id, pool);
    neo_json_set(begun, "security", security);
    return begun;
}

static void set_parameters(neo_json *operation, neo_json *parameters)
{
    if (neo_json_size(parameters))
        neo_json_set(operation, "parameters", parameters);
}

static neo_json *operation_of(const neo_draft *draft, const neo_operation *operation, const neo_resource *resource)
{
    const char *scope = scope_of(operation, resource, draft->pool);
    const char *doc =
        scope ? apr_pstrcat(draft->pool, operation->doc, " Needs the scope `", scope, "`.", NULL) : operation->doc;
    neo_json *made = begin(draft, operation, resource, id_of(draft, operation, resource), operation->summary, doc);
    neo_json *responses = neo_json_make_object(draft->pool);
    set_parameters(made, parameters_of(draft, operation, resource));
    if (operation->takes & NEO_TAKES_BODY)
        neo_json_set(made, "requestBody", request_body(draft, operation, resource));
    add_success(draft, responses, operation, resource, 1);
    neo_draft_problems(draft, responses, operation, resource);
    neo_json_set(made, "responses", responses);
    return made;
}

static neo_json *head_of(const neo_draft *draft, const neo_operation *get, const neo_resource *resource)
{
    neo_json *made = begin(draft, get, resource, id_beside(draft, "head", get, resource),
                           apr_pstrcat(draft->pool, get->summary, ": headers only", NULL), "As GET, without the body.");
    neo_json *responses = neo_json_make_object(draft->pool);
    set_parameters(made, parameters_of(draft, get, resource));
    add_success(draft, responses, get, resource, 0);
    neo_json_set(responses, "4XX", neo_draft_ref(draft, "responses", "RefusedWithoutBody"));
    neo_json_set(responses, "5XX", neo_draft_ref(draft, "responses", "FailedWithoutBody"));
    neo_json_set(made, "responses", responses);
    return made;
}

/* `first` is any operation of the path. It says whether a credential is needed; a scope is not. */
static neo_json *options_of(const neo_draft *draft, const neo_operation *first, const neo_resource *resource)
{
    neo_operation any = *first;
    any.access = any.access == NEO_ACCESS_PUBLIC ? NEO_ACCESS_PUBLIC : NEO_ACCESS_ANY;
    neo_json *made = begin(draft, &any, resource, id_beside(draft, "options", first, resource), "Methods of this path",
                           "Answers with the header Allow.");
    neo_json_set(made, "responses", neo_draft_json(draft->pool, NEO_JSON({
                                                       "204" : {"$ref" : "#/components/responses/Methods"},
                                                       "4XX" : {"$ref" : "#/components/responses/Refused"},
                                                       "5XX" : {"$ref" : "#/components/responses/Failed"}
                                                   })));
    return made;
}

/* ---------------------------------------------------------------- paths */

static neo_json *path_of(const neo_draft *draft, neo_json *paths, const neo_operation *operation, const neo_resource *resource)
{
    const char *key = apr_pstrcat(draft->pool, "/", neo_draft_fill(draft, operation->path, resource), NULL);
    neo_json *path = neo_json_get(paths, key);
    if (path)
        return path;
    path = neo_json_make_object(draft->pool);
    if (strstr(key, "{id}")) {
        neo_json *parameters = neo_json_make_array(draft->pool);
        neo_json_append(parameters, neo_draft_ref(draft, "parameters", id_component(draft, resource)));
        if (operation->part)
            neo_json_append(parameters, neo_draft_ref(draft, "parameters", "DeliveryId"));
        neo_json_set(path, "parameters", parameters);
    }
    neo_json_set(paths, key, path);
    return path;
}

static void add_operation(const neo_draft *draft, neo_json *paths, const neo_operation *operation, const neo_resource *resource)
{
    neo_json *path = path_of(draft, paths, operation, resource);
    char *method = apr_pstrdup(draft->pool, operation->method);
    for (char *c = method; *c; c++)
        *c = (char)apr_tolower(*c);
    neo_json_set(path, method, operation_of(draft, operation, resource));
    if (strcmp(method, "get") == 0)
        neo_json_set(path, "head", head_of(draft, operation, resource));
    if (!neo_json_get(path, "options"))
        neo_json_set(path, "options", options_of(draft, operation, resource));
}

/* Whether a path is of that resource, or of none where it is NULL. */
static int is_of(const neo_operation *operation, const neo_resource *resource, apr_pool_t *pool)
{
    const char *first = apr_pstrmemdup(pool, operation->path, strcspn(operation->path, "/"));
    if (strcmp(first, "{collection}") == 0)
        return resource && neo_operation_is_of(operation, resource);
    return (operation->of ? operation->of : neo_resource_of_collection(first)) == resource;
}

static neo_json *paths_of(const neo_draft *draft)
{
    neo_json *paths = neo_json_make_object(draft->pool);
    for (int a = 0; a < NEO_ACTIONS; a++)
        if (is_of(&neo_operations[a], NULL, draft->pool))
            add_operation(draft, paths, &neo_operations[a], NULL);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (int a = 0; a < NEO_ACTIONS; a++)
            if (is_of(&neo_operations[a], *r, draft->pool))
                add_operation(draft, paths, &neo_operations[a], *r);
    for (int a = 0; a < NEO_ACTIONS; a++)
        if (neo_operations[a].of)
            add_operation(draft, paths, &neo_operations[a], neo_operations[a].of);
    return paths;
}

/* ---------------------------------------------------------------- the whole */

static void add_resource(const neo_draft *draft, const neo_resource *resource)
{
    neo_draft_schemas(draft, resource);
    if (resource->has_batch)
        neo_draft_batch(draft, resource);
    add_id_parameter(draft, resource);
    add_filter_components(draft, resource->filters, resource);
}

static void add_components(const neo_draft *draft)
{
    neo_draft_fixed_components(draft);
    add_filter_components(draft, neo_common_filters, NULL);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        add_resource(draft, *r);
    neo_draft_delivery_components(draft);
    neo_draft_schema(draft, &neo_whatsapp, NEO_SHAPE_INPUT, "Whom to write to, and with which template.");
    neo_draft_schema(draft, &neo_started, NEO_SHAPE_ANSWER,
                     "A conversation that a message was sent in. A field without a value is left out.");
}

static neo_json *document_of(const neo_draft *draft)
{
    neo_json *document = neo_json_make_object(draft->pool);
    neo_draft_top(draft, document);
    add_components(draft);
    neo_json_set(document, "paths", paths_of(draft));
    neo_json_set(document, "webhooks", neo_draft_webhooks(draft));
    neo_json_set(document, "components", draft->components);
    return document;
}

neo_text neo_openapi_yaml(const char *base_url, const char *docs_url, apr_pool_t *pool)
{
    apr_pool_t *scratch;
    apr_size_t len = strlen(base_url);
    apr_pool_create(&scratch, pool);
    const neo_draft draft = {.pool = scratch,
                             .base = apr_pstrmemdup(scratch, base_url, len && base_url[len - 1] == '/' ? len - 1 : len),
                             .docs_url = docs_url,
                             .components = neo_json_make_object(scratch),
                             .objects = apr_hash_make(scratch)};
    neo_text text = neo_yaml_text(document_of(&draft), pool);
    apr_pool_destroy(scratch);
    return text;
}
