/* SPDX-License-Identifier: Apache-2.0 */
/* Operations: routing of paths and methods, Allow, and consistency of the table. */
#include "unit.h"

#include <apr_strings.h>

#include "api/routing.h"
#include "resources/list.h"
#include "resources/scope.h"
#include "schema/batch.h"

#define ID "brk_01jd3x8m5t9w2q7r4y6z0a1b3c"

#define HOOK         "webhooks/whs_01jd3x8m5t9w2q7r4y6z0a1b3c"
#define DELIVERY     "whd_01jd3x8m5t9w2q7r4y6z0a1b3c"
#define CONVERSATION "whatsapp/conversations/wac_01jd3x8m5t9w2q7r4y6z0a1b3c"

#define LIST_ALLOWS   "GET, HEAD, OPTIONS, POST"
#define MEMBER_ALLOWS "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"
#define GET_ALLOWS    "GET, HEAD, OPTIONS"
#define POST_ALLOWS   "OPTIONS, POST"

static int has_verb(const neo_operation *operation, const char *verb)
{
    return operation->verb && strcmp(operation->verb, verb) == 0;
}

/* The operation with the verb. */
static const neo_operation *row(const char *verb)
{
    const neo_operation *const *o = neo_operations();
    while (*o && !has_verb(*o, verb))
        o++;
    assert_non_null(*o);
    return *o;
}

static void assert_matches(const char *path, const char *method, const char *verb, apr_pool_t *pool)
{
    neo_match match;
    neo_operation_match(path, method, pool, &match);
    assert_true(match.is_found);
    if (match.operation != row(verb))
        fail_msg("%s %s leads to %s", method, path, match.operation ? match.operation->verb : "nothing");
    assert_null(match.allow);
}

static void assert_allows(const char *path, const char *method, const char *allow, apr_pool_t *pool)
{
    neo_match match;
    neo_operation_match(path, method, pool, &match);
    assert_true(match.is_found);
    assert_null(match.operation);
    assert_string_equal(match.allow, allow);
}

/* Matching. */

