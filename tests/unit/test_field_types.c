/* SPDX-License-Identifier: Apache-2.0 */
/* Types of fields: valid values are stored, and errors have the path of the value. */
#include "body.h"

#include <apr_strings.h>

#define SALE_PRICE "validation.property.sale_price_invalid"
#define METADATA   "validation.property.metadata_invalid"

/* Numbers. */

TEST(money_is_an_integer_up_to_two_to_the_53)
{
    static const char *const right[] = {"0", "1", "98000000", "9007199254740991"};
    for (int i = 0; i < COUNT(right); i++)
        assert_string_equal(
            stored_field(&neo_property, apr_psprintf(*state, "{\"sale_price\":%s}", right[i]), "sale_price", *state), right[i]);
}

TEST(other_values_of_money_are_refused)
{
    static const char *const values[][2] = {
        {"9007199254740992", "must be an integer from 0 to 9007199254740991"},
        {"9223372036854775807", "must be an integer from 0 to 9007199254740991"},
        {"-1", "must be an integer from 0 to 9007199254740991"},
        {"9223372036854775808", "must be an integer from 0 to 9007199254740991, without a decimal point or exponent"},
        {"99999999999999999999999999", "must be an integer from 0 to 9007199254740991, without a decimal point or exponent"},
        {"1e999", "must be an integer from 0 to 9007199254740991, without a decimal point or exponent"},
        {"1.0", "must be an integer from 0 to 9007199254740991, without a decimal point or exponent"},
        {"1e3", "must be an integer from 0 to 9007199254740991, without a decimal point or exponent"},
        {"0.5", "must be an integer from 0 to 9007199254740991, without a decimal point or exponent"},
        {"-0.0", "must be an integer from 0 to 9007199254740991, without a decimal point or exponent"},
        {"\"100\"", "must be an integer from 0 to 9007199254740991, not a string"},
        {"true", "must be an integer from 0 to 9007199254740991, not a boolean"},
        {"[100]", "must be an integer from 0 to 9007199254740991, not an array"},
    };
    for (int i = 0; i < COUNT(values); i++)
        assert_string_equal(only_error(&neo_property, apr_psprintf(*state, "{\"sale_price\":%s}", values[i][0]), "sale_price",
                                       SALE_PRICE, *state),
                            values[i][1]);
}

TEST(integers_have_their_limits)
{
    validated(&neo_property, "{\"floor\":-20}", *state);
    validated(&neo_property, "{\"floor\":300}", *state);
    assert_string_equal(only_error(&neo_property, "{\"floor\":-21}", "floor", "validation.property.floor_invalid", *state),
                        "must be an integer from -20 to 300");
    only_error(&neo_property, "{\"floor\":301}", "floor", "validation.property.floor_invalid", *state);
    validated(&neo_contract, "{\"payment_day\":31}", *state);
    only_error(&neo_contract, "{\"payment_day\":0}", "payment_day", "validation.contract.payment_day_invalid", *state);
    only_error(&neo_contract, "{\"payment_day\":32}", "payment_day", "validation.contract.payment_day_invalid", *state);
}

TEST(decimals_are_stored_as_written)
{
    static const char *const same[] = {"72.3", "0.1", "0", "1800", "92.50000000000001", "1000000000000"};
    static const char *const written[] = {"72.3", "0.1", "0", "1800", "92.5", "1000000000000"};
    for (int i = 0; i < COUNT(same); i++)
        assert_string_equal(stored_field(&neo_property, apr_psprintf(*state, "{\"lot_area\":%s}", same[i]), "lot_area", *state),
                            written[i]);
    validated(&neo_property, "{\"address\":{\"latitude\":-90,\"longitude\":180.0}}", *state);
}

