/* The description and the page of errors: whatever the model's tables have is in them, and their examples are true. */
#include "unit.h"

#include <apr_lib.h>
#include <apr_strings.h>

#include "core/clock.h"
#include "core/id.h"
#include "model/openapi.h"
#include "model/openapi_builder.h"
#include "model/validate.h"

#define BASE "https://api.example.com/public/v1/"
#define DOCS "https://docs.example.com/api"

/* Made once: the tests look at it many times, and apr_terminate frees it. */
static const char *description(apr_pool_t *pool)
{
    static const char *made;
    (void)pool;
    if (!made) {
        apr_pool_t *lasting;
        apr_pool_create(&lasting, NULL);
        made = neo_openapi_yaml(BASE, DOCS, lasting).ptr;
    }
    return made;
}

static void assert_has(const char *text, const char *wanted)
{
    if (!strstr(text, wanted))
        fail_msg("there is no %s in:\n%.2000s", wanted, text);
}

static size_t depth(const char *line)
{
    return strspn(line, " ");
}

/* The lines below a key at `indent`, up to the next key at that depth or above. */
static const char *below(const char *text, int indent, const char *key, apr_pool_t *pool)
{
    const char *line = apr_psprintf(pool, "\n%*s%s:\n", indent, "", key), *start = strstr(text, line);
    if (!start)
        fail_msg("there is no %s", key);
    const char *end = start += strlen(line);
    while (*end && (*end == '\n' || depth(end) > (size_t)indent))
        end += strcspn(end, "\n") + (end[strcspn(end, "\n")] == '\n');
    return apr_pstrcat(pool, "\n", apr_pstrmemdup(pool, start, (apr_size_t)(end - start)), NULL);
}

static const char *component(const char *kind, const char *name, apr_pool_t *pool)
{
    const char *components = below(description(pool), 0, "components", pool);
    return below(below(components, 2, kind, pool), 4, name, pool);
}

static const char *key_of(const char *name, apr_pool_t *pool)
{
    return apr_pstrcat(pool, "\n        ", name, ":\n", NULL);
}

/* The path of an operation as the description writes it, in the place of the parts that are a resource's. */
static const char *path_of(const neo_operation *operation, const neo_resource *resource, apr_pool_t *pool)
{
    const char *rest = strstr(operation->path, "{collection}");
    return rest ? apr_pstrcat(pool, "/", resource->collection, rest + strlen("{collection}"), NULL)
                : apr_pstrcat(pool, "/", operation->path, NULL);
}

/* The resource that an operation's path is about: the one at hand where it has {collection}; NULL where it is none's. */
static const neo_resource *resource_of(const neo_operation *operation, const neo_resource *at_hand, apr_pool_t *pool)
{
    const char *first = apr_pstrmemdup(pool, operation->path, strcspn(operation->path, "/"));
    if (operation->of)
        return operation->of;
    return strcmp(first, "{collection}") == 0 ? at_hand : neo_resource_of_collection(first);
}

static const char *lower(const char *text, apr_pool_t *pool)
{
    char *copy = apr_pstrdup(pool, text);
    for (char *c = copy; *c; c++)
        *c = (char)apr_tolower(*c);
    return copy;
}

/* ---------------------------------------------------------------- the top */

static void the_description_names_its_server_and_its_documentation(void **state)
{
    const char *text = description(*state);
    assert_memory_equal(text, "openapi: 3.1.0\n", 15);
    assert_has(text, "\n  - url: https://api.example.com/public/v1\n");
    assert_has(below(text, 0, "info", *state), "url: " DOCS "/errors\n");
}

static void the_description_is_the_same_each_time(void **state)
{
    assert_string_equal(description(*state), neo_openapi_yaml(BASE, DOCS, *state).ptr);
}

/* ---------------------------------------------------------------- schemas */

static void assert_fields(const neo_field *fields, const char *schema, apr_pool_t *pool)
{
    for (const neo_field *f = fields; f->name; f++)
        assert_has(schema, key_of(f->name, pool));
}

