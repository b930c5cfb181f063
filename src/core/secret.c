/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets of credentials and webhooks (see core/secret.h). */
#include "core/secret.h"

#include <apr_strings.h>
#include <string.h>

#include "core/encode.h"

#define RANDOM_BYTES 32
#define RANDOM_AT    (NEO_ID_LEN + 1)
#define RANDOM_LEN   43
#define CHECK_AT     (RANDOM_AT + RANDOM_LEN)
#define CHECK_LEN    6
_Static_assert(CHECK_AT + CHECK_LEN == NEO_SECRET_LEN, "the parts are the whole");

static void put_check(const char *text, char out[CHECK_LEN + 1])
{
    unsigned int crc = neo_crc32(text, CHECK_AT);
    unsigned char bytes[4] = {(unsigned char)(crc >> 24), (unsigned char)(crc >> 16), (unsigned char)(crc >> 8),
                              (unsigned char)crc};
    neo_base62(bytes, sizeof bytes, out, CHECK_LEN);
}

void neo_secret_make(char out[NEO_SECRET_SIZE], char id[NEO_ID_SIZE], unsigned char hash[NEO_SHA256_SIZE], const char *prefix)
{
    neo_id_issue(id, prefix);
    neo_secret_renew(out, id, hash);
}

void neo_secret_renew(char out[NEO_SECRET_SIZE], const char *id, unsigned char hash[NEO_SHA256_SIZE])
{
    unsigned char bits[RANDOM_BYTES];
    memcpy(out, id, NEO_ID_LEN);
    out[NEO_ID_LEN] = '_';
    neo_random(bits, sizeof bits);
    neo_base62(bits, sizeof bits, out + RANDOM_AT, RANDOM_LEN);
    explicit_bzero(bits, sizeof bits);
    put_check(out, out + CHECK_AT);
    neo_secret_hash(out, hash);
}

static int is_base62(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static int read_id(const char *text, char id[NEO_ID_SIZE])
{
    if (strnlen(text, NEO_SECRET_SIZE) != NEO_SECRET_LEN || text[NEO_ID_LEN] != '_')
        return 0;
    for (int i = RANDOM_AT; i < NEO_SECRET_LEN; i++)
        if (!is_base62(text[i]))
            return 0;
    memcpy(id, text, NEO_ID_LEN);
    id[NEO_ID_LEN] = '\0';
    return 1;
}

int neo_secret_id(const char *text, char id[NEO_ID_SIZE])
{
    return read_id(text, id) && (neo_id_is(id, NEO_KEY_PREFIX) || neo_id_is(id, NEO_TOKEN_PREFIX));
}

int neo_secret_feed_id(const char *text, char id[NEO_ID_SIZE])
{
    return read_id(text, id) && neo_id_is(id, NEO_FEED_PREFIX);
}

static apr_size_t base62_length(const char *text)
{
    apr_size_t length = 0;
    while (is_base62(text[length]))
        length++;
    return length;
}

/* Incomplete tokens are cut, too. */
void neo_secret_cut_feeds(char *text)
{
    while (text && (text = strstr(text, NEO_FEED_PREFIX))) {
        text += strlen(NEO_FEED_PREFIX);
        if (base62_length(text) != NEO_ID_LEN - strlen(NEO_FEED_PREFIX))
            continue;
        text += NEO_ID_LEN - strlen(NEO_FEED_PREFIX);
        const char *rest = *text == '_' ? text + 1 + base62_length(text + 1) : text;
        memmove(text, rest, strlen(rest) + 1);
    }
}

void neo_secret_hash(const char *text, unsigned char hash[NEO_SHA256_SIZE])
{
    neo_sha256(text + RANDOM_AT, RANDOM_LEN, hash);
}

int neo_secret_check(const char *text)
{
    char check[CHECK_LEN + 1];
    put_check(text, check);
    return memcmp(check, text + CHECK_AT, CHECK_LEN) == 0;
}

/* ---------------------------------------------------------------- stored secrets */

#define WEBHOOK_BYTES 32
#define MAX_LEN       1000

const char *neo_webhook_secret_make(apr_pool_t *pool)
{
    unsigned char bytes[WEBHOOK_BYTES];
    neo_random(bytes, sizeof bytes);
    return apr_pstrcat(pool, NEO_WEBHOOK_SECRET_PREFIX, neo_base64(bytes, sizeof bytes, pool), NULL);
}

/* Secrets of WhatsApp numbers and of webhook subscriptions, distinguished by the row's id, have keys of their own. */
static void derive_keys(const neo_keys *keys, const char *id, neo_keys *derived)
{
    neo_keys_derive(keys, strncmp(id, "whs_", NEO_PREFIX_LEN) == 0 ? "neoapi webhook secret" : "neoapi whatsapp secret",
                    derived);
}

const char *neo_secret_seal(const neo_keys *keys, const char *id, const char *secret, apr_pool_t *pool)
{
    apr_size_t len = strlen(secret);
    unsigned char *sealed = apr_palloc(pool, len + NEO_SEAL_EXTRA);
    neo_keys own;
    derive_keys(keys, id, &own);
    return neo_base64url(sealed, neo_seal(&own, (neo_text){id, strlen(id)}, secret, len, sealed), pool);
}

const char *neo_secret_open(const neo_keys *keys, const char *id, const char *sealed, apr_pool_t *pool)
{
    unsigned char bytes[MAX_LEN + NEO_SEAL_EXTRA];
    char *plain = apr_palloc(pool, sizeof bytes + 1);
    int len = neo_base64_decode(sealed, strlen(sealed), bytes, sizeof bytes);
    neo_keys own;
    derive_keys(keys, id, &own);
    if (len >= 0)
        len = neo_open(&own, (neo_text){id, strlen(id)}, bytes, (apr_size_t)len, (unsigned char *)plain);
    if (len < 0)
        return NULL;
    plain[len] = '\0';
    return plain;
}

/* ---------------------------------------------------------------- key pairs */

neo_key_pair neo_key_pair_make(const neo_keys *keys, const char *id, apr_pool_t *pool)
{
    unsigned char private_key[NEO_ED25519_SIZE], public_key[NEO_ED25519_SIZE];
    neo_ed25519_make(private_key, public_key);
    char *text = apr_pstrcat(pool, NEO_PRIVATE_KEY_PREFIX, neo_base64(private_key, sizeof private_key, pool), NULL);
    explicit_bzero(private_key, sizeof private_key);
    return (neo_key_pair){
        neo_secret_seal(keys, id, text, pool),
        apr_pstrcat(pool, NEO_PUBLIC_KEY_PREFIX, neo_base64(public_key, sizeof public_key, pool), NULL),
    };
}

/* The prefix distinguishes it from the secret, which is bound to the same row. */
neo_signer *neo_key_pair_signer(const neo_keys *keys, const char *id, const char *private_key, apr_pool_t *pool)
{
    unsigned char bytes[NEO_ED25519_SIZE];
    const char *text = neo_secret_open(keys, id, private_key, pool);
    size_t prefix = strlen(NEO_PRIVATE_KEY_PREFIX);
    if (!text || strncmp(text, NEO_PRIVATE_KEY_PREFIX, prefix) != 0 ||
        neo_base64_decode(text + prefix, strlen(text + prefix), bytes, sizeof bytes) != NEO_ED25519_SIZE)
        return NULL;
    neo_signer *signer = neo_signer_make(bytes, pool);
    explicit_bzero(bytes, sizeof bytes);
    return signer;
}
