/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAPI document describes everything in the tables of fields and operations, and its examples are valid. */
#include "unit.h"

#include <apr_lib.h>
#include <apr_strings.h>

#include "api/routing.h"
#include "core/clock.h"
#include "core/id.h"
#include "openapi/openapi.h"
#include "resources/scope.h"
#include "schema/validate.h"

#define BASE "https://api.example.com/public/v1/"
#define DOCS "https://docs.example.com/api"

/* Made once: the tests look at it many times, and apr_terminate frees it. */
static neo_json *document(void)
{
    static neo_json *made;
    if (!made) {
        apr_pool_t *lasting;
        apr_pool_create(&lasting, NULL);
        made = neo_openapi_document(neo_operations(), BASE, DOCS, lasting);
    }
    return made;
}

static void assert_has(const char *text, const char *expected)
{
    if (!strstr(text, expected))
        fail_msg("there is no %s in:\n%.2000s", expected, text);
}

static neo_json *member(neo_json *object, const char *key)
{
    neo_json *value = neo_json_get(object, key);
    if (!value)
        fail_msg("there is no %s", key);
    return value;
}

static neo_json *component(const char *kind, const char *name)
{
    return member(member(member(document(), "components"), kind), name);
}

/* The component that a $ref names, or the value itself. */
static neo_json *resolved(neo_json *value)
{
    const char *ref = neo_json_string(neo_json_get(value, "$ref"));
    if (!ref)
        return value;
    const char *kind = ref + strlen("#/components/"), *slash = strchr(kind, '/');
    char name[40];
    assert_in_range(slash - kind, 1, sizeof name - 1);
    apr_cpystrn(name, kind, (apr_size_t)(slash - kind) + 1);
    return component(name, slash + 1);
}

static const char *text_of_member(neo_json *object, const char *key, apr_pool_t *pool)
{
    return neo_json_text(member(object, key), pool).ptr;
}

/* A property of a schema, or of the one that it extends. NULL if there is none. */
static neo_json *property(const char *schema, const char *field)
{
    neo_json *here = component("schemas", schema);
    neo_json *own = neo_json_get(neo_json_get(here, "properties"), field), *base = neo_json_at(neo_json_get(here, "allOf"), 0);
    return own ? own : base ? neo_json_get(neo_json_get(resolved(base), "properties"), field) : NULL;
}

static int refers_to(neo_json *value, const char *kind, const char *name, apr_pool_t *pool)
{
    const char *ref = apr_psprintf(pool, "\"#/components/%s/%s\"", kind, name);
    return strstr(neo_json_text(value, pool).ptr, ref) != NULL;
}

/* The path of an operation in the document. */
static const char *path_of(const neo_operation *operation, const neo_resource *resource, apr_pool_t *pool)
{
    const char *rest = strstr(operation->path, "{collection}");
    return rest ? apr_pstrcat(pool, "/", resource->collection, rest + strlen("{collection}"), NULL)
                : apr_pstrcat(pool, "/", operation->path, NULL);
}

/* The resource of an operation's path: `at_hand` if the path has {collection}; NULL if it has no resource. */
static const neo_resource *resource_of(const neo_operation *operation, const neo_resource *at_hand, apr_pool_t *pool)
{
    const char *first = apr_pstrmemdup(pool, operation->path, strcspn(operation->path, "/"));
    if (operation->resource)
        return operation->resource;
    return strcmp(first, "{collection}") == 0 ? at_hand : neo_find_collection(first);
}

static const char *lower(const char *text, apr_pool_t *pool)
{
    char *copy = apr_pstrdup(pool, text);
    for (char *c = copy; *c; c++)
        *c = (char)apr_tolower(*c);
    return copy;
}

/* ---------------------------------------------------------------- the top */

static neo_text yaml(apr_pool_t *pool)
{
    return neo_yaml_text(neo_openapi_document(neo_operations(), BASE, DOCS, pool), pool);
}