/* Whether a schema of a resource has a field: secrets only on creation, events only marked fields. */
static int is_wanted(const neo_field *field, neo_shape shape)
{
    if (shape == NEO_SHAPE_EVENT)
        return !!(field->flags & NEO_IN_EVENT);
    return shape != NEO_SHAPE_ANSWER || !(field->flags & NEO_SECRET);
}

static void every_field_is_in_the_schema_of_each_shape_that_has_it(void **state)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (neo_shape shape = 0; shape < NEO_SHAPES; shape++) {
            if (!neo_openapi_has_schema(*r, shape))
                continue;
            const char *schema = component("schemas", neo_openapi_schema_name(*r, shape, *state), *state);
            neo_json *sample = neo_openapi_sample(*r, shape, *state);
            for (const neo_field *f = (*r)->fields; f->name; f++) {
                assert_int_equal(is_wanted(f, shape), strstr(schema, key_of(f->name, *state)) != NULL);
                assert_false(!is_wanted(f, shape) && neo_json_get(sample, f->name));
            }
        }
}

static void a_secret_is_in_the_answer_to_creation_and_rotation_alone(void **state)
{
    const char *paths = below(description(*state), 0, "paths", *state);
    const char *made = below(paths, 2, "/webhooks", *state), *one = below(paths, 2, "/webhooks/{id}", *state);
    const char *rotated = below(paths, 2, "/webhooks/{id}/rotate-secret", *state), *ref = "\"#/components/schemas/Webhook";
    assert_has(below(below(made, 4, "post", *state), 8, "\"201\"", *state), apr_pstrcat(*state, ref, "WithSecret\"", NULL));
    assert_has(below(below(rotated, 4, "post", *state), 8, "\"200\"", *state), apr_pstrcat(*state, ref, "WithSecret\"", NULL));
    assert_null(strstr(below(made, 4, "get", *state), "WithSecret"));
    assert_null(strstr(one, "WithSecret"));
    assert_has(one, apr_pstrcat(*state, ref, "\"", NULL));
    assert_null(strstr(component("examples", "Webhook", *state), "secret"));
    assert_null(strstr(component("examples", "WebhookList", *state), "secret"));
    assert_has(component("examples", "WebhookWithSecret", *state), "secret: whsec_");
}

static void an_object_has_a_schema_of_its_own(void **state)
{
    const neo_field *field = neo_field_named(neo_broker.fields, "bank_account");
    assert_fields(field->fields, component("schemas", "BankAccount", *state), *state);
    assert_fields(field->fields, component("schemas", "BankAccountInput", *state), *state);
    assert_fields(field->fields, component("schemas", "BankAccountPatch", *state), *state);
}

static void only_request_schemas_forbid_other_members(void **state)
{
    assert_has(component("schemas", "BrokerInput", *state), "\n      additionalProperties: false\n");
    assert_has(component("schemas", "BrokerPatch", *state), "\n      additionalProperties: false\n");
    assert_null(strstr(component("schemas", "Broker", *state), "additionalProperties"));
}

static void a_create_requires_what_the_table_requires_and_a_patch_nothing(void **state)
{
    assert_has(component("schemas", "BrokerInput", *state), "\n      required:\n        - name\n      properties:\n");
    assert_null(strstr(component("schemas", "BrokerPatch", *state), "\n      required:\n"));
}

static void a_body_takes_null_where_the_field_can_be_left_out(void **state)
{
    static const char *const shapes[] = {"BrokerInput", "BrokerPatch"};
    for (int i = 0; i < 2; i++) {
        const char *body = component("schemas", shapes[i], *state);
        assert_has(below(body, 8, "phone", *state), "\n            - \"null\"\n");
        assert_has(below(body, 8, "bank_account", *state), "\n            - type: \"null\"\n");
        assert_null(strstr(below(body, 8, "name", *state), "null"));
    }
    assert_null(strstr(component("schemas", "Broker", *state), "\"null\""));
}

