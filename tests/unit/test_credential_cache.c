/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of credentials: entries, freshness, validity. */
#include "unit.h"

#include <apr_strings.h>
#include <pthread.h>
#include <stdatomic.h>

#include "api/credential_cache.h"
#include "core/secret.h"

#define MAX_ENTRIES 16384 /* the cache's size */

static const char *const organizations[] = {"org_01jd3x00000000000000000000", "org_01jd3x00000000000000000001"};

/* A token whose strings are in the pool, so that the cache must copy them. */
static neo_credential *token(const char *id, apr_pool_t *pool)
{
    neo_credential *c = apr_pcalloc(pool, sizeof *c);
    const char **reached = apr_pcalloc(pool, sizeof organizations);
    for (int i = 0; i < COUNT(organizations); i++)
        reached[i] = apr_pstrdup(pool, organizations[i]);
    apr_cpystrn(c->id, id, sizeof c->id);
    memset(c->hash, id[NEO_ID_LEN - 1], sizeof c->hash);
    c->is_token = 1;
    c->tenant = apr_pstrdup(pool, "tnt_01jd3x00000000000000000000");
    c->role = apr_pstrdup(pool, "org_editor");
    c->scopes = NEO_SCOPES_ALL;
    c->user = apr_pstrdup(pool, "usr_01jd3x00000000000000000000");
    c->email = apr_pstrdup(pool, "ana@example.com");
    c->organizations = reached;
    c->organization_count = COUNT(organizations);
    c->requests = 600;
    c->window_seconds = 60;
    return c;
}

/* Caches a credential as if it had been read from the database. */
static void put(neo_credential_cache *cache, const neo_credential *credential)
{
    neo_credential_cache_put(cache, neo_credential_cache_generation(cache), credential);
}

static neo_credential_cache *listening(apr_pool_t *pool)
{
    neo_credential_cache *cache = neo_credential_cache_make(pool);
    neo_credential_cache_mark_fresh(cache);
    return cache;
}

static void assert_complete(const neo_credential *c, const char *id)
{
    assert_non_null(c);
    assert_string_equal(c->id, id);
    for (int i = 0; i < NEO_SHA256_SIZE; i++)
        assert_int_equal(c->hash[i], id[NEO_ID_LEN - 1]);
    assert_true(c->is_token);
    assert_false(c->is_revoked);
    assert_string_equal(c->tenant, "tnt_01jd3x00000000000000000000");
    assert_string_equal(c->role, "org_editor");
    assert_string_equal(c->user, "usr_01jd3x00000000000000000000");
    assert_string_equal(c->email, "ana@example.com");
    assert_int_equal(c->organization_count, COUNT(organizations));
    for (int i = 0; i < COUNT(organizations); i++)
        assert_string_equal(c->organizations[i], organizations[i]);
    assert_int_equal(c->requests, 600);
    assert_int_equal(c->window_seconds, 60);
}

#define ID       "pat_01jd3xabcdefghjkmnpqrstvwx"
#define OTHER_ID "pat_01jd3xabcdefghjkmnpqrstvwy"

TEST(an_entry_is_a_complete_copy)
{
    neo_credential_cache *cache = listening(*state);
    apr_pool_t *reading;
    apr_pool_create(&reading, *state);
    put(cache, token(ID, reading));
    apr_pool_destroy(reading);
    assert_complete(neo_credential_cache_get(cache, ID, *state), ID);
    assert_null(neo_credential_cache_get(cache, OTHER_ID, *state));
}

TEST(a_key_without_a_user_is_cached)
{
    neo_credential_cache *cache = listening(*state);
    neo_credential key = {.id = "nbr_01jd3xabcdefghjkmnpqrstvwx", .is_revoked = 1, .tenant = "t", .role = "org_viewer"};
    put(cache, &key);
    const neo_credential *found = neo_credential_cache_get(cache, key.id, *state);
    assert_non_null(found);
    assert_null(found->user);
    assert_null(found->email);
    assert_int_equal(found->organization_count, 0);
    assert_true(found->is_revoked);
    assert_false(found->is_token);
    assert_string_equal(found->role, "org_viewer");
}

