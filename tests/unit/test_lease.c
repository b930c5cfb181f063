/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of a deployment: a host's part, and the exchange of leases with other hosts. */
#include "fake_pg.h"

#include <stdint.h>

#include "api/lease.h"
#include "core/clock.h"

#define ENTRIES    64 /* callers and limits */
#define LIMIT      600
#define WINDOW     60
#define NAME       "nbr_00000000000000000000000000"
#define CACHE_LINE 64 /* bytes */

typedef struct {
    neo_leases *leases;
    neo_limiter *limiter;
} host;

static host make_host(int hosts, apr_pool_t *pool)
{
    host made = {neo_leases_attach(apr_pcalloc(pool, neo_leases_size(ENTRIES)), ENTRIES),
                 neo_limiter_attach(apr_pcalloc(pool, neo_limiter_size(ENTRIES)), ENTRIES)};
    if (hosts)
        neo_leases_set_hosts(made.leases, hosts);
    return made;
}

static neo_allowance count(const host *h, int cost, int limit)
{
    neo_allowance allowance;
    neo_lease_count(h->leases, h->limiter, &(neo_shared_limit){NAME, limit, WINDOW, 0}, cost, &allowance);
    assert_int_equal(allowance.limit, limit);
    return allowance;
}

TEST(a_host_that_is_alone_has_the_whole_limit)
{
    host alone = make_host(1, *state), starting = make_host(0, *state), unaware = {NULL, alone.limiter};
    assert_int_equal(count(&starting, LIMIT, LIMIT).remaining, 0);
    assert_int_equal(count(&alone, LIMIT / 2, LIMIT).remaining, LIMIT / 2);
    assert_int_equal(count(&unaware, LIMIT / 2, LIMIT).remaining, 0);
    neo_allowance refused = count(&alone, 1, LIMIT);
    assert_true(refused.is_exceeded);
    assert_in_range(refused.reset, neo_now_ms() / 1000 + WINDOW - 2, neo_now_ms() / 1000 + WINDOW);
}

TEST(without_a_lease_each_host_has_an_equal_part)
{
    host one = make_host(3, *state);
    assert_int_equal(count(&one, 1, LIMIT).remaining, LIMIT - 1);
    assert_int_equal(count(&one, LIMIT / 3 - 1, LIMIT).remaining, LIMIT - LIMIT / 3);
    neo_allowance refused = count(&one, 1, LIMIT), again;
    assert_true(refused.is_exceeded);
    assert_int_equal(refused.remaining, 0);
    assert_in_range(refused.reset, neo_now_ms() / 1000, neo_now_ms() / 1000 + 1);
    neo_lease_check(one.leases, one.limiter, &(neo_shared_limit){NAME, LIMIT, WINDOW, 0}, 1, &again);
    assert_true(again.is_exceeded);
}

TEST(an_equal_part_is_at_least_one)
{
    host one = make_host(3, *state);
    assert_false(count(&one, 1, 2).is_exceeded);
    assert_true(count(&one, 1, 2).is_exceeded);
}

TEST(a_reserve_is_of_the_part_of_the_host)
{
    host one = make_host(2, *state);
    neo_allowance allowance;
    const neo_shared_limit limit = {NAME, LIMIT, WINDOW, 5};
    neo_lease_count(one.leases, one.limiter, &limit, LIMIT / 2 - LIMIT / 10, &allowance);
    assert_false(allowance.is_exceeded);
    neo_lease_count(one.leases, one.limiter, &limit, 1, &allowance);
    assert_true(allowance.is_exceeded);
    assert_false(count(&one, LIMIT / 10, LIMIT).is_exceeded);
}

