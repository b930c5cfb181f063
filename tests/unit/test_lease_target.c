/* SPDX-License-Identifier: Apache-2.0 */
/* How several hosts divide a limit of a deployment. */
#include "unit.h"

#include <stdlib.h>

#include "api/lease.h"

#define LIMIT 600

static int target(int hosts, int used, int other_used, int demand, int other_demand)
{
    return neo_lease_target(&(neo_lease_need){LIMIT, hosts, used, other_used, demand, other_demand, 0});
}

TEST(what_is_left_is_divided_by_demand)
{
    assert_int_equal(target(2, 0, 0, 0, 0), 300);
    assert_int_equal(target(2, 100, 0, 0, 0), 350);
    assert_int_equal(target(2, 0, 0, 10, 10), 300);
    assert_int_equal(target(2, 0, 0, 10, 0), 525);  /* the other keeps an eighth */
    assert_int_equal(target(2, 0, 0, 550, 0), 600); /* a large batch */
    assert_int_equal(target(2, 0, 0, 0, 10), 75);
    assert_int_equal(target(2, 0, 590, 9, 1), 9);
    assert_int_equal(target(2, 0, 590, 0, 1), 1);
    assert_int_equal(target(2, 0, 595, 0, 5), 0);
    assert_int_equal(target(2, 300, 299, 1, 1000), 301);
    assert_int_equal(target(2, 400, 300, 1, 1), 400); /* the plan was changed */
    assert_int_equal(target(1, 100, 0, 10, 0), 475);  /* a quarter is for a host that joins */
    assert_int_equal(target(5, 2000000000, 2000000000, 2000000000, 2000000000), 2000000000);
}

TEST(of_requests_in_progress_an_idle_host_keeps_one)
{
    neo_lease_need idle = {4, 2, 0, 1, 0, 1, 1}, busy = {4, 2, 1, 0, 1, 0, 1}, all_used = {4, 2, 0, 4, 0, 4, 1},
                   idle_at_end = {4, 2, 0, 3, 0, 9, 1}, busy_at_end = {4, 2, 3, 0, 9, 0, 1}, both_busy = {4, 2, 2, 1, 9, 1, 1},
                   few = {1, 2, 0, 1, 0, 1, 1};
    assert_int_equal(neo_lease_target(&idle), 1);
    assert_int_equal(neo_lease_target(&busy), 3);
    assert_int_equal(neo_lease_target(&all_used), 0);
    assert_int_equal(neo_lease_target(&idle_at_end), 1);
    assert_int_equal(neo_lease_target(&busy_at_end), 3);
    assert_int_equal(neo_lease_target(&both_busy), 3);
    assert_int_equal(neo_lease_target(&few), 1);
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
            neo_lease_need need = {limit, HOSTS, used[i], others_used, demand[i], others_demand, 0};
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