TEST(the_cache_is_not_used_before_the_listener_is_connected)
{
    neo_credential_cache *cache = neo_credential_cache_make(*state);
    put(cache, token(ID, *state));
    assert_null(neo_credential_cache_get(cache, ID, *state));
    neo_credential_cache_mark_fresh(cache);
    assert_complete(neo_credential_cache_get(cache, ID, *state), ID);
}

TEST(the_cache_is_not_used_after_the_listener_has_lost_its_connection)
{
    neo_credential_cache *cache = listening(*state);
    put(cache, token(ID, *state));
    neo_credential_cache_distrust(cache);
    assert_null(neo_credential_cache_get(cache, ID, *state));
    put(cache, token(OTHER_ID, *state));
    assert_null(neo_credential_cache_get(cache, OTHER_ID, *state));
    neo_credential_cache_mark_fresh(cache);
    assert_null(neo_credential_cache_get(cache, ID, *state)); /* a change may have been missed */
}

TEST(a_change_clears_the_cache)
{
    neo_credential_cache *cache = listening(*state);
    put(cache, token(ID, *state));
    put(cache, token(OTHER_ID, *state));
    neo_credential_cache_clear(cache);
    assert_null(neo_credential_cache_get(cache, ID, *state));
    assert_null(neo_credential_cache_get(cache, OTHER_ID, *state));
    put(cache, token(ID, *state));
    assert_complete(neo_credential_cache_get(cache, ID, *state), ID);
}

TEST(a_credential_read_before_a_change_is_not_cached)
{
    neo_credential_cache *cache = listening(*state);
    unsigned int before = neo_credential_cache_generation(cache);
    neo_credential_cache_clear(cache);
    neo_credential_cache_put(cache, before, token(ID, *state));
    assert_null(neo_credential_cache_get(cache, ID, *state));
    before = neo_credential_cache_generation(cache);
    neo_credential_cache_distrust(cache);
    neo_credential_cache_mark_fresh(cache);
    neo_credential_cache_put(cache, before, token(ID, *state));
    assert_null(neo_credential_cache_get(cache, ID, *state));
}

TEST(an_entry_is_valid_until_the_request_ends_even_if_dropped)
{
    neo_credential_cache *cache = listening(*state);
    apr_pool_t *first, *second;
    apr_pool_create(&first, *state);
    apr_pool_create(&second, *state);
    put(cache, token(ID, *state));
    const neo_credential *one = neo_credential_cache_get(cache, ID, first);
    const neo_credential *two = neo_credential_cache_get(cache, ID, second);
    assert_ptr_equal(one, two);
    neo_credential_cache_clear(cache);
    assert_complete(one, ID);
    apr_pool_destroy(first);
    assert_complete(two, ID);
    apr_pool_destroy(second);
}

TEST(the_first_of_two_equal_entries_is_kept)
{
    neo_credential_cache *cache = listening(*state);
    neo_credential *again = token(ID, *state);
    again->role = "org_viewer";
    put(cache, token(ID, *state));
    put(cache, again);
    assert_complete(neo_credential_cache_get(cache, ID, *state), ID);
}

static const char *nth_id(char id[NEO_ID_SIZE], int n)
{
    snprintf(id, NEO_ID_SIZE, "pat_01jd3xabcdefghjkmn%08d", n);
    return id;
}

TEST(a_full_cache_still_accepts_credentials)
{
    neo_credential_cache *cache = listening(*state);
    neo_credential *one = token(ID, *state);
    apr_pool_t *request;
    char id[NEO_ID_SIZE];
    int known = 0;
    apr_pool_create(&request, *state);
    for (int i = 0; i < 2 * MAX_ENTRIES + 100; i++) {
        nth_id(one->id, i);
        put(cache, one);
        assert_non_null(neo_credential_cache_get(cache, one->id, request)); /* the newest is always cached */
        apr_pool_clear(request);
    }
    for (int i = 0; i < 2 * MAX_ENTRIES + 100; i++)
        known += neo_credential_cache_get(cache, nth_id(id, i), request) != NULL;
    assert_int_equal(known, 100);
}

/* ---------------------------------------------------------------- verified secrets */

#define SECRET(id, last)                                                                                                       \
    id "_0123456789012345678901234567890123456789012"                                                                          \
       "abcde" last
