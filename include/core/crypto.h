/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes, hashes, HMAC and authenticated encryption. Its implementation is the only file that includes OpenSSL.
 * A failure of OpenSSL (no entropy, no memory) aborts the process: nothing falls back to weaker cryptography. */
#ifndef NEO_CORE_CRYPTO_H
#define NEO_CORE_CRYPTO_H

#include <apr_pools.h>

#include "core/buf.h"

#define NEO_SHA256_SIZE 32
#define NEO_KEY_SIZE    32            /* AES-256 */
#define NEO_SEAL_EXTRA  (1 + 12 + 16) /* what neo_seal adds: version, nonce, authentication tag */

#define NEO_MAX_KEYS 8

/* The deployment's encryption keys, newest first. The first one encrypts, all of them decrypt. */
typedef struct neo_keys {
    int count;
    unsigned char key[NEO_MAX_KEYS][NEO_KEY_SIZE];
} neo_keys;

/* Derives the keys for one purpose (HKDF-Expand of RFC 5869 with SHA-256): texts encrypted for another purpose neither use up
 * their nonces nor can be decrypted with them. */
void neo_keys_derive(const neo_keys *keys, const char *purpose, neo_keys *derived);

/* Fills `out` with random bytes. */
void neo_random(void *out, apr_size_t len);

void neo_sha256(const void *data, apr_size_t len, unsigned char out[NEO_SHA256_SIZE]);

/* The Content-Security-Policy of a page that has this style, and otherwise only images in itself. */
const char *neo_style_policy(const char *style, apr_pool_t *pool);

/* SHA-256 over several pieces, each preceded by its length, so that different lists of pieces never have the same input. */
void neo_sha256_pieces(const neo_text *pieces, int count, unsigned char out[NEO_SHA256_SIZE]);

/* HMAC-SHA-256 (RFC 2104) over `count` concatenated pieces. */
void neo_hmac_sha256(const void *key, apr_size_t len, const neo_text *pieces, int count, unsigned char out[NEO_SHA256_SIZE]);

/* Returns true if the bytes are equal. The time depends only on `len`. */
int neo_equal_constant_time(const void *a, const void *b, apr_size_t len);

/* Encrypts with AES-256-GCM (NIST SP 800-38D) and a random nonce. `context` is authenticated but not stored: neo_open needs the
 * same one. `out` must hold len + NEO_SEAL_EXTRA bytes. Returns the number of bytes written. */
apr_size_t neo_seal(const neo_keys *keys, neo_text context, const void *data, apr_size_t len, unsigned char *out);

/* Decrypts what neo_seal wrote, with any of the keys. `out` must hold `len` bytes. Returns the number of bytes written, or -1
 * if the bytes were changed or cut, or sealed with another context or an unknown key. */
NEO_MUSTCHECK int neo_open(const neo_keys *keys, neo_text context, const void *sealed, apr_size_t len, unsigned char *out);

/* Ed25519 (RFC 8032): a private key and a public key have 32 bytes each. */
#define NEO_ED25519_SIZE           32
#define NEO_ED25519_SIGNATURE_SIZE 64
void neo_ed25519_make(unsigned char private_key[NEO_ED25519_SIZE], unsigned char public_key[NEO_ED25519_SIZE]);

/* A private key that is ready to sign with: preparing it takes longer than a signature. Freed with the pool. */
typedef struct evp_pkey_st neo_signer;
neo_signer *neo_signer_make(const unsigned char private_key[NEO_ED25519_SIZE], apr_pool_t *pool);
void neo_signer_sign(neo_signer *signer, neo_text message, unsigned char signature[NEO_ED25519_SIGNATURE_SIZE]);

/* Makes TLS clients with this OpenSSL context (SSL_CTX) refuse servers whose certificate has no subject alternative name. The
 * common name of such a certificate was never checked by name constraints (RFC 9525, section 6.3). */
void neo_tls_require_alternative_names(void *ssl_context);

/* Reads a key file: one key per line, 32 bytes in base64, newest first. Empty lines and lines that start with # are ignored.
 * Returns NULL, or a sentence with the error and how to fix it. */
const char *neo_keys_read(neo_keys *keys, const char *path, apr_pool_t *pool);

/* Checks a TLS certificate and its key, both in PEM format. Returns NULL and sets *days to the days until it expires (negative:
 * it has expired), or returns a sentence with the error. */
const char *neo_certificate_check(const char *certificate, const char *key, const char *host, int *days, apr_pool_t *pool);

#endif
