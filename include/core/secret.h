/* SPDX-License-Identifier: Apache-2.0 */
/* The secrets of credentials and of webhooks. A credential's secret is <id>_<secret><check>:
 *   <id>      the credential's public id: nbr_ (API key) or pat_ (personal access token) and a ULID
 *   <secret>  256 random bits as 43 base62 digits; only their SHA-256 is stored
 *   <check>   CRC-32 of everything before it as 6 base62 digits, so that secret scanners and people can tell a real secret from
 *             a typing error */
#ifndef NEO_CORE_SECRET_H
#define NEO_CORE_SECRET_H

#include "core/crypto.h"
#include "core/id.h"

#define NEO_KEY_PREFIX   "nbr_"
#define NEO_TOKEN_PREFIX "pat_"
#define NEO_FEED_PREFIX  "lst_" /* a feed of listings, whose token has the same form */

#define NEO_SECRET_LEN  (NEO_ID_LEN + 1 + 43 + 6)
#define NEO_SECRET_SIZE (NEO_SECRET_LEN + 1)

/* Makes a credential: its id, its secret, and the hash to store. */
void neo_secret_make(char out[NEO_SECRET_SIZE], char id[NEO_ID_SIZE], unsigned char hash[NEO_SHA256_SIZE], const char *prefix);
/* A new secret for an existing credential. */
void neo_secret_renew(char out[NEO_SECRET_SIZE], const char *id, unsigned char hash[NEO_SHA256_SIZE]);

/* Returns true if `text` has the form of a secret; `id` is then its public id. The checksum is not verified: the hash decides.
 */
NEO_MUSTCHECK int neo_secret_id(const char *text, char id[NEO_ID_SIZE]);
/* The same for the token of a feed. */
NEO_MUSTCHECK int neo_secret_feed_id(const char *text, char id[NEO_ID_SIZE]);

/* Cuts the tokens of feeds in `text` after their ids. NULL stays NULL. */
void neo_secret_cut_feeds(char *text);

/* The hash to store, and whether the checksum is right. `text` must have the form of a secret. */
void neo_secret_hash(const char *text, unsigned char hash[NEO_SHA256_SIZE]);
NEO_MUSTCHECK int neo_secret_check(const char *text);

/* The secret of a webhook subscription: "whsec_" and 32 random bytes in base64. */
#define NEO_WEBHOOK_SECRET_PREFIX "whsec_"
const char *neo_webhook_secret_make(apr_pool_t *pool);

/* The key pair of a subscription, as Standard Webhooks writes it: "whsk_" and "whpk_", each with 32 bytes in base64. */
#define NEO_PRIVATE_KEY_PREFIX "whsk_"
#define NEO_PUBLIC_KEY_PREFIX  "whpk_"
typedef struct neo_key_pair {
    const char *private_key; /* sealed for storage */
    const char *public_key;
} neo_key_pair;

/* Makes a key pair for the row `id`. */
neo_key_pair neo_key_pair_make(const neo_keys *keys, const char *id, apr_pool_t *pool);
/* Returns NULL if no key decrypts it for that row. */
neo_signer *neo_key_pair_signer(const neo_keys *keys, const char *id, const char *private_key, apr_pool_t *pool);

/* Encrypts a secret for storage in the row `id`, as base64url. neo_secret_open returns NULL if no key decrypts it for that
 * row. */
const char *neo_secret_seal(const neo_keys *keys, const char *id, const char *secret, apr_pool_t *pool);
const char *neo_secret_open(const neo_keys *keys, const char *id, const char *sealed, apr_pool_t *pool);

#endif