_Static_assert(sizeof SECRET(ID, "f") == NEO_SECRET_SIZE, "it has the form");

/* Caches a token and a text as its verified secret. */
static const neo_credential *cached_and_verified(neo_credential_cache *cache, const char *text, apr_pool_t *pool)
{
    put(cache, token(ID, pool));
    const neo_credential *found = neo_credential_cache_get(cache, ID, pool);
    neo_credential_cache_set_verified(cache, found, text);
    return found;
}

TEST(only_the_secret_verified_last_is_recognised)
{
    neo_credential_cache *cache = listening(*state);
    static const char *const others[] = {
        "", "x", ID, SECRET(ID, "g"), SECRET(OTHER_ID, "f"), SECRET(ID, "f") "f", SECRET(ID, "")};
    put(cache, token(OTHER_ID, *state));
    assert_null(neo_credential_cache_get_verified(cache, SECRET(ID, "f"), *state));
    const neo_credential *one = cached_and_verified(cache, SECRET(ID, "f"), *state);
    assert_ptr_equal(neo_credential_cache_get_verified(cache, SECRET(ID, "f"), *state), one);
    for (int i = 0; i < COUNT(others); i++)
        assert_null(neo_credential_cache_get_verified(cache, others[i], *state));
    neo_credential_cache_set_verified(cache, one, SECRET(ID, "g"));
    assert_ptr_equal(neo_credential_cache_get_verified(cache, SECRET(ID, "g"), *state), one);
    assert_null(neo_credential_cache_get_verified(cache, SECRET(ID, "f"), *state));
}

TEST(a_secret_is_not_recognised_if_its_credential_is_not_cached)
{
    neo_credential_cache *cache = listening(*state);
    cached_and_verified(cache, SECRET(ID, "f"), *state);
    neo_credential_cache_clear(cache);
    assert_null(neo_credential_cache_get_verified(cache, SECRET(ID, "f"), *state));
    put(cache, token(ID, *state)); /* it was read again, and its secret may have changed */
    assert_null(neo_credential_cache_get_verified(cache, SECRET(ID, "f"), *state));
    cached_and_verified(cache, SECRET(ID, "f"), *state);
    neo_credential_cache_distrust(cache);
    assert_null(neo_credential_cache_get_verified(cache, SECRET(ID, "f"), *state));
}

TEST(an_old_secret_is_not_recognised_for_the_new_credential)
{
    neo_credential_cache *cache = listening(*state);
    neo_credential *rotated = token(ID, *state);
    memset(rotated->hash, 0, sizeof rotated->hash);
    put(cache, token(ID, *state));
    const neo_credential *before = neo_credential_cache_get(cache, ID, *state);
    neo_credential_cache_clear(cache);
    put(cache, rotated);
    neo_credential_cache_set_verified(cache, before, SECRET(ID, "f"));
    assert_null(neo_credential_cache_get_verified(cache, SECRET(ID, "f"), *state));
}

/* ---------------------------------------------------------------- threads */

#define READERS 4
#define IDS     32

typedef struct {
    neo_credential_cache *cache;
    atomic_int is_over, version; /* the version in the database, which each change increments */
    atomic_int found, stale, changes;
} stress;

/* A request: reads the cache, then the database. Counts results older than the last change that was notified. */
static void request(stress *s, const char *id, apr_pool_t *pool)
{
    int notified = atomic_load(&s->version) - 1;
    const neo_credential *c = neo_credential_cache_get(s->cache, id, pool);
    if (c) {
        atomic_fetch_add(&s->found, 1);
        atomic_fetch_add(&s->stale,
                         c->requests < notified || strcmp(c->id, id) != 0 || strcmp(c->email, "ana@example.com") != 0);
        return;
    }
    unsigned int generation = neo_credential_cache_generation(s->cache);
    neo_credential *read = token(id, pool);
    read->requests = atomic_load(&s->version);
    neo_credential_cache_put(s->cache, generation, read);
}

static void *send_requests(void *data)
{
    stress *s = data;
    apr_pool_t *pool;
    char id[NEO_ID_SIZE];
    apr_pool_create_unmanaged_ex(&pool, NULL, NULL);
    for (int i = 0; !atomic_load(&s->is_over); i++) {
        request(s, nth_id(id, i % IDS), pool);
        if (i % 8 == 0)
            apr_pool_clear(pool);
    }
    apr_pool_destroy(pool);
    return NULL;
}

