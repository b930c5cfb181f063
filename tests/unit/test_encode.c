/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings and checksums: published values, limits, and invalid input. */
#include "unit.h"

#include <limits.h>

#include "core/crypto.h"
#include "core/encode.h"

/* base64 */

static int decode(const char *text, unsigned char *out)
{
    return neo_base64_decode(text, strlen(text), out, 64);
}

TEST(base64_matches_the_published_values)
{
    /* RFC 4648, section 10, without the padding that base64url leaves out */
    static const char *const cases[][3] = {
        {"", "", ""},
        {"f", "Zg", "Zg=="},
        {"fo", "Zm8", "Zm8="},
        {"foo", "Zm9v", "Zm9v"},
        {"foob", "Zm9vYg", "Zm9vYg=="},
        {"fooba", "Zm9vYmE", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
        {"\xFB\xEF\xBE\xFF", "----_w", "++++/w=="},
    };
    unsigned char out[64];
    for (int i = 0; i < COUNT(cases); i++) {
        apr_size_t len = strlen(cases[i][0]);
        assert_string_equal(neo_base64url(cases[i][0], len, *state), cases[i][1]);
        for (int form = 1; form < 3; form++) {
            assert_int_equal(decode(cases[i][form], out), len);
            assert_memory_equal(out, cases[i][0], len);
        }
    }
}

TEST(base64_of_any_bytes_is_decoded_in_either_alphabet)
{
    unsigned char bytes[200], out[200];
    for (apr_size_t len = 0; len <= sizeof bytes; len++) {
        neo_random(bytes, len);
        char *text = neo_base64url(bytes, len, *state);
        assert_int_equal(strlen(text), (len * 8 + 5) / 6);
        assert_int_equal(neo_base64_decode(text, strlen(text), out, sizeof out), len);
        assert_memory_equal(out, bytes, len);
        for (char *c = text; *c; c++)
            *c = *c == '-' ? '+' : *c == '_' ? '/' : *c;
        assert_int_equal(neo_base64_decode(text, strlen(text), out, sizeof out), len);
        assert_memory_equal(out, bytes, len);
    }
}

TEST(base64_with_unused_bits_that_are_not_zero_is_refused)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char out[64];
    for (int d = 0; d < 64; d++) {
        char two[] = {'A', digits[d], '\0'}, three[] = {'A', 'A', digits[d], '\0'};
        assert_int_equal(decode(two, out), d % 16 == 0 ? 1 : -1);
        assert_int_equal(decode(three, out), d % 4 == 0 ? 2 : -1);
    }
}

TEST(base64_with_a_broken_end_is_refused)
{
    static const char *const error[] = {"A",    "AAAAA",  "=",     "==",    "====",   "A=",     "A==",
                                        "A===", "AA=",    "AA===", "AAA==", "AAAA=",  "AAAA==", "=AAA",
                                        "AA=A", "AA==AA", "AAA=A", "A=AA",  "AAAAA=", "AAAAAA="};
    unsigned char out[64];
    for (int i = 0; i < COUNT(error); i++)
        if (decode(error[i], out) != -1)
            fail_msg("%s was read", error[i]);
}

TEST(base64_has_no_other_characters)
{
    unsigned char out[64];
    for (int c = 0; c < 256; c++) {
        char text[] = {'A', (char)c, 'A', 'A'};
        int digit = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c && strchr("+/-_", c));
        assert_int_equal(neo_base64_decode(text, 4, out, sizeof out), digit ? 3 : -1);
    }
    assert_int_equal(decode("AAAA\n", out), -1);
    assert_int_equal(decode(" AAAA", out), -1);
}

TEST(base64_does_not_overrun_its_buffer)
{
    unsigned char out[8];
    memset(out, 0x55, sizeof out);
    assert_int_equal(neo_base64_decode("////////", 8, out, 6), 6);
    assert_int_equal(neo_base64_decode("////////", 8, out, 5), -1);
    assert_int_equal(neo_base64_decode("", 0, out, 0), 0);
    assert_int_equal(neo_base64_decode("AA", 2, out, 0), -1);
    assert_int_equal(out[6], 0x55);
}

