/* Credentials that a process has read, kept until the database says that something about them changed.
 *
 * What is kept is believed only while somebody listens: neo_credential_cache_mark_fresh says that up to now nothing was missed.
 * When that was said too long ago, every request asks the database, so that a revoked credential never works for want of a
 * message. */
#ifndef NEO_SERVICE_CREDENTIAL_CACHE_H
#define NEO_SERVICE_CREDENTIAL_CACHE_H

#include "store/cache_sync.h"
#include "store/credential.h"

#define NEO_CREDENTIAL_CACHE_TTL_S NEO_CACHE_SYNC_MAX_DELAY_S /* seconds */

typedef struct neo_credential_cache neo_credential_cache;

neo_credential_cache *neo_credential_cache_make(apr_pool_t *pool);

/* The listener's three messages: all is well so far, something changed, the connection is lost. */
void neo_credential_cache_mark_fresh(neo_credential_cache *cache);
void neo_credential_cache_clear(neo_credential_cache *cache);
void neo_credential_cache_distrust(neo_credential_cache *cache);

/* What is known of a credential, valid as long as `pool`; NULL where it is not known, or not to be believed. */
const neo_credential *neo_credential_cache_get(neo_credential_cache *cache, const char *id, apr_pool_t *pool);

/* Making sure that a text is a credential's secret takes longer than anything else that is done for a request before it reaches
 * the database, and clients send the same text again and again. So the one that was found right last is known again by a short
 * hash, under a key that the process draws and nobody else has: a guess has a chance of one in 2^64.
 *
 * What is known of the credential whose secret `text` was found to be, as neo_credential_cache_get has it; NULL where this text
 * was not the last one that was found right. */
const neo_credential *neo_credential_cache_get_verified(neo_credential_cache *cache, const char *text, apr_pool_t *pool);
/* `text` is right: it has the form of a secret (NEO_SECRET_LEN bytes), and the credential's hash. */
void neo_credential_cache_set_verified(neo_credential_cache *cache, const neo_credential *credential, const char *text);

/* To be taken before the database is asked and given back with what it answered: what was read before a change is not kept. */
unsigned int neo_credential_cache_generation(neo_credential_cache *cache);
void neo_credential_cache_put(neo_credential_cache *cache, unsigned int generation, const neo_credential *credential);

#endif