TEST(every_path_and_method_match_their_operation)
{
    static const struct {
        const char *method, *path;
        const char *verb;
    } cases[] = {
        {"GET", "me", "getPrincipal"},
        {"GET", "openapi.yaml", "getDescription"},
        {"GET", "docs/errors", "getErrors"},
        {"GET", "brokers", "list"},
        {"GET", "brokers/export", "export"},
        {"POST", "brokers", "create"},
        {"POST", "brokers/batch", "batch"},
        {"GET", "brokers/" ID, "get"},
        {"PATCH", "brokers/" ID, "update"},
        {"PUT", "brokers/" ID, "replace"},
        {"DELETE", "brokers/" ID, "delete"},
        {"GET", "brokers/by-external-id/a", "getByExternalId"},
        {"PUT", "brokers/by-external-id/a", "upsert"},
        {"PATCH", "brokers/by-external-id/a", "merge"},
        {"DELETE", "brokers/by-external-id/a", "deleteByExternalId"},
        {"POST", HOOK "/rotate-secret", "rotateWebhookSecret"},
        {"POST", HOOK "/test", "testWebhook"},
        {"POST", HOOK "/recover", "recoverDeliveries"},
        {"GET", HOOK "/deliveries", "listDeliveries"},
        {"GET", HOOK "/deliveries/" DELIVERY, "getDelivery"},
        {"POST", HOOK "/deliveries/" DELIVERY "/retry", "retryDelivery"},
        {"POST", "whatsapp/conversations", "startConversation"},
        {"GET", "whatsapp/conversations", "listConversations"},
        {"GET", CONVERSATION, "getConversation"},
        {"PATCH", CONVERSATION, "updateConversation"},
        {"GET", CONVERSATION "/messages", "listMessages"},
        {"GET", "events", "listEvents"},
        {"GET", "events/evt_35357c0000001f4a7a00003a91", "getEvent"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        assert_matches(cases[i].path, cases[i].method, cases[i].verb, *state);
        if (strcmp(cases[i].method, "GET") == 0)
            assert_matches(cases[i].path, "HEAD", cases[i].verb, *state);
    }
}

TEST(every_resource_has_its_operations)
{
    for (const neo_resource *const *r = neo_resources; *r; r++) {
        char member[100];
        neo_match match;
        snprintf(member, sizeof member, "%s/%s01jd3x8m5t9w2q7r4y6z0a1b3c", (*r)->collection, (*r)->prefix);
        neo_operation_match((*r)->collection, "GET", *state, &match);
        assert_true(match.is_found);
        assert_ptr_equal(match.resource, *r);
        assert_null(match.id);
        neo_operation_match(member, "DELETE", *state, &match);
        assert_true(match.is_found);
        assert_ptr_equal(match.resource, *r);
        assert_string_equal(match.id, member + strlen((*r)->collection) + 1);
    }
}

TEST(paths_without_a_resource_have_no_resource_and_no_id)
{
    static const char *const paths[] = {"me", "openapi.yaml", "docs/errors"};
    for (int i = 0; i < COUNT(paths); i++) {
        neo_match match;
        neo_operation_match(paths[i], "GET", *state, &match);
        assert_true(match.is_found);
        assert_null(match.resource);
        assert_null(match.id);
    }
}

TEST(operations_on_a_path_have_their_own_resource)
{
    neo_match match;
    neo_operation_match("whatsapp/conversations", "POST", *state, &match);
    assert_true(match.is_found);
    assert_ptr_equal(match.resource, &neo_conversation_input);
    neo_operation_match("whatsapp/conversations", "GET", *state, &match);
    assert_true(match.is_found);
    assert_ptr_equal(match.resource, &neo_conversation);
    neo_operation_match(CONVERSATION "/messages", "GET", *state, &match);
    assert_true(match.is_found);
    assert_ptr_equal(match.resource, &neo_conversation);
    assert_string_equal(match.id, CONVERSATION + strlen("whatsapp/conversations/"));
}

TEST(any_id_is_passed_on)
{
    static const char *const ids[] = {"x", "{id}", "batches", "BRK_", "..", ".", "a b", "\xC3\xA9", "?", "{collection}"};
    for (int i = 0; i < COUNT(ids); i++) {
        char path[64];
        neo_match match;
        snprintf(path, sizeof path, "brokers/%s", ids[i]);
        neo_operation_match(path, "GET", *state, &match);
        assert_true(match.is_found);
        assert_ptr_equal(match.operation, row("get"));
        assert_string_equal(match.id, ids[i]);
    }
}

/* "batch" is not an id if the resource has batches. */
TEST(only_resources_that_have_batches_have_their_path)
{
    for (const neo_resource *const *r = neo_resources; *r; r++) {
        const char *path = apr_pstrcat(*state, (*r)->collection, "/batch", NULL);
        neo_match match;
        neo_operation_match(path, "POST", *state, &match);
        assert_true(match.is_found);
        assert_ptr_equal(match.resource, *r);
        assert_ptr_equal(match.operation, (*r)->has_batch ? row("batch") : NULL);
        neo_operation_match(path, "GET", *state, &match);
        assert_true(match.is_found);
        assert_ptr_equal(match.operation, (*r)->has_batch ? NULL : row("get"));
    }
}

TEST(a_subresource_has_both_ids)
{
    neo_match match;
    neo_operation_match(HOOK "/deliveries/" DELIVERY "/retry", "POST", *state, &match);
    assert_true(match.is_found);
    assert_ptr_equal(match.resource, &neo_webhook);
    assert_string_equal(match.id, HOOK + strlen("webhooks/"));
    assert_string_equal(match.subresource_id, DELIVERY);
    neo_operation_match("webhooks/x/deliveries/y", "GET", *state, &match);
    assert_true(match.is_found);
    assert_string_equal(match.id, "x");
    assert_string_equal(match.subresource_id, "y");
    neo_operation_match(HOOK "/deliveries", "GET", *state, &match);
    assert_true(match.is_found);
    assert_ptr_equal(match.resource, &neo_webhook);
    assert_null(match.subresource_id);
}

TEST(a_list_has_its_own_filters_or_those_of_its_resource)
{
    const neo_operation *brokers = row("list"), *deliveries = row("listDeliveries");
    assert_non_null(neo_operation_filter(brokers, &neo_broker, "creci"));
    assert_non_null(neo_operation_filter(brokers, &neo_broker, "created_gte"));
    assert_null(neo_operation_filter(brokers, &neo_broker, "status"));
    assert_non_null(neo_operation_filter(deliveries, &neo_webhook, "status"));
    assert_non_null(neo_operation_filter(deliveries, &neo_webhook, "event_type"));
    assert_non_null(neo_operation_filter(deliveries, &neo_webhook, "created_gte"));
    assert_null(neo_operation_filter(deliveries, &neo_webhook, "updated_gte"));
    for (const neo_filter *f = deliveries->filters; f->name; f++)
        assert_true(f->doc && f->doc[strlen(f->doc) - 1] == '.' && f->example);
}

TEST(options_and_405_name_the_allowed_methods)
{
    static const char *const paths[][2] = {{"me", GET_ALLOWS},
                                           {"openapi.yaml", GET_ALLOWS},
                                           {"docs/errors", GET_ALLOWS},
                                           {"brokers", LIST_ALLOWS},
                                           {"brokers/" ID, MEMBER_ALLOWS},
                                           {"brokers/batch", POST_ALLOWS},
                                           {"brokers/export", GET_ALLOWS},
                                           {"webhooks/batch", MEMBER_ALLOWS},
                                           {"webhooks/export", MEMBER_ALLOWS},
                                           {HOOK "/rotate-secret", POST_ALLOWS},
                                           {HOOK "/test", POST_ALLOWS},
                                           {HOOK "/recover", POST_ALLOWS},
                                           {HOOK "/deliveries", GET_ALLOWS},
                                           {HOOK "/deliveries/" DELIVERY, GET_ALLOWS},
                                           {HOOK "/deliveries/" DELIVERY "/retry", POST_ALLOWS}};
    static const char *const methods[] = {"OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "Post", "", "GETS", "GE", "HEAD "};
    for (int p = 0; p < COUNT(paths); p++)
        for (int m = 0; m < COUNT(methods); m++)
            assert_allows(paths[p][0], methods[m], paths[p][1], *state);
    assert_allows("me", "POST", GET_ALLOWS, *state);
    assert_allows("brokers", "DELETE", LIST_ALLOWS, *state);
    assert_allows("brokers/" ID, "POST", MEMBER_ALLOWS, *state);
}

static const char *const other_paths[] = {"",
                                          "/",
                                          "//",
                                          "me/",
                                          "/me",
                                          "me/x",
                                          "ME",
                                          "m",
                                          "mee",
                                          "brokers/",
                                          "/brokers",
                                          "brokers//",
                                          "brokers//" ID,
                                          "brokers/" ID "/",
                                          "brokers/" ID "/x",
                                          "brokers/" ID "/deliveries",
                                          "brokers/" ID "/test",
                                          "brokers/batch/",
                                          "brokers/batch/x",
                                          "brokers/" ID "/batch",
                                          "batch",
                                          HOOK "/deliveries/",
                                          HOOK "/deliveries/" DELIVERY "/",
                                          HOOK "/deliveries/" DELIVERY "/retry/",
                                          HOOK "/retry",
                                          "webhooks//deliveries",
                                          "broker",
                                          "Brokers",
                                          "brokerss",
                                          "brokers/" ID "//",
                                          "/brokers/" ID,
                                          "{collection}",
                                          "{collection}/{id}",
                                          "openapi",
                                          "openapi.yml",
                                          "openapi.yaml/",
                                          "nothing/" ID,
                                          " brokers",
                                          "brokers ",
                                          "brokers?x=1",
                                          "x/y/z"};

TEST(other_paths_do_not_match)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "OPTIONS", "DELETE"};
    neo_match match;
    for (int p = 0; p < COUNT(other_paths); p++)
        for (int m = 0; m < COUNT(methods); m++) {
            neo_operation_match(other_paths[p], methods[m], *state, &match);
            if (match.is_found)
                fail_msg("\"%s\" was taken for a path", other_paths[p]);
        }
}