/* hexadecimal, base62, CRC-32 */

TEST(hexadecimal_is_lowercase_with_leading_zeros)
{
    char text[17];
    neo_hex("\x00\x01\x09\x0A\x7F\x80\xF0\xFF", 8, text);
    assert_string_equal(text, "0001090a7f80f0ff");
    neo_hex("", 0, text);
    assert_string_equal(text, "");
}

TEST(base62_is_padded_with_zeros)
{
    static const struct {
        unsigned char data[4];
        const char *text;
    } cases[] = {
        {{0, 0, 0, 0}, "000000"},  {{0, 0, 0, 9}, "000009"},  {{0, 0, 0, 10}, "00000A"},
        {{0, 0, 0, 35}, "00000Z"}, {{0, 0, 0, 36}, "00000a"}, {{0, 0, 0, 61}, "00000z"},
        {{0, 0, 0, 62}, "000010"}, {{0, 0, 1, 0}, "000048"},  {{0xFF, 0xFF, 0xFF, 0xFF}, "4gfFC3"},
    };
    char text[7];
    for (int i = 0; i < COUNT(cases); i++) {
        neo_base62(cases[i].data, 4, text, 6);
        assert_string_equal(text, cases[i].text);
    }
}

TEST(base62_of_32_bytes_fills_43_digits)
{
    unsigned char most[32], least[32] = {0};
    char text[44];
    memset(most, 0xFF, sizeof most);
    neo_base62(most, sizeof most, text, 43);
    assert_string_equal(text, "yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1");
    neo_base62(least, sizeof least, text, 43);
    assert_string_equal(text, "0000000000000000000000000000000000000000000");
}

TEST(base62_encodes_64_bytes)
{
    unsigned char bytes[64] = {0};
    char text[88];
    bytes[63] = 61;
    neo_base62(bytes, sizeof bytes, text, 87);
    assert_int_equal(strlen(text), 87);
    assert_string_equal(text + 85, "0z");
}

/* Values of SipHash-2-4 that were computed by other code. */
TEST(fingerprints_match_another_implementation)
{
    static const char *const cases[][2] = {{"", "8bfe7b2f372b8eba"},          {"a", "920dc2457ffb31d8"},
                                           {"0123456", "3482785fdb2da18c"},   {"01234567", "e3d6a19440a7d97e"},
                                           {"012345678", "ec53269353e4c3e0"}, {"select 1", "bd8c96f7edb16e0f"}};
    char fingerprint[NEO_FINGERPRINT_SIZE];
    for (int i = 0; i < COUNT(cases); i++) {
        neo_fingerprint(cases[i][0], strlen(cases[i][0]), fingerprint);
        assert_string_equal(fingerprint, cases[i][1]);
    }
}

TEST(crc32_matches_the_published_values)
{
    assert_int_equal(neo_crc32("123456789", 9), 0xCBF43926u);
    assert_int_equal(neo_crc32("", 0), 0);
    assert_int_equal(neo_crc32("The quick brown fox jumps over the lazy dog", 43), 0x414FA339u);
    assert_int_equal(neo_crc32("\0\0\0\0", 4), 0x2144DF1Cu);
}

/* integers */

TEST(integers_are_read_to_the_limits_of_their_type)
{
    static const struct {
        const char *text;
        long long value;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"1", 1},
        {"-1", -1},
        {"25", 25},
        {"100", 100},
        {"9223372036854775807", LLONG_MAX},
        {"-9223372036854775808", LLONG_MIN},
    };
    long long value;
    for (int i = 0; i < COUNT(cases); i++) {
        assert_true(neo_integer_parse(cases[i].text, &value));
        assert_true(value == cases[i].value);
    }
}

