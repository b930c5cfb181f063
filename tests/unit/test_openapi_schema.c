/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas made from the types of fields. */
#include "body.h"

#include <apr_hash.h>
#include <apr_strings.h>

#include "api/routing.h"
#include "openapi/openapi.h"
#include "resources/scope.h"

static neo_openapi_builder builder_of(apr_pool_t *pool)
{
    neo_openapi_builder builder = {.pool = pool,
                                   .operations = neo_operations(),
                                   .base = "https://api.example.com/public/v1",
                                   .docs_url = "https://docs.example.com",
                                   .objects = apr_hash_make(pool)};
    neo_openapi_begin(&builder);
    return builder;
}

static neo_json *schema_of(const neo_resource *resource, const char *name, apr_pool_t *pool)
{
    const neo_openapi_builder builder = builder_of(pool);
    neo_openapi_schemas(&builder, resource);
    neo_json *schema = neo_json_get(neo_json_get(builder.components, "schemas"), name);
    if (!schema)
        fail_msg("there is no schema %s", name);
    return schema;
}

/* The property of a schema, or of the one that it extends, without its description and examples. */
static const char *property(const neo_resource *resource, const char *schema, const char *name, apr_pool_t *pool)
{
    neo_json *here = schema_of(resource, schema, pool), *found = neo_json_get(neo_json_get(here, "properties"), name);
    const char *base = neo_json_string(neo_json_get(neo_json_at(neo_json_get(here, "allOf"), 0), "$ref"));
    if (!found && base)
        return property(resource, strrchr(base, '/') + 1, name, pool);
    if (!found)
        fail_msg("%s has no %s", schema, name);
    assert_non_null(neo_json_get(found, "description"));
    neo_json_remove(found, "description");
    neo_json_remove(found, "examples");
    return neo_json_text(found, pool).ptr;
}

#define ULID "[0-7][0-9a-hjkmnp-tv-z]{25}$\""

#define ID_OR(rest, more)                                                                                                      \
    "{\"oneOf\":[{\"type\":\"string\",\"pattern\":\"^" rest ULID                                                               \
    "},{\"$ref\":\"#/components/schemas/ExternalReference\"}" more "]}"

TEST(each_type_has_its_schema)
{
    static const struct {
        const neo_resource *resource;
        const char *schema, *field, *json;
    } cases[] = {
        {&neo_property, "PropertyInput", "sale_price",
         "{\"type\":[\"integer\",\"null\"],\"format\":\"int64\",\"minimum\":0,\"maximum\":9007199254740991}"},
        {&neo_property, "PropertyInput", "floor", "{\"type\":[\"integer\",\"null\"],\"minimum\":-20,\"maximum\":300}"},
        {&neo_property, "AddressInput", "latitude", "{\"type\":[\"number\",\"null\"],\"minimum\":-90,\"maximum\":90}"},
        {&neo_property, "AddressInput", "postal_code", "{\"type\":\"string\",\"pattern\":\"^[0-9]{5}-?[0-9]{3}$\"}"},
        {&neo_property, "PropertyInput", "exclusive_until",
         "{\"type\":[\"string\",\"null\"],\"format\":\"date\",\"pattern\":\"^(1[89]|[2-9][0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}$\"}"},
        {&neo_property, "PropertyInput", "features",
         "{\"type\":[\"array\",\"null\"],\"maxItems\":100,\"items\":{\"type\":\"string\",\"pattern\":"
         "\"^[^\\\\x00-\\\\x1f\\\\x7f-\\\\x9f]*$\",\"minLength\":1,\"maxLength\":100}}"},
        {&neo_property, "PropertyInput", "broker_id", ID_OR("brk_", ",{\"type\":\"null\"}")},
        {&neo_property, "PropertyInput", "owners",
         "{\"type\":[\"array\",\"null\"],\"maxItems\":100,\"items\":{\"$ref\":\"#/components/schemas/PropertyOwnerInput\"}}"},
        {&neo_property, "PropertyInput", "metadata",
         "{\"type\":[\"object\",\"null\"],\"maxProperties\":50,\"propertyNames\":{\"minLength\":1,\"maxLength\":40},"
         "\"additionalProperties\":{\"type\":\"string\",\"maxLength\":500}}"},
        {&neo_proposal, "ProposalInput", "proponent_ids",
         "{\"type\":\"array\",\"minItems\":1,\"maxItems\":50,\"uniqueItems\":true,\"items\":" ID_OR("pty_", "") "}"},
        {&neo_document, "RelatedInput", "id", ID_OR("(prp_|pty_|pps_|ctr_|brk_)", "")},
        {&neo_document, "Related", "id", "{\"type\":\"string\",\"pattern\":\"^(prp_|pty_|pps_|ctr_|brk_)" ULID "}"},
        {&neo_party, "PartyInput", "phone",
         "{\"type\":[\"string\",\"null\"],\"pattern\":\"^[ .()-]*[+][ .()-]*[1-9]([ .()-]*[0-9]){6,14}[ .()-]*$\"}"},
    };
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(property(cases[i].resource, cases[i].schema, cases[i].field, *state), cases[i].json);
}

