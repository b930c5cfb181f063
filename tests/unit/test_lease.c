/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of a deployment: a host's part, and how several hosts divide a limit by their leases. */
#include "fake_pg.h"

#include "api/lease.h"
#include "core/clock.h"

#define ENTRIES 64
#define LIMIT   600
#define WINDOW  60
#define NAME    "nbr_00000000000000000000000000"

typedef struct {
    neo_leases *leases;
    neo_limiter *limiter;
} host;

static host host_of(int hosts, apr_pool_t *pool)
{
    host made = {neo_leases_attach(apr_pcalloc(pool, neo_leases_size())),
                 neo_limiter_attach(apr_pcalloc(pool, neo_limiter_size(ENTRIES)), ENTRIES)};
    neo_leases_set_hosts(made.leases, hosts);
    return made;
}

static neo_allowance count(const host *h, int cost, int limit)
{
    neo_allowance allowance;
    neo_lease_count(h->leases, h->limiter, NAME, cost, limit, WINDOW, &allowance);
    assert_int_equal(allowance.limit, limit);
    return allowance;
}

TEST(a_host_that_is_alone_has_the_whole_limit)
{
    host alone = host_of(1, *state), unaware = {NULL, alone.limiter};
    assert_int_equal(count(&alone, LIMIT / 2, LIMIT).remaining, LIMIT / 2);
    assert_int_equal(count(&unaware, LIMIT / 2, LIMIT).remaining, 0);
    neo_allowance refused = count(&alone, 1, LIMIT);
    assert_true(refused.is_exceeded);
    assert_in_range(refused.reset, neo_now_ms() / 1000 + WINDOW - 2, neo_now_ms() / 1000 + WINDOW);
}

TEST(without_a_lease_each_host_has_an_equal_part)
{
    host one = host_of(3, *state);
    assert_int_equal(count(&one, 1, LIMIT).remaining, LIMIT - 1);
    assert_int_equal(count(&one, LIMIT / 3 - 1, LIMIT).remaining, LIMIT - LIMIT / 3);
    neo_allowance refused = count(&one, 1, LIMIT), again;
    assert_true(refused.is_exceeded);
    assert_int_equal(refused.remaining, 0);
    assert_in_range(refused.reset, neo_now_ms() / 1000, neo_now_ms() / 1000 + 1);
    neo_lease_check(one.leases, one.limiter, NAME, 1, LIMIT, WINDOW, &again);
    assert_true(again.is_exceeded);
    neo_leases_set_hosts(one.leases, 1);
    assert_false(count(&one, LIMIT - LIMIT / 3, LIMIT).is_exceeded);
}

TEST(an_equal_part_is_at_least_one)
{
    host one = host_of(3, *state);
    assert_false(count(&one, 1, 2).is_exceeded);
    assert_true(count(&one, 1, 2).is_exceeded);
}

TEST(more_limits_than_there_is_memory_for_have_equal_parts)
{
    host one = host_of(2, *state);
    neo_allowance allowance;
    for (int i = 0; i < 20000; i++)
        neo_lease_count(one.leases, one.limiter, apr_itoa(*state, i), 3, 4, WINDOW, &allowance);
    assert_true(allowance.is_exceeded);
}

/* ---------------------------------------------------------------- the division */

static int target(int hosts, int used, int other_used, int demand, int other_demand)
{
    return neo_lease_target(&(neo_lease_need){LIMIT, hosts, used, other_used, demand, other_demand});
}

TEST(what_is_left_is_divided_by_demand)
{
    assert_int_equal(target(2, 0, 0, 0, 0), 300);
    assert_int_equal(target(2, 100, 0, 0, 0), 350);
    assert_int_equal(target(2, 0, 0, 10, 10), 300);
    assert_int_equal(target(2, 0, 0, 10, 0), 525); /* the other keeps an eighth */
    assert_int_equal(target(2, 0, 0, 0, 10), 75);
    assert_int_equal(target(2, 0, 590, 9, 1), 9);
    assert_int_equal(target(2, 0, 590, 0, 1), 1);
    assert_int_equal(target(2, 0, 590, 0, 5), 0);
    assert_int_equal(target(2, 300, 299, 1, 1000), 301);
    assert_int_equal(target(2, 400, 300, 1, 1), 400); /* the plan was changed */
    assert_int_equal(target(5, 2000000000, 2000000000, 2000000000, 2000000000), 2000000000);
}

/* The hosts exchange their leases in turn, as neoapi.exchange_leases does it, and receive requests in random shares. */
TEST(leases_never_exceed_the_limit_and_all_of_it_is_used)
{
    enum { HOSTS = 3 };
    unsigned int seed = 7;
    for (int round = 0; round < 500; round++) {
        int limit = 1 + rand_r(&seed) % 1000, leases[HOSTS], used[HOSTS] = {0}, demand[HOSTS] = {0}, total = 0, share[HOSTS];
        for (int i = 0; i < HOSTS; i++) {
            leases[i] = limit / HOSTS;
            share[i] = rand_r(&seed) % 3 ? rand_r(&seed) % 40 : 0;
        }
        share[round % HOSTS]++;
        for (int step = 0; step < HOSTS * 2000 && total < limit; step++) {
            int i = step % HOSTS, others = 0, others_used = 0, others_demand = 0;
            for (int other = 0; other < HOSTS; other++)
                if (other != i) {
                    others += leases[other];
                    others_used += used[other];
                    others_demand += demand[other];
                }
            demand[i] = share[i];
            neo_lease_need need = {limit, HOSTS, used[i], others_used, demand[i], others_demand};
            int wanted = neo_lease_target(&need), room = limit - others, granted = wanted < room ? wanted : room;
            leases[i] = granted > leases[i] || wanted < leases[i] ? granted : leases[i];
            int passes = leases[i] - used[i] < share[i] ? leases[i] - used[i] : share[i];
            used[i] += passes;
            total += passes;
            assert_true(leases[i] + others <= limit);
            assert_true(used[i] <= leases[i]);
        }
        assert_int_equal(total, limit);
    }
}

