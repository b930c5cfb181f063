/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies the chain of the audit log (see sql/0007_audit.sql). Uses no function of the database, which could have been
 * replaced. */
#ifndef NEO_ADMIN_AUDIT_H
#define NEO_ADMIN_AUDIT_H

#include "core/crypto.h"
#include "core/json.h"
#include "pg/pg.h"

#define NEO_AUDIT_HASH_SIZE (2 * NEO_SHA256_SIZE + 1) /* in hexadecimal */

/* Called for each entry that is not as it was written; `number` is its number. */
typedef void (*neo_audit_report)(void *data, long long number, const char *message);

typedef struct neo_audit_chain {
    neo_audit_report report;
    void *data;
    /* The newest entry so far; at first what precedes the oldest one. is_begun: it is known. */
    int is_begun;
    long long number;
    char hash[NEO_AUDIT_HASH_SIZE];
    long long entries, faults;
    /* What was removed after five years, which an entry must confirm; 0: nothing. */
    long long removed_number;
    char removed_hash[NEO_AUDIT_HASH_SIZE];
    const char *expected; /* the hash of an entry that must be among them; NULL: of none */
    int is_expected_found;
} neo_audit_chain;

/* Adds the next entry, as its text and hash. */
void neo_audit_chain_add(neo_audit_chain *chain, neo_text entry, const char *hash, apr_pool_t *pool);

/* After the last entry. */
void neo_audit_chain_end(neo_audit_chain *chain);

/* Reads entries after `number`, oldest first, in portions: {entry, hash}. No row: the end. */
enum { NEO_AUDIT_ENTRY, NEO_AUDIT_HASH, NEO_AUDIT_NUMBER };
const char *neo_audit_read(neo_pg *pg, long long number, apr_pool_t *pool, neo_rows *rows);

/* Verifies the whole log in a snapshot. Returns NULL, or an error message: then it could not be read. */
const char *neo_audit_verify(neo_pg *pg, neo_audit_chain *chain, apr_pool_t *pool);

#endif