TEST(only_documentation_needs_no_credential)
{
    static const struct {
        const char *path;
        int is_public;
    } cases[] = {{"me", 0}, {"brokers", 0}, {"brokers/" ID, 0}, {"openapi.yaml", 1}, {"docs/errors", 1}};
    static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "POST", "TRACE"};
    for (int i = 0; i < COUNT(cases); i++)
        for (int m = 0; m < COUNT(methods); m++) {
            neo_match match;
            neo_operation_match(cases[i].path, methods[m], *state, &match);
            assert_true(match.is_found);
            assert_int_equal(match.is_public, cases[i].is_public);
        }
}

/* The table. */

TEST(no_two_rows_have_the_same_path_and_method_or_the_same_verb)
{
    for (const neo_operation *const *o = neo_operations(); *o; o++)
        for (const neo_operation *const *other = neo_operations(); other < o; other++) {
            assert_false(strcmp((*o)->path, (*other)->path) == 0 && strcmp((*o)->method, (*other)->method) == 0);
            assert_false((*o)->verb && has_verb(*other, (*o)->verb));
        }
}

TEST(access_follows_the_method)
{
    for (const neo_operation *const *o = neo_operations(); *o; o++) {
        int reads = strcmp((*o)->method, "GET") == 0 || *o == row("exportSubject");
        int of_resource = strncmp((*o)->path, "{collection}", 12) == 0 || strstr((*o)->path, "{id}") || (*o)->resource;
        if ((*o)->resource == &neo_event_log)
            assert_int_equal((*o)->access, NEO_ACCESS_EVENTS);
        else if (of_resource)
            assert_int_equal((*o)->access, reads ? NEO_ACCESS_READ : NEO_ACCESS_WRITE);
        else
            assert_true((*o)->access <= NEO_ACCESS_ANY && (reads || *o == row("requestToken")));
    }
    assert_int_equal(row("getPrincipal")->access, NEO_ACCESS_ANY);
}

