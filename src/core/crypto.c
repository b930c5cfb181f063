/* SPDX-License-Identifier: Apache-2.0 */
/* Cryptography by OpenSSL (see core/crypto.h). Algorithms are fetched once, since a fetch costs more than a short hash. */
#include "core/crypto.h"

#include <apr_file_info.h>
#include <apr_file_io.h>
#include <apr_strings.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"

#define NONCE_SIZE   12
#define TAG_SIZE     16
#define SEAL_VERSION 1

static pthread_once_t fetched = PTHREAD_ONCE_INIT;
static EVP_MD *sha256;
static EVP_CIPHER *aes256gcm;
static EVP_MAC *hmac;
static pthread_key_t contexts;

/* One thread's contexts, created at first use and freed when the thread ends. */
typedef struct {
    EVP_MD_CTX *digest;
    EVP_CIPHER_CTX *cipher;
    EVP_MAC_CTX *mac;                /* keeps its digest and key, which cost more than the MAC of a short text */
    EVP_CIPHER_CTX *sealing;         /* keeps its key between calls */
    unsigned char key[NEO_KEY_SIZE]; /* the key of `sealing`, if has_key */
    int has_key;
    unsigned char mac_key[NEO_KEY_SIZE]; /* the key of `mac`, if has_mac_key */
    int has_mac_key;
    unsigned char random[1024]; /* prefetched, since each call of RAND_bytes is expensive */
    apr_size_t random_left;     /* unused bytes at the start of `random` */
} thread_context;

static void free_context(void *data)
{
    thread_context *ctx = data;
    EVP_MD_CTX_free(ctx->digest);
    EVP_CIPHER_CTX_free(ctx->cipher);
    EVP_CIPHER_CTX_free(ctx->sealing);
    EVP_MAC_CTX_free(ctx->mac);
    OPENSSL_cleanse(ctx, sizeof *ctx);
    free(ctx);
}

/* A child process must not use the random bytes that its parent prefetched. */
static void forget_random(void)
{
    thread_context *ctx = pthread_getspecific(contexts);
    if (ctx)
        ctx->random_left = 0;
}

static void fetch(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    aes256gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    if (!sha256 || !aes256gcm || !hmac || pthread_key_create(&contexts, free_context) != 0 ||
        pthread_atfork(NULL, NULL, forget_random) != 0)
        abort();
}

static thread_context *own_context(void)
{
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
                                 OSSL_PARAM_construct_end()};
    pthread_once(&fetched, fetch);
    thread_context *ctx = pthread_getspecific(contexts);
    if (!ctx) {
        ctx = calloc(1, sizeof *ctx);
        if (!ctx || !(ctx->digest = EVP_MD_CTX_new()) || !(ctx->cipher = EVP_CIPHER_CTX_new()) ||
            !(ctx->sealing = EVP_CIPHER_CTX_new()) || !(ctx->mac = EVP_MAC_CTX_new(hmac)) ||
            !EVP_MAC_CTX_set_params(ctx->mac, params))
            abort();
        pthread_setspecific(contexts, ctx);
    }
    return ctx;
}

/* httpd unloads and reloads the module, and the thread key must not outlive the code of its destructor. */
__attribute__((destructor)) static void unload(void)
{
    if (!sha256)
        return;
    thread_context *ctx = pthread_getspecific(contexts);
    if (ctx)
        free_context(ctx);
    pthread_key_delete(contexts);
    EVP_MD_free(sha256);
    EVP_CIPHER_free(aes256gcm);
    EVP_MAC_free(hmac);
}

void neo_random(void *out, apr_size_t len)
{
    thread_context *ctx = own_context();
    int is_long = len > NONCE_SIZE; /* a secret: not from the prefetched bytes, which stay in memory */
    if ((is_long || ctx->random_left < len) &&
        RAND_bytes(is_long ? out : ctx->random, (int)(is_long ? len : sizeof ctx->random)) != 1)
        abort();
    if (is_long)
        return;
    if (ctx->random_left < len)
        ctx->random_left = sizeof ctx->random;
    ctx->random_left -= len;
    memcpy(out, ctx->random + ctx->random_left, len);
}