static void lengths_formats_and_values_are_described(void **state)
{
    const char *schema = component("schemas", "Broker", *state);
    assert_has(below(schema, 8, "name", *state), "\n          maxLength: 200\n");
    assert_has(below(schema, 8, "email", *state), "\n          format: email\n");
    assert_has(below(schema, 8, "created_at", *state), "\n          format: date-time\n");
    assert_has(below(schema, 8, "visibility", *state), "\n            - restricted\n");
    assert_has(below(schema, 8, "id", *state), "\n          pattern: \"^brk_");
    assert_has(below(schema, 8, "id", *state), "\n          readOnly: true\n");
}

/* ---------------------------------------------------------------- operations */

typedef void (*operation_test)(const neo_operation *operation, const neo_resource *resource, const char *made,
                               apr_pool_t *pool);

/* Gives every operation of every resource to a test, with what the description says of it. */
static void for_each_operation(operation_test test, apr_pool_t *pool)
{
    const char *paths = below(description(pool), 0, "paths", pool);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (int a = 0; a < NEO_ACTIONS; a++) {
            const neo_operation *operation = &neo_operations[a];
            if (!neo_operation_is_of(operation, *r))
                continue;
            const char *path = below(paths, 2, path_of(operation, *r, pool), pool);
            test(operation, resource_of(operation, *r, pool), below(path, 4, lower(operation->method, pool), pool), pool);
        }
}

static void assert_success(const neo_operation *operation, const neo_resource *resource, const char *made, apr_pool_t *pool)
{
    const char *success = below(made, 8, apr_psprintf(pool, "\"%d\"", operation->status), pool);
    (void)resource;
    assert_int_equal(operation->response_headers & NEO_RESPONSE_ETAG,
                     strstr(success, "\n            ETag:") ? NEO_RESPONSE_ETAG : 0);
    assert_int_equal(operation->response_headers & NEO_RESPONSE_LOCATION,
                     strstr(success, "\n            Location:") ? NEO_RESPONSE_LOCATION : 0);
    assert_int_equal(operation->response_headers & NEO_RESPONSE_LINK,
                     strstr(success, "\n            Link:") ? NEO_RESPONSE_LINK : 0);
    assert_int_equal(!!(operation->accepts & NEO_ACCEPTS_IDEMPOTENCY_KEY),
                     !!strstr(success, "\n            Idempotent-Replayed:"));
    assert_int_equal(!!(operation->accepts & NEO_ACCEPTS_IF_NONE_MATCH), !!strstr(made, "\n        \"304\":\n"));
    assert_int_equal(!!operation->media_type, !!strstr(success, "\n          content:\n"));
}

static void every_operation_tells_its_success(void **state)
{
    for_each_operation(assert_success, *state);
}

static void assert_problems(const neo_operation *operation, const neo_resource *resource, const char *made, apr_pool_t *pool)
{
    unsigned long long problems = neo_operation_problems(operation, resource);
    const char *text = description(pool);
    for (neo_code code = 0; code < NEO_CODES; code++) {
        neo_problem *problem = NULL;
        if (!(problems & NEO_PROBLEM_BIT(code)))
            continue;
        const char *subject = code == NEO_NOT_FOUND_RESOURCE && operation->subresource ? operation->subresource
                              : resource                                               ? resource->name
                                                                                       : "";
        neo_problem_field(&problem, pool, code, subject, "<field>", "%s", "");
        assert_has(made, apr_psprintf(pool, "\n        \"%d\":\n", neo_code_row(code)->status));
        assert_has(text, apr_psprintf(pool, "- `%s`: ", problem->code));
    }
}

static void every_operation_tells_every_status_it_can_answer(void **state)
{
    for_each_operation(assert_problems, *state);
}

