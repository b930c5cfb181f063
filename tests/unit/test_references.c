/* SPDX-License-Identifier: Apache-2.0 */
/* References in bodies, and between resources. */
#include "body.h"

#include <apr_strings.h>

#include "schema/references.h"

/* "path=id" of each, in their order. */
static const char *found(const neo_resource *resource, const char *change, apr_pool_t *pool)
{
    const apr_array_header_t *all = neo_references(resource, validated(resource, change, pool), pool);
    const char *list = "";
    for (int i = 0; i < all->nelts; i++) {
        const neo_reference *one = &APR_ARRAY_IDX(all, i, neo_reference);
        list = apr_pstrcat(pool, list, *list ? " " : "", one->path, "=", one->target, NULL);
    }
    return list;
}

TEST(a_body_without_references_has_none)
{
    assert_string_equal(found(&neo_broker, "{\"bank_account\":{\"pix_key\":\"p\"}}", *state), "");
    assert_string_equal(
        found(&neo_property, "{\"features\":[\"" NEO_SAMPLE_BROKER "\"],\"external_id\":\"" NEO_SAMPLE_BROKER "\"}", *state),
        "");
}

TEST(references_are_found_at_any_depth)
{
    assert_string_equal(
        found(&neo_property,
              "{\"owners\":[{\"party_id\":\"" NEO_SAMPLE_OWNER "\",\"share_bps\":1},{\"party_id\":\"" NEO_SAMPLE_SPOUSE
              "\",\"share_bps\":9999}],\"broker_id\":\"" NEO_SAMPLE_BROKER "\"}",
              *state),
        "owners[0].party_id=" NEO_SAMPLE_OWNER " owners[1].party_id=" NEO_SAMPLE_SPOUSE " broker_id=" NEO_SAMPLE_BROKER);
    assert_string_equal(
        found(&neo_proposal, "{\"recipient_ids\":[\"" NEO_SAMPLE_OWNER "\",\"" NEO_SAMPLE_SPOUSE "\"]}", *state),
        "property_id=" NEO_SAMPLE_PROPERTY " proponent_ids[0]=" NEO_SAMPLE_BUYER " recipient_ids[0]=" NEO_SAMPLE_OWNER
        " recipient_ids[1]=" NEO_SAMPLE_SPOUSE);
    assert_string_equal(found(&neo_contract,
                              "{\"guarantee\":{\"kind\":\"guarantor\",\"party_id\":\"" NEO_SAMPLE_BUYER
                              "\"},\"commission\":{\"splits\":[{\"broker_id\":\"" NEO_SAMPLE_BROKER "\",\"bps\":10000}]}}",
                              *state),
                        "property_id=" NEO_SAMPLE_PROPERTY " parties[0].party_id=" NEO_SAMPLE_OWNER
                        " guarantee.party_id=" NEO_SAMPLE_BUYER " commission.splits[0].broker_id=" NEO_SAMPLE_BROKER);
    assert_string_equal(found(&neo_document, "{}", *state), "related.id=" NEO_SAMPLE_PROPERTY);
}

TEST(the_same_target_is_listed_at_each_of_its_paths)
{
    assert_string_equal(found(&neo_party,
                              "{\"spouse_party_id\":\"" NEO_SAMPLE_SPOUSE
                              "\",\"legal_representatives\":[{\"party_id\":\"" NEO_SAMPLE_SPOUSE "\"}]}",
                              *state),
                        "spouse_party_id=" NEO_SAMPLE_SPOUSE " legal_representatives[0].party_id=" NEO_SAMPLE_SPOUSE);
}

TEST(references_follow_from_the_tables)
{
    static const struct {
        const neo_resource *resource;
        int refers, is_referred_to;
    } cases[] = {{&neo_broker, 0, 1},   {&neo_property, 1, 1}, {&neo_party, 1, 1},  {&neo_proposal, 1, 1},
                 {&neo_contract, 1, 1}, {&neo_document, 1, 0}, {&neo_webhook, 0, 0}};
    for (int i = 0; i < COUNT(cases); i++) {
        assert_int_equal(neo_has_references(cases[i].resource), cases[i].refers);
        assert_int_equal(neo_is_referred_to(cases[i].resource), cases[i].is_referred_to);
    }
}

/* An effect has a reference to a resource with that status. */
TEST(every_effect_has_a_target_with_that_status)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (const neo_effect *e = (*r)->effects; e && e->state; e++) {
            const neo_field *through = neo_field_named((*r)->fields, e->through);
            assert_true(through && through->type == NEO_REFERENCE && through->refers);
            const neo_field *status = neo_field_named(through->refers->fields, "status");
            int i = 0;
            while (status->values[i] && strcmp(status->values[i], e->becomes) != 0)
                i++;
            assert_non_null(status->values[i]);
        }
}
