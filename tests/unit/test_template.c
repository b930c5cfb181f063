/* SPDX-License-Identifier: Apache-2.0 */
/* Message templates of WhatsApp's provider. */
#include "unit.h"

#include "whatsapp/provider.h"

#define LIST(components)                                                                                                       \
    "{\"data\":[{\"name\":\"visit\",\"language\":\"en\",\"components\":[{\"type\":\"BODY\",\"text\":\"Hi\"}]},"                \
    "{\"name\":\"visit\",\"language\":\"pt_BR\",\"components\":" components "}]}"

TEST(placeholders_are_replaced)
{
    static const char *const cases[][3] = {
        {"Hi {{1}}, {{2}}!", "[\"Ana\", \"Rua 1\"]", "Hi Ana, Rua 1!"},
        {"{{2}}{{1}}{{2}}", "[\"a\", \"b\"]", "bab"},
        {"{{1}} {{2}}", "[\"{{2}}\", \"x\"]", "{{2}} x"},
        {"{{1}} {{2}}", "[\"a\"]", "a {{2}}"},
        {"{{1}}", NULL, "{{1}}"},
        {"{{0}} {{name}} {{1} {1}} {{}} {{99999999999}} {{", "[\"a\"]", "{{0}} {{name}} {{1} {1}} {{}} {{99999999999}} {{"},
        {"", "[\"a\"]", ""},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const neo_json *parameters = cases[i][1] ? parse_json(cases[i][1], *state) : NULL;
        assert_string_equal(neo_template_fill(cases[i][0], parameters, *state), cases[i][2]);
    }
}

static const char *read_from(int status, const char *body, const char **error, apr_pool_t *pool)
{
    neo_provider_response response = {NEO_PROVIDER_RESPONDED, NULL, status, text_of(body), NULL};
    return neo_template_read(&response, "visit", "pt_BR", pool, error);
}

TEST(the_body_in_the_language_is_read)
{
    const char *error;
    assert_string_equal(read_from(200,
                                  LIST("[{\"type\":\"HEADER\",\"format\":\"TEXT\",\"text\":\"Novo\"},"
                                       "{\"type\":\"BODY\",\"text\":\"Olá {{1}}\"}]"),
                                  &error, *state),
                        "Olá {{1}}");
}

TEST(other_responses_have_no_text)
{
    static const char *const bodies[] = {
        LIST("[]"),
        LIST("{}"),
        LIST("7"),
        LIST("[7, {\"type\":\"BODY\"}]"),
        LIST("[{\"type\":\"BODY\",\"text\":\"\"}]"),
        "{\"data\":[]}",
        "{\"data\":{\"name\":\"visit\"}}",
        "[]",
        "{}",
        "<html>",
        "",
    };
    const char *error;
    for (int i = 0; i < COUNT(bodies); i++) {
        error = NULL;
        assert_null(read_from(200, bodies[i], &error, *state));
        assert_non_null(error);
    }
    assert_null(read_from(403, LIST("[{\"type\":\"BODY\",\"text\":\"Hi\"}]"), &error, *state));
    assert_string_equal(error, "HTTP status 403");
    neo_provider_response none = {NEO_PROVIDER_NO_RESPONSE, "timeout", 0, {"", 0}, NULL};
    assert_null(neo_template_read(&none, "visit", "pt_BR", *state, &error));
    assert_string_equal(error, "timeout");
}