TEST(a_decimal_out_of_range_or_of_another_type_is_refused)
{
    static const char *const values[] = {"-0.1", "1000000000001", "1e13", "1e400", "\"72.5\"", "true", "{}"};
    for (int i = 0; i < COUNT(values); i++)
        only_error(&neo_property, apr_psprintf(*state, "{\"lot_area\":%s}", values[i]), "lot_area",
                   "validation.property.lot_area_invalid", *state);
    assert_string_equal(only_error(&neo_property, "{\"address\":{\"latitude\":90.01}}", "address.latitude",
                                   "validation.property.address_latitude_invalid", *state),
                        "must be a number from -90 to 90");
    only_error(&neo_property, "{\"address\":{\"longitude\":-180.5}}", "address.longitude",
               "validation.property.address_longitude_invalid", *state);
}

/* Dates and texts. */

TEST(a_date_is_a_day_of_the_calendar)
{
    static const char *const right[] = {"2026-02-28", "2028-02-29", "1800-01-01", "9999-12-31"};
    static const char *const values[] = {"\"2026-02-29\"", "\"2026-2-1\"",   "\"2026-13-01\"", "\"2026-01-31T00:00:00Z\"",
                                         "\"31/01/2026\"", "\"1799-12-31\"", "\"\"",           "20260131",
                                         "null "};
    for (int i = 0; i < COUNT(right); i++)
        assert_string_equal(stored_field(&neo_property, apr_psprintf(*state, "{\"exclusive_until\":\"%s\"}", right[i]),
                                         "exclusive_until", *state),
                            apr_psprintf(*state, "\"%s\"", right[i]));
    for (int i = 0; i < COUNT(values) - 1; i++)
        only_error(&neo_property, apr_psprintf(*state, "{\"exclusive_until\":%s}", values[i]), "exclusive_until",
                   "validation.property.exclusive_until_invalid", *state);
}

TEST(a_timestamp_is_stored_in_the_response_format)
{
    static const char *const timestamps[][2] = {{"2026-01-31T13:45:10.123Z", "2026-01-31T13:45:10.123Z"},
                                                {"2026-01-31t10:45:10-03:00", "2026-01-31T13:45:10.000Z"},
                                                {"2026-01-31T13:45:10.1239999Z", "2026-01-31T13:45:10.123Z"},
                                                {"1965-03-20T09:30:00-03:00", "1965-03-20T12:30:00.000Z"}};
    for (int i = 0; i < COUNT(timestamps); i++) {
        const char *expected = apr_psprintf(*state, "\"%s\"", timestamps[i][1]);
        assert_string_equal(stored_field(&neo_party, apr_psprintf(*state, "{\"lgpd_consent_at\":\"%s\"}", timestamps[i][0]),
                                         "lgpd_consent_at", *state),
                            expected);
        assert_non_null(strstr(stored_field(&neo_contract,
                                            apr_psprintf(*state,
                                                         "{\"parties\":[{\"party_id\":\"" NEO_SAMPLE_OWNER
                                                         "\",\"role\":\"seller\",\"signed_at\":\"%s\"}]}",
                                                         timestamps[i][0]),
                                            "parties", *state),
                               expected));
    }
    static const char *const values[] = {"2026-01-31", "1799-12-31T23:59:59Z"};
    for (int i = 0; i < COUNT(values); i++)
        assert_string_equal(only_error(&neo_party, apr_psprintf(*state, "{\"lgpd_consent_at\":\"%s\"}", values[i]),
                                       "lgpd_consent_at", "validation.party.lgpd_consent_at_invalid", *state),
                            "must be an RFC 3339 date-time from 1800 to 9999, such as 2026-01-31T13:45:10.123Z");
}

TEST(only_texts_of_several_lines_may_have_line_breaks)
{
    assert_string_equal(stored_field(&neo_property, "{\"description\":\"Sala\\n\\tcom varanda\\r\\n\"}", "description", *state),
                        "\"Sala\\n\\tcom varanda\\r\\n\"");
    only_error(&neo_property, "{\"description\":\" \\n\\t \"}", "description", "validation.property.description_invalid",
               *state);
    only_error(&neo_property, "{\"description\":\"a\\u0007\"}", "description", "validation.property.description_invalid",
               *state);
    only_error(&neo_property, "{\"title\":\"a\\nb\"}", "title", "validation.property.title_invalid", *state);
}

