/* SPDX-License-Identifier: Apache-2.0 */
/* How several hosts divide a limit of a deployment. */
#include "unit.h"

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