TEST(the_description_names_its_server_and_its_documentation)
{
    assert_memory_equal(yaml(*state).ptr, "openapi: 3.1.0\n", 15);
    assert_has(text_of_member(document(), "servers", *state), "\"url\":\"https://api.example.com/public/v1\"");
    assert_has(text_of_member(document(), "info", *state), "\"url\":\"" DOCS "/errors\"");
}

TEST(the_description_is_the_same_each_time)
{
    assert_string_equal(yaml(*state).ptr, yaml(*state).ptr);
}

TEST(the_description_has_less_than_4_kb_for_each_operation)
{
    const neo_text text = yaml(*state);
    size_t operations = 0;
    for (const char *at = text.ptr; (at = strstr(at, "operationId:")); at++)
        operations++;
    assert_in_range(text.len, 100000, 4000 * operations);
}

/* ---------------------------------------------------------------- schemas */

static void assert_fields(const neo_field *fields, const char *schema)
{
    for (const neo_field *f = fields; f->name; f++)
        assert_non_null(property(schema, f->name));
}

/* Whether a shape has the field: secrets only when they are created, events only marked fields. */
static int is_expected(const neo_field *field, neo_shape shape)
{
    if (shape == NEO_SHAPE_EVENT)
        return !!(field->flags & NEO_IN_EVENT);
    return shape != NEO_SHAPE_ANSWER || !(field->flags & NEO_SECRET);
}

/* The field in the schema of a shape, which may extend one that extends another. */
static int is_described(const neo_field *field, const char *schema)
{
    neo_json *base = neo_json_at(neo_json_get(component("schemas", schema), "allOf"), 0);
    return property(schema, field->name) ||
           (base && is_described(field, strrchr(neo_json_string(member(base, "$ref")), '/') + 1));
}

TEST(every_field_is_in_the_schema_of_each_shape_that_has_it)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (neo_shape shape = 0; shape < NEO_SHAPES; shape++) {
            if (!neo_openapi_has_schema(*r, shape))
                continue;
            const char *schema = neo_openapi_schema_name(*r, shape, *state);
            neo_json *sample = neo_openapi_sample(*r, shape, *state);
            for (const neo_field *f = (*r)->fields; f->name; f++) {
                assert_int_equal(is_expected(f, shape), is_described(f, schema));
                assert_false(!is_expected(f, shape) && neo_json_get(sample, f->name));
            }
        }
}

static neo_json *operation_at(const char *path, const char *method)
{
    return member(member(member(document(), "paths"), path), method);
}

static neo_json *response_at(neo_json *operation, const char *status)
{
    return resolved(member(member(operation, "responses"), status));
}

TEST(a_secret_is_only_in_responses_to_creation_and_rotation)
{
    static const char *const methods[] = {"get", "put", "patch"};
    neo_json *rotated = response_at(operation_at("/webhooks/{id}/rotate-secret", "post"), "200");
    assert_true(refers_to(response_at(operation_at("/webhooks", "post"), "201"), "schemas", "WebhookWithSecret", *state));
    assert_true(refers_to(rotated, "schemas", "WebhookWithSecret", *state));
    assert_true(refers_to(response_at(operation_at("/webhooks", "get"), "200"), "schemas", "WebhookList", *state));
    for (int i = 0; i < COUNT(methods); i++) {
        neo_json *answer = response_at(operation_at("/webhooks/{id}", methods[i]), "200");
        assert_true(refers_to(answer, "schemas", "Webhook", *state));
        assert_false(refers_to(answer, "schemas", "WebhookWithSecret", *state));
    }
    assert_null(property("Webhook", "secret"));
    assert_non_null(property("WebhookWithSecret", "secret"));
    assert_null(neo_json_get(neo_openapi_sample(&neo_webhook, NEO_SHAPE_ANSWER, *state), "secret"));
    assert_memory_equal(neo_json_string(neo_json_get(neo_openapi_sample(&neo_webhook, NEO_SHAPE_CREATED, *state), "secret")),
                        "whsec_", 6);
}

