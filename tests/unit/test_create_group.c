/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that create together. A fake server executes the statements. */
#include "fake_host.h"
#include "fake_pg.h"

#include <apr_time.h>
#include <stdatomic.h>

#include "api/create_queue.h"
#include "core/encode.h"

#define LIMIT_MS 20000
#define ROW      "{\"id\":\"brk_01jd3x0000000000000000000z\",\"name\":\"Ana\",\"visibility\":\"public\"}"

/* A request in a thread, with memory and a connection of its own. */
typedef struct {
    neo_site *site;
    const fake_key *key;
    atomic_int *is_slow; /* statements do not end while it is set; NULL: they do */
    fake_host *host;
    apr_pool_t *pool;
    pthread_t thread;
    int status;
} requester;

/* The plan as JSON. */
#define COUNT_VALUE                             "1000"
#define SECONDS_VALUE                           "60"
#define LIMIT_VALUE                             "null"
#define LIMIT_MEMBER(column, option, kind, ...) "\"" #column "\": " kind##_VALUE ", "

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    static const char *const created[] = {ROW, "0", NULL, "1"};
    const requester *r = fake->data;
    (void)values;
    if (strstr(sql, "secret_hashes")) {
        const char **c = apr_pcalloc(r->pool, FAKE_MAX * sizeof *c);
        const char *const credential[] = {neo_base64(r->key->credential.hash, NEO_SHA256_SIZE, r->pool),
                                          "f",
                                          TENANT,
                                          "org_editor",
                                          NULL,
                                          NULL,
                                          NULL,
                                          ORGANIZATION,
                                          NULL,
                                          NULL,
                                          "{" NEO_PLAN_LIMITS(LIMIT_MEMBER) "\"name\": \"default\"}"};
        memcpy(c, credential, sizeof credential);
        *reply = (fake_reply){.columns = sizeof credential / sizeof *credential, .rows = 1, .values = c};
        return;
    }
    while (r->is_slow && atomic_load(r->is_slow))
        apr_sleep(1000);
    *reply = (fake_reply){.columns = 4, .rows = 1, .values = created};
}

static void *request(void *data)
{
    requester *r = data;
    r->status = ask(r->site, r->host, "POST", "brokers", r->pool);
    return NULL;
}

/* Takes all slots, so that the next create waits. */
static void take_slots(neo_create_queue *queue, neo_group_member *members, apr_pool_t *pool)
{
    for (int i = 0; i < 2; i++) {
        members[i] = (neo_group_member){.pool = pool};
        assert_int_equal(neo_create_queue_join(queue, &members[i]), NEO_GROUP_LEADING);
    }
}

static requester *start(neo_site *site, const fake_key *key, atomic_int *is_slow, apr_pool_t *pool)
{
    requester *r = apr_pcalloc(pool, sizeof *r);
    apr_pool_create_unmanaged_ex(&r->pool, NULL, NULL);
    r->site = site;
    r->key = key;
    r->is_slow = is_slow;
    r->host = host_with(fake_connect(fake_start(answer, r, r->pool), r->pool), r->pool);
    r->host->body = "{\"name\":\"Ana\"}";
    apr_table_setn(r->host->headers, "X-API-Key", key->secret);
    apr_table_setn(r->host->headers, "Content-Type", "application/json");
    assert_int_equal(pthread_create(&r->thread, NULL, request, r), 0);
    return r;
}

static neo_create_queue *grouping(neo_site *site, int max_wait_ms, apr_pool_t *pool)
{
    site->groups_writes = 1;
    site->create_queues = neo_create_queues_make(NULL, NULL, 2, pool);
    neo_create_queue *queue = neo_create_queue_find(site->create_queues, &neo_broker);
    neo_create_queue_set_times(queue, LIMIT_MS, max_wait_ms);
    return queue;
}

static void await_length(neo_create_queue *queue, int length)
{
    for (int waited = 0; neo_create_queue_length(queue) != length; waited++) {
        assert_true(waited < LIMIT_MS);
        apr_sleep(1000);
    }
}

/* `key revoke` waits for it: its credential was confirmed, and its leader confirms only the own one. While the cache is not
 * used, each confirmation reads the credential, over a connection that it releases. */
TEST(a_create_that_waits_is_a_write_in_progress)
{
    for (int is_cached = 0; is_cached < 2; is_cached++) {
        neo_group_member leaders[2];
        neo_site *site = site_of(*state);
        fake_key *key = key_of("org_editor", *state);
        if (is_cached)
            cache_key(site, key);
        else
            neo_credential_cache_distrust(site->credential_cache);
        neo_create_queue *queue = grouping(site, LIMIT_MS, *state);
        take_slots(queue, leaders, *state);
        requester *r = start(site, key, NULL, *state);
        await_length(queue, 1);
        neo_credential_cache_clear(site->credential_cache);
        assert_true(neo_credential_cache_has_outdated_writes(site->credential_cache));
        if (is_cached)
            cache_key(site, key);
        for (int i = 0; i < 2; i++)
            neo_create_queue_end(queue, &leaders[i], &(neo_group){0});
        assert_int_equal(pthread_join(r->thread, NULL), 0);
        assert_int_equal(r->status, 201);
        assert_true(!is_cached || r->host->acquired == 1);
        assert_false(is_cached && neo_credential_cache_has_outdated_writes(site->credential_cache));
        apr_pool_destroy(r->pool);
    }
}

/* The leader confirms its credential again when it has a connection, but that of the other request was confirmed before. */
TEST(a_create_whose_request_has_ended_is_a_write_in_progress)
{
    neo_group_member leaders[2];
    atomic_int is_slow = 1;
    neo_site *site = site_of(*state);
    fake_key *key = key_of("org_editor", *state);
    cache_key(site, key);
    neo_create_queue *queue = grouping(site, 20, *state);
    take_slots(queue, leaders, *state);
    requester *leader = start(site, key, &is_slow, *state);
    await_length(queue, 1);
    requester *other = start(site, key, NULL, *state);
    await_length(queue, 2);
    neo_credential_cache_clear(site->credential_cache);
    cache_key(site, key);
    neo_create_queue_end(queue, &leaders[0], &(neo_group){0});
    assert_int_equal(pthread_join(other->thread, NULL), 0);
    assert_int_equal(other->status, 503);
    assert_true(neo_credential_cache_has_outdated_writes(site->credential_cache));
    atomic_store(&is_slow, 0);
    assert_int_equal(pthread_join(leader->thread, NULL), 0);
    assert_int_equal(leader->status, 201);
    assert_false(neo_credential_cache_has_outdated_writes(site->credential_cache));
    apr_pool_destroy(other->pool);
    apr_pool_destroy(leader->pool);
}