void neo_sha256(const void *data, apr_size_t len, unsigned char out[NEO_SHA256_SIZE])
{
    EVP_MD_CTX *ctx = own_context()->digest;
    if (!EVP_DigestInit_ex(ctx, sha256, NULL) || !EVP_DigestUpdate(ctx, data, len) || !EVP_DigestFinal_ex(ctx, out, NULL))
        abort();
}

const char *neo_style_policy(const char *style, apr_pool_t *pool)
{
    unsigned char digest[NEO_SHA256_SIZE];
    neo_sha256(style, strlen(style), digest);
    return apr_psprintf(pool,
                        "default-src 'none'; style-src 'sha256-%s'; img-src data:; base-uri 'none'; form-action 'none'; "
                        "frame-ancestors 'none'",
                        neo_base64(digest, sizeof digest, pool));
}

void neo_sha256_pieces(const neo_text *pieces, int count, unsigned char out[NEO_SHA256_SIZE])
{
    EVP_MD_CTX *ctx = own_context()->digest;
    int ok = EVP_DigestInit_ex(ctx, sha256, NULL);
    for (int i = 0; ok && i < count; i++) {
        unsigned char len[8];
        for (int b = 0; b < 8; b++)
            len[b] = (unsigned char)((unsigned long long)pieces[i].len >> (8 * b));
        ok = EVP_DigestUpdate(ctx, len, sizeof len) && EVP_DigestUpdate(ctx, pieces[i].ptr, pieces[i].len);
    }
    if (!ok || !EVP_DigestFinal_ex(ctx, out, NULL))
        abort();
}

void neo_hmac_sha256(const void *key, apr_size_t len, const neo_text *pieces, int count, unsigned char out[NEO_SHA256_SIZE])
{
    thread_context *own = own_context();
    int is_kept = len == NEO_KEY_SIZE, knows = is_kept && own->has_mac_key && memcmp(own->mac_key, key, NEO_KEY_SIZE) == 0;
    size_t written;
    int ok = EVP_MAC_init(own->mac, knows ? NULL : key, knows ? 0 : len, NULL);
    for (int i = 0; ok && i < count; i++)
        ok = EVP_MAC_update(own->mac, (const unsigned char *)pieces[i].ptr, pieces[i].len);
    if (!ok || !EVP_MAC_final(own->mac, out, &written, NEO_SHA256_SIZE))
        abort();
    own->has_mac_key = is_kept;
    if (is_kept)
        memcpy(own->mac_key, key, NEO_KEY_SIZE);
}

void neo_keys_derive(const neo_keys *keys, const char *purpose, neo_keys *derived)
{
    const neo_text info[] = {{purpose, strlen(purpose)}, {"\1", 1}};
    derived->count = keys->count;
    for (int i = 0; i < keys->count; i++)
        neo_hmac_sha256(keys->key[i], NEO_KEY_SIZE, info, 2, derived->key[i]);
}

int neo_equal_constant_time(const void *a, const void *b, apr_size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}

apr_size_t neo_seal(const neo_keys *keys, neo_text context, const void *data, apr_size_t len, unsigned char *out)
{
    thread_context *own = own_context();
    EVP_CIPHER_CTX *ctx = own->sealing;
    int knows = own->has_key && memcmp(own->key, keys->key[0], NEO_KEY_SIZE) == 0;
    unsigned char *nonce = out + 1, *body = nonce + NONCE_SIZE, *tag = body + len;
    int n, rest;
    if (keys->count == 0)
        abort();
    out[0] = SEAL_VERSION;
    neo_random(nonce, NONCE_SIZE);
    if (!EVP_EncryptInit_ex2(ctx, knows ? NULL : aes256gcm, knows ? NULL : keys->key[0], nonce, NULL) ||
        !EVP_EncryptUpdate(ctx, NULL, &n, (const unsigned char *)context.ptr, (int)context.len) ||
        !EVP_EncryptUpdate(ctx, body, &n, data, (int)len) || !EVP_EncryptFinal_ex(ctx, body + n, &rest) ||
        !EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG_SIZE, tag))
        abort();
    memcpy(own->key, keys->key[0], NEO_KEY_SIZE);
    own->has_key = 1;
    return len + NEO_SEAL_EXTRA;
}