TEST(objects_have_their_own_schemas)
{
    const neo_field *field = neo_field_named(neo_broker.fields, "bank_account");
    assert_fields(field->fields, "BankAccount");
    assert_fields(field->fields, "BankAccountInput");
    assert_fields(field->fields, "BankAccountPatch");
}

TEST(only_request_schemas_forbid_other_members)
{
    assert_has(neo_json_text(component("schemas", "BrokerPatch"), *state).ptr, "\"additionalProperties\":false");
    assert_has(text_of_member(component("schemas", "BrokerInput"), "allOf", *state), "\"#/components/schemas/BrokerPatch\"");
    assert_null(neo_json_get(component("schemas", "Broker"), "additionalProperties"));
    assert_null(neo_json_get(component("schemas", "BrokerEventPayload"), "additionalProperties"));
}

TEST(a_create_requires_what_the_table_requires_and_a_patch_nothing)
{
    assert_string_equal(text_of_member(component("schemas", "BrokerInput"), "required", *state), "[\"name\"]");
    assert_null(neo_json_get(component("schemas", "BrokerPatch"), "required"));
}

TEST(optional_fields_of_a_body_accept_null)
{
    static const char *const shapes[] = {"BrokerInput", "BrokerPatch"};
    for (int i = 0; i < COUNT(shapes); i++) {
        assert_has(text_of_member(property(shapes[i], "phone"), "type", *state), "\"null\"");
        assert_has(text_of_member(property(shapes[i], "bank_account"), "anyOf", *state), "{\"type\":\"null\"}");
        assert_null(strstr(neo_json_text(property(shapes[i], "name"), *state).ptr, "null"));
    }
    assert_null(strstr(neo_json_text(component("schemas", "Broker"), *state).ptr, "null"));
    assert_null(strstr(neo_json_text(component("schemas", "BrokerEventPayload"), *state).ptr, "null"));
}

TEST(lengths_formats_and_values_are_described)
{
    static const struct {
        const char *field, *key, *json;
    } cases[] = {{"name", "maxLength", "200"},
                 {"email", "format", "\"email\""},
                 {"created_at", "format", "\"date-time\""},
                 {"visibility", "enum", "[\"private\",\"restricted\",\"public\"]"},
                 {"id", "pattern", "\"^brk_[0-7][0-9a-hjkmnp-tv-z]{25}$\""}};
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(text_of_member(property("Broker", cases[i].field), cases[i].key, *state), cases[i].json);
    assert_string_equal(text_of_member(property("BrokerInput", "id"), "readOnly", *state), "true");
}

/* ---------------------------------------------------------------- operations */

typedef void (*operation_test)(const neo_operation *operation, const neo_resource *resource, neo_json *made, apr_pool_t *pool);

/* Calls a test with every operation of every resource and its part of the document. */
static void for_each_operation(operation_test test, apr_pool_t *pool)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (const neo_operation *const *o = neo_operations(); *o; o++)
            if ((*o)->verb && neo_operation_applies_to(*o, *r))
                test(*o, resource_of(*o, *r, pool), operation_at(path_of(*o, *r, pool), lower((*o)->method, pool)), pool);
}

static void assert_success(const neo_operation *operation, const neo_resource *resource, neo_json *made, apr_pool_t *pool)
{
    neo_json *success = response_at(made, apr_itoa(pool, operation->status)), *headers = member(success, "headers");
    (void)resource;
    assert_int_equal(!!(operation->response_headers & NEO_RESPONSE_ETAG), !!neo_json_get(headers, "ETag"));
    assert_int_equal(!!(operation->response_headers & NEO_RESPONSE_LOCATION), !!neo_json_get(headers, "Location"));
    assert_int_equal(!!(operation->response_headers & NEO_RESPONSE_LINK), !!neo_json_get(headers, "Link"));
    assert_int_equal(!!(operation->accepts & NEO_ACCEPTS_IDEMPOTENCY_KEY), !!neo_json_get(headers, "Idempotent-Replayed"));
    assert_int_equal(!!(operation->accepts & NEO_ACCEPTS_IF_NONE_MATCH), !!neo_json_get(member(made, "responses"), "304"));
    assert_int_equal(!!operation->media_type, !!neo_json_get(success, "content"));
}

