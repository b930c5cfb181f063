/* SPDX-License-Identifier: Apache-2.0 */
/* How several hosts divide a limit of a deployment. */
#include "unit.h"

#include "api/lease.h"

#define LIMIT 600

static int target(int hosts, int used, int other_used, int demand, int other_demand)
{
    return neo_lease_target(&(neo_lease_need){LIMIT, hosts, used, other_used, demand, other_demand, 0, 0, 0});
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

static int batch_target(int used, int other_used, int demand, int other_demand, int wanted, int other_wanted)
{
    return neo_lease_target(&(neo_lease_need){LIMIT, 2, used, other_used, demand, other_demand, 0, wanted, other_wanted});
}

TEST(one_host_gets_enough_for_a_batch_that_was_refused)
{
    assert_int_equal(batch_target(295, 290, 10, 10, 10, 0), 305);
    assert_int_equal(batch_target(290, 295, 10, 10, 10, 10), 293); /* the other asked first */
    assert_int_equal(batch_target(290, 295, 10, 10, 10, 9), 300);
    assert_int_equal(batch_target(290, 295, 0, 10, 0, 10), 290);
    assert_int_equal(batch_target(295, 296, 10, 10, 10, 0), 300); /* there is not so much */
    assert_int_equal(batch_target(295, 296, 10, 10, 0, 10), 300);
    assert_int_equal(batch_target(0, 0, 10, 0, 10, 0), 525);
}

TEST(of_requests_in_progress_an_idle_host_keeps_one)
{
    neo_lease_need idle = {4, 2, 0, 1, 0, 1, 1, 0, 0}, busy = {4, 2, 1, 0, 1, 0, 1, 0, 0},
                   all_used = {4, 2, 0, 4, 0, 4, 1, 0, 0}, idle_at_end = {4, 2, 0, 3, 0, 9, 1, 0, 0},
                   busy_at_end = {4, 2, 3, 0, 9, 0, 1, 0, 0}, both_busy = {4, 2, 2, 1, 9, 1, 1, 0, 0},
                   few = {1, 2, 0, 1, 0, 1, 1, 0, 0};
    assert_int_equal(neo_lease_target(&idle), 1);
    assert_int_equal(neo_lease_target(&busy), 3);
    assert_int_equal(neo_lease_target(&all_used), 0);
    assert_int_equal(neo_lease_target(&idle_at_end), 1);
    assert_int_equal(neo_lease_target(&busy_at_end), 3);
    assert_int_equal(neo_lease_target(&both_busy), 3);
    assert_int_equal(neo_lease_target(&few), 1);
}
