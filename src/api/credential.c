/* SPDX-License-Identifier: Apache-2.0 */
/* Reads credentials (see api/credential.h). */
#include "api/credential.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "api/credential.sql.h"
#include "core/encode.h"
#include "core/json.h"
#include "core/secret.h"

enum {
    HASH,
    REVOKED,
    TENANT,
    ROLE,
    SCOPES,
    USER,
    EMAIL,
    ORGANIZATIONS,
    PREVIOUS,
    PREVIOUS_UNTIL,
    PLAN, /* the row as JSON */
    EXPIRES,
    NETWORKS
};

/* Splits at spaces into *words; returns their number. */
static int split(const char *text, apr_pool_t *pool, const char *const **words)
{
    char **list;
    int count = 0;
    apr_tokenize_to_argv(text, &list, pool);
    *words = (const char *const *)list;
    while (list[count])
        count++;
    return count;
}

/* The scopes of the role, or those among them that the key was restricted to. */
static neo_scopes read_scopes(const char *role, const char *narrowed, apr_pool_t *pool)
{
    const char *const *words;
    neo_scopes all = 0, some = 0, one;
    if (!neo_role_scopes(role, &all) || !narrowed)
        return all;
    for (int i = split(narrowed, pool, &words) - 1; i >= 0; i--)
        if (neo_scope_parse(words[i], &one))
            some |= one;
    return neo_scopes_restrict(all, some);
}

static int read_hash(const neo_rows *rows, int column, unsigned char hash[NEO_SHA256_SIZE])
{
    neo_text text = neo_rows_text(rows, 0, column);
    return neo_base64_decode(text.ptr, text.len, hash, NEO_SHA256_SIZE) == NEO_SHA256_SIZE;
}

/* Returns false if the text is not that of networks. */
static int read_networks(neo_credential *credential, const char *text, apr_pool_t *pool)
{
    const char *const *words;
    int count = text ? split(text, pool, &words) : 0;
    neo_network *networks = apr_palloc(pool, (apr_size_t)(count + 1) * sizeof *networks);
    for (int i = 0; i < count; i++)
        if (!neo_network_parse(words[i], &networks[i]))
            return 0;
    credential->networks = networks;
    credential->network_count = count;
    return 1;
}

neo_pg_status neo_credential_read(neo_pg *pg, const char *id, apr_pool_t *pool, neo_credential **credential)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_run(pg, NEO_BIND(read, .id = id), pool, &rows);
    *credential = NULL;
    if (status != NEO_PG_OK || rows.count == 0)
        return status;
    neo_credential *c = apr_pcalloc(pool, sizeof *c);
    apr_cpystrn(c->id, id, sizeof c->id);
    if (!read_hash(&rows, HASH, c->hash))
        return NEO_PG_FAILED;
    if (neo_rows_value(&rows, 0, PREVIOUS) && read_hash(&rows, PREVIOUS, c->previous_hash))
        c->previous_until = atoll(neo_rows_value(&rows, 0, PREVIOUS_UNTIL));
    c->is_revoked = neo_rows_is_true(&rows, 0, REVOKED);
    c->is_token = strncmp(id, NEO_TOKEN_PREFIX, NEO_PREFIX_LEN) == 0;
    c->tenant = neo_rows_value(&rows, 0, TENANT);
    c->role = neo_rows_value(&rows, 0, ROLE);
    c->scopes = read_scopes(c->role, neo_rows_value(&rows, 0, SCOPES), pool);
    c->user = neo_rows_value(&rows, 0, USER);
    c->email = neo_rows_value(&rows, 0, EMAIL);
    c->organization_count = split(neo_rows_value(&rows, 0, ORGANIZATIONS), pool, &c->organizations);
    if (neo_rows_value(&rows, 0, EXPIRES))
        c->expires_at = atoll(neo_rows_value(&rows, 0, EXPIRES));
    if (!read_networks(c, neo_rows_value(&rows, 0, NETWORKS), pool))
        return NEO_PG_FAILED;
    const char *error;
    const neo_json *plan = neo_json_parse(neo_rows_text(&rows, 0, PLAN), pool, &error);
#define READ_LIMIT(column, ...)                                                                                                \
    if (!neo_json_get(plan, #column))                                                                                          \
        return NEO_PG_SCHEMA;                                                                                                  \
    c->column = (int)neo_json_integer(neo_json_get(plan, #column));
    NEO_PLAN_LIMITS(READ_LIMIT)
    *credential = c;
    return NEO_PG_OK;
}

/* Rows of this hour are not written again. Not a prepared statement, which could be run over a new connection: the caller's one
 * listens. Ids need no escaping. */
#define RECORD_USE                                                                                                             \
    "insert into neoapi.credential_use (credential_id, used_at)"                                                               \
    " select c.id, date_trunc('hour', now()) from neoapi.credential c where c.id = any ('{%s}') order by c.id"                 \
    " on conflict (credential_id) do update set used_at = excluded.used_at where credential_use.used_at < excluded.used_at"

int neo_credential_record_use(neo_pg *pg, const char *ids, int seconds, apr_pool_t *pool)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_exec_once(pg, apr_psprintf(pool, RECORD_USE, ids), seconds, pool, &rows);
    return status != NEO_PG_UNAVAILABLE && status != NEO_PG_TIMEOUT;
}
