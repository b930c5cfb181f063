/* SPDX-License-Identifier: Apache-2.0 */
/* A fake host of the service in memory, and a site without a database. */
#ifndef NEO_TESTS_FAKE_HOST_H
#define NEO_TESTS_FAKE_HOST_H

#include "unit.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <stdlib.h>

#include "api/service.h"
#include "core/json.h"
#include "core/secret.h"

#define ORGANIZATION       "org_01jd3x00000000000000000001"
#define OTHER_ORGANIZATION "org_01jd3x00000000000000000002"
#define FAR_ORGANIZATION   "org_01jd3x00000000000000000003" /* no credential has access to it */
#define TENANT             "tnt_01jd3x00000000000000000000"
#define USER               "usr_01jd3x00000000000000000000"
#define REQUEST_ID         "req_01jd3x00000000000000000000"
#define BASE_URL           "https://api.example.com/public/v1/"
#define DOCS_URL           "https://docs.example.com"

/* A request, and what its host returns and records. */
typedef struct {
    apr_table_t *headers;
    const char *body;   /* NULL: none was sent */
    neo_problem *fault; /* the problem of reading the body; NULL: none */
    neo_pg *pg;         /* NULL: the database is unavailable */
    neo_pg *replica;    /* NULL: none is ready */
    int is_replica_ahead;
    int acquired, in_use, bodies_read;
    apr_size_t max; /* the limit that the service passed */
    const char *address;
    int refused; /* `fault` is passed to neo_service_refuse, with the next */
    const neo_credential *counted;
    const char *principal; /* as passed to on_authenticated */
    int notified;          /* calls of notify_dispatcher */
    neo_response response;
} fake_host;

typedef struct {
    char secret[NEO_SECRET_SIZE];
    neo_credential credential;
} fake_key;

/* ---------------------------------------------------------------- the host */

static inline const char *fake_header(void *context, const char *name)
{
    return apr_table_get(((fake_host *)context)->headers, name);
}

static inline neo_problem *fake_body(void *context, apr_size_t max, neo_text *body)
{
    fake_host *host = context;
    assert_int_equal(host->in_use, 0); /* no connection is held while waiting for a client */
    host->bodies_read++;
    host->max = max;
    *body = text_of(host->body ? host->body : "");
    return host->fault;
}

static inline void fake_on_authenticated(void *context, const neo_credential *principal)
{
    ((fake_host *)context)->principal = principal->id;
}

static inline neo_pg *fake_acquire(void *context)
{
    fake_host *host = context;
    assert_int_equal(host->in_use, 0); /* acquiring a second one can deadlock */
    host->acquired++;
    host->in_use += host->pg != NULL;
    return host->pg;
}

static inline neo_pg *fake_acquire_long(void *context, int *is_full)
{
    *is_full = 0;
    return fake_acquire(context);
}

static inline neo_pg *fake_acquire_read(void *context, int is_long)
{
    fake_host *host = context;
    (void)is_long;
    assert_int_equal(host->in_use, 0);
    host->in_use += host->replica != NULL;
    return host->replica;
}

static inline int fake_confirm_read(void *context)
{
    return !((fake_host *)context)->is_replica_ahead;
}

static inline void fake_release(void *context, neo_pg *pg)
{
    fake_host *host = context;
    assert_true(pg == host->pg || pg == host->replica);
    assert_int_equal(host->in_use, 1);
    host->in_use--;
}

static inline void fake_notify_dispatcher(void *context)
{
    ((fake_host *)context)->notified++;
}

static inline fake_host *host_with(neo_pg *pg, apr_pool_t *pool)
{
    fake_host *host = apr_pcalloc(pool, sizeof *host);
    host->headers = apr_table_make(pool, 4);
    host->pg = pg;
    host->address = "192.0.2.1";
    return host;
}

/* ---------------------------------------------------------------- the site */

static inline neo_limiter *limiter_of(apr_size_t entries, apr_pool_t *pool)
{
    return neo_limiter_attach(apr_pcalloc(pool, neo_limiter_size(entries)), entries);
}

/* One for all, because they are large; no credential is used by two tests. */
static inline neo_refusals *refusals_of_all_tests(void)
{
    static void *memory;
    if (!memory)
        memory = calloc(1, neo_refusals_size());
    assert_non_null(memory);
    return neo_refusals_attach(memory);
}

/* Once per test, because the number of statements in a process is limited. */
static inline void make_statements(apr_pool_t *pool)
{
    void *made;
    apr_pool_userdata_get(&made, "statements", pool);
    if (made)
        return;
    neo_service_make_statements(pool);
    apr_pool_userdata_setn("made", "statements", NULL, pool);
}

static inline neo_site *site_of(apr_pool_t *pool)
{
    neo_site *site = apr_pcalloc(pool, sizeof *site);
    make_statements(pool);
    site->base_url = BASE_URL;
    site->docs_url = DOCS_URL;
    site->keys.count = 1;
    memset(site->keys.key[0], 7, NEO_KEY_SIZE);
    site->max_body = 10000;
    site->cursor_lifetime = 3600;
    site->credentials = limiter_of(1024, pool);
    site->addresses = limiter_of(1024, pool);
    site->refusals = refusals_of_all_tests();
    site->credential_cache = neo_credential_cache_make(pool);
    neo_credential_cache_mark_fresh(site->credential_cache);
    neo_service_prepare(site, pool);
    return site;
}

