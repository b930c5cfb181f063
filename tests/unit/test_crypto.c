/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes against published values, encryption bound to context and key, key files. */
#include "unit.h"

#include <apr_strings.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/crypto.h"
#include "core/encode.h"
#include "core/secret.h"

#define TEXT    "the cursor ends at brk_01jd3x"
#define CONTEXT "brokers"

static const char *sha256_of(const void *data, apr_size_t len, apr_pool_t *pool)
{
    unsigned char hash[NEO_SHA256_SIZE];
    char *hex = apr_palloc(pool, 2 * sizeof hash + 1);
    neo_sha256(data, len, hash);
    neo_hex(hash, sizeof hash, hex);
    return hex;
}

TEST(sha256_matches_the_published_values)
{
    static const char long_text[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    char *million = memset(apr_palloc(*state, 1000000), 'a', 1000000);
    /* FIPS 180-2, appendix B */
    assert_string_equal(sha256_of("abc", 3, *state), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_string_equal(sha256_of("", 0, *state), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_string_equal(sha256_of(long_text, strlen(long_text), *state),
                        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_string_equal(sha256_of(million, 1000000, *state),
                        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(pieces_are_hashed_with_their_lengths)
{
    neo_text pieces[] = {text_of("abc"), text_of(""), text_of("de")};
    unsigned char hash[NEO_SHA256_SIZE], expected[NEO_SHA256_SIZE];
    static const char input[] = "\3\0\0\0\0\0\0\0abc\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0de";
    neo_sha256_pieces(pieces, 3, hash);
    neo_sha256(input, sizeof input - 1, expected);
    assert_memory_equal(hash, expected, sizeof hash);
}

TEST(different_lists_of_pieces_have_different_hashes)
{
    neo_text lists[][3] = {
        {{"ab", 2}, {"c", 1}, {"", 0}},  {{"a", 1}, {"bc", 2}, {"", 0}}, {{"abc", 3}, {"", 0}, {"", 0}},
        {{"", 0}, {"abc", 3}, {"", 0}},  {{"", 0}, {"", 0}, {"abc", 3}}, {{"a", 1}, {"b", 1}, {"c", 1}},
        {{"ab", 2}, {"\0", 1}, {"", 0}},
    };
    unsigned char hashes[2 * COUNT(lists)][NEO_SHA256_SIZE];
    for (int i = 0; i < COUNT(lists); i++) {
        neo_sha256_pieces(lists[i], 3, hashes[2 * i]);
        neo_sha256_pieces(lists[i], 2, hashes[2 * i + 1]);
    }
    for (int i = 0; i < COUNT(hashes); i++)
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(hashes[i], hashes[j], NEO_SHA256_SIZE);
}

static const char *hmac_of(const char *key, apr_pool_t *pool)
{
    const neo_text pieces[] = {text_of("what do ya want "), text_of("for nothing?")};
    unsigned char mac[NEO_SHA256_SIZE];
    char *hex = apr_palloc(pool, 2 * sizeof mac + 1);
    neo_hmac_sha256(key, strlen(key), pieces, 2, mac);
    neo_hex(mac, sizeof mac, hex);
    return hex;
}

/* A thread keeps the last key that has the length of the deployment's keys. */
TEST(a_mac_depends_on_its_key_and_text_only)
{
    static const struct {
        const char *key, *mac;
    } published = {"Jefe", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"}, /* RFC 4231, section 4.3 */
        others[] = {{"11111111111111111111111111111111", "6f8c6db27704d3db90d63698612a4a83bf72e6fcc3b4b07c2bd46601e2300d77"},
                    {"22222222222222222222222222222222", "d34536ecfdbb832e02ffce7ce62eec3f75703ff3ee41185716dfff876b285188"}};
    for (int i = 0; i < 8; i++) {
        assert_string_equal(hmac_of(others[i / 2 % 2].key, *state), others[i / 2 % 2].mac);
        if (i % 3 == 0)
            assert_string_equal(hmac_of(published.key, *state), published.mac);
    }
}

TEST(equality_compares_every_byte_within_the_length)
{
    unsigned char a[32] = {0}, b[33] = {0};
    b[32] = 1;
    assert_true(neo_equal_constant_time(a, b, 32));
    assert_true(neo_equal_constant_time(a, b, 0));
    for (int i = 0; i < 256; i++) {
        memset(b, 0, sizeof b);
        b[i / 8] = (unsigned char)(1 << i % 8);
        assert_false(neo_equal_constant_time(a, b, 32));
    }
}

TEST(random_bytes_differ)
{
    unsigned char a[32], b[32];
    neo_random(a, sizeof a);
    neo_random(b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
}

static neo_keys keys_of(int count)
{
    neo_keys keys = {.count = count};
    neo_random(keys.key, (apr_size_t)count * NEO_KEY_SIZE);
    return keys;
}

typedef struct {
    unsigned char bytes[sizeof TEXT - 1 + NEO_SEAL_EXTRA];
} sealed;

static sealed seal(const neo_keys *keys)
{
    sealed s;
    assert_int_equal(neo_seal(keys, text_of(CONTEXT), TEXT, sizeof TEXT - 1, s.bytes), sizeof s.bytes);
    return s;
}

static int opens(const neo_keys *keys, const char *context, sealed s)
{
    unsigned char out[sizeof s.bytes];
    int len = neo_open(keys, text_of(context), s.bytes, sizeof s.bytes, out);
    if (len < 0)
        return 0;
    assert_int_equal(len, sizeof TEXT - 1);
    assert_memory_equal(out, TEXT, sizeof TEXT - 1);
    return 1;
}

TEST(a_sealed_text_can_be_opened)
{
    neo_keys keys = keys_of(1);
    assert_true(opens(&keys, CONTEXT, seal(&keys)));
}

TEST(equal_texts_have_different_ciphertexts)
{
    neo_keys keys = keys_of(1);
    sealed a = seal(&keys), b = seal(&keys);
    assert_memory_not_equal(a.bytes + 1, b.bytes + 1, 12);
    assert_memory_not_equal(a.bytes + 13, b.bytes + 13, sizeof TEXT - 1);
    assert_memory_not_equal(a.bytes + 13, TEXT, sizeof TEXT - 1);
}

TEST(every_length_can_be_sealed)
{
    neo_keys keys = keys_of(1);
    unsigned char data[300], bytes[sizeof data + NEO_SEAL_EXTRA], out[sizeof bytes];
    neo_random(data, sizeof data);
    for (apr_size_t len = 0; len <= sizeof data; len++) {
        apr_size_t size = neo_seal(&keys, text_of(""), data, len, bytes);
        assert_int_equal(size, len + NEO_SEAL_EXTRA);
        assert_int_equal(neo_open(&keys, text_of(""), bytes, size, out), len);
        assert_memory_equal(out, data, len);
    }
}

TEST(another_context_does_not_open_it)
{
    neo_keys keys = keys_of(1);
    sealed s = seal(&keys);
    assert_false(opens(&keys, "", s));
    assert_false(opens(&keys, "broker", s));
    assert_false(opens(&keys, "brokers ", s));
    assert_false(opens(&keys, "Brokers", s));
}

TEST(a_changed_bit_anywhere_does_not_open)
{
    neo_keys keys = keys_of(2);
    sealed s = seal(&keys);
    for (int bit = 0; bit < 8 * (int)sizeof s.bytes; bit++) {
        sealed changed = s;
        changed.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_false(opens(&keys, CONTEXT, changed));
    }
}

TEST(a_truncated_or_extended_ciphertext_does_not_open)
{
    neo_keys keys = keys_of(1);
    sealed s = seal(&keys);
    unsigned char longer[sizeof s.bytes + 1] = {0}, out[sizeof longer];
    for (apr_size_t len = 0; len < sizeof s.bytes; len++)
        assert_int_equal(neo_open(&keys, text_of(CONTEXT), s.bytes, len, out), -1);
    for (apr_size_t cut = 1; cut < sizeof s.bytes; cut++)
        assert_int_equal(neo_open(&keys, text_of(CONTEXT), s.bytes + cut, sizeof s.bytes - cut, out), -1);
    memcpy(longer, s.bytes, sizeof s.bytes);
    assert_int_equal(neo_open(&keys, text_of(CONTEXT), longer, sizeof longer, out), -1);
}

TEST(every_key_opens_and_the_first_one_seals)
{
    neo_keys keys = keys_of(8), other = keys_of(8), none = {0};
    for (int i = 0; i < keys.count; i++) {
        neo_keys one = {.count = 1};
        memcpy(one.key[0], keys.key[i], NEO_KEY_SIZE);
        assert_true(opens(&keys, CONTEXT, seal(&one)));
        assert_int_equal(opens(&one, CONTEXT, seal(&keys)), i == 0);
    }
    assert_false(opens(&other, CONTEXT, seal(&keys)));
    assert_false(opens(&none, CONTEXT, seal(&keys)));
}

/* RFC 5869, appendix A.1 */
TEST(derived_keys_are_those_of_the_standard)
{
    static const unsigned char prk[] = "\x07\x77\x09\x36\x2c\x2e\x32\xdf\x0d\xdc\x3f\x0d\xc4\x7b\xba\x63"
                                       "\x90\xb6\xc7\x3b\xb5\x0f\x9c\x31\x22\xec\x84\x4a\xd7\xc2\xb3\xe5";
    static const unsigned char okm[] = "\x3c\xb2\x5f\x25\xfa\xac\xd5\x7a\x90\x43\x4f\x64\xd0\x36\x2f\x2a"
                                       "\x2d\x2d\x0a\x90\xcf\x1a\x5a\x4c\x5d\xb0\x2d\x56\xec\xc4\xc5\xbf";
    neo_keys keys = {.count = 2}, derived;
    memcpy(keys.key[1], prk, NEO_KEY_SIZE);
    neo_keys_derive(&keys, "\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9", &derived);
    assert_int_equal(derived.count, 2);
    assert_memory_equal(derived.key[1], okm, NEO_KEY_SIZE);
    assert_memory_not_equal(derived.key[0], okm, NEO_KEY_SIZE);
}

static void *seal_often(void *data)
{
    for (int i = 0; i < 2000; i++) {
        sealed s = seal(data);
        if (!opens(data, CONTEXT, s))
            return data;
    }
    return NULL;
}

TEST(threads_can_seal_concurrently)
{
    neo_keys keys = keys_of(2);
    pthread_t threads[8];
    for (int i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, seal_often, &keys), 0);
    for (int i = 0; i < COUNT(threads); i++) {
        void *error;
        assert_int_equal(pthread_join(threads[i], &error), 0);
        assert_null(error);
    }
}

/* Key files. */

static const char *write_file(const char *text, mode_t mode, apr_pool_t *pool)
{
    const char *dir = getenv("TMPDIR");
    char *path = apr_pstrcat(pool, dir ? dir : "/tmp", "/neoapi-keys.XXXXXX", NULL);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
    return path;
}

/* The error of a key file with that text and mode; NULL if there is none. */
static const char *key_file_error(neo_keys *keys, const char *text, mode_t mode, apr_pool_t *pool)
{
    const char *path = write_file(text, mode, pool);
    const char *error = neo_keys_read(keys, path, pool);
    assert_int_equal(unlink(path), 0);
    if (error)
        assert_non_null(strstr(error, path));
    return error;
}

static void assert_key_file_error(const char *text, mode_t mode, const char *of, apr_pool_t *pool)
{
    neo_keys keys;
    const char *error = key_file_error(&keys, text, mode, pool);
    if (!error || !strstr(error, of))
        fail_msg("the error is \"%s\", not \"%s\"", error ? error : "(none)", of);
}

#define KEY_A "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define KEY_B "/////////////////////////////////////////w==" /* 31 bytes */
#define KEY_C "//////////////////////////////////////////8="

TEST(a_key_file_has_a_key_a_line)
{
    static const char file[] = "# newest first\n\n" KEY_C "\r\n   \n  # a remark\n\t" KEY_A " \n";
    static const unsigned char zeros[NEO_KEY_SIZE];
    neo_keys keys;
    unsigned char ones[NEO_KEY_SIZE];
    memset(ones, 0xFF, sizeof ones);
    assert_null(key_file_error(&keys, file, 0640, *state));
    assert_int_equal(keys.count, 2);
    assert_memory_equal(keys.key[0], ones, sizeof ones);
    assert_memory_equal(keys.key[1], zeros, sizeof zeros);
    assert_null(key_file_error(&keys, KEY_C, 0400, *state));
    assert_int_equal(keys.count, 1);
}

TEST(a_key_file_may_hold_eight_keys)
{
    neo_keys keys;
    const char *file = "";
    for (int i = 0; i < 8; i++)
        file = apr_pstrcat(*state, file, KEY_A "\n", NULL);
    assert_null(key_file_error(&keys, file, 0600, *state));
    assert_int_equal(keys.count, 8);
    assert_key_file_error(apr_pstrcat(*state, file, KEY_A "\n", NULL), 0600, "more than 8 keys", *state);
}

TEST(a_comment_can_be_longer_than_any_buffer)
{
    char remark[5000];
    neo_keys keys;
    memset(remark, '-', sizeof remark);
    remark[0] = '#';
    remark[sizeof remark - 1] = '\0';
    assert_null(key_file_error(&keys, apr_pstrcat(*state, remark, "\n", KEY_A, "\n", NULL), 0600, *state));
    assert_int_equal(keys.count, 1);
}

TEST(an_invalid_line_is_named)
{
    static const char *const lines[] = {KEY_B,       "AAAA" KEY_A,      "x", "key=" KEY_A, KEY_A "\n" KEY_C "=",
                                        KEY_A KEY_A, KEY_A "\n\xC3\xA9"};
    for (int i = 0; i < COUNT(lines); i++)
        assert_key_file_error(lines[i], 0600, "each line must be 32 random bytes in base64", *state);
}

TEST(a_file_without_a_key_is_refused)
{
    assert_key_file_error("", 0600, "has no key", *state);
    assert_key_file_error("\n\n# " KEY_A "\n", 0600, "has no key", *state);
}

TEST(a_file_that_others_can_read_or_change_is_refused)
{
    static const mode_t open_modes[] = {0644, 0666, 0604, 0602, 0620, 0660};
    static const mode_t closed_modes[] = {0400, 0600, 0440, 0640, 0700};
    for (int i = 0; i < COUNT(open_modes); i++)
        assert_key_file_error(KEY_A "\n", open_modes[i], "chmod 0600", *state);
    for (int i = 0; i < COUNT(closed_modes); i++) {
        neo_keys keys;
        assert_null(key_file_error(&keys, KEY_A "\n", closed_modes[i], *state));
    }
}

TEST(a_missing_file_is_named)
{
    neo_keys keys;
    const char *path = write_file("", 0600, *state);
    assert_int_equal(unlink(path), 0);
    const char *error = neo_keys_read(&keys, path, *state);
    assert_non_null(error);
    assert_non_null(strstr(error, path));
    assert_non_null(strstr(error, "cannot be read"));
    assert_int_equal(keys.count, 0);
}

TEST(a_directory_is_no_key_file)
{
    neo_keys keys;
    const char *error = neo_keys_read(&keys, "/", *state);
    assert_non_null(error);
    assert_non_null(strstr(error, "not a regular file"));
}

/* ---------------------------------------------------------------- signatures */

/* RFC 8032, section 7.1, test 2. */
TEST(a_signature_is_that_of_ed25519)
{
    static const unsigned char private_key[NEO_ED25519_SIZE] = {
        0x4c, 0xcd, 0x08, 0x9b, 0x28, 0xff, 0x96, 0xda, 0x9d, 0xb6, 0xc3, 0x46, 0xec, 0x11, 0x4e, 0x0f,
        0x5b, 0x8a, 0x31, 0x9f, 0x35, 0xab, 0xa6, 0x24, 0xda, 0x8c, 0xf6, 0xed, 0x4f, 0xb8, 0xa6, 0xfb,
    };
    unsigned char signature[NEO_ED25519_SIGNATURE_SIZE];
    char hex[2 * NEO_ED25519_SIGNATURE_SIZE + 1];
    neo_signer_sign(neo_signer_make(private_key, *state), (neo_text){"\x72", 1}, signature);
    neo_hex(signature, sizeof signature, hex);
    assert_string_equal(hex, "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                             "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
}

TEST(a_key_pair_is_bound_to_its_row)
{
    const neo_keys keys = {.count = 1, .key = {{7}}};
    const char *row = "whs_01kga4vrzrd2v6x8t1q5m9k7b4";
    const neo_key_pair pair = neo_key_pair_make(&keys, row, *state);
    assert_memory_equal(pair.public_key, "whpk_", 5);
    assert_int_equal(strlen(pair.public_key), 5 + 44);
    assert_non_null(neo_key_pair_signer(&keys, row, pair.private_key, *state));
    assert_null(neo_key_pair_signer(&keys, "whs_01kga4vrzrd2v6x8t1q5m9k7b5", pair.private_key, *state));
    assert_null(neo_key_pair_signer(&keys, row, neo_secret_seal(&keys, row, "whsec_AAAA", *state), *state));
    assert_null(neo_key_pair_signer(&keys, row, neo_secret_seal(&keys, row, "whsk_AAAA", *state), *state));
}
