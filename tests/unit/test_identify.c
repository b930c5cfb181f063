/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups of credentials: the queries that are sent, and their limit per address. */
#include "fake_host.h"
#include "fake_pg.h"

typedef struct {
    neo_site *site;
    fake_host *host;
    fake_pg *server;
} fixture;

/* No credential has the id. */
static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    (void)fake;
    (void)sql;
    (void)values;
    *reply = (fake_reply){.columns = 12};
}

static fixture *new_fixture(apr_pool_t *pool)
{
    fixture *s = apr_pcalloc(pool, sizeof *s);
    s->site = site_of(pool);
    s->server = fake_start(answer, s, pool);
    s->host = host_with(fake_connect(s->server, pool), pool);
    return s;
}

/* Sends `me` with the secret, or with a new one that no credential has; returns the status. */
static int guess(fixture *s, const char *secret, apr_pool_t *pool)
{
    apr_table_setn(s->host->headers, "X-API-Key", secret ? secret : key_of("org_admin", pool)->secret);
    return ask(s->site, s->host, "GET", "me", pool);
}

TEST(an_unknown_credential_is_read_once)
{
    fixture *s = new_fixture(*state);
    const char *secret = key_of("org_admin", *state)->secret;
    for (int i = 0; i < 5; i++)
        assert_int_equal(guess(s, secret, *state), 401);
    assert_int_equal(atomic_load(&s->server->executed), 1);
    neo_credential_cache_clear(s->site->credential_cache); /* credentials changed */
    assert_int_equal(guess(s, secret, *state), 401);
    assert_int_equal(atomic_load(&s->server->executed), 2);
    neo_credential_cache_distrust(s->site->credential_cache);
    for (int i = 0; i < 2; i++)
        assert_int_equal(guess(s, secret, *state), 401);
    assert_int_equal(atomic_load(&s->server->executed), 4);
}

TEST(guesses_of_an_address_cause_few_queries)
{
    fixture *s = new_fixture(*state);
    fake_key *key = key_of("org_admin", *state);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(guess(s, NULL, *state), i < NEO_ADDRESS_LOOKUPS ? 401 : 429);
    assert_int_equal(atomic_load(&s->server->executed), NEO_ADDRESS_LOOKUPS);
    assert_string_equal(member_of(s->host, "code", *state), "rate_limit.exceeded");
    assert_int_equal(neo_json_integer(neo_json_get(body_of(s->host, *state), "retry_after")) <= 60, 1);
    cache_key(s->site, key);
    assert_int_equal(guess(s, key->secret, *state), 200); /* a cached credential needs no query */
    s->host->address = "192.0.2.2";
    assert_int_equal(guess(s, NULL, *state), 401);
}
