/* SPDX-License-Identifier: Apache-2.0 */
/* A site without a database for the fuzzers of requests: valid requests get 503. */
#ifndef NEO_FUZZ_SITE_H
#define NEO_FUZZ_SITE_H

#define NEO_NO_MAIN
#include "../unit/fake_host.h"
#include "expect.h"

typedef struct {
    apr_pool_t *pool;
    neo_site *site;
    fake_key *key;
    neo_credential_cache *cache; /* the site's; LeakSanitizer does not look for pointers in pools */
} fuzz_site;

/* Created at the first call. */
static inline fuzz_site *fuzz_site_get(void)
{
    static fuzz_site all;
    if (all.site)
        return &all;
    input_pool(); /* starts APR */
    apr_pool_create(&all.pool, NULL);
    all.site = site_of(all.pool);
    all.cache = all.site->credential_cache;
    all.key = key_of("org_admin", all.pool);
    all.key->credential.requests = 1000000;
    all.key->credential.window_seconds = 1;
    cache_key(all.site, all.key);
    return &all;
}

/* A host without a database that sends the credential. */
static inline fake_host *fuzz_host(const fuzz_site *all, apr_pool_t *pool)
{
    fake_host *host = host_with(NULL, pool);
    apr_table_setn(host->headers, "X-API-Key", all->key->secret);
    neo_credential_cache_mark_fresh(all->cache);
    return host;
}

/* A member of the response, as JSON; "" if it has none. */
static inline const char *fuzz_member(const fake_host *host, const char *name, apr_pool_t *pool)
{
    const neo_json *value = neo_json_get(check_json(host->response.body, pool), name);
    return value ? neo_json_text(value, pool).ptr : "";
}

#endif