/* True for actions that do not write the resource of the path, or whose path has none. */
static int is_command(const neo_operation *operation)
{
    return operation == row("requestToken") ||
           (!strstr(operation->path, "{collection}") && operation->access >= NEO_ACCESS_READ);
}

TEST(accepted_headers_follow_from_the_method)
{
    for (const neo_operation *const *o = neo_operations(); *o; o++) {
        const char *method = (*o)->method;
        unsigned int accepts = (*o)->accepts;
        int posts = strcmp(method, "POST") == 0, gets = strcmp(method, "GET") == 0, deletes = strcmp(method, "DELETE") == 0;
        if (!is_command(*o))
            assert_int_equal(!!(accepts & NEO_ACCEPTS_BODY), !gets && !deletes);
        assert_int_equal(!!(accepts & NEO_ACCEPTS_MERGE_PATCH), strcmp(method, "PATCH") == 0);
        if (posts && ((*o)->status == 201 || accepts & NEO_ACCEPTS_BODY) && *o != row("markConversationRead") &&
            *o != row("exportSubject") && *o != row("eraseSubject")) /* repeatable */
            assert_true(posts && accepts & NEO_ACCEPTS_IDEMPOTENCY_KEY);
        assert_false((accepts & NEO_ACCEPTS_IDEMPOTENCY_KEY) && !posts);
        assert_int_equal(!!(accepts & NEO_ACCEPTS_IF_MATCH), !gets && !posts);
        assert_false((accepts & NEO_ACCEPTS_IF_NONE_MATCH) && !gets);
        if (!is_command(*o) && !has_verb(*o, "batch") && !has_verb(*o, "upsert") && !has_verb(*o, "merge"))
            assert_int_equal((*o)->status, posts ? 201 : deletes ? 204 : 200);
        assert_int_equal((*o)->media_type == NULL, deletes);
        assert_int_equal(!!(accepts & NEO_ACCEPTS_PAGE), !!((*o)->response_headers & NEO_RESPONSE_LINK));
    }
    assert_int_equal(row("list")->accepts & NEO_ACCEPTS_PAGE, NEO_ACCEPTS_PAGE);
    assert_int_equal(row("recoverDeliveries")->accepts & NEO_ACCEPTS_BODY, NEO_ACCEPTS_BODY);
}

