/* SPDX-License-Identifier: Apache-2.0 */
/* Rules between fields. */
#include "body.h"

#include <apr_strings.h>

TEST(a_property_needs_the_price_for_its_transaction_type)
{
    static const char *const required = "validation.property.%s_price_required";
    const char *sale = apr_psprintf(*state, required, "sale"), *rent = apr_psprintf(*state, required, "rent");
    validated(&neo_property, "{\"transaction_type\":\"sale\",\"rent_price\":1}", *state);
    validated(&neo_property, "{\"transaction_type\":\"rent\",\"rent_price\":1,\"sale_price\":null}", *state);
    validated(&neo_property, "{\"transaction_type\":\"sale_rent\",\"rent_price\":1}", *state);
    assert_string_equal(only_error(&neo_property, "{\"sale_price\":null}", "sale_price", sale, *state),
                        "is required when transaction_type is sale or sale_rent");
    assert_string_equal(only_error(&neo_property, "{\"transaction_type\":\"rent\"}", "rent_price", rent, *state),
                        "is required when transaction_type is rent or sale_rent");
    only_error(&neo_property, "{\"transaction_type\":\"sale_rent\"}", "rent_price", rent, *state);
    assert_int_equal(refused(&neo_property, "{\"transaction_type\":\"sale_rent\",\"sale_price\":null}", *state)->items->nelts,
                     2);
}

static const char *owners(const char *first, const char *second, apr_pool_t *pool)
{
    return apr_psprintf(pool,
                        "{\"owners\":[{\"party_id\":\"" NEO_SAMPLE_OWNER "\",\"share_bps\":%s},"
                        "{\"party_id\":\"" NEO_SAMPLE_SPOUSE "\",\"share_bps\":%s}]}",
                        first, second);
}

TEST(the_shares_of_the_owners_sum_to_the_whole)
{
    validated(&neo_property, owners("5000", "5000", *state), *state);
    validated(&neo_property, owners("1", "9999", *state), *state);
    validated(&neo_property, "{\"owners\":[]}", *state);
    assert_string_equal(
        only_error(&neo_property, owners("5000", "4999", *state), "owners", "validation.property.owners_invalid", *state),
        "must have share_bps values that sum to 10000, not 9999");
    only_error(&neo_property, owners("5001", "5000", *state), "owners", "validation.property.owners_invalid", *state);
}

/* If an element is wrong, only the element is reported, not the sum. */
TEST(a_rule_is_not_checked_on_invalid_fields)
{
    only_error(&neo_property, owners("5000", "\"5000\"", *state), "owners[1].share_bps",
               "validation.property.owners_share_bps_invalid", *state);
    only_error(&neo_property, "{\"sale_price\":\"1\"}", "sale_price", "validation.property.sale_price_invalid", *state);
    only_error(&neo_property, "{\"transaction_type\":\"lease\",\"sale_price\":null}", "transaction_type",
               "validation.property.transaction_type_invalid", *state);
    only_error(&neo_proposal, "{\"amount\":1.5,\"payment_terms\":[{\"kind\":\"cash\",\"amount\":1}]}", "amount",
               "validation.proposal.amount_invalid", *state);
}

TEST(a_person_has_a_cpf_and_a_company_a_cnpj)
{
    static const char *const code = "validation.party.document_number_invalid";
    validated(&neo_party, "{\"kind\":\"person\",\"document_number\":\"529.982.247-25\"}", *state);
    validated(&neo_party, "{\"kind\":\"company\",\"document_number\":\"11.222.333/0001-81\"}", *state);
    assert_string_equal(stored_field(&neo_party, "{\"kind\":\"company\",\"document_number\":\"12.abc.345/01de-35\"}",
                                     "document_number", *state),
                        "\"12ABC34501DE35\"");
    assert_string_equal(
        only_error(&neo_party, "{\"kind\":\"person\",\"document_number\":\"11222333000181\"}", "document_number", code, *state),
        "must be a CPF when kind is person");
    assert_string_equal(
        only_error(&neo_party, "{\"kind\":\"company\",\"document_number\":\"52998224725\"}", "document_number", code, *state),
        "must be a CNPJ when kind is company");
    only_error(&neo_party, "{\"kind\":null,\"document_number\":\"52998224725\"}", "kind", "validation.party.kind_required",
               *state);
}

