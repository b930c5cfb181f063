/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials read from the database. */
#ifndef NEO_API_CREDENTIAL_H
#define NEO_API_CREDENTIAL_H

#include "core/crypto.h"
#include "core/id.h"
#include "core/network.h"
#include "pg/pg.h"
#include "resources/noun.h"
#include "resources/scope.h"

/* An API key or a personal access token, with its tenant's plan. The texts belong to the pool that it was read with. */
typedef struct neo_credential {
    char id[NEO_ID_SIZE];
    unsigned char hash[NEO_SHA256_SIZE]; /* the secret's */
    unsigned char previous_hash[NEO_SHA256_SIZE];
    neo_ms previous_until; /* the previous secret is valid until then; 0 if there is none */
    neo_ms expires_at;     /* 0: never */
    int is_revoked;
    int is_token;
    const char *tenant;
    const char *role;
    neo_scopes scopes;
    const char *user;                 /* a token's; NULL for a key */
    const char *email;                /* a token's; NULL for a key */
    const char *const *organizations; /* those that it may access, in the order in which they were given; a key has one */
    int organization_count;
    const neo_network *networks; /* those that it may be used from; all if there is none */
    int network_count;
#define NEO_PLAN_MEMBER(column, ...) int column;
    NEO_PLAN_LIMITS(NEO_PLAN_MEMBER) /* 0 if unlimited */
} neo_credential;

/* Sets *credential to NULL if no credential has the id. */
NEO_MUSTCHECK neo_pg_status neo_credential_read(neo_pg *pg, const char *id, apr_pool_t *pool, neo_credential **credential);

/* Records that these credentials (ids separated by commas) were used in this hour; waits up to `seconds`. False if the
 * connection is lost. */
int neo_credential_record_use(neo_pg *pg, const char *ids, int seconds, apr_pool_t *pool);

#endif
