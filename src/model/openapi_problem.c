/* The error responses of the description: by status, with the codes that can come and an example of each (see
 * model/openapi_builder.h). The examples are made by the code that makes the real ones. */
#include <apr_lib.h>
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "model/openapi_builder.h"
#include "model/references.h"
#include "model/validate.h"

#define REQUEST_ID    "req_01kga4ssqb0d4f7h2k5n9q1s6v"
#define MOMENT        "2026-01-31T13:45:10.123Z"
#define RETRY_SECONDS 50

/* RFC 9110, section 15 */
static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {400, "Bad Request"},         {401, "Unauthorized"},           {403, "Forbidden"},         {404, "Not Found"},
    {405, "Method Not Allowed"},  {408, "Request Timeout"},        {409, "Conflict"},          {412, "Precondition Failed"},
    {413, "Content Too Large"},   {415, "Unsupported Media Type"}, {429, "Too Many Requests"}, {500, "Internal Server Error"},
    {503, "Service Unavailable"},
};

/* ---------------------------------------------------------------- samples */

/* What the problems that name a parameter, a header or the body as a whole say of it. */
static const struct {
    neo_code code;
    const char *field, *message;
} remarks[] = {
    {NEO_VALIDATION_FAILED, "colour", "is not a parameter of this operation"},
    {NEO_VALIDATION_FAILED, "shape", "is not a parameter of this operation"},
    {NEO_VALIDATION_MALFORMED_JSON, "body", "is not well-formed JSON: ':' expected (line 1, column 9)"},
    {NEO_VALIDATION_LIMIT_OUT_OF_RANGE, "limit", "must be an integer from 1 to 100"},
    {NEO_VALIDATION_CURSOR_INVALID, "cursor", "was not issued for this list, these filters and this organization"},
    {NEO_VALIDATION_CURSOR_EXPIRED, "cursor", "has expired; start again from the first page"},
    {NEO_VALIDATION_UNKNOWN_PARAMETER, "colour", "is not a parameter of this operation"},
    {NEO_VALIDATION_PARAMETER_INVALID, "query", "must be percent-encoded UTF-8 without control characters"},
    {NEO_VALIDATION_ORGANIZATION_REQUIRED, "X-Organization-ID",
     "is required: the token has access to several organizations, which GET /me lists"},
    {NEO_VALIDATION_IDEMPOTENCY_KEY_INVALID, "Idempotency-Key", "must be a UUID of version 4"},
    {NEO_VALIDATION_BATCH_TOO_LARGE, "operations", "must have at most 100 elements, not 101"},
    {NEO_VALIDATION_TEMPLATE_REJECTED, "template_name",
     "was rejected by WhatsApp (132001): Template name does not exist in the translation"},
};

static const neo_field *first_field(const neo_resource *resource, unsigned int flags)
{
    const neo_field *field = resource->fields;
    while (field->name && ((field->flags & NEO_SERVER) || (field->flags & flags) != flags))
        field++;
    return field->name ? field : NULL;
}

/* A reference that leads nowhere is found out by the database. NULL where the resource has none. */
static neo_problem *problem_of_reference(const neo_resource *resource, apr_pool_t *pool)
{
    neo_json *body = neo_openapi_sample(resource, NEO_SHAPE_INPUT, pool);
    const apr_array_header_t *references = neo_references(resource, body, pool);
    neo_problem *problem = NULL;
    if (references->nelts)
        neo_problem_field(&problem, pool, NEO_VALIDATION_FIELD_NOT_FOUND, resource->name,
                          APR_ARRAY_IDX(references, 0, neo_reference).path,
                          "refers to a resource that does not exist in the organization");
    return problem;
}

/* What is wrong with a body, said by the validation itself. NULL for a code that no body of the resource can have. */
static neo_problem *problem_of_body(const neo_resource *resource, neo_code code, apr_pool_t *pool)
{
    if (code == NEO_VALIDATION_FIELD_NOT_FOUND)
        return problem_of_reference(resource, pool);
    neo_json *body = neo_openapi_sample(resource, NEO_SHAPE_INPUT, pool), *clean;
    const neo_field *required = first_field(resource, NEO_REQUIRED), *any = required ? required : first_field(resource, 0);
    if ((code == NEO_VALIDATION_FAILED || code == NEO_VALIDATION_FIELD_REQUIRED) && required)
        neo_json_remove(body, required->name);
    if (code == NEO_VALIDATION_FAILED || code == NEO_VALIDATION_UNKNOWN_FIELD)
        neo_json_set(body, "colour", neo_json_make_string("blue", pool));
    if (code == NEO_VALIDATION_FIELD_INVALID)
        neo_json_set(body, any->name, neo_json_make_integer(42, pool));
    neo_problem *problem = neo_validate(resource, body, pool, &clean);
    return problem && problem->kind == code ? problem : NULL;
}

