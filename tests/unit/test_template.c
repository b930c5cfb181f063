/* SPDX-License-Identifier: Apache-2.0 */
/* Message templates of WhatsApp's provider. */
#include "unit.h"

#include <apr_strings.h>

#include "core/json.h"
#include "whatsapp/reported.h"
#include "whatsapp/template.h"

#define LIST(components)                                                                                                       \
    "{\"data\":[{\"name\":\"visit\",\"language\":\"en\",\"components\":[{\"type\":\"BODY\",\"text\":\"Hi\"}]},"                \
    "{\"name\":\"visit\",\"language\":\"pt_BR\",\"status\":\"APPROVED\",\"category\":\"UTILITY\",\"components\":" components   \
    "}]}"

TEST(placeholders_are_replaced)
{
    static const char *const cases[][3] = {
        {"Hi {{1}}, {{2}}!", "{\"template_parameters\":[\"Ana\", \"Rua 1\"]}", "Hi Ana, Rua 1!"},
        {"{{2}}{{1}}{{2}}", "{\"template_parameters\":[\"a\", \"b\"]}", "bab"},
        {"{{1}} {{2}}", "{\"template_parameters\":[\"{{2}}\", \"x\"]}", "{{2}} x"},
        {"{{1}} {{2}}", "{\"template_parameters\":[\"a\"]}", "a {{2}}"},
        {"{{1}}", "{}", "{{1}}"},
        {"{{name}} {{other}}", "{\"template_named_parameters\":{\"name\":\"Ana\"}}", "Ana {{other}}"},
        {"{{0}} {{name}} {{1} {1}} {{}} {{99999999999}} {{", "{\"template_parameters\":[\"a\"]}",
         "{{0}} {{name}} {{1} {1}} {{}} {{99999999999}} {{"},
        {"", "{\"template_parameters\":[\"a\"]}", ""},
    };
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(neo_template_fill(cases[i][0], parse_json(cases[i][1], *state), *state), cases[i][2]);
}

static neo_json *read_from(int status, const char *body, const char **error, apr_pool_t *pool)
{
    const char *after;
    neo_provider_response response = {NEO_PROVIDER_RESPONDED, NULL, status, text_of(body), NULL};
    return neo_templates_read(&response, pool, &after, error);
}

static const char *definition_of(const char *components, apr_pool_t *pool)
{
    const char *error;
    const neo_json *rows = read_from(200, apr_psprintf(pool, LIST("%s"), components), &error, pool);
    return neo_json_text(neo_template_find(rows, "visit", "pt_BR"), pool).ptr;
}

TEST(a_definition_has_the_body_and_the_parameters)
{
    static const char *const cases[][2] = {
        {"[{\"type\":\"HEADER\",\"format\":\"TEXT\",\"text\":\"Novo\"},{\"type\":\"BODY\",\"text\":\"Oi {{2}}{{1}}{{2}}\"}]",
         "{\"body\":\"Oi {{2}}{{1}}{{2}}\",\"parameters\":["
         "{\"field\":\"template_parameters\",\"component\":\"body\",\"type\":\"text\",\"name\":\"1\"},"
         "{\"field\":\"template_parameters\",\"component\":\"body\",\"type\":\"text\",\"name\":\"2\"}]}"},
        {"[{\"type\":\"HEADER\",\"format\":\"VIDEO\"},{\"type\":\"BUTTONS\",\"buttons\":[{\"type\":\"URL\",\"text\":\"a\","
         "\"url\":\"https://a/{{1}}\"},{\"type\":\"URL\",\"url\":\"https://a/\"},7,{\"type\":\"OTP\"}]}]",
         "{\"parameters\":[{\"field\":\"media_url\",\"component\":\"header\",\"type\":\"video\"},"
         "{\"field\":\"template_button_parameters\",\"component\":\"button\",\"type\":\"url\",\"index\":0,\"text\":\"a\"},"
         "{\"component\":\"button\",\"type\":\"otp\",\"index\":3}]}"},
        {"[{\"type\":\"CAROUSEL\"},{\"type\":\"HEADER\",\"format\":\"LOCATION\"},{\"type\":\"HEADER\"}]",
         "{\"parameters\":[{\"component\":\"carousel\",\"type\":\"carousel\"},{\"component\":\"header\",\"type\":\"location\"}]"
         "}"},
        {"[7, {\"type\":\"BODY\"}, {\"type\":\"BODY\",\"text\":\"\"}]", "{}"},
        {"7", "{}"},
    };
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(definition_of(cases[i][0], *state), cases[i][1]);
}

TEST(templates_without_a_name_or_a_language_are_left_out)
{
    const char *error;
    const neo_json *rows = read_from(
        200, "{\"data\":[{\"name\":\"a\"},{\"language\":\"en\"},7,{\"name\":\"\",\"language\":\"en\"}]}", &error, *state);
    assert_int_equal(neo_json_size(rows), 0);
}

TEST(other_responses_have_no_templates)
{
    static const char *const bodies[] = {"{\"data\":{\"name\":\"visit\"}}", "[]", "{}", "<html>", ""};
    const char *error;
    for (int i = 0; i < COUNT(bodies); i++) {
        error = NULL;
        assert_null(read_from(200, bodies[i], &error, *state));
        assert_non_null(error);
    }
    assert_null(read_from(403, LIST("[]"), &error, *state));
    assert_string_equal(error, "HTTP status 403");
}

TEST(only_a_cursor_with_a_next_page_continues_the_list)
{
    static const char *const cases[][2] = {
        {"{\"cursors\":{\"after\":\"MjQ-_=\"},\"next\":\"https://a\"}", "MjQ-_="},
        {"{\"cursors\":{\"after\":\"MjQ\"}}", NULL},
        {"{\"cursors\":{\"after\":\"a&b\"},\"next\":\"https://a\"}", NULL},
        {"{\"next\":\"https://a\"}", NULL},
        {"7", NULL},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const char *after = "x", *error;
        neo_provider_response response = {NEO_PROVIDER_RESPONDED, NULL, 200,
                                          text_of(apr_psprintf(*state, "{\"data\":[],\"paging\":%s}", cases[i][0])), NULL};
        assert_non_null(neo_templates_read(&response, *state, &after, &error));
        if (cases[i][1])
            assert_string_equal(after, cases[i][1]);
        else
            assert_null(after);
    }
}

TEST(numbers_have_what_is_reported)
{
    const char *error;
    neo_provider_response response = {
        NEO_PROVIDER_RESPONDED, NULL, 200,
        text_of(
            "{\"data\":[{\"id\":\"123\",\"verified_name\":\"A\",\"quality_rating\":\"GREEN\",\"messaging_limit_tier\":\"TIER_"
            "1K\"},"
            "{\"id\":\"124\",\"messaging_limit_tier\":\"TIER_1K\",\"whatsapp_business_manager_messaging_limit\":\"TIER_2K\"},"
            "{\"id\":\"x\"},{},7]}"),
        NULL};
    assert_string_equal(neo_json_text(neo_numbers_read(&response, *state, &error), *state).ptr,
                        "[{\"phone_number_id\":\"123\",\"verified_name\":\"A\",\"quality_rating\":\"green\","
                        "\"messaging_limit\":\"tier_1k\"},{\"phone_number_id\":\"124\",\"messaging_limit\":\"tier_2k\"}]");
    neo_provider_response none = {NEO_PROVIDER_NO_RESPONSE, "timeout", 0, {"", 0}, NULL};
    assert_null(neo_numbers_read(&none, *state, &error));
    assert_string_equal(error, "timeout");
}