/* Lists. */

TEST(a_list_of_texts_names_the_wrong_ones)
{
    assert_string_equal(stored_field(&neo_property, "{\"features\":[\"Piscina\",\"Varanda\",\"Piscina\"]}", "features", *state),
                        "[\"Piscina\",\"Varanda\",\"Piscina\"]");
    assert_string_equal(stored_field(&neo_property, "{\"features\":[]}", "features", *state), "");
    assert_string_equal(
        only_error(&neo_property, "{\"features\":[\"a\",7]}", "features[1]", "validation.property.features_invalid", *state),
        "must be a string of 1 to 100 characters, not an integer");
    only_error(&neo_property, "{\"features\":[null]}", "features[0]", "validation.property.features_invalid", *state);
    only_error(&neo_property, "{\"features\":[\"\"]}", "features[0]", "validation.property.features_invalid", *state);
    assert_string_equal(
        only_error(&neo_property, "{\"features\":{}}", "features", "validation.property.features_invalid", *state),
        "must be an array of at most 100 strings of 1 to 100 characters, not an object");
}

static const char *repeated(const char *element, int times, apr_pool_t *pool)
{
    const char *list = element;
    for (int i = 1; i < times; i++)
        list = apr_pstrcat(pool, list, ",", element, NULL);
    return list;
}

TEST(a_list_that_is_too_long_is_one_error)
{
    static const char *const elements[] = {"\"a\"", "7"};
    validated(&neo_property, apr_psprintf(*state, "{\"features\":[%s]}", repeated("\"a\"", 100, *state)), *state);
    for (int i = 0; i < COUNT(elements); i++)
        assert_string_equal(only_error(&neo_property,
                                       apr_psprintf(*state, "{\"features\":[%s]}", repeated(elements[i], 101, *state)),
                                       "features", "validation.property.features_invalid", *state),
                            "must have at most 100 elements, not 101");
    only_error(&neo_property, apr_psprintf(*state, "{\"media\":[%s]}", repeated("{\"x\":1}", 101, *state)), "media",
               "validation.property.media_invalid", *state);
}

TEST(the_members_of_a_list_are_checked_with_their_paths)
{
    assert_string_equal(only_error(&neo_property, "{\"media\":[{\"url\":\"https://a.example/1\"},{\"caption\":\"b\"}]}",
                                   "media[1].url", "validation.property.media_url_required", *state),
                        "is required");
    only_error(&neo_property, "{\"media\":[{\"url\":\"https://a.example/1\",\"position\":-1}]}", "media[0].position",
               "validation.property.media_position_invalid", *state);
    assert_string_equal(only_error(&neo_property, "{\"media\":[5]}", "media[0]", "validation.property.media_invalid", *state),
                        "must be an object, not an integer");
    only_error(&neo_contract, "{\"commission\":{\"splits\":[{\"broker_id\":\"" NEO_SAMPLE_BROKER "\",\"bps\":10001}]}}",
               "commission.splits[0].bps", "validation.contract.commission_splits_bps_invalid", *state);
}

TEST(unknown_members_of_elements_are_refused)
{
    only_error(&neo_property, "{\"media\":[{\"url\":\"https://a.example/1\",\"kind\":\"x\"}]}", "media[0].kind",
               "validation.unknown_field", *state);
    only_error(&neo_contract,
               "{\"commission\":{\"splits\":[{\"broker_id\":\"" NEO_SAMPLE_BROKER "\",\"bps\":10000,\"id\":null}]}}",
               "commission.splits[0].id", "validation.unknown_field", *state);
    only_error(&neo_document, "{\"file\":{\"name\":\"x\"}}", "file.name", "validation.unknown_field", *state);
}