TEST(problems_follow_from_access_and_accepted_input)
{
    for (const neo_operation *const *o = neo_operations(); *o; o++) {
        unsigned long long problems = neo_operation_problems((*o), &neo_broker);
        const struct {
            neo_code code;
            int expected;
        } cases[] = {
            {NEO_RATE_LIMIT_EXCEEDED, 1},
            {NEO_INTERNAL_UNEXPECTED, 1},
            {NEO_INTERNAL_UNAVAILABLE, 1},
            {NEO_INTERNAL_STATEMENT_TIMEOUT, 1},
            {NEO_VALIDATION_UNKNOWN_PARAMETER, 1},
            {NEO_UNAUTHORIZED_AUTH_REQUIRED, (*o)->access != NEO_ACCESS_PUBLIC},
            {NEO_UNAUTHORIZED_INVALID_CREDENTIAL, (*o)->access != NEO_ACCESS_PUBLIC},
            {NEO_UNAUTHORIZED_REVOKED_CREDENTIAL, (*o)->access != NEO_ACCESS_PUBLIC},
            {NEO_FORBIDDEN_ORGANIZATION, (*o)->access != NEO_ACCESS_PUBLIC},
            {NEO_RATE_LIMIT_CONCURRENT_REQUESTS, (*o)->access != NEO_ACCESS_PUBLIC},
            {NEO_FORBIDDEN_PERMISSIONS, (*o)->access >= NEO_ACCESS_READ},
            {NEO_VALIDATION_ORGANIZATION_REQUIRED, (*o)->access >= NEO_ACCESS_READ},
            {NEO_NOT_FOUND_RESOURCE, strstr((*o)->path, "{id}") || has_verb(*o, "batch") || has_verb(*o, "startConversation") ||
                                         has_verb(*o, "getByExternalId") || has_verb(*o, "deleteByExternalId")},
            {NEO_VALIDATION_MALFORMED_JSON, !!((*o)->accepts & NEO_ACCEPTS_BODY)},
            {NEO_VALIDATION_FIELD_REQUIRED, (*o)->accepts & NEO_ACCEPTS_BODY || has_verb(*o, "findSubject")},
            {NEO_CONFLICT_DUPLICATE, (*o)->accepts & NEO_ACCEPTS_BODY && !is_command(*o)},
            {NEO_VALIDATION_BODY_TOO_LARGE, !!((*o)->accepts & NEO_ACCEPTS_BODY)},
            {NEO_VALIDATION_UNSUPPORTED_MEDIA_TYPE, !!((*o)->accepts & NEO_ACCEPTS_BODY)},
            {NEO_CONFLICT_IDEMPOTENCY_KEY_REUSED, !!((*o)->accepts & NEO_ACCEPTS_IDEMPOTENCY_KEY)},
            {NEO_CONFLICT_PRECONDITION_FAILED, (*o)->accepts & NEO_ACCEPTS_IF_MATCH || has_verb(*o, "batch")},
            {NEO_VALIDATION_CURSOR_EXPIRED, !!((*o)->accepts & NEO_ACCEPTS_PAGE)},
            {NEO_VALIDATION_LIMIT_OUT_OF_RANGE, !!((*o)->accepts & NEO_ACCEPTS_PAGE)},
            {NEO_CONFLICT_IN_USE, has_verb(*o, "delete") || has_verb(*o, "deleteByExternalId") || has_verb(*o, "batch")},
            {NEO_VALIDATION_BATCH_TOO_LARGE, has_verb(*o, "batch")},
        };
        for (int i = 0; i < COUNT(cases); i++)
            if (!!(problems & NEO_PROBLEM_BIT(cases[i].code)) != cases[i].expected)
                fail_msg("%s: %s", (*o)->verb, neo_code_row(cases[i].code)->code);
        assert_int_equal(problems & (*o)->problems, (*o)->problems);
        assert_int_equal(problems >> NEO_CODES, 0);
    }
}

TEST(every_row_is_described)
{
    for (const neo_operation *const *o = neo_operations(); *o; o++) {
        if (!(*o)->verb) /* it is not in the OpenAPI document */
            continue;
        assert_true((*o)->summary && *(*o)->summary);
        assert_int_not_equal((*o)->summary[strlen((*o)->summary) - 1], '.');
        assert_true((*o)->doc && (*o)->doc[strlen((*o)->doc) - 1] == '.');
    }
}

TEST(the_summary_of_batches_names_every_method)
{
    for (neo_method method = 0; method < NEO_METHODS; method++)
        assert_non_null(strcasestr(row("batch")->summary, neo_methods[method]));
}