static int open_with(const unsigned char *key, neo_text context, const unsigned char *sealed, int len, unsigned char *out)
{
    EVP_CIPHER_CTX *ctx = own_context()->cipher;
    const unsigned char *nonce = sealed + 1, *body = nonce + NONCE_SIZE;
    unsigned char tag[TAG_SIZE];
    int n, rest;
    memcpy(tag, body + len, TAG_SIZE);
    return EVP_DecryptInit_ex2(ctx, aes256gcm, key, nonce, NULL) &&
           EVP_DecryptUpdate(ctx, NULL, &n, (const unsigned char *)context.ptr, (int)context.len) &&
           EVP_DecryptUpdate(ctx, out, &n, body, len) && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG_SIZE, tag) &&
           EVP_DecryptFinal_ex(ctx, out + n, &rest);
}

int neo_open(const neo_keys *keys, neo_text context, const void *sealed, apr_size_t len, unsigned char *out)
{
    const unsigned char *bytes = sealed;
    if (len < NEO_SEAL_EXTRA || bytes[0] != SEAL_VERSION)
        return -1;
    int body = (int)(len - NEO_SEAL_EXTRA);
    for (int i = 0; i < keys->count; i++)
        if (open_with(keys->key[i], context, bytes, body, out))
            return body;
    return -1;
}

static const char *add_key(neo_keys *keys, const char *line, const char *path, apr_pool_t *pool)
{
    unsigned char raw[64];
    if (keys->count == NEO_MAX_KEYS)
        return apr_psprintf(pool, "key file %s has more than %d keys; remove the oldest lines", path, keys->count);
    if (strlen(line) > 80 || neo_base64_decode(line, strlen(line), raw, sizeof raw) != NEO_KEY_SIZE)
        return apr_psprintf(pool,
                            "key file %s: each line must be 32 random bytes in base64; make one with: openssl rand "
                            "-base64 32",
                            path);
    memcpy(keys->key[keys->count++], raw, NEO_KEY_SIZE);
    OPENSSL_cleanse(raw, sizeof raw);
    return NULL;
}

static const char *check_owner_only(apr_file_t *file, const char *path, apr_pool_t *pool)
{
    apr_finfo_t info;
    if (apr_file_info_get(&info, APR_FINFO_PROT | APR_FINFO_TYPE, file) != APR_SUCCESS || info.filetype != APR_REG)
        return apr_psprintf(pool, "key file %s is not a regular file", path);
    if (info.protection & (APR_FPROT_WREAD | APR_FPROT_WWRITE | APR_FPROT_GWRITE))
        return apr_psprintf(pool, "key file %s can be read or changed by other users (chmod 0600 %s)", path, path);
    return NULL;
}

/* Reads a line and removes its spaces. The end of a line longer than the buffer is ignored: only a comment is that long. */
static int read_line(apr_file_t *file, char *line, int size)
{
    char rest = '\0';
    if (apr_file_gets(line, size, file) != APR_SUCCESS)
        return 0;
    if (!strchr(line, '\n'))
        while (rest != '\n' && apr_file_getc(&rest, file) == APR_SUCCESS)
            ;
    apr_collapse_spaces(line, line);
    return 1;
}

const char *neo_keys_read(neo_keys *keys, const char *path, apr_pool_t *pool)
{
    apr_file_t *file;
    char line[256], why[120];
    memset(keys, 0, sizeof *keys);
    apr_status_t rv = apr_file_open(&file, path, APR_FOPEN_READ | APR_FOPEN_BUFFERED, 0, pool);
    if (rv != APR_SUCCESS)
        return apr_psprintf(pool, "key file %s cannot be read: %s", path, apr_strerror(rv, why, sizeof why));
    const char *error = check_owner_only(file, path, pool);
    while (!error && read_line(file, line, sizeof line))
        if (*line && *line != '#')
            error = add_key(keys, line, path, pool);
    OPENSSL_cleanse(line, sizeof line);
    apr_file_close(file);
    if (!error && keys->count == 0)
        error = apr_psprintf(pool, "key file %s has no key", path);
    return error;
}

/* ---------------------------------------------------------------- signatures */

