/* SPDX-License-Identifier: Apache-2.0 */
/* Retry-After of requests that a rate limit refuses: after random histories, the same request passes then and not a second
 * earlier. */
#include "fake_host.h"

#include "core/clock.h"
#include "schema/batch.h"

#define HISTORIES 1000
#define START     1800000000
#define ENTRIES   64
#define REQUESTS  20 /* of the plan */

/* The clock of the code under test, which the linker puts in place of the real one (see the Makefile). */
static neo_ms clock_ms;
neo_ms __wrap_neo_now_ms(void);

neo_ms __wrap_neo_now_ms(void)
{
    return clock_ms;
}

typedef struct {
    neo_site *site;
    fake_host *host;
    unsigned int seed;
} fixture;

static int chosen(fixture *f, int from, int to)
{
    return from + rand_r(&f->seed) % (to - from + 1);
}

/* Sends a batch of so many operations, or a request without a body for 1. */
static int send_request(fixture *f, int operations, apr_pool_t *pool)
{
    neo_buf body;
    neo_buf_init(&body, pool, 1024);
    neo_buf_printf(&body, "{\"operations\":[");
    for (int i = 0; i < operations; i++)
        neo_buf_printf(&body, "%s{\"method\":\"create\",\"data\":{\"name\":\"Ana\"}}", i ? "," : "");
    neo_buf_printf(&body, "]}");
    neo_text text = neo_buf_text(&body);
    f->host->body = operations > 1 ? apr_pstrmemdup(pool, text.ptr, text.len) : NULL;
    return ask(f->site, f->host, operations > 1 ? "POST" : "GET", operations > 1 ? "brokers/batch" : "me", pool);
}

/* Sends the request at another time and takes back what it has counted. */
static int status_at(fixture *f, int operations, neo_ms when, apr_pool_t *pool)
{
    apr_size_t size = neo_limiter_size(ENTRIES);
    neo_site *site = f->site;
    neo_limiter *before[] = {site->credentials, site->addresses};
    neo_ms now = clock_ms;
    site->credentials = apr_pmemdup(pool, before[0], size);
    site->addresses = apr_pmemdup(pool, before[1], size);
    clock_ms = when;
    int status = send_request(f, operations, pool);
    clock_ms = now;
    site->credentials = before[0];
    site->addresses = before[1];
    return status;
}

static int seconds(const fake_host *host, const char *name)
{
    assert_non_null(header_of(host, name));
    return atoi(header_of(host, name));
}

/* The last response was a 429. */
static void assert_time_of_success(fixture *f, int operations, apr_pool_t *pool)
{
    long long now = clock_ms / 1000, wait = seconds(f->host, "Retry-After");
    assert_int_equal(neo_json_integer(neo_json_get(body_of(f->host, pool), "retry_after")), wait);
    assert_int_equal(seconds(f->host, "X-RateLimit-Reset"), now + wait);
    assert_true(wait > 0);
    if (status_at(f, operations, clock_ms + wait * 1000, pool) == 429)
        fail_msg("%d operations: refused after Retry-After: %lld: %s", operations, wait, f->host->response.body.ptr);
    if (status_at(f, operations, (now + wait) * 1000 - 1, pool) != 429)
        fail_msg("%d operations: pass before Retry-After: %lld", operations, wait);
}

/* Sends requests and batches at random times. */
static int refusals(fixture *f, int max_operations, int max_pause_ms, apr_pool_t *parent)
{
    int refused = 0;
    for (int i = chosen(f, 1, 40); i > 0; i--) {
        apr_pool_t *pool;
        int operations = chosen(f, 0, 1) ? 1 : chosen(f, 1, max_operations);
        apr_pool_create(&pool, parent);
        clock_ms += chosen(f, 0, max_pause_ms);
        if (send_request(f, operations, pool) == 429) {
            assert_time_of_success(f, operations, pool);
            refused++;
        }
        apr_pool_destroy(pool);
    }
    return refused;
}

static fixture fixture_with(const char *secret, unsigned int seed, apr_pool_t *pool)
{
    fixture f = {.site = site_of(pool), .host = host_with(NULL, pool), .seed = seed};
    f.site->credentials = limiter_of(ENTRIES, pool);
    f.site->addresses = limiter_of(ENTRIES, pool);
    if (secret)
        apr_table_setn(f.host->headers, "X-API-Key", secret);
    apr_table_setn(f.host->headers, "Content-Type", "application/json");
    return f;
}

