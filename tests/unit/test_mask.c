/* SPDX-License-Identifier: Apache-2.0 */
/* Masks: which fields, in which texts, for which scopes. */
#include "unit.h"

#include <apr_strings.h>

#include "resources/mask.h"

#define BROKERS NEO_SCOPE_READ(NEO_AREA_BROKERS)
#define MASKED  NEO_SCOPE_MASKED(NEO_AREA_BROKERS)

static const char *masked(const char *text, const neo_resource *resource, neo_scopes scopes, apr_pool_t *pool)
{
    neo_text body = {text, strlen(text)};
    assert_true(neo_mask_text(&body, resource, scopes, pool));
    return apr_pstrmemdup(pool, body.ptr, body.len);
}

#define ID "\"id\":\"brk_01kga4srwtf2j8m5q1t7w3x9z6\""
#define CLEAR                                                                                                                  \
    "{" ID ",\"name\":\"Ana\",\"email\":\"a@example.com\",\"bank_account\":{\"agency\":\"1\",\"account_type\":\"savings\"}}"
#define HIDDEN "{" ID ",\"name\":\"Ana\",\"email\":\"***\",\"bank_account\":{\"agency\":\"***\"}}"

TEST(an_area_is_masked_for_a_credential_with_a_masked_scope_unless_it_may_read_it)
{
    neo_scopes parties = NEO_SCOPE_READ(NEO_AREA_PARTIES);
    assert_false(neo_scopes_mask(BROKERS, NEO_AREA_BROKERS));
    assert_false(neo_scopes_mask(NEO_SCOPE_WRITE(NEO_AREA_BROKERS), NEO_AREA_BROKERS));
    assert_true(neo_scopes_mask(BROKERS | MASKED, NEO_AREA_BROKERS));
    assert_true(neo_scopes_mask(BROKERS | MASKED, NEO_AREA_PARTIES));
    assert_false(neo_scopes_mask(BROKERS | MASKED | parties, NEO_AREA_PARTIES));
}

TEST(sensitive_fields_are_masked_wherever_a_resource_is)
{
    assert_string_equal(masked(CLEAR, NULL, BROKERS | MASKED, *state), HIDDEN);
    assert_string_equal(masked(CLEAR, &neo_party, BROKERS | MASKED | NEO_SCOPE_READ(NEO_AREA_PARTIES), *state), HIDDEN);
    assert_string_equal(masked("{\"items\":[" CLEAR "]}", &neo_broker, BROKERS | MASKED, *state), "{\"items\":[" HIDDEN "]}");
    assert_string_equal(
        masked("{\"items\":[{\"email\":\"a@example.com\",\"phone\":null}]}", &neo_broker, BROKERS | MASKED, *state),
        "{\"items\":[{\"email\":\"***\",\"phone\":null}]}");
    assert_string_equal(masked(CLEAR, &neo_broker, BROKERS, *state), CLEAR);
}

#define EVENT(payload, attempts)                                                                                               \
    "{\"id\":\"evt_35357c0000001f4a7a00003a91\",\"type\":\"broker.updated\",\"payload\":" payload                              \
    ",\"previous\":{\"email\":\"" attempts "\"},\"attempts\":[{\"number\":1"

TEST(events_and_deliveries_are_masked_by_their_type)
{
    assert_string_equal(
        masked(EVENT(CLEAR, "b@example.com") ",\"response_excerpt\":\"a@example.com\"}]}", NULL, NEO_SCOPES_MASKED, *state),
        EVENT(HIDDEN, "***") "}]}");
}

TEST(resources_with_sensitive_fields_are_known)
{
    assert_true(neo_resource_is_sensitive(&neo_party));
    assert_false(neo_resource_is_sensitive(&neo_property));
    assert_false(neo_resource_is_sensitive(&neo_audit_log));
}

TEST(what_is_not_json_is_not_masked)
{
    neo_text text = {"a,b", 3};
    assert_false(neo_mask_text(&text, NULL, NEO_SCOPES_MASKED, *state));
}

TEST(filters_of_sensitive_fields_are_known_by_their_sql)
{
    static const char *const sensitive[] = {"document_number", "email", "phone"};
    for (int i = 0; i < COUNT(sensitive); i++)
        assert_true(neo_filter_is_sensitive(neo_filter_named(&neo_party, sensitive[i]), &neo_party));
    assert_true(neo_filter_is_sensitive(neo_filter_in(neo_conversation_filters, "q"), &neo_conversation));
    assert_false(neo_filter_is_sensitive(neo_filter_named(&neo_party, "q"), &neo_party));
    for (const neo_filter *f = neo_property.filters; f->name; f++)
        assert_false(neo_filter_is_sensitive(f, &neo_property));
}