TEST(more_limits_than_there_is_memory_for_have_equal_parts)
{
    host one = make_host(2, *state);
    neo_allowance allowance;
    assert_int_equal(neo_leases_take_full(one.leases), 0);
    for (int i = 0; i < 2 * ENTRIES; i++)
        neo_lease_count(one.leases, one.limiter, &(neo_shared_limit){apr_itoa(*state, i), 4, WINDOW, 0}, 3, &allowance);
    assert_true(neo_leases_take_full(one.leases) >= ENTRIES);
    assert_int_equal(neo_leases_take_full(one.leases), 0);
    assert_int_equal(neo_leases_take_full(NULL), 0);
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

#define SECOND_MS 1000

typedef struct fixture fixture;
struct fixture {
    host host;
    fake_pg *server;
    neo_pg *pg;
    apr_pool_t *pool;
    fake_reply reply;
    const char *error;
    const neo_concurrency *concurrency;
    fixture *meanwhile; /* exchanges its leases while this one's statement is executed */
    long long number, known;
    int is_new;
    char sent[400]; /* the number of hosts, whether all entries are sent, and the arrays */
};

static int run(fixture *f)
{
    return neo_lease_exchange(f->host.leases, f->host.limiter, f->concurrency, "web1", f->pg, 3, f->pool, &f->error);
}

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    (void)values;
    fixture *f = fake->data;
    const char *call = strstr(sql, "exchange_leases(");
    if (!call)
        return;
    char is_new[8];
    int hosts, rest;
    assert_int_equal(
        sscanf(call, "exchange_leases('web1', %lld, %lld, %d, %7[a-z], %n", &f->number, &f->known, &hosts, is_new, &rest), 4);
    f->is_new = strcmp(is_new, "true") == 0;
    snprintf(f->sent, sizeof f->sent, "%d, %s, %s", hosts, f->known ? "changed" : "all", call + rest);
    *reply = f->reply;
    if (f->meanwhile) {
        passed_ms += 10 * SECOND_MS;
        assert_true(run(f->meanwhile));
    }
}

static fixture *make_fixture(int hosts, apr_pool_t *pool)
{
    fixture *f = apr_pcalloc(pool, sizeof *f);
    apr_pool_create(&f->pool, pool);
    f->host = make_host(hosts, pool);
    f->server = fake_start(answer, f, pool);
    f->pg = fake_connect(f->server, pool);
    return f;
}

enum { COLUMNS = 8 };
#define KNOWN        4294967297
#define DONE         "0", APR_STRINGIFY(KNOWN), NULL, NULL, NULL, "0", NULL, NULL
#define ALL(...)     ((const char *const[]){"0", APR_STRINGIFY(KNOWN), NULL, NULL, NULL, "1", NULL, NULL, __VA_ARGS__})
#define ROWS_UNKNOWN ((const char *const[]){"-1", NULL, NULL, NULL, NULL, NULL, NULL, NULL})
#define ROWS(...)    ((const char *const[]){DONE, __VA_ARGS__})

/* A second later, exchanges leases; the response has `rows` rows. */
static int exchange(fixture *f, int rows, const char *const *values)
{
    f->reply = (fake_reply){.columns = COLUMNS, .rows = rows, .values = values};
    passed_ms += SECOND_MS;
    return run(f);
}

/* The response grants the only name that is sent a lease. */
static void grant(fixture *f, const char *lease, const char *other_used, const char *other_demand)
{
    assert_true(exchange(f, 2, ROWS("1", NAME, "600", "60", lease, other_used, other_demand, "0")));
    assert_null(f->error);
}

/* "all" or "changed" entries: one, with these leases, targets, used and demands. */
static void assert_sent(const fixture *f, const char *entries, const char *arguments)
{
    char expected[400];
    snprintf(expected, sizeof expected, "2, %s, '{\"" NAME "\"}', '{600}', '{60}', %s)", entries, arguments);
    assert_string_equal(f->sent, expected);
}

static void assert_nothing_sent(const fixture *f)
{
    assert_string_equal(f->sent, "2, changed, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')");
}

static neo_concurrency make_concurrency(apr_pool_t *pool)
{
    char *memory = apr_pcalloc(pool, neo_concurrency_size(1) + CACHE_LINE);
    memory += (CACHE_LINE - (uintptr_t)memory % CACHE_LINE) % CACHE_LINE;
    neo_concurrency made = neo_concurrency_attach(memory, 1);
    neo_concurrency_join(&made, 1);
    return made;
}

