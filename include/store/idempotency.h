/* Idempotency keys: what a request was answered with when it was made first. A key is written in the statement of the write
 * that it stands for, so that neither is ever there without the other. */
#ifndef NEO_STORE_IDEMPOTENCY_H
#define NEO_STORE_IDEMPOTENCY_H

#include "core/clock.h"
#include "core/id.h"
#include "store/sql.h"

/* Who does it, and where. The texts outlive the call. */
typedef struct neo_actor {
    const char *tenant;
    const char *organization;
    const char *credential; /* the key or token itself: the scope of idempotency keys */
    const char *name;       /* created_by and updated_by: a key's id, a token's user */
} neo_actor;

/* An idempotency key, and the hash of the request that came with it. */
typedef struct neo_idempotency {
    const char *key; /* a UUID */
    unsigned char hash[32];
} neo_idempotency;

/* The pieces of a statement that is done once: the condition under which it does anything, and the step that keeps what was
 * answered for what the step `from` made (no row: nothing is kept). Status, answer and secret are SQL. */
#define NEO_IDEMPOTENCY_KEY_IS_FREE                                                                                            \
    "not exists (select from neoapi.idempotency_key where organization_id = {organization}"                                    \
    " and credential_id = {credential} and key = {key}::uuid)"
#define NEO_IDEMPOTENCY_STORE_KEY(status, answer, secret, from)                                                                \
    ", stored_key as (insert into neoapi.idempotency_key"                                                                      \
    " (organization_id, credential_id, key, request_hash, status, response_body, secret, expires_at)"                          \
    " select {organization}, {credential}, {key}::uuid, decode({hash}, 'hex'), " status ", " answer ", " secret                \
    ", now() + interval '24 hours' from " from ")"

/* Their parameters; nothing where `idempotency` is NULL. */
void neo_idempotency_add(neo_values *values, const neo_actor *actor, const neo_idempotency *idempotency, apr_pool_t *pool);

typedef enum neo_idempotency_state {
    NEO_IDEMPOTENCY_FREE,     /* the key is not in use, or its time was over and it has been removed */
    NEO_IDEMPOTENCY_ANSWERED, /* by the same request */
    NEO_IDEMPOTENCY_MISMATCH, /* by a different request */
} neo_idempotency_state;

/* What the request was answered when it was made first. */
typedef struct neo_idempotency_answer {
    int status;
    neo_text body;      /* JSON; or the id of a message whose answer is not known yet (see store/whatsapp.h) */
    const char *secret; /* sealed; NULL where none was shown */
} neo_idempotency_answer;

void neo_idempotency_make_statements(apr_pool_t *pool);

NEO_MUSTCHECK neo_pg_status neo_idempotency_lookup(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                                   apr_pool_t *pool, neo_idempotency_state *state,
                                                   neo_idempotency_answer *answer);

/* For a write of several statements in a transaction: takes the key, which then waits for whoever else takes it and gives one
 * row, or none where it is there already; and keeps what was answered. */
NEO_MUSTCHECK neo_pg_status neo_idempotency_reserve(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                                    apr_pool_t *pool, neo_rows *rows);
NEO_MUSTCHECK neo_pg_status neo_idempotency_store(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                                  const char *answer, apr_pool_t *pool, neo_rows *rows);

#endif