static int is_about_body(neo_code code)
{
    return code == NEO_VALIDATION_FAILED || code == NEO_VALIDATION_UNKNOWN_FIELD || strstr(neo_code_row(code)->code, "{field}");
}

/* What a code with {resource} is about. */
static const char *subject_of(const neo_operation *operation, const neo_resource *resource, neo_code code)
{
    if (code == NEO_NOT_FOUND_RESOURCE && operation->subresource)
        return operation->subresource;
    return resource ? resource->name : "";
}

static neo_problem *problem_of(const neo_operation *operation, const neo_resource *resource, neo_code code, apr_pool_t *pool)
{
    neo_problem *problem = NULL;
    int is_batch = (operation->accepts & NEO_ACCEPTS_BATCH) != 0;
    if (operation->accepts & NEO_ACCEPTS_BODY && is_about_body(code))
        problem = problem_of_body(operation->body ? operation->body : resource, code, pool);
    if (is_batch && problem)
        return neo_problem_within(pool, problem, "operations[0]", "operations[0].data");
    if (operation->accepts & NEO_ACCEPTS_BODY && is_about_body(code))
        return problem;
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
        if (remarks[i].code == code)
            neo_problem_field(&problem, pool, code, "", remarks[i].field, "%s", remarks[i].message);
    if (!problem)
        problem =
            neo_problem_for_resource(pool, code, subject_of(operation, resource, code), "%s", neo_code_row(code)->meaning);
    problem->retry_after = RETRY_SECONDS; /* where the status has one */
    return problem;
}

static const char *put_in(const char *text, const char *hole, const char *value, apr_pool_t *pool)
{
    const char *at = strstr(text, hole);
    return at ? apr_pstrcat(pool, apr_pstrmemdup(pool, text, (apr_size_t)(at - text)), value, at + strlen(hole), NULL) : text;
}

/* The path of the base URL, and below it the operation's. */
static const char *instance_of(const neo_openapi_builder *builder, const neo_operation *operation, const neo_resource *resource)
{
    const char *authority = strstr(builder->base, "://");
    const char *path = authority ? strchr(authority + 3, '/') : builder->base;
    const char *below = neo_openapi_fill(builder, operation->path, resource);
    below = put_in(below, "{id}", neo_openapi_fill(builder, "{sample_id}", resource), builder->pool);
    below = put_in(below, "{delivery_id}", NEO_SAMPLE_DELIVERY, builder->pool);
    return apr_pstrcat(builder->pool, path ? path : "", "/", below, NULL);
}

static neo_json *document_of(const neo_openapi_builder *builder, const neo_problem *problem, const char *instance)
{
    neo_problem_frame frame = {instance, REQUEST_ID, builder->docs_url};
    neo_json *document = neo_openapi_json(builder->pool, "%s", neo_problem_json(problem, &frame, builder->pool).ptr);
    neo_json_set(document, "timestamp", neo_json_make_string(MOMENT, builder->pool));
    return document;
}

/* Adds the example of a code to a response's, once to the components. What a body can have is the resource's own. */
static void add_example(const neo_openapi_builder *builder, neo_json *examples, const neo_operation *operation,
                        const neo_resource *resource, neo_code code)
{
    neo_problem *problem = problem_of(operation, resource, code, builder->pool);
    if (!problem)
        return;
    const char *name = problem->code;
    if (operation->accepts & NEO_ACCEPTS_BODY && is_about_body(code) && !strchr(neo_code_row(code)->code, '{'))
        name = apr_pstrcat(builder->pool, name, ".", operation->body ? operation->verb : resource->name, NULL);
    if (operation->accepts & NEO_ACCEPTS_BATCH)
        name = apr_pstrcat(builder->pool, name, ".batch", NULL);
    if (!neo_json_get(neo_json_get(builder->components, "examples"), name)) {
        neo_json *example = neo_openapi_add(builder, "examples", name, neo_json_make_object(builder->pool));
        neo_json_set(example, "value", document_of(builder, problem, instance_of(builder, operation, resource)));
    }
    neo_json_set(examples, problem->code, neo_openapi_ref(builder, "examples", name));
}

/* ---------------------------------------------------------------- responses */