TEST(a_host_that_is_alone_records_only_what_it_uses)
{
    fixture *f = make_fixture(1, *state);
    assert_true(exchange(f, 0, NULL));
    assert_int_equal(f->server->executed, 0);
    (void)count(&f->host, 100, LIMIT);
    assert_true(exchange(f, 2, ROWS("1", NAME, NULL, "60", "475", "0", "0", "0")));
    assert_int_equal(f->server->executed, 1);
    assert_non_null(strstr(f->sent, "1, all, '{\"" NAME "\"}', '{600}', '{60}', '{475}', '{475}', '{100}', '{100}', '{0}')"));
    assert_false(count(&f->host, 500, LIMIT).is_exceeded);
}

TEST(a_host_that_is_alone_has_what_ended_hosts_have_left)
{
    fixture *f = make_fixture(1, *state);
    (void)count(&f->host, 50, LIMIT);
    grant(f, "50", "500", "0");
    assert_int_equal(count(&f->host, 50, LIMIT).remaining, 0);
    assert_true(count(&f->host, 1, LIMIT).is_exceeded);
    grant(f, "100", "0", "0"); /* their window has passed */
    assert_false(count(&f->host, 500, LIMIT).is_exceeded);
}

TEST(a_host_gets_more_and_gives_up_what_it_does_not_need)
{
    fixture *f = make_fixture(2, *state);
    (void)count(&f->host, 1, LIMIT);
    grant(f, "450", "10", "5");
    assert_sent(f, "all", "'{NULL}', '{526}', '{1}', '{1}', '{0}'");
    assert_int_equal(count(&f->host, 1, LIMIT).remaining, LIMIT - 2 - 10);
    assert_int_equal(count(&f->host, 448, LIMIT).remaining, LIMIT - 450 - 10);
    assert_true(count(&f->host, 1, LIMIT).is_exceeded);
    assert_true(run(f));
    assert_int_equal(f->server->executed, 1); /* a second has not passed */
    grant(f, "450", "10", "50000");
    grant(f, "452", "148", "0");
    assert_sent(f, "changed", "'{450}', '{451}', '{450}', '{337}', '{0}'"); /* others have received more requests */
    assert_false(count(&f->host, 2, LIMIT).is_exceeded);
    neo_allowance refused = count(&f->host, 1, LIMIT);
    assert_true(refused.is_exceeded);
    assert_true(refused.reset > neo_now_ms() / 1000 + 10); /* it is used up on all hosts */
}

TEST(what_has_not_changed_is_not_sent)
{
    fixture *f = make_fixture(2, *state);
    (void)count(&f->host, 100, LIMIT);
    for (int i = 0; i < 30; i++)
        grant(f, "350", "0", "0");
    assert_true(exchange(f, 1, ROWS(DONE)));
    assert_nothing_sent(f);
    passed_ms += 10 * SECOND_MS; /* others may have taken over a part */
    grant(f, "300", "0", "0");
    assert_sent(f, "all", "'{300}', '{350}', '{100}', '{0}', '{0}'");
}

TEST(a_host_that_the_table_does_not_know_has_equal_parts_until_it_has_sent_all)
{
    fixture *f = make_fixture(2, *state);
    (void)count(&f->host, 200, LIMIT);
    grant(f, "600", "0", "0");
    assert_true(exchange(f, 1, ROWS_UNKNOWN));
    assert_null(f->error);
    assert_false(count(&f->host, 100, LIMIT).is_exceeded);
    assert_true(count(&f->host, 1, LIMIT).is_exceeded);
    f->reply = (fake_reply){.columns = COLUMNS, .rows = 2, .values = ROWS("1", NAME, "600", "60", "300", "0", "0", "0")};
    assert_true(run(f)); /* without a second */
    assert_ptr_equal(strstr(f->sent, "2, all, '{\"" NAME "\"}'"), f->sent);
    assert_true(exchange(f, 1, ROWS(DONE)));
    assert_ptr_equal(strstr(f->sent, "2, changed, "), f->sent);
}