TEST(the_terms_of_payment_sum_to_the_amount)
{
    static const char *const terms =
        "{\"payment_terms\":[{\"kind\":\"down_payment\",\"amount\":40},{\"kind\":\"fgts\",\"amount\":%d}]}";
    validated(&neo_proposal, apr_psprintf(*state, terms, 60), *state);
    validated(&neo_proposal, "{\"payment_terms\":[]}", *state);
    assert_string_equal(only_error(&neo_proposal, apr_psprintf(*state, terms, 61), "payment_terms",
                                   "validation.proposal.payment_terms_invalid", *state),
                        "must have amount values that sum to 100, not 101");
}

TEST(the_largest_amounts_can_be_summed)
{
    neo_buf terms;
    neo_buf_init(&terms, *state, 4096);
    for (int i = 0; i < 50; i++)
        neo_buf_printf(&terms, "%s{\"kind\":\"cash\",\"amount\":9007199254740991}", i ? "," : "");
    only_error(&neo_proposal, apr_psprintf(*state, "{\"amount\":9007199254740991,\"payment_terms\":[%s]}", terms.ptr),
               "payment_terms", "validation.proposal.payment_terms_invalid", *state);
}

TEST(rentals_and_exclusive_listings_have_a_first_and_a_last_day)
{
    static const char *const kinds[] = {"rental", "exclusive_listing"};
    for (int i = 0; i < COUNT(kinds); i++) {
        const char *change = apr_psprintf(*state, "{\"kind\":\"%s\"}", kinds[i]);
        assert_int_equal(refused(&neo_contract, change, *state)->items->nelts, 2);
        assert_string_equal(only_error(&neo_contract,
                                       apr_psprintf(*state, "{\"kind\":\"%s\",\"start_date\":\"2026-01-01\"}", kinds[i]),
                                       "end_date", "validation.contract.end_date_required", *state),
                            apr_psprintf(*state, "is required when kind is %s", kinds[i]));
    }
    validated(&neo_contract, "{\"kind\":\"management\"}", *state);
    validated(&neo_contract, "{\"start_date\":\"2026-01-01\",\"end_date\":\"2026-01-01\"}", *state);
    only_error(&neo_contract, "{\"start_date\":\"2026-01-02\",\"end_date\":\"2026-01-01\"}", "end_date",
               "validation.contract.end_date_invalid", *state);
}

static const char *guaranteed(const char *kind, const char *guarantee, int amount, apr_pool_t *pool)
{
    return apr_psprintf(pool,
                        "{\"kind\":\"%s\",\"start_date\":\"2026-01-01\",\"end_date\":\"2028-06-30\","
                        "\"guarantee\":{\"kind\":\"%s\",\"amount\":%d}}",
                        kind, guarantee, amount);
}

TEST(a_deposit_is_at_most_three_rents)
{
    validated(&neo_contract, guaranteed("rental", "deposit", 300, *state), *state);
    validated(&neo_contract, guaranteed("rental", "surety_insurance", 301, *state), *state);
    validated(&neo_contract, guaranteed("sale", "deposit", 301, *state), *state);
    validated(&neo_contract, "{\"guarantee\":{\"kind\":\"deposit\"}}", *state);
    assert_string_equal(only_error(&neo_contract, guaranteed("rental", "deposit", 301, *state), "guarantee.amount",
                                   "validation.contract.guarantee_amount_invalid", *state),
                        "must be at most three times amount when kind is deposit");
}

TEST(the_parts_of_a_commission_sum_to_the_whole)
{
    static const char *const splits = "{\"commission\":{\"total_amount\":1,\"splits\":[{\"broker_id\":\"" NEO_SAMPLE_BROKER
                                      "\",\"bps\":%d},{\"broker_id\":\"" NEO_SAMPLE_BROKER "\",\"bps\":4000}]}}";
    validated(&neo_contract, apr_psprintf(*state, splits, 6000), *state);
    validated(&neo_contract, "{\"commission\":{\"total_amount\":1}}", *state);
    only_error(&neo_contract, apr_psprintf(*state, splits, 6001), "commission.splits",
               "validation.contract.commission_splits_invalid", *state);
}

TEST(a_patch_is_checked_together_with_unchanged_fields)
{
    neo_json *clean, *current = body_of(&neo_property, "{}", *state);
    neo_problem *problem =
        neo_validate_patch(&neo_property, current, parse_json("{\"transaction_type\":\"rent\"}", *state), *state, &clean);
    assert_string_equal(problem->code, "validation.property.rent_price_required");
    assert_null(neo_validate_patch(&neo_property, current,
                                   parse_json("{\"transaction_type\":\"rent\",\"rent_price\":5}", *state), *state, &clean));
}
