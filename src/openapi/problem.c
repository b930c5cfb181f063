/* SPDX-License-Identifier: Apache-2.0 */
/* The error responses of the description: by status, with the codes that each can have (see openapi/openapi.h). The
 * examples are made by the code that makes the real ones. */
#include <apr_strings.h>
#include <string.h>

#include "openapi/openapi.h"
#include "resources/fields.h"
#include "schema/validate.h"

#define REQUEST_ID    "req_01kga4ssqb0d4f7h2k5n9q1s6v"
#define MOMENT        "2026-01-31T13:45:10.123Z"
#define RETRY_SECONDS 50

/* RFC 9110, section 15. Problems of the other statuses have the same form as those with an example. */
static const struct {
    int status;
    const char *reason;
    int has_example;
    unsigned int headers; /* bits of enum neo_response_headers */
} reasons[] = {
    {400, "Bad Request", 1, 0},
    {401, "Unauthorized", 0, NEO_RESPONSE_CHALLENGE},
    {403, "Forbidden", 0, 0},
    {404, "Not Found", 1, 0},
    {405, "Method Not Allowed", 0, 0},
    {408, "Request Timeout", 0, 0},
    {409, "Conflict", 1, 0},
    {412, "Precondition Failed", 0, 0},
    {413, "Content Too Large", 0, 0},
    {415, "Unsupported Media Type", 0, 0},
    {429, "Too Many Requests", 1, NEO_RESPONSE_RETRY_AFTER | NEO_RESPONSE_RATE_LIMIT},
    {500, "Internal Server Error", 0, 0},
    {503, "Service Unavailable", 0, NEO_RESPONSE_RETRY_AFTER},
};

/* ---------------------------------------------------------------- samples */

/* A body without a required field and with an unknown one, as the validation refuses it. */
static neo_problem *make_body_problem(const neo_resource *resource, apr_pool_t *pool)
{
    neo_json *body = neo_openapi_sample(resource, NEO_SHAPE_INPUT, pool), *clean;
    const neo_field *field = resource->fields;
    while (field->name && (field->flags & NEO_SERVER || !(field->flags & NEO_REQUIRED)))
        field++;
    if (field->name)
        neo_json_remove(body, field->name);
    neo_json_set_string(body, "colour", "blue", pool);
    return neo_validate(resource, body, pool, &clean);
}

static neo_problem *make_query_problem(apr_pool_t *pool)
{
    static const char *const unknown[] = {"colour", "shape"};
    neo_problem *problem = NULL;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        neo_problem_field(&problem, pool, NEO_VALIDATION_UNKNOWN_PARAMETER, "", unknown[i],
                          "is not a parameter of this operation");
    return problem;
}

/* What a code with {resource} is about. */
static const char *subject_name(const neo_operation *operation, const neo_resource *resource, neo_code code)
{
    if (code == NEO_NOT_FOUND_RESOURCE && operation->subresource)
        return operation->subresource;
    return resource ? resource->name : "";
}

static neo_problem *make_problem(const neo_operation *operation, const neo_resource *resource, neo_code code, apr_pool_t *pool)
{
    if (code == NEO_VALIDATION_FAILED && operation->accepts & NEO_ACCEPTS_BODY) {
        neo_problem *problem = make_body_problem(operation->body ? operation->body : resource, pool);
        return operation->accepts & NEO_ACCEPTS_BATCH ? neo_problem_within(pool, problem, "operations[0]", "operations[0].data")
                                                      : problem;
    }
    if (code == NEO_VALIDATION_FAILED)
        return make_query_problem(pool);
    neo_problem *problem =
        neo_problem_for_resource(pool, code, subject_name(operation, resource, code), "%s", neo_code_row(code)->meaning);
    problem->retry_after = RETRY_SECONDS; /* if the status has one */
    return problem;
}

static const char *put_in(const char *text, const char *hole, const char *value, apr_pool_t *pool)
{
    const char *at = strstr(text, hole);
    return at ? apr_pstrcat(pool, apr_pstrmemdup(pool, text, (apr_size_t)(at - text)), value, at + strlen(hole), NULL) : text;
}

/* The path of the base URL, and below it the operation's. */
static const char *sample_path(const neo_openapi_builder *builder, const neo_operation *operation, const neo_resource *resource)
{
    const char *authority = strstr(builder->base, "://");
    const char *path = authority ? strchr(authority + 3, '/') : builder->base;
    const char *below = neo_openapi_fill(builder, operation->path, resource);
    below = put_in(below, "{id}", neo_openapi_fill(builder, "{sample_id}", resource), builder->pool);
    below = put_in(below, "{external_id}", "crm-48213", builder->pool);
    below = put_in(below, "{delivery_id}", NEO_SAMPLE_DELIVERY, builder->pool);
    return apr_pstrcat(builder->pool, path ? path : "", "/", below, NULL);
}