#define CHARACTER "[^\\x00-\\x1f\\x7f-\\x9f]*"

TEST(a_text_in_a_request_has_no_control_characters)
{
    static const struct {
        const neo_resource *resource;
        const char *schema, *field, *pattern;
    } cases[] = {
        {&neo_broker, "BrokerInput", "name", "^" CHARACTER "$"},
        {&neo_broker, "BrokerPatch", "creci", "^" CHARACTER "[0-9A-Za-z]" CHARACTER "$"},
        {&neo_proposal, "ProposalInput", "notes", "^[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]*$"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        neo_json *schema = parse_json(property(cases[i].resource, cases[i].schema, cases[i].field, *state), *state);
        assert_string_equal(neo_json_string(neo_json_get(schema, "pattern")), cases[i].pattern);
    }
}

TEST(roles_and_events_are_unique_and_not_empty)
{
    assert_non_null(strstr(property(&neo_party, "PartyInput", "roles", *state), "\"minItems\":1,\"uniqueItems\":true"));
    assert_non_null(strstr(property(&neo_webhook, "WebhookInput", "events", *state), "\"minItems\":1,\"uniqueItems\":true"));
}

TEST(a_patch_clears_fields_and_members_but_sends_elements_whole)
{
    assert_string_equal(property(&neo_property, "PropertyPatch", "floor", *state),
                        "{\"type\":[\"integer\",\"null\"],\"minimum\":-20,\"maximum\":300}");
    assert_string_equal(
        property(&neo_property, "PropertyPatch", "owners", *state),
        "{\"type\":[\"array\",\"null\"],\"maxItems\":100,\"items\":{\"$ref\":\"#/components/schemas/PropertyOwnerInput\"}}");
    assert_string_equal(property(&neo_property, "PropertyPatch", "address", *state),
                        "{\"$ref\":\"#/components/schemas/AddressPatch\"}");
    assert_non_null(strstr(property(&neo_property, "PropertyPatch", "metadata", *state),
                           "\"additionalProperties\":{\"type\":[\"string\",\"null\"],\"maxLength\":500}"));
    assert_non_null(neo_json_get(schema_of(&neo_property, "PropertyOwnerInput", *state), "required"));
    assert_null(neo_json_get(schema_of(&neo_property, "AddressPatch", *state), "required"));
}

TEST(a_list_in_a_response_is_never_empty)
{
    assert_non_null(strstr(property(&neo_property, "Property", "features", *state), "\"minItems\":1"));
    assert_null(strstr(property(&neo_property, "PropertyInput", "features", *state), "minItems"));
}

TEST(a_payload_has_objects_as_in_responses)
{
    assert_string_equal(property(&neo_property, "PropertyEventPayload", "address", *state),
                        "{\"$ref\":\"#/components/schemas/Address\"}");
    assert_null(neo_json_get(neo_json_get(schema_of(&neo_party, "PartyEventPayload", *state), "properties"), "bank_account"));
}

/* Every field has an example, by itself or in the example of its resource, which is a valid body. */
TEST(complete_examples_are_valid_and_consistent)
{
    for (int i = 0; i < COUNT(minimal_bodies); i++) {
        neo_json *clean, *sample = neo_openapi_sample(minimal_bodies[i].resource, NEO_SHAPE_INPUT, *state);
        neo_problem *problem = neo_validate(minimal_bodies[i].resource, sample, *state, &clean);
        if (problem)
            fail_msg("%s: %s", minimal_bodies[i].resource->name, problem->detail);
        for (const neo_field *f = minimal_bodies[i].resource->fields; f->name; f++)
            if (!(f->flags & NEO_SERVER))
                assert_int_equal(!neo_json_get(sample, f->name), !!(f->flags & NEO_NOT_IN_EXAMPLE));
        assert_string_equal(neo_json_text(clean, *state).ptr, neo_json_text(sample, *state).ptr);
    }
}

/* Each reference of an example is the id of another example. */
TEST(the_examples_refer_to_one_another)
{
    static const char *const ids[] = {NEO_SAMPLE_BROKER,   NEO_SAMPLE_OWNER,    NEO_SAMPLE_PROPERTY,
                                      NEO_SAMPLE_PROPOSAL, NEO_SAMPLE_CONTRACT, NEO_SAMPLE_DOCUMENT};
    for (int i = 0; i < COUNT(ids); i++) {
        const neo_resource *const *r = neo_resources;
        while (strncmp((*r)->prefix, ids[i], strlen((*r)->prefix)) != 0)
            r++;
        const neo_json *sample = neo_openapi_sample(*r, NEO_SHAPE_ANSWER, *state);
        assert_string_equal(neo_json_string(neo_json_get(sample, "id")), ids[i]);
    }
}

TEST(every_event_is_described_as_a_webhook)
{
    const neo_openapi_builder builder = builder_of(*state);
    neo_json *webhooks = neo_openapi_webhooks(&builder);
    const neo_field *events = neo_field_named(neo_webhook.fields, "events");
    int count = 0;
    for (; events->values[count] && !strchr(events->values[count], '*'); count++)
        assert_non_null(neo_json_get(neo_json_get(webhooks, events->values[count]), "post"));
    assert_true(count >= 18);
    for (const char *const *name = (const char *const[]){"webhook.test", "thin", "batch", NULL}; *name; name++, count++)
        assert_non_null(neo_json_get(neo_json_get(webhooks, *name), "post"));
    assert_int_equal(neo_json_size(webhooks), count);
}

TEST(the_type_of_an_event_of_the_log_says_what_its_payload_is)
{
    neo_json *document = neo_openapi_document(neo_operations(), "https://api.example.com/", "https://docs.example.com", *state);
    neo_json *schemas = neo_json_get(neo_json_get(document, "components"), "schemas"), *event = neo_json_get(schemas, "Event");
    neo_json *mapping = neo_json_get(neo_json_get(event, "discriminator"), "mapping");
    int types = 0;
    for (const char *const *type = neo_event_type_values; *type; type++)
        if (!strchr(*type, '*')) {
            const char *ref = neo_json_string_at(mapping, *type), *quoted = apr_pstrcat(*state, "\"", *type, "\"", NULL);
            assert_non_null(ref);
            assert_non_null(strstr(neo_json_text(neo_json_get(event, "oneOf"), *state).ptr, ref));
            assert_non_null(strstr(neo_json_text(neo_json_get(schemas, strrchr(ref, '/') + 1), *state).ptr, quoted));
            types++;
        }
    assert_int_equal(neo_json_size(mapping), types);
    assert_non_null(strstr(neo_json_text(neo_json_get(schemas, "LoggedPartyEvent"), *state).ptr, "/PartyEventPayload\""));
}

TEST(a_deprecated_value_is_marked_and_described)
{
    neo_json *value = parse_json("{\"description\": \"It is old.\"}", *state), *bare = neo_json_make_object(*state);
    neo_openapi_deprecate(value, NULL, *state);
    assert_null(neo_json_get(value, "deprecated"));
    neo_openapi_deprecate(value, &(const neo_deprecation){"2026-12-01", "2027-06-01", "contents", "Use it no more."}, *state);
    assert_true(neo_json_is_true(neo_json_get(value, "deprecated")));
    assert_string_equal(neo_json_string_at(value, "description"),
                        "It is old. Deprecated since 2026-12-01, until 2027-06-01. Use it no more.");
    neo_openapi_deprecate(bare, &(const neo_deprecation){"2026-12-01", NULL, "contents", "Use it no more."}, *state);
    assert_string_equal(neo_json_string_at(bare, "description"), "Deprecated since 2026-12-01. Use it no more.");
}
