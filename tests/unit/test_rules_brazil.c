/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for Brazilian numbers and for files, and their patterns in the OpenAPI document. */
#include "unit.h"

#include <apr_strings.h>
#include <regex.h>

#include "schema/rules.h"

/* Whether a text is accepted. If so, it must match the pattern. */
static int passes(neo_rule rule, neo_normalizer normal, const char *pattern, const char *text, apr_pool_t *pool)
{
    regex_t expression;
    const char *normalised = normal ? normal(text, pool) : text;
    int is_right = !rule(neo_json_make_string(normalised, pool), pool);
    assert_int_equal(regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB), 0);
    int fits = regexec(&expression, text, 0, NULL, 0) == 0;
    regfree(&expression);
    if (is_right && !fits)
        fail_msg("%s is taken and does not fit %s", text, pattern);
    return is_right;
}

/* The same, if the pattern is as strict as the rule. */
static int passes_exactly(neo_rule rule, neo_normalizer normal, const char *pattern, const char *text, apr_pool_t *pool)
{
    regex_t expression;
    assert_int_equal(regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB), 0);
    int is_right = passes(rule, normal, pattern, text, pool), fits = regexec(&expression, text, 0, NULL, 0) == 0;
    regfree(&expression);
    if (is_right != fits)
        fail_msg("%s: the rule and its pattern %s disagree", text, pattern);
    return is_right;
}

TEST(valid_tax_numbers_are_accepted)
{
    static const char *const cpf[] = {"52998224725", "11144477735", "00000000191"};
    static const char *const cnpj[] = {"12ABC34501DE35", "6A3EDMWP000168", "11222333000181", "00000000000191"};
    for (int i = 0; i < COUNT(cpf); i++)
        assert_true(neo_is_cpf(cpf[i]) && !neo_is_cnpj(cpf[i]));
    for (int i = 0; i < COUNT(cnpj); i++)
        assert_true(neo_is_cnpj(cnpj[i]) && !neo_is_cpf(cnpj[i]));
}

TEST(a_wrong_digit_at_any_position_is_found)
{
    static const char *const right[] = {"52998224725", "11144477735", "12ABC34501DE35", "6A3EDMWP000168", "11222333000181"};
    for (int i = 0; i < COUNT(right); i++)
        for (size_t at = 0; at < strlen(right[i]); at++) {
            char *text = apr_pstrdup(*state, right[i]);
            text[at] = text[at] == '9' || text[at] >= 'A' ? '0' : (char)(text[at] + 1);
            if (neo_is_cpf(text) || neo_is_cnpj(text))
                fail_msg("%s was taken", text);
        }
}

TEST(malformed_tax_numbers_are_refused)
{
    static const char *const texts[] = {"",
                                        "5299822472",
                                        "529982247255",
                                        "00000000000",
                                        "11111111111",
                                        "99999999999",
                                        "00000000000000",
                                        "AAAAAAAAAAAAAA",
                                        "5299822472A",
                                        "12ABC34501DE3",
                                        "12ABC34501DE355",
                                        "12ABC34501DE3X",
                                        "12ABC34501D\xC3\x89",
                                        "529 982 247 25",
                                        "52998224725\n",
                                        "52998224725x",
                                        "------52998224725------",
                                        "529.982.247-25, 111.444.777-35"};
    for (int i = 0; i < COUNT(texts); i++)
        assert_false(passes(neo_rule_tax_number, neo_normalize_tax_number, NEO_PATTERN_TAX_NUMBER, texts[i], *state));
}

TEST(a_tax_number_is_stored_without_punctuation)
{
    static const char *const forms[][2] = {
        {"529.982.247-25", "52998224725"},        {"52998224725", "52998224725"},
        {"529982247-25", "52998224725"},          {"11.222.333/0001-81", "11222333000181"},
        {"12.ABC.345/01DE-35", "12ABC34501DE35"}, {"12abc34501de35", "12ABC34501DE35"},
        {"6a3.edmwp-000168", "6A3EDMWP000168"},
    };
    for (int i = 0; i < COUNT(forms); i++) {
        assert_string_equal(neo_normalize_tax_number(forms[i][0], *state), forms[i][1]);
        assert_true(passes(neo_rule_tax_number, neo_normalize_tax_number, NEO_PATTERN_TAX_NUMBER, forms[i][0], *state));
    }
}

TEST(a_postal_code_has_eight_digits_and_maybe_a_dash)
{
    static const char *const right[] = {"01310100", "01310-100", "00000000"};
    static const char *const texts[] = {"",         "0131010",   "013101000", "0131-0100",  "01310--100",
                                        "01310-10", "01310 100", "0131010a",  "01.310-100", "-01310100"};
    for (int i = 0; i < COUNT(right); i++)
        assert_true(passes_exactly(neo_rule_postal_code, neo_normalize_postal_code, NEO_PATTERN_POSTAL_CODE, right[i], *state));
    for (int i = 0; i < COUNT(texts); i++)
        assert_false(
            passes_exactly(neo_rule_postal_code, neo_normalize_postal_code, NEO_PATTERN_POSTAL_CODE, texts[i], *state));
    assert_string_equal(neo_normalize_postal_code("01310-100", *state), "01310100");
}

TEST(a_municipality_has_seven_digits)
{
    static const char *const texts[] = {"", "355030", "35503080", "355030x", "3550-08"};
    assert_true(passes_exactly(neo_rule_ibge_code, NULL, NEO_PATTERN_IBGE_CODE, "3550308", *state));
    for (int i = 0; i < COUNT(texts); i++)
        assert_false(passes_exactly(neo_rule_ibge_code, NULL, NEO_PATTERN_IBGE_CODE, texts[i], *state));
}