/* "not_found", "validation.failed.body": all collections share the example of the first one. */
static const char *example_name(const neo_operation *operation, neo_code code, apr_pool_t *pool)
{
    const char *name = neo_code_row(code)->code, *hole = strstr(name, ".{");
    if (hole && operation->resource && operation->subresource)
        return apr_pstrcat(pool, apr_pstrmemdup(pool, name, (apr_size_t)(hole - name)), ".", operation->subresource, NULL);
    if (hole)
        return apr_pstrmemdup(pool, name, (apr_size_t)(hole - name));
    if (code != NEO_VALIDATION_FAILED || !(operation->accepts & NEO_ACCEPTS_BODY))
        return name;
    return apr_pstrcat(pool, name, operation->accepts & NEO_ACCEPTS_BATCH ? ".batch" : ".body", NULL);
}

/* The `examples` of a response: one of its codes. */
static neo_json *make_examples(const neo_openapi_builder *builder, const neo_operation *operation, const neo_resource *resource,
                               neo_code code)
{
    neo_json *examples = neo_json_make_object(builder->pool);
    const char *name = example_name(operation, code, builder->pool);
    /* An unknown id in a batch is shown as that of a request for one resource, the usual case. */
    if (code == NEO_NOT_FOUND_RESOURCE && operation->accepts & NEO_ACCEPTS_BATCH)
        for (const neo_operation *const *o = builder->operations; !strstr(operation->path, "{id}"); o++)
            operation = *o;
    if (!neo_json_get(neo_json_get(builder->components, "examples"), name)) {
        neo_problem_frame frame = {sample_path(builder, operation, resource), REQUEST_ID, builder->docs_url};
        neo_problem *problem = make_problem(operation, resource, code, builder->pool);
        neo_json *document = neo_openapi_json(builder->pool, "%s", neo_problem_json(problem, &frame, builder->pool).ptr);
        neo_json_set_string(document, "timestamp", MOMENT, builder->pool);
        neo_openapi_example(builder, name, document);
    }
    neo_json_set(examples, name, neo_openapi_ref(builder, "examples", name));
    return examples;
}

/* ---------------------------------------------------------------- responses */

/* The reason and every code. All collections share it, so that their resource is a placeholder. */
static const char *describe_codes(const neo_operation *operation, const neo_resource *resource, const char *reason,
                                  unsigned long long codes, apr_pool_t *pool)
{
    neo_buf out;
    const char *separator = ": ";
    neo_buf_init(&out, pool, 256);
    neo_buf_puts(&out, reason);
    for (neo_code code = 0; code < NEO_CODES; code++)
        if (codes & NEO_PROBLEM_BIT(code)) {
            const char *subject = operation->resource ? subject_name(operation, resource, code) : "<resource>";
            neo_problem *shown = NULL;
            neo_problem_field(&shown, pool, code, subject, "<field>", "%s", "");
            neo_buf_printf(&out, "%s`%s`", separator, shown->code);
            separator = ", ";
        }
    return out.ptr;
}

/* `row`: of the reasons. */
static neo_json *make_response(const neo_openapi_builder *builder, const neo_operation *operation, const neo_resource *resource,
                               size_t row, unsigned long long codes)
{
    apr_pool_t *pool = builder->pool;
    neo_json *response = neo_json_make_object(pool);
    neo_json *content =
        neo_openapi_json(pool, NEO_JSON({"application/problem+json" : {"schema" : {"$ref" : "#/components/schemas/Problem"}}}));
    neo_json_set_string(response, "description", describe_codes(operation, resource, reasons[row].reason, codes, pool), pool);
    neo_json_set(response, "headers", neo_openapi_headers(builder, reasons[row].headers));
    if (reasons[row].has_example)
        neo_json_set(neo_json_get(content, "application/problem+json"), "examples",
                     make_examples(builder, operation, resource, (neo_code)__builtin_ctzll(codes)));
    neo_json_set(response, "content", content);
    return response;
}

void neo_openapi_problems(const neo_openapi_builder *builder, neo_json *responses, const neo_operation *operation,
                          const neo_resource *resource)
{
    unsigned long long all = neo_operation_problems(operation, resource);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        unsigned long long codes = 0;
        for (neo_code code = 0; code < NEO_CODES; code++)
            if (neo_code_row(code)->status == reasons[i].status)
                codes |= all & NEO_PROBLEM_BIT(code);
        if (codes)
            neo_json_set(responses, apr_itoa(builder->pool, reasons[i].status),
                         neo_openapi_share(builder, apr_psprintf(builder->pool, "Error%d", reasons[i].status),
                                           make_response(builder, operation, resource, i, codes)));
    }
}