TEST(a_host_that_is_alone_and_idle_sends_nothing)
{
    fixture *f = make_fixture(1, *state);
    (void)count(&f->host, 100, LIMIT);
    for (int i = 0; i < 30; i++)
        assert_true(exchange(f, 2, ROWS("1", NAME, NULL, "60", "475", "0", "0", "0")));
    int executed = f->server->executed;
    passed_ms += 10 * SECOND_MS;
    assert_true(exchange(f, 1, ROWS(DONE)));
    assert_int_equal(f->server->executed, executed);
    neo_leases_set_hosts(f->host.leases, 2);
    assert_true(exchange(f, 2, ROWS("1", NAME, NULL, "60", "350", "0", "0", "0")));
    assert_sent(f, "all", "'{300}', '{350}', '{100}', '{0}', '{0}'");
}

TEST(a_limit_that_only_another_host_uses_is_known_until_no_host_uses_it)
{
    fixture *f = make_fixture(2, *state);
    assert_true(exchange(f, 2, ROWS(NULL, NAME, "600", "60", "200", "40", "9", "0")));
    assert_false(count(&f->host, 200, LIMIT).is_exceeded);
    assert_true(count(&f->host, 1, LIMIT).is_exceeded);
    f = make_fixture(2, *state);
    assert_true(exchange(f, 2, ROWS(NULL, NAME, "600", "60", "200", "40", "9", "0")));
    grant(f, "70", "40", "9");
    assert_sent(f, "changed", "'{70}', '{70}', '{0}', '{0}', '{0}'");
    assert_true(exchange(f, 2, ROWS(NULL, NAME, "600", "60", NULL, "40", "9", "0")));
    assert_nothing_sent(f);
    assert_true(exchange(f, 2, ROWS(NULL, NAME, "600", "60", NULL, "0", "0", "0")));
    grant(f, "300", "0", "0");
    assert_sent(f, "changed", "'{70}', '{300}', '{0}', '{0}', '{0}'");
    assert_true(exchange(f, 1, ROWS(DONE)));
    assert_sent(f, "changed", "'{300}', '{NULL}', '{0}', '{0}', '{0}'");
    assert_true(exchange(f, 1, ROWS(DONE)));
    assert_nothing_sent(f);
}

TEST(what_others_use_stays_known_until_it_changes)
{
    fixture *f = make_fixture(2, *state);
    (void)count(&f->host, 10, LIMIT);
    grant(f, "300", "40", "9");
    assert_int_equal(f->known, 0);
    assert_true(exchange(f, 1, ROWS(DONE)));
    assert_true(f->known == KNOWN);
    assert_int_equal(count(&f->host, 10, LIMIT).remaining, LIMIT - 20 - 40);
    assert_true(exchange(f, 1, ALL()));
    assert_int_equal(count(&f->host, 10, LIMIT).remaining, LIMIT - 30);
    passed_ms += 10 * SECOND_MS;
    assert_true(exchange(f, 0, NULL));
    assert_int_equal(f->known, 0);
}

TEST(what_was_sent_without_a_response_is_sent_again)
{
    fixture *f = make_fixture(2, *state);
    neo_concurrency concurrency = make_concurrency(*state);
    neo_concurrency_place place;
    f->concurrency = &concurrency;
    assert_true(neo_lease_enter(f->host.leases, &concurrency, NAME, 8, &place));
    neo_concurrency_leave(&place);
    for (int i = 0; i < 2; i++)
        assert_true(exchange(f, 2, ROWS("1", NAME, "8", "0", "3", "1", "0", "0")));
    assert_true(exchange(f, 1, ROWS(DONE)));
    assert_nothing_sent(f);
    assert_true(neo_lease_enter(f->host.leases, &concurrency, NAME, 8, &place));
    f->reply = (fake_reply){.error = "55P03"};
    passed_ms += SECOND_MS;
    assert_true(run(f));
    neo_concurrency_leave(&place);
    assert_true(exchange(f, 2, ROWS("1", NAME, "8", "0", "3", "1", "0", "0")));
    assert_non_null(strstr(f->sent, "'{8}', '{0}', '{3}', '{3}', '{0}', '{0}', '{0}')"));
    assert_true(exchange(f, 1, ROWS(DONE)));
    assert_nothing_sent(f);
}