/* Changes the database, then notifies. */
static void *change(void *data)
{
    stress *s = data;
    for (int i = 0; i < 2000; i++) {
        atomic_fetch_add(&s->version, 1);
        i % 16 ? neo_credential_cache_clear(s->cache) : neo_credential_cache_distrust(s->cache);
        neo_credential_cache_mark_fresh(s->cache);
        atomic_fetch_add(&s->changes, 1);
    }
    return NULL;
}

TEST(concurrent_requests_never_get_an_outdated_credential)
{
    stress s = {.cache = listening(*state)};
    pthread_t readers[READERS], changer;
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, send_requests, &s), 0);
    for (int rounds = 0; rounds < 20 || atomic_load(&s.found) == 0; rounds++) {
        assert_int_equal(pthread_create(&changer, NULL, change, &s), 0);
        pthread_join(changer, NULL); /* also shows that readers do not starve it */
    }
    atomic_store(&s.is_over, 1);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    assert_true(atomic_load(&s.changes) >= 20 * 2000);
    assert_true(atomic_load(&s.found) > 0);
    assert_int_equal(atomic_load(&s.stale), 0);
}

TEST(the_first_verified_use_in_an_hour_is_noted_once)
{
    neo_credential_cache *cache = listening(*state);
    static const char id[] = "pat_01jd3x00000000000000000001";
    const char *secret = apr_pstrcat(*state, id, "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG", NULL);
    char text[NEO_SECRET_SIZE];
    apr_cpystrn(text, secret, sizeof text);
    neo_credential *credential = token(id, *state);
    put(cache, credential);
    assert_non_null(neo_credential_cache_get(cache, id, *state)); /* not verified yet */
    assert_null(neo_credential_cache_take_used(cache, *state));
    neo_credential_cache_set_verified(cache, credential, text);
    assert_string_equal(neo_credential_cache_take_used(cache, *state), id);
    (void)neo_credential_cache_get_verified(cache, text, *state);
    assert_null(neo_credential_cache_take_used(cache, *state));
}

TEST(a_credential_is_verified_until_the_cache_is_cleared)
{
    neo_credential_cache *cache = listening(*state);
    const neo_credential *one = cached_and_verified(cache, SECRET(ID, "f"), *state);
    assert_true(neo_credential_cache_has_verified(cache, SECRET(ID, "f"), one));
    assert_false(neo_credential_cache_has_verified(cache, SECRET(ID, "g"), one));
    assert_false(neo_credential_cache_has_verified(cache, "x", one));
    neo_credential_cache_clear(cache);
    assert_false(neo_credential_cache_has_verified(cache, SECRET(ID, "f"), one));
    cached_and_verified(cache, SECRET(ID, "f"), *state); /* it was read again, and may have changed */
    assert_false(neo_credential_cache_has_verified(cache, SECRET(ID, "f"), one));
    one = cached_and_verified(cache, SECRET(ID, "f"), *state);
    neo_credential_cache_distrust(cache);
    assert_false(neo_credential_cache_has_verified(cache, SECRET(ID, "f"), one));
}

TEST(a_write_is_outdated_from_a_change_until_it_is_refreshed_or_ends)
{
    neo_credential_cache *cache = listening(*state);
    neo_write_in_progress before, after;
    neo_credential_cache_enter_write(cache, &before);
    assert_false(neo_credential_cache_has_outdated_writes(cache));
    neo_credential_cache_clear(cache);
    neo_credential_cache_enter_write(cache, &after);
    assert_true(neo_credential_cache_has_outdated_writes(cache));
    neo_credential_cache_refresh_write(cache, &before);
    assert_false(neo_credential_cache_has_outdated_writes(cache));
    neo_credential_cache_clear(cache);
    neo_credential_cache_leave_write(cache, &before);
    assert_true(neo_credential_cache_has_outdated_writes(cache));
    neo_credential_cache_leave_write(cache, &after);
    assert_false(neo_credential_cache_has_outdated_writes(cache));
}