TEST(invalid_and_large_integers_are_refused)
{
    static const char *const error[] = {"",
                                        "-",
                                        "+",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "\t1",
                                        "1\n",
                                        "- 1",
                                        "--1",
                                        "1-",
                                        "1.0",
                                        "1e2",
                                        "0x10",
                                        "1_000",
                                        "1,000",
                                        "abc",
                                        "1a",
                                        "-+1",
                                        "+-1",
                                        "NaN",
                                        "inf",
                                        "\xD9\xA1",
                                        "\xC2\xB9",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "99999999999999999999999999"};
    long long value;
    for (int i = 0; i < COUNT(error); i++)
        if (neo_integer_parse(error[i], &value))
            fail_msg("\"%s\" was read", error[i]);
}

/* UTF-8 */

static apr_size_t put_utf8(unsigned int c, unsigned char *out)
{
    if (c < 0x80) {
        out[0] = (unsigned char)c;
        return 1;
    }
    apr_size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (apr_size_t i = len - 1; i > 0; i--, c >>= 6)
        out[i] = (unsigned char)(0x80 | (c & 0x3F));
    out[0] = (unsigned char)((0xF0 << (4 - len) & 0xFF) | c);
    return len;
}

TEST(every_code_point_but_the_surrogates_is_well_formed)
{
    for (unsigned int c = 0; c < 0x110000 + 0x1000; c++) {
        unsigned char bytes[5] = {0};
        apr_size_t len = put_utf8(c, bytes);
        int expected = c < 0x110000 && (c < 0xD800 || c > 0xDFFF);
        if (neo_utf8_is_valid((char *)bytes, len) != expected)
            fail_msg("U+%04X is %s", c, expected ? "refused" : "accepted");
        if (c && expected)
            assert_int_equal(neo_utf8_length((char *)bytes), 1);
        if (len > 1)
            assert_false(neo_utf8_is_valid((char *)bytes, len - 1));
    }
}

TEST(malformed_sequences_are_refused_at_any_position)
{
    static const char *const error[] = {
        "\x80", /* a continuation alone */
        "\xBF",
        "\xC0\x80", /* overlong */
        "\xC0\xAF",
        "\xC1\xBF",
        "\xE0\x80\xAF",
        "\xE0\x9F\xBF",
        "\xF0\x80\x80\xAF",
        "\xF0\x8F\xBF\xBF",
        "\xED\xA0\x80", /* surrogates, alone and as a pair (CESU-8) */
        "\xED\xBF\xBF",
        "\xED\xA0\xBD\xED\xB8\x80",
        "\xF4\x90\x80\x80", /* beyond U+10FFFF */
        "\xF5\x80\x80\x80",
        "\xF8\x88\x80\x80\x80",
        "\xFC\x84\x80\x80\x80\x80",
        "\xFE",
        "\xFF",
        "\xC3\x28", /* no continuation */
        "\xE2\x28\xA1",
        "\xE2\x82\x28",
        "\xF0\x9F\x8F\x28",
        "\xC3\xC3\xA9",
        "S\xE3o Paulo", /* Latin-1 */
    };
    char text[32];
    for (int i = 0; i < COUNT(error); i++)
        for (int before = 0; before < 2; before++)
            for (int after = 0; after < 2; after++) {
                int len = snprintf(text, sizeof text, "%s%s%s", before ? "\xC3\xA9" : "", error[i], after ? "z" : "");
                if (neo_utf8_is_valid(text, (apr_size_t)len))
                    fail_msg("case %d was taken", i);
            }
}

TEST(well_formed_texts_are_counted_in_code_points)
{
    static const char text[] = "S\xC3\xA3o \xE2\x82\xAC \xF0\x9F\x8F\xA0 e\xCC\x81";
    assert_true(neo_utf8_is_valid(text, sizeof text - 1));
    assert_int_equal(neo_utf8_length(text), 10);
    assert_true(neo_utf8_is_valid("", 0));
    assert_int_equal(neo_utf8_length(""), 0);
    assert_true(neo_utf8_is_valid("a\0b", 3));
}