TEST(a_lease_that_is_not_renewed_falls_to_the_equal_part_after_five_seconds)
{
    fixture *f = make_fixture(2, *state);
    (void)count(&f->host, 100, LIMIT);
    grant(f, "600", "0", "0");
    f->reply.fate = FAKE_DIES_BEFORE;
    passed_ms += SECOND_MS;
    assert_false(run(f));
    assert_null(f->error);
    assert_int_equal(count(&f->host, 300, LIMIT).remaining, 200);
    passed_ms += 5 * SECOND_MS;
    assert_true(count(&f->host, 1, LIMIT).is_exceeded);
}

TEST(a_lease_below_the_equal_part_does_not_grow_when_it_is_not_renewed)
{
    fixture *f = make_fixture(2, *state);
    (void)count(&f->host, 10, LIMIT);
    grant(f, "20", "0", "500");
    passed_ms += 100 * SECOND_MS;
    assert_false(count(&f->host, 10, LIMIT).is_exceeded);
    assert_true(count(&f->host, 1, LIMIT).is_exceeded);
}

TEST(an_exchange_has_a_higher_number_than_the_last_and_is_new_until_one_succeeds)
{
    fixture *f = make_fixture(2, *state);
    assert_true(exchange(f, 0, NULL)); /* the lock was busy */
    assert_true(exchange(f, 1, ROWS(DONE)));
    assert_true(f->is_new);
    for (int i = 0; i < 3; i++) {
        long long number = f->number;
        assert_true(exchange(f, 1, i ? ROWS(DONE) : ROWS_UNKNOWN));
        assert_true(f->number > number);
        assert_false(f->is_new);
    }
}

TEST(a_host_takes_the_limit_of_others_only_if_they_have_more_demand)
{
    fixture *f = make_fixture(2, *state);
    (void)count(&f->host, 1, LIMIT);
    for (int i = 0; i < 9; i++)
        grant(f, "300", "1", "0"); /* its demand ends */
    assert_true(exchange(f, 2, ROWS(NULL, NAME, "500", "60", NULL, "2", "0", "0")));
    grant(f, "301", "2", "0");
    assert_non_null(strstr(f->sent, "'{600}', '{60}'"));
    assert_true(exchange(f, 2, ROWS("1", NAME, "500", "60", "301", "2", "1", "0")));
    assert_true(exchange(f, 1, ROWS(DONE)));
    assert_non_null(strstr(f->sent, "'{500}', '{60}'"));
}

TEST(only_a_lost_connection_is_lost_and_an_error_is_reported_once)
{
    fixture *f = make_fixture(2, *state);
    for (int i = 0; i < 2; i++) {
        assert_true(exchange(f, 1, ROWS(DONE)));
        assert_null(f->error);
        f->reply = (fake_reply){.error = "55P03"};
        passed_ms += SECOND_MS;
        assert_true(run(f));
        assert_non_null(f->error);
        passed_ms += SECOND_MS;
        assert_true(run(f));
        assert_null(f->error);
    }
}

TEST(an_exchange_of_another_host_at_the_same_time_is_an_error_after_five_seconds)
{
    fixture *f = make_fixture(2, *state);
    assert_true(exchange(f, 1, ROWS(DONE)));
    for (int i = 0; i < 4; i++) {
        assert_true(exchange(f, 0, NULL));
        assert_null(f->error);
    }
    assert_true(exchange(f, 0, NULL));
    assert_non_null(strstr(f->error, "neoapi.limit_lease"));
}

