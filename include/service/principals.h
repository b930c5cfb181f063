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

/* To be taken before the database is asked and given back with what it answered: what was read before a change is not kept. */
unsigned int neo_principals_generation(neo_principals *principals);
void neo_principals_keep(neo_principals *principals, unsigned int generation, const neo_credential *credential);

#endif
