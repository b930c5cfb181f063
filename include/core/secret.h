/* The secret of a credential, as its owner holds it: <id>_<secret><check>
 *   <id>      the credential's public id: nbr_ (API key) or pat_ (personal access token) and a ULID
 *   <secret>  256 random bits as 43 base62 digits; only their SHA-256 is ever stored
 *   <check>   CRC-32 of everything before it as 6 base62 digits, so that a typo or a leaked string is recognised without a
 *             look-up */
#ifndef NEO_CORE_SECRET_H
#define NEO_CORE_SECRET_H

#include "core/crypto.h"
#include "core/id.h"

#define NEO_KEY_PREFIX   "nbr_"
#define NEO_TOKEN_PREFIX "pat_"

#define NEO_SECRET_LEN  (NEO_ID_LEN + 1 + 43 + 6)
#define NEO_SECRET_SIZE (NEO_SECRET_LEN + 1)

/* Makes a credential's secret, its id and what is stored of it. */
void neo_secret_make(char out[NEO_SECRET_SIZE], char id[NEO_ID_SIZE], unsigned char hash[NEO_SHA256_SIZE], const char *prefix);
/* Another secret for a credential that there is. */
void neo_secret_renew(char out[NEO_SECRET_SIZE], const char *id, unsigned char hash[NEO_SHA256_SIZE]);

/* True if `text` has the form of a secret; then `id` holds the public id. The checksum is not looked at: the hash decides. */
NEO_MUSTCHECK int neo_secret_id(const char *text, char id[NEO_ID_SIZE]);

/* These two want a text that has the form: what is stored of it, and whether its checksum is right. */
void neo_secret_hash(const char *text, unsigned char hash[NEO_SHA256_SIZE]);
NEO_MUSTCHECK int neo_secret_check(const char *text);

/* The secret of a webhook subscription: "whsec_" and 32 random bytes in base64. */
#define NEO_WEBHOOK_SECRET_PREFIX "whsec_"
const char *neo_webhook_secret_make(apr_pool_t *pool);

/* A secret as it is kept, sealed for the row `id`; and opened again, NULL where no key opens it for that row. */
const char *neo_secret_seal(const neo_keys *keys, const char *id, const char *secret, apr_pool_t *pool);
const char *neo_secret_open(const neo_keys *keys, const char *id, const char *sealed, apr_pool_t *pool);

#endif
