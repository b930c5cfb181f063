/* SPDX-License-Identifier: Apache-2.0 */
/* Idempotency keys: the stored responses of requests. A key is inserted by the statement that does the write, so that neither
 * exists without the other. */
#ifndef NEO_SQL_IDEMPOTENCY_H
#define NEO_SQL_IDEMPOTENCY_H

#include "core/clock.h"
#include "core/crypto.h"
#include "core/id.h"
#include "sql/sql.h"

/* The caller and the organization of a request. The texts outlive the call. */
typedef struct neo_actor {
    const char *tenant;
    const char *organization;
    const char *credential; /* id of the key or token: the scope of idempotency keys */
    const char *name;       /* created_by and updated_by: a key's id, a token's user */
    const char *request;    /* id of the request */
    const char *origin;     /* what its events keep of it: the id and, behind a semicolon, its traceparent if it has one */
    const char *address;    /* the client's, for the audit log; NULL: it is no request */
} neo_actor;

/* An idempotency key and its request's hash, in hexadecimal. */
typedef struct neo_idempotency {
    const char *key; /* a UUID */
    char hash[2 * NEO_SHA256_SIZE + 1];
} neo_idempotency;

/* The values of a statement of a .sql file that stores the key, for NEO_BIND; null if `idempotency` is NULL. */
#define NEO_IDEMPOTENCY_VALUES(actor, idempotency)                                                                             \
    .organization = (actor)->organization, .credential = (actor)->credential,                                                  \
    .key = (idempotency) ? (idempotency)->key : NULL, .hash = (idempotency) ? (idempotency)->hash : NULL

/* Sets the parameters of a generated statement, unless `idempotency` is NULL. */
void neo_idempotency_add(neo_values *values, const neo_actor *actor, const neo_idempotency *idempotency);

typedef enum neo_idempotency_state {
    NEO_IDEMPOTENCY_FREE,     /* the key does not exist; an expired one is removed */
    NEO_IDEMPOTENCY_ANSWERED, /* it was used by the same request */
    NEO_IDEMPOTENCY_MISMATCH, /* it was used by a different request */
} neo_idempotency_state;

/* The stored response. */
typedef struct neo_idempotency_answer {
    int status;
    neo_text body;      /* JSON, or the id of a pending message (see whatsapp/store.h) */
    const char *secret; /* sealed; NULL if the response has none */
} neo_idempotency_answer;

NEO_MUSTCHECK neo_pg_status neo_idempotency_lookup(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                                   apr_pool_t *pool, neo_idempotency_state *state,
                                                   neo_idempotency_answer *answer);

/* For a write of several statements in a transaction. neo_idempotency_reserve inserts the key: one row, or none if it exists;
 * it waits for a transaction that is inserting the same key. neo_idempotency_store adds the response. */
NEO_MUSTCHECK neo_pg_status neo_idempotency_reserve(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                                    apr_pool_t *pool, neo_rows *rows);
NEO_MUSTCHECK neo_pg_status neo_idempotency_store(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                                  const char *answer, apr_pool_t *pool, neo_rows *rows);

#endif