static void assert_parameters(const neo_operation *operation, const neo_resource *resource, const char *made, apr_pool_t *pool)
{
    static const struct {
        unsigned int accepts;
        const char *parameter;
    } taken[] = {{NEO_ACCEPTS_PAGE, "Limit"},
                 {NEO_ACCEPTS_PAGE, "Cursor"},
                 {NEO_ACCEPTS_IDEMPOTENCY_KEY, "IdempotencyKey"},
                 {NEO_ACCEPTS_IF_MATCH, "IfMatch"},
                 {NEO_ACCEPTS_IF_NONE_MATCH, "IfNoneMatch"}};
    for (int i = 0; i < COUNT(taken); i++)
        assert_int_equal(!!(operation->accepts & taken[i].accepts),
                         !!strstr(made, apr_psprintf(pool, "\"#/components/parameters/%s\"", taken[i].parameter)));
    int is_of_resource = operation->accepts & NEO_ACCEPTS_PAGE && !operation->filters;
    assert_int_equal(is_of_resource, !!strstr(made, "\"#/components/parameters/created_gte\""));
    for (const neo_filter *f = is_of_resource ? resource->filters : NULL; f && f->name; f++)
        assert_has(made, apr_psprintf(pool, "\"#/components/parameters/%s_%s\"", resource->name, f->name));
    for (const neo_filter *f = operation->filters; f && f->name; f++)
        assert_has(made, apr_psprintf(pool, "\n        - name: %s\n", f->name));
    assert_int_equal(operation->access != NEO_ACCESS_PUBLIC, !!strstr(made, "\"#/components/parameters/Organization\""));
    assert_int_equal(!!(operation->accepts & NEO_ACCEPTS_BODY), !!strstr(made, "\n      requestBody:\n"));
    assert_int_equal(!!(operation->accepts & NEO_ACCEPTS_MERGE_PATCH),
                     !!strstr(made, "\n          application/merge-patch+json:\n"));
}

static void every_operation_describes_its_parameters(void **state)
{
    for_each_operation(assert_parameters, *state);
}

static void assert_scope(const neo_operation *operation, const neo_resource *resource, const char *made, apr_pool_t *pool)
{
    if (operation->access == NEO_ACCESS_READ)
        assert_has(made, neo_scope_text(NEO_SCOPE_READ(resource->area), pool));
    if (operation->access == NEO_ACCESS_WRITE)
        assert_has(made, neo_scope_text(NEO_SCOPE_WRITE(resource->area), pool));
    assert_int_equal(operation->access == NEO_ACCESS_PUBLIC, !!strstr(made, "\n      security: []\n"));
}

static void every_operation_tells_the_scope_it_needs(void **state)
{
    for_each_operation(assert_scope, *state);
}

static void assert_methods(const neo_operation *operation, const neo_resource *resource, const char *made, apr_pool_t *pool)
{
    static const char *const methods[] = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"};
    const char *path = path_of(operation, resource, pool);
    const char *item = below(below(description(pool), 0, "paths", pool), 2, path, pool);
    neo_match match;
    (void)made;
    assert_true(neo_operation_match(path + 1, "OPTIONS", pool, &match));
    for (int i = 0; i < COUNT(methods); i++) {
        int is_allowed = strstr(apr_pstrcat(pool, match.allow, ",", NULL), apr_pstrcat(pool, methods[i], ",", NULL)) != NULL;
        const char *key = apr_psprintf(pool, "\n    %s:\n", lower(methods[i], pool));
        assert_int_equal(is_allowed, !!strstr(item, key));
    }
}

static void a_path_has_the_methods_that_allow_names(void **state)
{
    for_each_operation(assert_methods, *state);
}

/* ---------------------------------------------------------------- what receivers get */

static void every_event_is_described_with_payload_and_signatures(void **state)
{
    static const char *const happened[] = {"created", "updated", "deleted"};
    static const char *const parameters[] = {"WebhookSignature", "StandardWebhookId", "StandardWebhookTimestamp",
                                             "StandardWebhookSignature"};
    const char *webhooks = below(description(*state), 0, "webhooks", *state);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (int i = 0; (*r)->has_events && i < COUNT(happened); i++) {
            const char *told = below(webhooks, 2, apr_psprintf(*state, "%s.%s", (*r)->name, happened[i]), *state);
            assert_has(told, apr_psprintf(*state, "\"#/components/schemas/%sEvent\"", (*r)->title));
            for (int p = 0; p < COUNT(parameters); p++)
                assert_has(told, apr_psprintf(*state, "\"#/components/parameters/%s\"", parameters[p]));
            assert_has(component("schemas", apr_pstrcat(*state, (*r)->title, "Event", NULL), *state),
                       apr_psprintf(*state, "\"#/components/schemas/%sEventPayload\"", (*r)->title));
        }
    below(webhooks, 2, "webhook.test", *state);
}