TEST(a_required_list_must_not_be_empty)
{
    assert_string_equal(only_error(&neo_contract, "{\"parties\":[]}", "parties", "validation.contract.parties_invalid", *state),
                        "must not be empty");
    only_error(&neo_proposal, "{\"proponent_ids\":[]}", "proponent_ids", "validation.proposal.proponent_ids_invalid", *state);
    only_error(&neo_party, "{\"roles\":[]}", "roles", "validation.party.roles_invalid", *state);
    only_error(&neo_contract, "{\"parties\":null}", "parties", "validation.contract.parties_required", *state);
}

/* Maps. */

static const char *map_of(int members, int key, int value, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 4096);
    neo_buf_puts(&out, "{\"metadata\":{");
    for (int i = 0; i < members; i++) {
        neo_buf_printf(&out, "%s\"", i ? "," : "");
        for (int c = 0; c < key; c++)
            neo_buf_puts(&out, c ? "\xC3\xA9" : (const char[]){(char)('0' + i), '\0'});
        neo_buf_puts(&out, "\":\"");
        for (int c = 0; c < value; c++)
            neo_buf_puts(&out, "\xF0\x9F\x8F\xA0");
        neo_buf_putc(&out, '"');
    }
    neo_buf_puts(&out, "}}");
    return out.ptr;
}

/* '0' and the 39 characters after it need no escapes, but for '\' at the 44th. */
TEST(metadata_has_limits_in_members_keys_and_values)
{
    validated(&neo_property, map_of(40, 40, 500, *state), *state);
    const char *key = apr_pstrcat(*state, "metadata.k", "123456789012345678901234567890123456789012", NULL);
    assert_string_equal(
        only_error(&neo_property, apr_psprintf(*state, "{\"metadata\":{\"%s\":\"\"}}", key + 9), key, METADATA, *state),
        "must have a name of 1 to 40 characters, not 43");
    assert_string_equal(only_error(&neo_property, map_of(1, 1, 501, *state), "metadata.0", METADATA, *state),
                        "must have at most 500 characters, not 501");
    only_error(&neo_property, "{\"metadata\":{\"\":\"a\"}}", "metadata.", METADATA, *state);
}

static const char *members(int count, apr_pool_t *pool)
{
    const char *all = "";
    for (int i = 0; i < count; i++)
        all = apr_psprintf(pool, "%s%s\"key %d\":\"\"", all, i ? "," : "", i);
    return apr_psprintf(pool, "{\"metadata\":{%s}}", all);
}

TEST(metadata_has_fifty_members_at_most)
{
    validated(&neo_property, members(50, *state), *state);
    assert_string_equal(only_error(&neo_property, members(51, *state), "metadata", METADATA, *state),
                        "must have at most 50 members, not 51");
}

TEST(metadata_values_are_any_texts)
{
    assert_string_equal(
        stored_field(&neo_property, "{\"metadata\":{\"b\":\"\",\"a.b[0]\":\"x\\ny\",\"id\":\"1\"}}", "metadata", *state),
        "{\"b\":\"\",\"a.b[0]\":\"x\\ny\",\"id\":\"1\"}");
    assert_string_equal(stored_field(&neo_property, "{\"metadata\":{}}", "metadata", *state), "");
    assert_string_equal(only_error(&neo_property, "{\"metadata\":{\"a\":\"1\",\"b\":2}}", "metadata.b", METADATA, *state),
                        "must be a string, not an integer");
    only_error(&neo_property, "{\"metadata\":{\"a.b\":{\"b\":\"c\"}}}", "metadata.a.b", METADATA, *state);
    only_error(&neo_property, "{\"metadata\":[\"a\"]}", "metadata", METADATA, *state);
    only_error(&neo_property, "{\"metadata\":\"a\"}", "metadata", METADATA, *state);
}