/* Caches the key as if it had been read from the database. */
static inline void cache_key(neo_site *site, const fake_key *key)
{
    neo_credential_cache_clear(site->credential_cache);
    neo_credential_cache_put(site->credential_cache, neo_credential_cache_generation(site->credential_cache), &key->credential);
}

static inline fake_key *credential_of(const char *prefix, const char *role, apr_pool_t *pool)
{
    fake_key *key = apr_pcalloc(pool, sizeof *key);
    neo_credential *c = &key->credential;
    neo_secret_make(key->secret, c->id, c->hash, prefix);
    c->tenant = TENANT;
    c->role = role;
    if (!neo_role_scopes(role, &c->scopes))
        fail();
    c->requests = 1000;
    c->window_seconds = 60;
    return key;
}

static inline fake_key *key_of(const char *role, apr_pool_t *pool)
{
    static const char *const organizations[] = {ORGANIZATION};
    fake_key *key = credential_of(NEO_KEY_PREFIX, role, pool);
    key->credential.organizations = organizations;
    key->credential.organization_count = 1;
    return key;
}

/* A host whose requests have a body in JSON and the key of an editor, which the site has cached. */
static inline fake_host *editor_at(neo_site *site, neo_pg *pg, apr_pool_t *pool)
{
    fake_key *key = key_of("org_editor", pool);
    fake_host *host = host_with(pg, pool);
    cache_key(site, key);
    apr_table_setn(host->headers, "X-API-Key", key->secret);
    apr_table_setn(host->headers, "Content-Type", "application/json");
    return host;
}

/* A token with access to the first `count` organizations. */
static inline fake_key *token_of(int count, apr_pool_t *pool)
{
    static const char *const organizations[] = {ORGANIZATION, OTHER_ORGANIZATION};
    fake_key *key = credential_of(NEO_TOKEN_PREFIX, "org_editor", pool);
    key->credential.is_token = 1;
    key->credential.user = USER;
    key->credential.email = "ana@example.com";
    key->credential.organizations = organizations;
    key->credential.organization_count = count;
    return key;
}

/* ---------------------------------------------------------------- requests */

/* Sends a request, whose host and context it sets; returns the status. */
static inline int ask_request(neo_site *site, fake_host *host, neo_request *request)
{
    static const neo_host functions = {fake_header,
                                       fake_body,
                                       fake_on_authenticated,
                                       fake_acquire,
                                       fake_acquire_long,
                                       fake_acquire_read,
                                       fake_confirm_read,
                                       fake_release,
                                       fake_notify_dispatcher,
                                       NULL,
                                       NULL,
                                       NULL};
    request->host = &functions;
    request->context = host;
    host->response.headers = apr_table_make(request->pool, 12);
    if (host->fault && host->refused)
        neo_service_refuse(site, request, host->counted, host->fault, &host->response);
    else
        neo_service_answer(site, request, &host->response);
    assert_int_equal(host->in_use, 0); /* the connection was released */
    return host->response.status;
}

/* Sends a request to a path below the base URL, with an optional query; returns the status. */
static inline int ask(neo_site *site, fake_host *host, const char *method, const char *path, apr_pool_t *pool)
{
    const char *query = strchr(path, '?');
    const char *bare = query ? apr_pstrndup(pool, path, (apr_size_t)(query - path)) : path;
    neo_request request = {.pool = pool,
                           .id = REQUEST_ID,
                           .method = method,
                           .path = bare,
                           .instance = apr_pstrcat(pool, "/public/v1/", bare, NULL),
                           .query = query ? query + 1 : NULL,
                           .address = host->address};
    return ask_request(site, host, &request);
}

static inline const char *header_of(const fake_host *host, const char *name)
{
    return apr_table_get(host->response.headers, name);
}

static inline neo_json *body_of(const fake_host *host, apr_pool_t *pool)
{
    const char *error = "";
    neo_json *body = neo_json_parse(host->response.body, pool, &error);
    if (!body)
        fail_msg("the body is no JSON (%s): %.*s", error, (int)host->response.body.len, host->response.body.ptr);
    return body;
}

static inline const char *member_of(const fake_host *host, const char *name, apr_pool_t *pool)
{
    neo_json *member = neo_json_get(body_of(host, pool), name);
    return member ? neo_json_string(member) : NULL;
}

/* Sends a request that must be refused. */
static inline void assert_refused(neo_site *site, fake_host *host, const char *method, const char *path, int status,
                                  const char *code, apr_pool_t *pool)
{
    int got = ask(site, host, method, path, pool);
    const char *said = got >= 400 ? member_of(host, "code", pool) : "no problem";
    if (got != status || strcmp(said, code) != 0)
        fail_msg("%s %s: %d %s instead of %d %s", method, path, got, said, status, code);
}

#endif