TEST(every_operation_describes_its_success)
{
    for_each_operation(assert_success, *state);
}

/* The only body that is not JSON, and not of a resource; its errors are those of RFC 6749. */
static int has_form(const neo_operation *operation)
{
    return strcmp(operation->path, "oauth/token") == 0;
}

/* Each code of an operation is in its own response of the status. */
static void assert_problems(const neo_operation *operation, const neo_resource *resource, neo_json *made, apr_pool_t *pool)
{
    unsigned long long problems = neo_operation_problems(operation, resource);
    for (neo_code code = 0; code < NEO_CODES; code++) {
        neo_problem *problem = NULL;
        if (!(problems & NEO_PROBLEM_BIT(code)) || has_form(operation))
            continue;
        const char *subject = !operation->resource                                       ? "<resource>"
                              : code == NEO_NOT_FOUND_RESOURCE && operation->subresource ? operation->subresource
                                                                                         : resource->name;
        neo_problem_field(&problem, pool, code, subject, "<field>", "%s", "");
        neo_json *response = response_at(made, apr_itoa(pool, neo_code_row(code)->status));
        assert_has(neo_json_string(member(response, "description")), apr_psprintf(pool, "`%s`", problem->code));
    }
}

TEST(every_operation_describes_its_problems)
{
    for_each_operation(assert_problems, *state);
}

static void assert_parameters(const neo_operation *operation, const neo_resource *resource, neo_json *made, apr_pool_t *pool)
{
    static const struct {
        unsigned int accepts;
        const char *parameter;
    } parameters[] = {{NEO_ACCEPTS_PAGE, "Limit"},
                      {NEO_ACCEPTS_PAGE, "Cursor"},
                      {NEO_ACCEPTS_IDEMPOTENCY_KEY, "IdempotencyKey"},
                      {NEO_ACCEPTS_IF_MATCH, "IfMatch"},
                      {NEO_ACCEPTS_IF_NONE_MATCH, "IfNoneMatch"},
                      {NEO_ACCEPTS_IMPORT, "Import"}};
    for (int i = 0; i < COUNT(parameters); i++)
        assert_int_equal(!!(neo_operation_accepts(operation, resource) & parameters[i].accepts),
                         refers_to(made, "parameters", parameters[i].parameter, pool));
    int is_of_resource = operation->accepts & NEO_ACCEPTS_FILTERS && !operation->filters;
    assert_int_equal(is_of_resource, refers_to(made, "parameters", "created_gte", pool));
    for (const neo_filter *f = is_of_resource ? resource->filters : NULL; f && f->name; f++)
        assert_true(refers_to(made, "parameters", apr_pstrcat(pool, resource->name, "_", f->name, NULL), pool));
    for (const neo_filter *f = operation->filters; f && f->name; f++)
        assert_has(text_of_member(made, "parameters", pool), apr_psprintf(pool, "\"name\":\"%s\"", f->name));
    assert_int_equal(operation->access != NEO_ACCESS_PUBLIC, refers_to(made, "parameters", "Organization", pool));
    neo_json *body = neo_json_get(made, "requestBody");
    assert_int_equal(operation->accepts & NEO_ACCEPTS_BODY || has_form(operation), !!body);
    assert_int_equal(!!(operation->accepts & NEO_ACCEPTS_MERGE_PATCH),
                     !!neo_json_get(neo_json_get(body, "content"), "application/merge-patch+json"));
}