static void the_response_of_a_delivery_is_described(void **state)
{
    static const char *const members[] = {"id",          "subscription_id", "event_type", "status",
                                          "http_status", "attempt_count",   "created_at", "completed_at"};
    static const char *const attempt[] = {"number", "started_at", "duration_ms", "http_status", "error", "response_excerpt"};
    for (int i = 0; i < COUNT(members); i++)
        assert_has(component("schemas", "Delivery", *state), key_of(members[i], *state));
    for (int i = 0; i < COUNT(attempt); i++)
        assert_has(component("schemas", "DeliveryAttempt", *state), key_of(attempt[i], *state));
    assert_has(component("schemas", "RecoveryInput", *state), "\n        - since\n");
    assert_has(component("schemas", "Recovered", *state), key_of("recovered", *state));
}

/* ---------------------------------------------------------------- examples */

static void the_bodies_of_the_examples_are_valid(void **state)
{
    for (const neo_resource *const *r = neo_resources; *r; r++) {
        neo_shape most = neo_openapi_has_schema(*r, NEO_SHAPE_CREATED) ? NEO_SHAPE_CREATED : NEO_SHAPE_ANSWER;
        neo_json *clean, *whole = neo_openapi_sample(*r, most, *state); /* what was read can be sent back */
        assert_null(neo_validate(*r, neo_openapi_sample(*r, NEO_SHAPE_INPUT, *state), *state, &clean));
        assert_null(neo_validate(*r, whole, *state, &clean));
        assert_null(neo_validate_patch(*r, whole, neo_openapi_sample(*r, NEO_SHAPE_PATCH, *state), *state, &clean));
    }
}

static void the_ids_of_the_examples_are_ids(void **state)
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

static void the_id_of_an_example_was_issued_when_it_was_created(void **state)
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

static void an_example_problem_equals_a_real_one(void **state)
{
    const char *example = component("examples", "validation.broker.name_required", *state);
    assert_has(example, "\n        type: validation\n");
    assert_has(example, "\n        title: Validation Failed\n");
    assert_has(example, "\n        status: 400\n");
    assert_has(example, "\n        code: validation.broker.name_required\n");
    assert_has(example, "\n        instance: /public/v1/brokers\n");
    assert_has(example, "\n        documentation_url: " DOCS "/errors#validation.broker.name_required\n");
    assert_has(example, "\n          - field: name\n");
    assert_has(component("examples", "rate_limit.exceeded", *state), "\n        retry_after: ");
    assert_has(component("examples", "not_found.broker", *state), "\n        instance: /public/v1/brokers/brk_");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        pool_test(the_description_names_its_server_and_its_documentation),
        pool_test(the_description_is_the_same_each_time),
        pool_test(every_field_is_in_the_schema_of_each_shape_that_has_it),
        pool_test(a_secret_is_in_the_answer_to_creation_and_rotation_alone),
        pool_test(an_object_has_a_schema_of_its_own),
        pool_test(only_request_schemas_forbid_other_members),
        pool_test(a_create_requires_what_the_table_requires_and_a_patch_nothing),
        pool_test(a_body_takes_null_where_the_field_can_be_left_out),
        pool_test(lengths_formats_and_values_are_described),
        pool_test(every_operation_tells_its_success),
        pool_test(every_operation_tells_every_status_it_can_answer),
        pool_test(every_operation_describes_its_parameters),
        pool_test(every_operation_tells_the_scope_it_needs),
        pool_test(a_path_has_the_methods_that_allow_names),
        pool_test(every_event_is_described_with_payload_and_signatures),
        pool_test(the_response_of_a_delivery_is_described),
        pool_test(the_bodies_of_the_examples_are_valid),
        pool_test(the_ids_of_the_examples_are_ids),
        pool_test(the_id_of_an_example_was_issued_when_it_was_created),
        pool_test(an_example_problem_equals_a_real_one),
    };
    return run_test_group("openapi", tests);
}
