/* Credentials that a process has read, kept until the database says that something about them changed.
 *
 * What is kept is believed only while somebody listens: neo_principals_heard says that up to now nothing was missed. When that
 * was said too long ago, every request asks the database, so that a revoked credential never works for want of a message. */
#ifndef NEO_SERVICE_PRINCIPALS_H
#define NEO_SERVICE_PRINCIPALS_H

#include "store/credential.h"
#include "store/hearing.h"

#define NEO_PRINCIPALS_BELIEVED NEO_HEARING_LATEST /* seconds */

typedef struct neo_principals neo_principals;

neo_principals *neo_principals_make(apr_pool_t *pool);

/* The listener's three messages: all is well so far, something changed, the connection is lost. */
void neo_principals_heard(neo_principals *principals);
void neo_principals_forget(neo_principals *principals);
void neo_principals_doubt(neo_principals *principals);

/* What is known of a credential, valid as long as `pool`; NULL where it is not known, or not to be believed. */
const neo_credential *neo_principals_find(neo_principals *principals, const char *id, apr_pool_t *pool);

/* Making sure that a text is a credential's secret takes longer than anything else that is done for a request before it reaches
 * the database, and clients send the same text again and again. So the one that was found right last is known again by a short
 * hash, under a key that the process draws and nobody else has: a guess has a chance of one in 2^64.
 *
 * What is known of the credential whose secret `text` was found to be, as neo_principals_find has it; NULL where this text was
 * not the last one that was found right. */
const neo_credential *neo_principals_recall(neo_principals *principals, const char *text, apr_pool_t *pool);
/* `text` is right: it has the form of a secret (NEO_SECRET_LEN bytes), and the credential's hash. */
void neo_principals_remember(neo_principals *principals, const neo_credential *credential, const char *text);

/* To be taken before the database is asked and given back with what it answered: what was read before a change is not kept. */
unsigned int neo_principals_generation(neo_principals *principals);
void neo_principals_keep(neo_principals *principals, unsigned int generation, const neo_credential *credential);

#endif