static unsigned long long codes_of(const neo_operation *operation, const neo_resource *resource, int status)
{
    unsigned long long codes = neo_operation_problems(operation, resource);
    for (neo_code code = 0; code < NEO_CODES; code++)
        if (neo_code_row(code)->status != status)
            codes &= ~NEO_PROBLEM_BIT(code);
    return codes;
}

static const char *reason_of(int status)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    abort(); /* a status of the catalogue without its row here */
}

/* A code as people read it: validation.broker.<field>_required */
static const char *shown_code(const char *subject, neo_code code, apr_pool_t *pool)
{
    neo_problem *problem = NULL;
    neo_problem_field(&problem, pool, code, subject, "<field>", "%s", "");
    return problem->code;
}

static const char *description_of(const neo_operation *operation, const neo_resource *resource, int status,
                                  unsigned long long codes, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 1024);
    neo_buf_printf(&out, "%s\n", reason_of(status));
    for (neo_code code = 0; code < NEO_CODES; code++)
        if (codes & NEO_PROBLEM_BIT(code))
            neo_buf_printf(&out, "\n- `%s`: %s", shown_code(subject_of(operation, resource, code), code, pool),
                           neo_code_row(code)->meaning);
    return out.ptr;
}

static neo_json *response_of(const neo_openapi_builder *builder, const neo_operation *operation, const neo_resource *resource,
                             int status)
{
    apr_pool_t *pool = builder->pool;
    unsigned long long codes = codes_of(operation, resource, status);
    neo_json *response = neo_json_make_object(pool), *examples = neo_json_make_object(pool);
    neo_json *content =
        neo_openapi_json(pool, NEO_JSON({"application/problem+json" : {"schema" : {"$ref" : "#/components/schemas/Problem"}}}));
    for (neo_code code = 0; code < NEO_CODES; code++)
        if (codes & NEO_PROBLEM_BIT(code))
            add_example(builder, examples, operation, resource, code);
    neo_openapi_text(response, "description", description_of(operation, resource, status, codes, pool), pool);
    neo_json_set(response, "headers",
                 neo_openapi_headers(builder, status == 429 || status == 503 ? NEO_HEADER_RETRY_AFTER
                                              : status == 401                ? NEO_HEADER_CHALLENGE
                                                                             : 0));
    neo_json_set(neo_json_get(content, "application/problem+json"), "examples", examples);
    neo_json_set(response, "content", content);
    return response;
}

/* Adds the codes that an operation of the resource can answer a status with. False where others answer it with other codes. */
static int are_the_same(const neo_operation *operation, const neo_resource *resource, int status, unsigned long long *all)
{
    unsigned long long codes = codes_of(operation, resource, status);
    if (*all && codes && codes != *all)
        return 0;
    *all |= codes;
    return 1;
}

/* True where all operations that can answer a status do it with the same codes, and none of these is a resource's. What is of
 * no collection shares the response if it has just these codes. */
static int is_shared(const neo_operation *operation, const neo_resource *resource, int status)
{
    unsigned long long all = 0;
    for (int a = 0; a < NEO_ACTIONS; a++)
        for (const neo_resource *const *r = neo_resources; *r && !neo_operations[a].of; r++)
            if (!are_the_same(&neo_operations[a], *r, status, &all))
                return 0;
    if (codes_of(operation, resource, status) != all)
        return 0;
    for (neo_code code = 0; code < NEO_CODES; code++)
        if (all & NEO_PROBLEM_BIT(code) && strchr(neo_code_row(code)->code, '{'))
            return 0;
    return 1;
}

/* "Too Many Requests" is the component TooManyRequests. */
static const char *component_name(int status, apr_pool_t *pool)
{
    char *name = apr_pstrdup(pool, reason_of(status));
    apr_collapse_spaces(name, name);
    return name;
}

void neo_openapi_problems(const neo_openapi_builder *builder, neo_json *responses, const neo_operation *operation,
                          const neo_resource *resource)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        int status = reasons[i].status;
        const char *name = component_name(status, builder->pool);
        neo_json *response;
        if (!codes_of(operation, resource, status))
            continue;
        if (!is_shared(operation, resource, status))
            response = response_of(builder, operation, resource, status);
        else {
            if (!neo_json_get(neo_json_get(builder->components, "responses"), name))
                neo_openapi_add(builder, "responses", name, response_of(builder, operation, resource, status));
            response = neo_openapi_ref(builder, "responses", name);
        }
        neo_json_set(responses, apr_itoa(builder->pool, status), response);
    }
}
