/* SPDX-License-Identifier: Apache-2.0 */
/* Leads of portals: each format's table, and what cannot be read. */
#include "unit.h"

#include <apr_strings.h>

#include "resources/portal.h"

static const char *body_of(const char *portal, const char *raw, const char **listing, apr_pool_t *pool)
{
    neo_portal_lead lead;
    const char *reason = neo_portal_read(portal, text_of(raw), pool, &lead);
    if (reason)
        fail_msg("%s: %s", reason, raw);
    *listing = lead.listing;
    return neo_json_text(lead.body, pool).ptr;
}

TEST(a_lead_of_grupo_olx_is_read)
{
    const char *listing, *body = body_of("grupo_olx",
                                         "{\"leadOrigin\":\"Grupo OLX\",\"timestamp\":\"2017-10-23T15:50:30.619Z\","
                                         "\"originLeadId\":\"59ee0fc6e4b043e1b2a6d863\",\"originListingId\":87027856,"
                                         "\"clientListingId\":\"a40171\",\"name\":\"Ana\",\"email\":\"ana@example.com\","
                                         "\"ddd\":\"11\",\"phone\":\"999999999\",\"phoneNumber\":\"2199999999\","
                                         "\"message\":\"Oi\",\"temperature\":\"Alta\",\"transactionType\":\"SELL\",\"new\":{}}",
                                         &listing, *state);
    assert_string_equal(listing, "a40171");
    assert_string_equal(body, "{\"received_at\":\"2017-10-23T15:50:30.619Z\",\"name\":\"Ana\",\"email\":\"ana@example.com\","
                              "\"phone\":\"11999999999\",\"message\":\"Oi\",\"source\":\"portal\",\"origin\":{\"portal\":"
                              "\"grupo_olx\",\"lead_id\":\"59ee0fc6e4b043e1b2a6d863\"},\"metadata\":{\"lead_origin\":"
                              "\"Grupo OLX\",\"origin_listing_id\":\"87027856\",\"temperature\":\"Alta\","
                              "\"transaction_type\":\"SELL\"}}");
}

TEST(a_missing_or_empty_value_is_left_out)
{
    const char *listing, *body = body_of("grupo_olx",
                                         "{\"originLeadId\":\"1\",\"clientListingId\":\"a\",\"name\":\" \",\"email\":null,"
                                         "\"ddd\":\"\",\"phone\":[],\"phoneNumber\":\"11999999999\",\"timestamp\":\"soon\"}",
                                         &listing, *state);
    assert_string_equal(body, "{\"phone\":\"11999999999\",\"source\":\"portal\",\"origin\":{\"portal\":\"grupo_olx\","
                              "\"lead_id\":\"1\"}}");
}

TEST(a_time_without_a_zone_is_brasilias_and_one_in_the_future_is_left_out)
{
    static const char *const cases[][2] = {{"2026-01-31T10:00:00.619", "2026-01-31T13:00:00.619Z"},
                                           {"2026-01-31T10:00:00-03:00", "2026-01-31T13:00:00.000Z"},
                                           {"2999-01-31T10:00:00Z", NULL}};
    for (int i = 0; i < COUNT(cases); i++) {
        neo_portal_lead lead;
        const char *raw =
            apr_pstrcat(*state, "{\"originLeadId\":\"1\",\"clientListingId\":\"a\",\"timestamp\":\"", cases[i][0], "\"}", NULL);
        assert_null(neo_portal_read("grupo_olx", text_of(raw), *state, &lead));
        const char *time = neo_json_string_at(lead.body, "received_at");
        assert_string_equal(time ? time : "", cases[i][1] ? cases[i][1] : "");
    }
}

TEST(a_lead_without_an_id_is_identified_by_its_text)
{
    const char *listing, *raw = "{\"name\":\"Ana\",\"ddd\":\"11\",\"phone\":\"999999999\",\"leadSummary\":\"2 quartos\"}";
    const char *body = body_of("plaza", raw, &listing, *state);
    assert_null(listing);
    assert_non_null(strstr(body, "\"message\":\"2 quartos\""));
    assert_string_equal(body, body_of("plaza", raw, &listing, *state));
    assert_string_not_equal(body, body_of("plaza", "{\"name\":\"Ana\"}", &listing, *state));
}

TEST(what_cannot_be_read_has_a_reason)
{
    static const char *const cases[][2] = {{"{\"clientListingId\":\"a\"}", "originLeadId is missing"},
                                           {"{\"originLeadId\":\"1\"}", "clientListingId is missing"},
                                           {"[]", "the body is not a JSON object"}};
    neo_portal_lead lead;
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(neo_portal_read("grupo_olx", text_of(cases[i][0]), *state, &lead), cases[i][1]);
    assert_string_equal(neo_portal_read("later", text_of("{}"), *state, &lead),
                        "this version does not know the portal's format");
    assert_non_null(neo_portal_read("grupo_olx", text_of("{"), *state, &lead));
    assert_non_null(neo_portal_read("grupo_olx", text_of(""), *state, &lead));
}
