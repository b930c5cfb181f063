/* SPDX-License-Identifier: Apache-2.0 */
/* The secrets in the database that are encrypted with the keys of NeoAPIKeyFile. */
#ifndef NEO_ADMIN_ENCRYPTED_H
#define NEO_ADMIN_ENCRYPTED_H

#include "core/secret.h"
#include "pg/pg.h"

typedef enum neo_encrypted_action {
    NEO_ENCRYPTED_COUNT,
    NEO_ENCRYPTED_RENEW, /* encrypts with the first key what another one encrypts */
} neo_encrypted_action;

typedef struct neo_encrypted_counts {
    long long by_key[NEO_MAX_KEYS]; /* after the renewal */
    long long undecryptable;        /* no key decrypts them */
    long long renewed;
    int is_partial; /* the connected role cannot read all secrets */
} neo_encrypted_counts;

/* Reads all secrets that are in use, a thousand at a time. A renewal waits for no lock: a row that is locked, or was changed
 * since it was read, keeps its key and counts for that one. Returns NULL, or an error message; `counts` then has what was done.
 */
const char *neo_encrypted_walk(neo_pg *pg, const neo_keys *keys, neo_encrypted_action action, apr_pool_t *pool,
                               neo_encrypted_counts *counts);

#endif