TEST(a_telephone_number_is_that_of_e164)
{
    static const char *const right[] = {"+5511987654321",      "+1234567",        "+123456789012345", "+55 11 98765-4321",
                                        "+55 (11) 98765-4321", "+1.202.555.0123 "};
    static const char *const texts[] = {"",
                                        "+",
                                        "5511987654321",
                                        "+0511987654321",
                                        "+123456",
                                        "+55 11 9",
                                        "+1234567890123456",
                                        "++5511987654",
                                        "+551198765432a",
                                        "(11) 98765-4321"};
    for (int i = 0; i < COUNT(right); i++)
        assert_true(passes_exactly(neo_rule_phone, neo_normalize_phone, NEO_PATTERN_PHONE, right[i], *state));
    for (int i = 0; i < COUNT(texts); i++)
        assert_false(passes_exactly(neo_rule_phone, neo_normalize_phone, NEO_PATTERN_PHONE, texts[i], *state));
    assert_string_equal(neo_normalize_phone("+55 (11) 98765-4321", *state), "+5511987654321");
}

TEST(a_file_is_at_an_https_address)
{
    static const char *const right[] = {
        "https://a",  "https://a.example/b.pdf", "https://a.example:8443/b?c=d&e=%20#f", "https://192.0.2.1/x", "https://a?b",
        "https://a#b"};
    static const char *const texts[] = {"",
                                        "https://",
                                        "https:///a",
                                        "http://a.example/",
                                        "HTTPS://a.example/",
                                        "ftp://a.example/",
                                        "//a.example/b",
                                        "/b.pdf",
                                        "https://user:secret@a.example/",
                                        "https://user@a.example/",
                                        "https://a.example:/",
                                        "https://a.example:123456/",
                                        "https://a.example:8x/",
                                        "https://a.example/b c",
                                        "https://a.example/\"b\"",
                                        "https://a.example/\xC3\xA9",
                                        "https://[::1]/",
                                        "https://a.example/b[0]",
                                        "https://a b/",
                                        "javascript:alert(1)"};
    for (int i = 0; i < COUNT(right); i++)
        assert_true(passes_exactly(neo_rule_https_url, NULL, NEO_PATTERN_HTTPS_URL, right[i], *state));
    for (int i = 0; i < COUNT(texts); i++)
        assert_false(passes_exactly(neo_rule_https_url, NULL, NEO_PATTERN_HTTPS_URL, texts[i], *state));
}

TEST(rule_and_pattern_agree_on_every_character_of_an_address)
{
    for (int c = 1; c < 128; c++) {
        const char one[] = {(char)c, '\0'};
        const char *const texts[] = {apr_pstrcat(*state, "https://a", one, "b/", NULL),
                                     apr_pstrcat(*state, "https://a/", one, NULL), apr_pstrcat(*state, "https://a?", one, NULL),
                                     apr_pstrcat(*state, "https://a", one, "b", NULL)};
        for (int i = 0; i < COUNT(texts); i++)
            passes_exactly(neo_rule_https_url, NULL, NEO_PATTERN_HTTPS_URL, texts[i], *state);
    }
    assert_false(passes(neo_rule_https_url, NULL, NEO_PATTERN_HTTPS_URL, "https://a-", *state)); /* a label's end */
}

TEST(a_port_follows_a_colon)
{
    static const char *const right[] = {"https://[2001:db8::1]:80/", "https://[::1]/", "http://a.:65535", "https://127.1?x"};
    static const char *const error[] = {"https://[::1].80/", "https://[::1]80/", "https://a:0/", "https://a:65536/",
                                        "https://a:/"};
    for (int i = 0; i < COUNT(right); i++)
        assert_null(neo_rule_webhook_url(neo_json_make_string(right[i], *state), *state));
    for (int i = 0; i < COUNT(error); i++)
        assert_non_null(neo_rule_webhook_url(neo_json_make_string(error[i], *state), *state));
}

TEST(a_media_type_has_two_names)
{
    static const char *const right[] = {"application/pdf", "image/svg+xml", "a/b",
                                        "application/vnd.ms-excel.sheet.macroEnabled.12"};
    static const char *const texts[] = {"",      "pdf",   "application/", "/pdf", "application/pdf; charset=utf-8",
                                        "a/b/c", "a b/c", "-a/b",         "a/.b", "text/\xC3\xA9"};
    for (int i = 0; i < COUNT(right); i++)
        assert_true(passes_exactly(neo_rule_mime_type, NULL, NEO_PATTERN_MIME_TYPE, right[i], *state));
    for (int i = 0; i < COUNT(texts); i++)
        assert_false(passes_exactly(neo_rule_mime_type, NULL, NEO_PATTERN_MIME_TYPE, texts[i], *state));
}

TEST(a_digest_has_64_digits_and_is_kept_in_lower_case)
{
    static const char digest[] = "9F86D081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    char longer[70], error[70];
    snprintf(longer, sizeof longer, "%s0", digest);
    snprintf(error, sizeof error, "g%s", digest + 1);
    assert_true(passes_exactly(neo_rule_sha256, neo_normalize_lower_case, NEO_PATTERN_SHA256, digest, *state));
    assert_memory_equal(neo_normalize_lower_case(digest, *state), "9f86d081884c", 12);
    assert_false(passes_exactly(neo_rule_sha256, neo_normalize_lower_case, NEO_PATTERN_SHA256, digest + 1, *state));
    assert_false(passes_exactly(neo_rule_sha256, neo_normalize_lower_case, NEO_PATTERN_SHA256, longer, *state));
    assert_false(passes_exactly(neo_rule_sha256, neo_normalize_lower_case, NEO_PATTERN_SHA256, error, *state));
}
