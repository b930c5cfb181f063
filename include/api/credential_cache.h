/* SPDX-License-Identifier: Apache-2.0 */
/* A process's cache of credentials, cleared when the database notifies of a change.
 *
 * The cache is used only while notifications arrive: the listener calls neo_credential_cache_mark_fresh regularly, and after
 * NEO_CREDENTIAL_CACHE_TTL_S without a call every request reads the database. So the loss of a notification does not keep a
 * revoked credential valid. */
#ifndef NEO_API_CREDENTIAL_CACHE_H
#define NEO_API_CREDENTIAL_CACHE_H

#include "api/cache_sync.h"
#include "api/credential.h"

#define NEO_CREDENTIAL_CACHE_TTL_S NEO_CACHE_SYNC_MAX_DELAY_S /* seconds */

typedef struct neo_credential_cache neo_credential_cache;

neo_credential_cache *neo_credential_cache_make(apr_pool_t *pool);

/* For the listener: no notification was missed until now; credentials changed; the connection is lost. */
void neo_credential_cache_mark_fresh(neo_credential_cache *cache);
void neo_credential_cache_clear(neo_credential_cache *cache);
void neo_credential_cache_distrust(neo_credential_cache *cache);

/* The cached credential, valid as long as `pool`; NULL if it is not cached or the cache is not fresh. */
const neo_credential *neo_credential_cache_get(neo_credential_cache *cache, const char *id, apr_pool_t *pool);

/* The cached credential whose secret is `text`, if it is the last one that was verified; otherwise NULL.
 *
 * Verifying a secret takes longer than anything else before the database, and clients send the same one repeatedly. So the last
 * verified secret is recognised by a 64-bit SipHash with a random key of the process: a guess succeeds once in 2^64. */
const neo_credential *neo_credential_cache_get_verified(neo_credential_cache *cache, const char *text, apr_pool_t *pool);
/* Whether it would return this credential, so that nothing has changed since it did. */
int neo_credential_cache_has_verified(neo_credential_cache *cache, const char *text, const neo_credential *credential);
/* Whether the credential is the one that is cached, so that nothing has changed since it was. */
int neo_credential_cache_has(neo_credential_cache *cache, const neo_credential *credential);
/* `text` was verified: it has NEO_SECRET_LEN bytes and the credential's hash. */
void neo_credential_cache_set_verified(neo_credential_cache *cache, const neo_credential *credential, const char *text);

/* The ids, separated by commas, of verified credentials that were used for the first time in this hour or since they were
 * cached, each once or more; NULL if there is none. Removes them: the caller must record them with
 * neo_credential_record_use. */
const char *neo_credential_cache_take_used(neo_credential_cache *cache, apr_pool_t *pool);

/* Get the generation before reading the database and pass it to put, which drops what was read before a change. */
unsigned int neo_credential_cache_generation(neo_credential_cache *cache);
void neo_credential_cache_put(neo_credential_cache *cache, unsigned int generation, const neo_credential *credential);

/* Ids that no credential has, so that repeated guesses do not read the database. Only recent ones are kept, and none is used
 * while the cache is not fresh. */
void neo_credential_cache_put_unknown(neo_credential_cache *cache, unsigned int generation, const char *id);
int neo_credential_cache_is_unknown(neo_credential_cache *cache, const char *id);

/* A write in progress, in its request's memory. Its credential is verified after it was entered, and again after each refresh:
 * so if no write is outdated after neo_credential_cache_clear, none is executed any more with a credential from before. */
typedef struct neo_write_in_progress {
    struct neo_write_in_progress *next;
    unsigned int generation; /* the cache's, when the write was entered or refreshed */
} neo_write_in_progress;

void neo_credential_cache_enter_write(neo_credential_cache *cache, neo_write_in_progress *write);
void neo_credential_cache_refresh_write(neo_credential_cache *cache, neo_write_in_progress *write);
/* For a statement that executes the writes of both: `write` is outdated as well if `other` is. */
void neo_credential_cache_join_writes(neo_credential_cache *cache, neo_write_in_progress *write,
                                      const neo_write_in_progress *other);
void neo_credential_cache_leave_write(neo_credential_cache *cache, const neo_write_in_progress *write);
/* Whether there are writes that were entered or refreshed before the cache was cleared last. */
int neo_credential_cache_has_outdated_writes(neo_credential_cache *cache);

#endif