TEST(a_refused_request_passes_after_retry_after_and_not_before)
{
    static const int windows[] = {1, 5, 7, 60, 3600};
    fake_key *key = key_of("org_editor", *state);
    fixture f = fixture_with(key->secret, 1, *state);
    int refused = 0;
    key->credential.requests = REQUESTS;
    for (int i = 0; i < HISTORIES; i++) {
        key->credential.window_seconds = windows[i % COUNT(windows)];
        cache_key(f.site, key);
        f.site->credentials = limiter_of(ENTRIES, *state);
        clock_ms = START * 1000LL + chosen(&f, 0, 100000);
        refused +=
            refusals(&f, i % 2 ? NEO_BATCH_MAX_OPERATIONS : 1, key->credential.window_seconds * chosen(&f, 10, 300), *state);
    }
    assert_true(refused > HISTORIES);
}

/* Bursts from addresses of an IPv6 /48 network, whose /64 networks have a limit as well. */
TEST(a_refused_address_passes_after_retry_after_and_not_before)
{
    fixture f = fixture_with(NULL, 2, *state);
    int by_network = 0, by_address = 0;
    clock_ms = START * 1000LL;
    for (int i = 0; i < 150; i++) {
        apr_pool_t *pool;
        apr_pool_create(&pool, *state);
        clock_ms += chosen(&f, 0, 9000);
        f.host->address = apr_psprintf(pool, "2001:db8:1:%d::1", chosen(&f, 1, 9));
        for (int n = chosen(&f, 1, 700); n > 0; n--) /* refused by the larger network, they still count in the smaller one */
            (void)send_request(&f, 1, pool);
        if (f.host->response.status == 429) {
            int limit = seconds(f.host, "X-RateLimit-Limit");
            by_network += limit == NEO_NETWORK_REQUESTS;
            by_address += limit == NEO_ADDRESS_REQUESTS;
            assert_time_of_success(&f, 1, pool);
        }
        apr_pool_destroy(pool);
    }
    assert_true(by_network > 5 && by_address > 5);
}

TEST(no_retry_after_is_before_the_rate_limit_allows_a_request)
{
    fake_key *key = key_of("org_editor", *state);
    fixture f = fixture_with(key->secret, 3, *state);
    clock_ms = START * 1000LL;
    key->credential.requests = 1;
    cache_key(f.site, key);
    f.host->refused = 1;
    f.host->counted = &key->credential;
    f.host->fault = neo_problem_make(*state, NEO_RATE_LIMIT_CONCURRENT_REQUESTS, "Too many at once.");
    f.host->fault->retry_after = 1;
    assert_int_equal(send_request(&f, 1, *state), 429);
    assert_int_equal(seconds(f.host, "Retry-After"), 1);
    f.host->refused = 0;
    assert_int_equal(send_request(&f, 1, *state), 200);
    f.host->refused = 1;
    clock_ms += 10000;
    assert_int_equal(send_request(&f, 1, *state), 429);
    assert_int_equal(seconds(f.host, "Retry-After"), key->credential.window_seconds - 10);
}

/* The bodies of refused batches are read for their cost, but not without limit. */
TEST(a_refused_batch_is_read_as_often_as_the_plan_allows_requests)
{
    fake_key *key = key_of("org_editor", *state);
    fixture f = fixture_with(key->secret, 4, *state);
    clock_ms = START * 1000LL;
    key->credential.requests = REQUESTS;
    cache_key(f.site, key);
    for (int i = 0; i < REQUESTS; i++) {
        assert_int_equal(send_request(&f, 1, *state), 200);
        clock_ms += 2000;
    }
    f.host->bodies_read = 0;
    for (int i = 0; i < 2 * REQUESTS; i++) {
        assert_int_equal(send_request(&f, 5, *state), 429);
        assert_int_equal(seconds(f.host, "Retry-After"), i < REQUESTS ? 20 : 30);
    }
    assert_int_equal(f.host->bodies_read, REQUESTS);
}