TEST(every_operation_describes_its_parameters_and_body)
{
    for_each_operation(assert_parameters, *state);
}

static void assert_scope(const neo_operation *operation, const neo_resource *resource, neo_json *made, apr_pool_t *pool)
{
    const char *doc = neo_json_string(member(made, "description"));
    neo_json *security = neo_json_get(made, "security");
    if (operation->access == NEO_ACCESS_READ)
        assert_has(doc, neo_scope_text(NEO_SCOPE_READ(resource->area), pool));
    if (operation->access == NEO_ACCESS_WRITE)
        assert_has(doc, neo_scope_text(NEO_SCOPE_WRITE(resource->area), pool));
    assert_int_equal(operation->access == NEO_ACCESS_PUBLIC, security && neo_json_size(security) == 0);
}

TEST(every_operation_names_its_scope)
{
    assert_string_equal(text_of_member(document(), "security", *state), "[{\"apiKey\":[]},{\"oauth2\":[]}]");
    for_each_operation(assert_scope, *state);
}

/* HEAD and OPTIONS are in the introduction: every path has OPTIONS, and HEAD if it has GET. */
static void assert_methods(const neo_operation *operation, const neo_resource *resource, neo_json *made, apr_pool_t *pool)
{
    static const char *const methods[] = {"DELETE", "GET", "PATCH", "POST", "PUT"};
    const char *path = path_of(operation, resource, pool);
    neo_json *item = member(member(document(), "paths"), path);
    neo_match match;
    (void)made;
    neo_operation_match(path + 1, "OPTIONS", pool, &match);
    assert_true(match.is_found);
    const char *allowed = apr_pstrcat(pool, match.allow, ",", NULL);
    for (int i = 0; i < COUNT(methods); i++)
        assert_int_equal(!!strstr(allowed, apr_pstrcat(pool, methods[i], ",", NULL)),
                         !!neo_json_get(item, lower(methods[i], pool)));
    assert_int_equal(!!strstr(allowed, "HEAD,"), !!neo_json_get(item, "get"));
    assert_has(allowed, "OPTIONS,");
    assert_null(neo_json_get(item, "head"));
    assert_null(neo_json_get(item, "options"));
}

TEST(a_path_has_the_methods_that_allow_names)
{
    const char *introduction = neo_json_string(member(member(document(), "info"), "description"));
    assert_has(introduction, "Every path with `GET` also has `HEAD`");
    assert_has(introduction, "Every path has\n`OPTIONS`: 204");
    for_each_operation(assert_methods, *state);
}

/* ---------------------------------------------------------------- webhooks */

TEST(every_event_is_described_with_its_payload_and_signatures)
{
    static const char *const parameters[] = {"WebhookSignature", "StandardId", "StandardTimestamp", "StandardSignature"};
    neo_json *webhooks = member(document(), "webhooks");
    for (const neo_event_type *t = neo_event_types; t->name; t++) {
        const char *event = apr_pstrcat(*state, t->payload->title, "Event", NULL);
        neo_json *sent = member(webhooks, t->name);
        assert_true(refers_to(sent, "schemas", event, *state));
        for (int p = 0; p < COUNT(parameters); p++)
            assert_true(refers_to(sent, "parameters", parameters[p], *state));
        assert_true(refers_to(component("schemas", event), "schemas",
                              apr_pstrcat(*state, t->payload->title, t->payload->has_events ? "EventPayload" : "", NULL),
                              *state));
    }
}

TEST(every_subscribable_event_is_in_the_catalogue)
{
    const char *const *events = neo_field_named(neo_webhook.fields, "events")->values;
    const neo_text text = neo_openapi_event_types(document(), *state);
    for (; !strchr(*events, '*'); events++)
        assert_has(text.ptr, apr_pstrcat(*state, "{\"type\":\"", *events, "\",\"summary\":\"", NULL));
    assert_null(strstr(text.ptr, "#/components/"));
}