TEST(the_response_of_a_process_that_was_stopped_is_not_applied)
{
    fixture *f = make_fixture(2, *state), *other = make_fixture(2, *state);
    (void)count(&f->host, 10, LIMIT);
    other->host = f->host;
    other->reply = (fake_reply){.columns = COLUMNS, .rows = 2, .values = ROWS("1", NAME, "600", "60", "20", "0", "500", "0")};
    f->meanwhile = other;
    assert_true(exchange(f, 2, ROWS("1", NAME, "600", "60", "600", "0", "0", "0")));
    assert_int_equal(f->server->executed + other->server->executed, 2);
    assert_true(count(&f->host, 11, LIMIT).is_exceeded);
}

TEST(fewer_hosts_count_only_after_ten_seconds_without_a_gap)
{
    host one = make_host(2, *state);
    for (int i = 0; i < 10; i++, passed_ms += SECOND_MS)
        neo_leases_set_hosts(one.leases, 1);
    assert_true(count(&one, LIMIT, LIMIT).is_exceeded);
    passed_ms += 10 * SECOND_MS; /* the database was away */
    for (int i = 0; i < 10; i++, passed_ms += SECOND_MS)
        neo_leases_set_hosts(one.leases, 1);
    assert_true(count(&one, LIMIT, LIMIT).is_exceeded);
    neo_leases_set_hosts(one.leases, 1);
    assert_false(count(&one, LIMIT, LIMIT).is_exceeded);
    neo_leases_set_hosts(one.leases, 3);
    assert_true(count(&one, 1, LIMIT).is_exceeded);
}

TEST(each_host_allows_a_request_in_progress_if_the_limit_is_below_the_number_of_hosts)
{
    fixture *f = make_fixture(2, *state);
    neo_concurrency concurrency = make_concurrency(*state);
    neo_concurrency_place place, more;
    f->concurrency = &concurrency;
    assert_true(neo_lease_enter(f->host.leases, &concurrency, NAME, 1, &place));
    neo_concurrency_leave(&place);
    assert_true(exchange(f, 2, ROWS("1", NAME, "1", "0", "0", "0", "0", "0"))); /* another host that is idle keeps the lease */
    assert_true(neo_lease_enter(f->host.leases, &concurrency, NAME, 1, &place));
    assert_false(neo_lease_enter(f->host.leases, &concurrency, NAME, 1, &more));
}

TEST(requests_in_progress_are_divided_by_those_in_progress)
{
    fixture *f = make_fixture(2, *state);
    neo_concurrency concurrency = make_concurrency(*state);
    neo_concurrency_place places[4];
    f->concurrency = &concurrency;
    for (int i = 0; i < 100; i++) { /* short ones */
        assert_true(neo_lease_enter(f->host.leases, &concurrency, NAME, 8, &places[0]));
        neo_concurrency_leave(&places[0]);
    }
    for (int i = 0; i < 4; i++)
        assert_true(neo_lease_enter(f->host.leases, &concurrency, NAME, 8, &places[i]));
    assert_true(exchange(f, 2, ROWS("1", NAME, NULL, "0", "7", "0", "0", "0")));
    assert_non_null(strstr(f->sent, "'{8}', '{0}', '{NULL}', '{7}', '{4}', '{4}', '{0}')"));
    assert_true(exchange(f, 2, ROWS(NULL, NAME, "8", "0", NULL, "4", "4", "0")));
    assert_true(exchange(f, 2, ROWS("1", NAME, "8", "0", "4", "4", "4", "0")));
    neo_concurrency_place more;
    assert_false(neo_lease_enter(f->host.leases, &concurrency, NAME, 8, &more));
    assert_true(exchange(f, 2, ROWS("1", NAME, "8", "0", "4", "4", "4", "0")));
    assert_non_null(strstr(f->sent, "'{4}', '{4}', '{4}', '{5}', '{0}')")); /* and one that was refused */
}
