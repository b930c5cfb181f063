/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets of credentials: form, checksum, and invalid input. */
#include "unit.h"

#include <apr_strings.h>

#include "core/encode.h"
#include "core/secret.h"

typedef struct {
    char text[NEO_SECRET_SIZE];
    char id[NEO_ID_SIZE];
    unsigned char hash[NEO_SHA256_SIZE];
} made;

static made make(const char *prefix)
{
    made m;
    neo_secret_make(m.text, m.id, m.hash, prefix);
    return m;
}

/* Whether a text with the character at `at` replaced still has the form. */
static int has_form_with(made m, int at, char c)
{
    char id[NEO_ID_SIZE];
    m.text[at] = c;
    return neo_secret_id(m.text, id);
}

TEST(a_new_secret_has_its_id_and_hash)
{
    static const char *const prefixes[] = {NEO_KEY_PREFIX, NEO_TOKEN_PREFIX};
    for (int i = 0; i < 2; i++) {
        made m = make(prefixes[i]);
        char id[NEO_ID_SIZE];
        unsigned char hash[NEO_SHA256_SIZE];
        assert_int_equal(strlen(m.text), NEO_SECRET_LEN);
        assert_true(neo_secret_id(m.text, id));
        assert_string_equal(id, m.id);
        assert_true(neo_id_is(id, prefixes[i]));
        neo_secret_hash(m.text, hash);
        assert_memory_equal(hash, m.hash, sizeof hash);
        assert_true(neo_secret_check(m.text));
    }
}

TEST(the_form_is_the_documented_one)
{
    made m = make(NEO_KEY_PREFIX);
    char check[7];
    unsigned int crc = neo_crc32(m.text, 74);
    unsigned char bytes[] = {(unsigned char)(crc >> 24), (unsigned char)(crc >> 16), (unsigned char)(crc >> 8),
                             (unsigned char)crc};
    unsigned char hash[NEO_SHA256_SIZE];
    neo_base62(bytes, 4, check, 6);
    assert_string_equal(m.text + 74, check);
    assert_memory_equal(m.text, m.id, 30);
    assert_int_equal(m.text[30], '_');
    neo_sha256(m.text + 31, 43, hash);
    assert_memory_equal(hash, m.hash, sizeof hash);
}

TEST(secrets_are_unique)
{
    made a = make(NEO_KEY_PREFIX), b = make(NEO_KEY_PREFIX);
    assert_string_not_equal(a.id, b.id);
    assert_memory_not_equal(a.text + 31, b.text + 31, 43);
    assert_memory_not_equal(a.hash, b.hash, sizeof a.hash);
}

TEST(the_checksum_detects_any_wrong_character)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    made m = make(NEO_KEY_PREFIX);
    for (int at = 0; at < NEO_SECRET_LEN; at++)
        for (const char *c = digits; *c; c++) {
            made typo = m;
            typo.text[at] = *c;
            assert_int_equal(neo_secret_check(typo.text), *c == m.text[at]);
        }
}

TEST(the_checksum_detects_transposed_characters)
{
    made m = make(NEO_TOKEN_PREFIX);
    for (int at = 0; at + 1 < NEO_SECRET_LEN; at++) {
        made typo = m;
        typo.text[at] = m.text[at + 1];
        typo.text[at + 1] = m.text[at];
        assert_int_equal(neo_secret_check(typo.text), m.text[at] == m.text[at + 1]);
    }
}

TEST(a_text_of_another_length_is_no_secret)
{
    made m = make(NEO_KEY_PREFIX);
    char id[NEO_ID_SIZE], longer[NEO_SECRET_SIZE + 1];
    memcpy(longer, m.text, NEO_SECRET_LEN);
    memcpy(longer + NEO_SECRET_LEN, "0", 2);
    assert_false(neo_secret_id(longer, id));
    for (int len = NEO_SECRET_LEN - 1; len >= 0; len--) {
        m.text[len] = '\0';
        assert_false(neo_secret_id(m.text, id));
    }
}

TEST(a_text_of_another_kind_is_no_secret)
{
    made key = make(NEO_KEY_PREFIX), broker = make("brk_");
    char id[NEO_ID_SIZE];
    assert_false(neo_secret_id(broker.text, id));
    assert_false(has_form_with(key, 0, 'N'));
    assert_false(has_form_with(key, 3, '-'));
    assert_false(has_form_with(key, 4, '8')); /* beyond 128 bits */
    assert_false(has_form_with(key, 10, 'u'));
    assert_false(has_form_with(key, 10, 'A'));
    assert_false(has_form_with(key, NEO_ID_LEN, '-'));
    assert_false(has_form_with(key, 40, '_'));
    assert_false(has_form_with(key, 40, '\xC3'));
    assert_false(has_form_with(key, NEO_SECRET_LEN - 1, ' '));
}

TEST(a_wrong_checksum_does_not_change_the_form)
{
    made m = make(NEO_KEY_PREFIX);
    char last = m.text[NEO_SECRET_LEN - 1];
    assert_true(has_form_with(m, NEO_SECRET_LEN - 1, last == '0' ? '1' : '0'));
}

TEST(tokens_of_feeds_are_cut_after_their_ids)
{
    made m = make(NEO_FEED_PREFIX), key = make(NEO_KEY_PREFIX);
    char *text = apr_psprintf(*state, "GET /%s/%sx?a=%.*s&lst_a_b&%s", m.text, m.text, NEO_SECRET_LEN - 1, m.text, key.text);
    neo_secret_cut_feeds(text);
    assert_string_equal(text, apr_psprintf(*state, "GET /%s/%s?a=%s&lst_a_b&%s", m.id, m.id, m.id, key.text));
    neo_secret_cut_feeds(NULL);
}
