/* What we need of cryptography, and the only room that knows OpenSSL.
 * Every function that can fail for want of entropy or memory says so; nothing falls back to something weaker. */
#ifndef NEO_CORE_CRYPTO_H
#define NEO_CORE_CRYPTO_H

#include <apr_pools.h>

#include "core/buf.h"

#define NEO_SHA256_SIZE 32
#define NEO_KEY_SIZE    32            /* AES-256 */
#define NEO_SEAL_EXTRA  (1 + 12 + 16) /* what neo_seal adds: version, nonce, tag */

/* A deployment's keys, newest first: the first seals, all open. */
typedef struct neo_keys {
    int count;
    unsigned char key[8][NEO_KEY_SIZE];
} neo_keys;

/* Fills `out` with random bytes; aborts the process where the system has none, since every id and secret depends on it. */
void neo_random(void *out, apr_size_t len);

void neo_sha256(const void *data, apr_size_t len, unsigned char out[NEO_SHA256_SIZE]);

/* SHA-256 over several pieces, each preceded by its length, so that no two lists of pieces give the same input. */
void neo_sha256_pieces(const neo_text *pieces, int count, unsigned char out[NEO_SHA256_SIZE]);

/* HMAC-SHA-256 (RFC 2104) over `count` pieces, one after the other. */
void neo_hmac_sha256(const void *key, apr_size_t len, const neo_text *pieces, int count, unsigned char out[NEO_SHA256_SIZE]);

/* True if equal, in a time that depends on `len` alone. */
int neo_equal_constant_time(const void *a, const void *b, apr_size_t len);

/* AES-256-GCM (NIST SP 800-38D) with a random nonce. `context` is authenticated, not kept: opening needs the same one.
 * `out` has room for len + NEO_SEAL_EXTRA bytes. Returns the sealed length. */
apr_size_t neo_seal(const neo_keys *keys, neo_text context, const void *data, apr_size_t len, unsigned char *out);

/* Undoes neo_seal with any of the keys. `out` has room for `len` bytes. Returns the opened length,
 * or -1 for bytes that were changed, cut, sealed in another context or by a key that is not among `keys`. */
NEO_MUSTCHECK int neo_open(const neo_keys *keys, neo_text context, const void *sealed, apr_size_t len, unsigned char *out);

/* Reads a key file: one key a line, 32 bytes in base64, newest first; empty lines and lines starting with # are passed over.
 * Returns NULL, or a sentence that says what is wrong with the file and how to mend it. */
const char *neo_keys_read(neo_keys *keys, const char *path, apr_pool_t *pool);

#endif