TEST(responses_of_receivers_are_described)
{
    static const char *const members[] = {"id",          "subscription_id", "event_type", "resource_id", "status",
                                          "http_status", "attempt_count",   "created_at", "completed_at"};
    static const char *const attempt[] = {"number", "started_at", "duration_ms", "http_status", "error", "response_excerpt"};
    for (int i = 0; i < COUNT(members); i++)
        assert_non_null(property("Delivery", members[i]));
    for (int i = 0; i < COUNT(attempt); i++)
        assert_non_null(property("DeliveryAttempt", attempt[i]));
    assert_has(text_of_member(component("schemas", "RecoveryInput"), "required", *state), "\"since\"");
    assert_non_null(property("Recovered", "recovered"));
}

/* ---------------------------------------------------------------- examples */

TEST(the_bodies_of_the_examples_are_valid)
{
    for (const neo_resource *const *r = neo_resources; *r; r++) {
        neo_shape most = neo_openapi_has_schema(*r, NEO_SHAPE_CREATED) ? NEO_SHAPE_CREATED : NEO_SHAPE_ANSWER;
        neo_json *clean, *whole = neo_openapi_sample(*r, most, *state); /* a response can be sent back */
        assert_null(neo_validate(*r, neo_openapi_sample(*r, NEO_SHAPE_INPUT, *state), *state, &clean));
        assert_null(neo_validate(*r, whole, *state, &clean));
        assert_null(neo_validate_patch(*r, whole, neo_openapi_sample(*r, NEO_SHAPE_PATCH, *state), *state, &clean));
    }
}

TEST(the_ids_of_the_examples_are_valid)
{
    for (const neo_resource *const *r = neo_resources; *r; r++) {
        neo_json *sample = neo_openapi_sample(*r, NEO_SHAPE_ANSWER, *state);
        for (void *m = neo_json_first(sample); m; m = neo_json_next(sample, m)) {
            const char *text = neo_json_string(neo_json_member_value(m));
            if (text && strlen(text) > NEO_PREFIX_LEN && text[3] == '_')
                assert_true(neo_id_is(text, apr_pstrmemdup(*state, text, NEO_PREFIX_LEN)));
        }
        assert_true(neo_id_is(neo_json_string(neo_json_get(sample, "id")), (*r)->prefix));
    }
}

TEST(the_id_of_an_example_contains_its_created_at)
{
    for (const neo_resource *const *r = neo_resources; *r; r++) {
        neo_json *sample = neo_openapi_sample(*r, NEO_SHAPE_ANSWER, *state);
        char first[NEO_ID_SIZE];
        neo_ms ms;
        assert_true(neo_ms_parse(neo_json_string(neo_json_get(sample, "created_at")), &ms));
        neo_id_bound(first, (*r)->prefix, ms, 0);
        assert_memory_equal(neo_json_string(neo_json_get(sample, "id")), first, NEO_PREFIX_LEN + 10);
    }
}

TEST(examples_of_problems_equal_those_of_the_service)
{
    static const struct {
        const char *key, *json;
    } cases[] = {{"type", "\"validation\""},
                 {"title", "\"Validation Failed\""},
                 {"status", "400"},
                 {"code", "\"validation.failed\""},
                 {"instance", "\"/public/v1/brokers\""},
                 {"documentation_url", "\"" DOCS "/errors#validation.failed\""}};
    neo_json *example = member(component("examples", "validation.failed.body"), "value");
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(text_of_member(example, cases[i].key, *state), cases[i].json);
    assert_has(text_of_member(example, "errors", *state), "\"code\":\"validation.broker.name_required\"");
    member(member(component("examples", "rate_limit.exceeded"), "value"), "retry_after");
    assert_memory_equal(neo_json_string(member(member(component("examples", "not_found"), "value"), "instance")),
                        "/public/v1/brokers/brk_", 23);
}
