/* SPDX-License-Identifier: Apache-2.0 */
/* Access tokens: JWTs as in RFC 9068, but with HMAC-SHA-256 and a key that is derived from the deployment's, because only this
 * service verifies them. So every host can verify what another one has signed, without a query. */
#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/encode.h"
#include "core/json.h"
#include "core/secret.h"

/* {"alg":"HS256","typ":"at+jwt"}. A token with any other header is refused before it is read, so that no header can choose an
 * algorithm or a key. */
#define HEADER         "eyJhbGciOiJIUzI1NiIsInR5cCI6ImF0K2p3dCJ9."
#define MAX_LENGTH     4096
#define SIGNATURE_LEN  43 /* 32 bytes in base64url */
#define JTI_BYTES      12
#define SECRET_ID_SIZE 12 /* 8 bytes in base64url, and a NUL */

/* ---------------------------------------------------------------- signatures */

static const char *sign(const unsigned char key[NEO_KEY_SIZE], neo_text signed_part, apr_pool_t *pool)
{
    unsigned char mac[NEO_SHA256_SIZE];
    neo_hmac_sha256(key, NEO_KEY_SIZE, &signed_part, 1, mac);
    return neo_base64url(mac, sizeof mac, pool);
}

static int has_signature(const neo_keys *keys, neo_text signed_part, const char *signature, apr_pool_t *pool)
{
    int is_valid = 0;
    for (int i = 0; i < keys->count && strlen(signature) == SIGNATURE_LEN; i++)
        is_valid |= neo_equal_constant_time(sign(keys->key[i], signed_part, pool), signature, SIGNATURE_LEN);
    return is_valid;
}

/* ---------------------------------------------------------------- the secret */

/* Identifies the secret that a token was requested with, so that the token ends with it. The hash has 256 random bits, so that
 * this says nothing about it. */
static void make_secret_id(const unsigned char hash[NEO_SHA256_SIZE], char out[SECRET_ID_SIZE], apr_pool_t *pool)
{
    const neo_text pieces[] = {{"access token", 12}, {(const char *)hash, NEO_SHA256_SIZE}};
    unsigned char digest[NEO_SHA256_SIZE];
    neo_sha256_pieces(pieces, 2, digest);
    apr_cpystrn(out, neo_base64url(digest, 8, pool), SECRET_ID_SIZE);
}

int neo_access_token_has_secret(const neo_access_token *token, const neo_credential *credential, apr_pool_t *pool)
{
    char id[SECRET_ID_SIZE];
    make_secret_id(credential->hash, id, pool);
    if (strcmp(id, token->secret_id) == 0)
        return 1;
    make_secret_id(credential->previous_hash, id, pool);
    return credential->previous_until > neo_now_ms() && strcmp(id, token->secret_id) == 0;
}

/* ---------------------------------------------------------------- tokens */

const char *neo_issuer(const neo_site *site, apr_pool_t *pool)
{
    return apr_pstrmemdup(pool, site->base_url, strlen(site->base_url) - 1);
}

static void add_claim(neo_buf *out, const char *name, const char *value)
{
    neo_buf_printf(out, "%c\"%s\":", out->len ? ',' : '{', name);
    neo_buf_json(out, value);
}

const char *neo_access_token_make(const neo_site *site, const neo_credential *credential, const char *secret, neo_scopes scopes,
                                  int seconds, apr_pool_t *pool)
{
    neo_buf claims;
    long long now = neo_now_ms() / 1000;
    unsigned char jti[JTI_BYTES], hash[NEO_SHA256_SIZE];
    char secret_id[SECRET_ID_SIZE];
    neo_random(jti, sizeof jti);
    neo_secret_hash(secret, hash);
    make_secret_id(hash, secret_id, pool);
    neo_buf_init(&claims, pool, 512);
    add_claim(&claims, "iss", neo_issuer(site, pool));
    add_claim(&claims, "aud", site->base_url);
    add_claim(&claims, "sub", credential->id);
    add_claim(&claims, "client_id", credential->id);
    neo_buf_printf(&claims, ",\"iat\":%lld,\"exp\":%lld", now, now + seconds);
    add_claim(&claims, "jti", neo_base64url(jti, sizeof jti, pool));
    add_claim(&claims, "scope", neo_scopes_text(scopes, pool));
    add_claim(&claims, "secret_id", secret_id);
    neo_buf_putc(&claims, '}');
    const char *text = apr_pstrcat(pool, HEADER, neo_base64url(claims.ptr, claims.len, pool), NULL);
    return apr_pstrcat(pool, text, ".", sign(site->token_keys.key[0], (neo_text){text, strlen(text)}, pool), NULL);
}

/* The claims, if the token is signed; otherwise NULL. */
static const neo_json *verify(const neo_site *site, const char *text, apr_pool_t *pool)
{
    unsigned char *claims = apr_palloc(pool, MAX_LENGTH);
    size_t header = strlen(HEADER);
    const char *error, *dot = strrchr(text, '.');
    if (strnlen(text, MAX_LENGTH) == MAX_LENGTH || strncmp(text, HEADER, header) != 0 || dot < text + header ||
        !has_signature(&site->token_keys, (neo_text){text, (apr_size_t)(dot - text)}, dot + 1, pool))
        return NULL;
    int len = neo_base64_decode(text + header, (apr_size_t)(dot - text) - header, claims, MAX_LENGTH);
    return len < 0 ? NULL : neo_json_parse((neo_text){(const char *)claims, (apr_size_t)len}, pool, &error);
}

int neo_access_token_read(const neo_site *site, const char *text, apr_pool_t *pool, neo_access_token *token)
{
    const neo_json *claims = verify(site, text, pool);
    const char *audience = neo_json_string_at(claims, "aud"), *id = neo_json_string_at(claims, "sub");
    const char *scope = neo_json_string_at(claims, "scope"), *secret_id = neo_json_string_at(claims, "secret_id");
    if (!audience || strcmp(audience, site->base_url) != 0 || !id || !neo_id_is(id, NEO_KEY_PREFIX) || !scope || !secret_id)
        return 0;
    *token = (neo_access_token){.expires_at = neo_json_integer(neo_json_get(claims, "exp")) * 1000};
    apr_cpystrn(token->credential, id, sizeof token->credential);
    apr_cpystrn(token->secret_id, secret_id, sizeof token->secret_id);
    return neo_scopes_parse(scope, pool, &token->scopes);
}