/* ---------------------------------------------------------------- the exchange */

/* The clock of the code under test (see the Makefile). */
static neo_ms passed_ms;
neo_ms __real_neo_steady_ms(void);
neo_ms __wrap_neo_steady_ms(void);

neo_ms __wrap_neo_steady_ms(void)
{
    return __real_neo_steady_ms() + passed_ms;
}

enum { HOST, HOSTS, NAMES, LIMITS, WINDOWS, LEASES, TARGETS, USED, DEMANDS, VALUES };

typedef struct {
    host host;
    fake_pg *server;
    neo_pg *pg;
    apr_pool_t *pool;
    fake_reply reply;
    char sent[VALUES][80];
} fixture;

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    fixture *f = fake->data;
    if (!strstr(sql, "exchange_leases"))
        return;
    for (int i = 0; i < VALUES; i++)
        apr_cpystrn(f->sent[i], values[i], sizeof f->sent[i]);
    *reply = f->reply;
}

static fixture *fixture_of(int hosts, apr_pool_t *pool)
{
    fixture *f = apr_pcalloc(pool, sizeof *f);
    f->pool = pool;
    f->host = host_of(hosts, pool);
    f->server = fake_start(answer, f, pool);
    f->pg = fake_connect(f->server, pool);
    return f;
}

/* A second later, exchanges leases; the response is one row. */
static int exchange(fixture *f, const char *const row[6])
{
    f->reply.columns = 6;
    f->reply.rows = row != NULL;
    f->reply.values = row;
    passed_ms += 1000;
    return neo_lease_exchange(f->host.leases, f->host.limiter, NULL, "web1", f->pg, f->pool);
}

static void assert_sent(const fixture *f, const char *leases, const char *targets, const char *used, const char *demands)
{
    assert_string_equal(f->sent[HOST], "web1");
    assert_string_equal(f->sent[HOSTS], "2");
    assert_string_equal(f->sent[NAMES], *leases == '{' && leases[1] == '}' ? "{}" : "{\"" NAME "\"}");
    assert_string_equal(f->sent[LEASES], leases);
    assert_string_equal(f->sent[TARGETS], targets);
    assert_string_equal(f->sent[USED], used);
    assert_string_equal(f->sent[DEMANDS], demands);
}

TEST(a_host_that_is_alone_exchanges_nothing)
{
    fixture *f = fixture_of(1, *state);
    assert_true(exchange(f, NULL));
    assert_int_equal(f->server->executed, 0);
}

TEST(a_host_gets_more_and_gives_up_what_it_does_not_need)
{
    fixture *f = fixture_of(2, *state);
    (void)count(&f->host, 1, LIMIT);
    assert_true(exchange(f, (const char *[]){NAME, "600", "60", "450", "10", "5"}));
    assert_sent(f, "{300}", "{526}", "{1}", "{1}");
    assert_int_equal(count(&f->host, 1, LIMIT).remaining, LIMIT - 2 - 10);
    assert_int_equal(count(&f->host, 448, LIMIT).remaining, LIMIT - 450 - 10);
    assert_true(count(&f->host, 1, LIMIT).is_exceeded);
    assert_true(neo_lease_exchange(f->host.leases, f->host.limiter, NULL, "web1", f->pg, f->pool));
    assert_int_equal(f->server->executed, 1); /* a second has not passed */
    assert_true(exchange(f, (const char *[]){NAME, "600", "60", "450", "10", "50000"}));
    assert_true(exchange(f, (const char *[]){NAME, "600", "60", "452", "148", "0"}));
    assert_sent(f, "{450}", "{451}", "{450}", "{337}"); /* others have received more requests */
    assert_false(count(&f->host, 2, LIMIT).is_exceeded);
    neo_allowance refused = count(&f->host, 1, LIMIT);
    assert_true(refused.is_exceeded);
    assert_true(refused.reset > neo_now_ms() / 1000 + 10); /* it is used up on all hosts */
}

TEST(a_limit_that_only_another_host_uses_is_known_until_nobody_uses_it)
{
    fixture *f = fixture_of(2, *state);
    assert_true(exchange(f, (const char *[]){NAME, "600", "60", NULL, "40", "9"}));
    assert_true(exchange(f, (const char *[]){NAME, "600", "60", "70", "40", "9"}));
    assert_sent(f, "{70}", "{70}", "{0}", "{0}");
    assert_true(exchange(f, (const char *[]){NAME, "600", "60", "70", "0", "0"}));
    assert_true(exchange(f, (const char *[]){NAME, "600", "60", "300", "0", "0"}));
    assert_sent(f, "{70}", "{300}", "{0}", "{0}");
    assert_true(exchange(f, NULL));
    assert_sent(f, "{}", "{}", "{}", "{}");
}

TEST(a_lease_that_cannot_be_renewed_ends_with_its_window)
{
    fixture *f = fixture_of(2, *state);
    (void)count(&f->host, 100, LIMIT);
    assert_true(exchange(f, (const char *[]){NAME, "600", "60", "600", "0", "0"}));
    f->reply.fate = FAKE_DIES_BEFORE;
    assert_false(exchange(f, NULL));
    assert_int_equal(count(&f->host, 300, LIMIT).remaining, 200);
    passed_ms += 1000 * WINDOW;
    assert_true(count(&f->host, 1, LIMIT).is_exceeded);
}
