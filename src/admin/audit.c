/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies the chain of the audit log (see admin/audit.h). */
#include "admin/audit.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "admin/audit.sql.h"
#include "core/encode.h"

enum { NUMBER, HASH, REMOVED_NUMBER, REMOVED_HASH };

static void set_hash(char to[NEO_AUDIT_HASH_SIZE], const char *from)
{
    apr_cpystrn(to, from, NEO_AUDIT_HASH_SIZE);
}

static void add_fault(neo_audit_chain *chain, long long number, const char *message)
{
    chain->faults++;
    chain->report(chain->data, number, message);
}

/* An entry `audit.expired` confirms what was removed. */
static void confirm_removal(neo_audit_chain *chain, const neo_json *entry)
{
    const char *action = neo_json_string_at(entry, "action");
    const neo_json *details = neo_json_get(entry, "details");
    const char *hash = details ? neo_json_string_at(details, "last_hash") : NULL;
    if (action && hash && strcmp(action, "audit.expired") == 0 && strcmp(hash, chain->removed_hash) == 0 &&
        neo_json_integer(neo_json_get(details, "last_number")) == chain->removed_number)
        chain->removed_number = 0;
}

static const char *describe_gap(const neo_audit_chain *chain, long long number, apr_pool_t *pool)
{
    if (number <= chain->number)
        return "is out of order";
    return number == chain->number + 2
               ? apr_psprintf(pool, "entry %" APR_INT64_T_FMT " before it was removed", (apr_int64_t)chain->number + 1)
               : apr_psprintf(pool, "entries %" APR_INT64_T_FMT " to %" APR_INT64_T_FMT " before it were removed",
                              (apr_int64_t)chain->number + 1, (apr_int64_t)number - 1);
}

void neo_audit_chain_add(neo_audit_chain *chain, neo_text text, const char *hash, apr_pool_t *pool)
{
    const char *error;
    unsigned char bytes[NEO_SHA256_SIZE];
    char computed[NEO_AUDIT_HASH_SIZE];
    const neo_json *entry = neo_json_parse(text, pool, &error);
    const char *previous = entry ? neo_json_string_at(entry, "previous") : NULL;
    long long number = entry ? neo_json_integer(neo_json_get(entry, "number")) : chain->number + 1;
    chain->entries++;
    neo_sha256(text.ptr, text.len, bytes);
    neo_hex(bytes, sizeof bytes, computed);
    if (strcmp(computed, hash) != 0)
        add_fault(chain, number, "was changed: its content does not have its hash");
    if (chain->is_begun && number != chain->number + 1)
        add_fault(chain, number, describe_gap(chain, number, pool));
    else if (chain->is_begun && (!previous || strcmp(previous, chain->hash) != 0))
        add_fault(chain, number, "does not follow the entry before it: one of the two was replaced, inserted or moved");
    if (entry && chain->removed_number)
        confirm_removal(chain, entry);
    chain->is_expected_found |= chain->expected && strcmp(chain->expected, hash) == 0;
    chain->is_begun = 1;
    chain->number = number;
    set_hash(chain->hash, hash);
}

void neo_audit_chain_end(neo_audit_chain *chain)
{
    if (chain->removed_number)
        add_fault(chain, chain->removed_number, "and all before it were removed, without an entry audit.expired");
    if (chain->expected && !chain->is_expected_found)
        add_fault(chain, chain->number, "is the newest, but no entry has the expected hash: the log was replaced");
}

const char *neo_audit_read(neo_pg *pg, long long number, apr_pool_t *pool, neo_rows *rows)
{
    const char *after = apr_psprintf(pool, "%" APR_INT64_T_FMT, (apr_int64_t)number);
    return neo_pg_query(pg, read_sql, 1, &after, pool, rows);
}

/* The head is a second record of the newest entry, so that removed ones at the end are noticed. */
static void check_head(neo_audit_chain *chain, const neo_rows *head, apr_pool_t *pool)
{
    long long newest = head->count ? atoll(neo_rows_value(head, 0, NUMBER)) : -1;
    if (newest > chain->number)
        add_fault(chain, newest,
                  newest == chain->number + 1 ? "was removed"
                                              : apr_psprintf(pool, "and those from %" APR_INT64_T_FMT " on were removed",
                                                             (apr_int64_t)chain->number + 1));
    else if (newest < chain->number || strcmp(neo_rows_value(head, 0, HASH), chain->hash) != 0)
        add_fault(chain, chain->number, "is not the newest one of neoapi.audit_head: it was replaced or inserted");
}

static const char *verify_entries(neo_pg *pg, neo_audit_chain *chain, apr_pool_t *pool)
{
    apr_pool_t *scratch;
    neo_rows head, rows = {.count = 1};
    const char *error = neo_pg_query(pg, head_sql, 0, NULL, pool, &head);
    long long number = 0;
    if (error)
        return error;
    chain->is_begun = 1;
    if (head.count) {
        chain->number = number = chain->removed_number = atoll(neo_rows_value(&head, 0, REMOVED_NUMBER));
        set_hash(chain->hash, neo_rows_value(&head, 0, REMOVED_HASH));
        set_hash(chain->removed_hash, chain->hash);
    }
    apr_pool_create(&scratch, pool);
    while (rows.count && !(error = neo_audit_read(pg, number, scratch, &rows))) {
        for (int i = 0; i < rows.count; i++)
            neo_audit_chain_add(chain, neo_rows_text(&rows, i, NEO_AUDIT_ENTRY), neo_rows_value(&rows, i, NEO_AUDIT_HASH),
                                scratch);
        number = rows.count ? atoll(neo_rows_value(&rows, rows.count - 1, NEO_AUDIT_NUMBER)) : number;
        apr_pool_clear(scratch);
    }
    if (error)
        return apr_pstrdup(pool, error);
    check_head(chain, &head, pool);
    neo_audit_chain_end(chain);
    return NULL;
}

const char *neo_audit_verify(neo_pg *pg, neo_audit_chain *chain, apr_pool_t *pool)
{
    neo_rows rows;
    const char *error = neo_pg_query(pg, "begin isolation level repeatable read read only", 0, NULL, pool, &rows);
    if (error)
        return error;
    error = verify_entries(pg, chain, pool);
    const char *at_end = neo_pg_query(pg, "commit", 0, NULL, pool, &rows);
    return error ? error : at_end;
}