TEST(a_patch_changes_single_members_of_metadata)
{
    neo_json *clean = NULL, *current = body_of(&neo_property, "{\"metadata\":{\"a\":\"1\",\"b\":\"2\"}}", *state);
    assert_null(neo_validate_patch(&neo_property, current, parse_json("{\"metadata\":{\"a\":null,\"c\":\"3\"}}", *state),
                                   *state, &clean));
    assert_string_equal(neo_json_text(neo_json_get(clean, "metadata"), *state).ptr, "{\"b\":\"2\",\"c\":\"3\"}");
}

/* References. */

TEST(a_reference_is_an_id_of_its_kind)
{
    static const char *const values[] = {"\"" NEO_SAMPLE_OWNER "\"",
                                         "\"brk_\"",
                                         "\"\"",
                                         "\"brk_01kga4ssqb9w2q7r4y6z0a1b3\"",
                                         "\"BRK_01KGA4SSQB9W2Q7R4Y6Z0A1B3C\"",
                                         "\"brk_81kga4ssqb9w2q7r4y6z0a1b3c\"",
                                         "7",
                                         "{}"};
    validated(&neo_property, "{\"broker_id\":\"" NEO_SAMPLE_BROKER "\"}", *state);
    for (int i = 0; i < COUNT(values); i++)
        only_error(&neo_property, apr_psprintf(*state, "{\"broker_id\":%s}", values[i]), "broker_id",
                   "validation.property.broker_id_invalid", *state);
    assert_string_equal(
        only_error(&neo_property, "{\"broker_id\":\"x\"}", "broker_id", "validation.property.broker_id_invalid", *state),
        "must be the id of a broker (brk_…) or {\"external_id\": \"…\"}");
}

TEST(references_in_lists_are_checked_one_by_one)
{
    validated(&neo_proposal, "{\"proponent_ids\":[\"" NEO_SAMPLE_BUYER "\",\"" NEO_SAMPLE_SPOUSE "\"]}", *state);
    only_error(&neo_proposal, "{\"proponent_ids\":[\"" NEO_SAMPLE_BUYER "\",\"" NEO_SAMPLE_BROKER "\"]}", "proponent_ids[1]",
               "validation.proposal.proponent_ids_invalid", *state);
    assert_string_equal(only_error(&neo_proposal, "{\"proponent_ids\":[\"" NEO_SAMPLE_BUYER "\",\"" NEO_SAMPLE_BUYER "\"]}",
                                   "proponent_ids[1]", "validation.proposal.proponent_ids_invalid", *state),
                        "must not repeat an earlier element");
    only_error(&neo_contract, "{\"parties\":[{\"party_id\":\"" NEO_SAMPLE_BROKER "\",\"role\":\"seller\"}]}",
               "parties[0].party_id", "validation.contract.parties_party_id_invalid", *state);
}

TEST(a_documents_related_id_must_match_its_type)
{
    static const char *const kinds[][2] = {{"property", NEO_SAMPLE_PROPERTY},
                                           {"party", NEO_SAMPLE_OWNER},
                                           {"proposal", NEO_SAMPLE_PROPOSAL},
                                           {"contract", NEO_SAMPLE_CONTRACT},
                                           {"broker", NEO_SAMPLE_BROKER}};
    for (int i = 0; i < COUNT(kinds); i++)
        for (int id = 0; id < COUNT(kinds); id++) {
            const char *change =
                apr_psprintf(*state, "{\"related\":{\"type\":\"%s\",\"id\":\"%s\"}}", kinds[i][0], kinds[id][1]);
            if (i == id)
                validated(&neo_document, change, *state);
            else
                only_error(&neo_document, change, "related.id", "validation.document.related_id_invalid", *state);
        }
    only_error(&neo_document, "{\"related\":{\"type\":\"document\"}}", "related.type",
               "validation.document.related_type_invalid", *state);
    only_error(&neo_document, "{\"related\":{\"type\":null}}", "related.type", "validation.document.related_type_required",
               *state);
}