void neo_ed25519_make(unsigned char private_key[NEO_ED25519_SIZE], unsigned char public_key[NEO_ED25519_SIZE])
{
    size_t len = NEO_ED25519_SIZE;
    neo_random(private_key, NEO_ED25519_SIZE);
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, private_key, NEO_ED25519_SIZE);
    if (!key || EVP_PKEY_get_raw_public_key(key, public_key, &len) != 1)
        abort();
    EVP_PKEY_free(key);
}

static apr_status_t free_signer(void *signer)
{
    EVP_PKEY_free(signer);
    return APR_SUCCESS;
}

neo_signer *neo_signer_make(const unsigned char private_key[NEO_ED25519_SIZE], apr_pool_t *pool)
{
    EVP_PKEY *signer = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, private_key, NEO_ED25519_SIZE);
    if (!signer)
        abort();
    apr_pool_cleanup_register(pool, signer, free_signer, apr_pool_cleanup_null);
    return signer;
}

/* A context of its own, because initializing one for a digest would lose this kind of key. */
void neo_signer_sign(neo_signer *signer, neo_text message, unsigned char signature[NEO_ED25519_SIGNATURE_SIZE])
{
    size_t len = NEO_ED25519_SIGNATURE_SIZE;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (!ctx || EVP_DigestSignInit(ctx, NULL, NULL, NULL, signer) != 1 ||
        EVP_DigestSign(ctx, signature, &len, (const unsigned char *)message.ptr, message.len) != 1)
        abort();
    EVP_MD_CTX_free(ctx);
}

/* ---------------------------------------------------------------- TLS */

static int check_certificate(int is_trusted, X509_STORE_CTX *store)
{
    X509 *certificate = X509_STORE_CTX_get_current_cert(store);
    int is_servers = X509_STORE_CTX_get_error_depth(store) == 0;
    if (!is_trusted || !is_servers || X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) >= 0)
        return is_trusted;
    X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
    return 0;
}

void neo_tls_require_alternative_names(void *ssl_context)
{
    SSL_CTX *context = ssl_context;
    SSL_CTX_set_verify(context, SSL_CTX_get_verify_mode(context), check_certificate);
}

/* ---------------------------------------------------------------- certificates */

/* Keeps OpenSSL from asking for a passphrase on the terminal. */
static int no_passphrase(char *buffer, int size, int is_written, void *data)
{
    (void)buffer, (void)size, (void)is_written, (void)data;
    return -1;
}

static const char *compare_certificate(X509 *certificate, EVP_PKEY *key, const char *path, const char *key_path,
                                       const char *host, int *days, apr_pool_t *pool)
{
    int seconds;
    if (!certificate)
        return apr_psprintf(pool, "%s cannot be read, or is not a certificate in PEM format", path);
    if (!key)
        return apr_psprintf(pool, "%s cannot be read, or is not a key in PEM format without a passphrase", key_path);
    if (X509_check_private_key(certificate, key) != 1)
        return apr_psprintf(pool, "%s is not the key of the certificate %s", key_path, path);
    if (X509_check_host(certificate, host, 0, 0, NULL) != 1)
        return apr_psprintf(pool, "the certificate %s is not for %s", path, host);
    if (ASN1_TIME_diff(days, &seconds, NULL, X509_get0_notAfter(certificate)) != 1)
        return apr_psprintf(pool, "the certificate %s has an invalid date", path);
    if (*days == 0 && seconds <= 0)
        *days = -1;
    return NULL;
}

const char *neo_certificate_check(const char *certificate, const char *key, const char *host, int *days, apr_pool_t *pool)
{
    BIO *in = BIO_new_file(certificate, "r"), *key_in = BIO_new_file(key, "r");
    X509 *x509 = in ? PEM_read_bio_X509(in, NULL, no_passphrase, NULL) : NULL;
    EVP_PKEY *pkey = key_in ? PEM_read_bio_PrivateKey(key_in, NULL, no_passphrase, NULL) : NULL;
    const char *error = compare_certificate(x509, pkey, certificate, key, host, days, pool);
    X509_free(x509);
    EVP_PKEY_free(pkey);
    BIO_free(in);
    BIO_free(key_in);
    return error;
}
