/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that create together. A fake server executes the statements. */
#include "fake_host.h"
#include "fake_pg.h"

#include <apr_time.h>

#include "api/create_queue.h"

#define LIMIT_MS 20000
#define ROW      "{\"id\":\"brk_01jd3x0000000000000000000z\",\"name\":\"Ana\",\"visibility\":\"public\"}"

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    static const char *const columns[] = {ROW, "0", NULL, "1"};
    (void)fake;
    (void)sql;
    (void)values;
    *reply = (fake_reply){.columns = 4, .rows = 1, .values = columns};
}

/* A request in a thread, with memory and a connection of its own. */
typedef struct {
    neo_site *site;
    fake_host *host;
    apr_pool_t *pool;
    pthread_t thread;
    int status;
} requester;

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

static requester *start(neo_site *site, const fake_key *key, apr_pool_t *pool)
{
    requester *r = apr_pcalloc(pool, sizeof *r);
    apr_pool_create_unmanaged_ex(&r->pool, NULL, NULL);
    r->site = site;
    r->host = host_with(fake_connect(fake_start(answer, NULL, r->pool), r->pool), r->pool);
    r->host->body = "{\"name\":\"Ana\"}";
    apr_table_setn(r->host->headers, "X-API-Key", key->secret);
    apr_table_setn(r->host->headers, "Content-Type", "application/json");
    assert_int_equal(pthread_create(&r->thread, NULL, request, r), 0);
    return r;
}

/* `key revoke` waits for it: its credential was confirmed, and its leader confirms only the own one. */
static void a_create_that_waits_is_a_write_in_progress(void **state)
{
    neo_group_member leaders[2];
    neo_site *site = site_of(*state);
    fake_key *key = key_of("org_editor", *state);
    cache_key(site, key);
    site->groups_writes = 1;
    site->create_queues = neo_create_queues_make(NULL, 2, *state);
    neo_create_queue *queue = neo_create_queue_of(site->create_queues, &neo_broker);
    neo_create_queue_set_times(queue, LIMIT_MS, LIMIT_MS);
    take_slots(queue, leaders, *state);
    requester *r = start(site, key, *state);
    for (int waited = 0; neo_create_queue_length(queue) != 1; waited++) {
        assert_true(waited < LIMIT_MS);
        apr_sleep(1000);
    }
    neo_credential_cache_clear(site->credential_cache);
    assert_true(neo_credential_cache_has_outdated_writes(site->credential_cache));
    cache_key(site, key);
    for (int i = 0; i < 2; i++)
        neo_create_queue_end(queue, &leaders[i], &(neo_group){0});
    assert_int_equal(pthread_join(r->thread, NULL), 0);
    assert_int_equal(r->status, 201);
    assert_int_equal(r->host->acquired, 1);
    assert_false(neo_credential_cache_has_outdated_writes(site->credential_cache));
    apr_pool_destroy(r->pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {pool_test(a_create_that_waits_is_a_write_in_progress)};
    return run_test_group("create group", tests);
}
