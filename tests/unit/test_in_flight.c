/* SPDX-License-Identifier: Apache-2.0 */
/* Deliveries in flight: pauses of subscriptions, and the limits after them. */
#include "unit.h"

#include "core/clock.h"
#include "webhooks/in_flight.h"

#define PER_SUBSCRIPTION 8

static const neo_due_delivery due = {
    .id = "dlv_1", .organization = "org_1", .subscription = "whk_1", .url = "https://a.example"};

static const neo_subscription_load *load_of(neo_in_flight *in_flight, apr_pool_t *pool)
{
    neo_claim_request request = {0};
    neo_in_flight_fill_request(in_flight, &request, pool);
    return request.load_count ? request.loads : NULL;
}

TEST(a_pause_ends_with_the_lowest_limit)
{
    neo_in_flight in_flight;
    neo_claimed claimed = {.uses = 1};
    neo_in_flight_init(&in_flight, NULL, 16, PER_SUBSCRIPTION, *state);
    neo_in_flight_pause(&in_flight, &due, neo_steady_ms() + 60000);
    assert_int_equal(load_of(&in_flight, *state)->limit, 0);
    neo_in_flight_pause(&in_flight, &due, neo_steady_ms());
    assert_non_null(load_of(&in_flight, *state));
    assert_int_equal(load_of(&in_flight, *state)->limit, NEO_MIN_PER_SUBSCRIPTION);
    for (int i = NEO_MIN_PER_SUBSCRIPTION; i < PER_SUBSCRIPTION; i++)
        neo_in_flight_remove(&in_flight, neo_in_flight_add(&in_flight, &due, &claimed, NULL), 1);
    assert_null(load_of(&in_flight, *state));
}

TEST(a_claim_is_kept_for_its_followers)
{
    neo_in_flight in_flight;
    neo_claimed *claimed = neo_claimed_make(*state);
    neo_due_delivery follower = due, first = due;
    follower.follows = first.id;
    first.has_follower = 1;
    first.follower = &follower;
    neo_in_flight_init(&in_flight, NULL, 16, PER_SUBSCRIPTION, *state);
    neo_in_flight_delivery *sent = neo_in_flight_add(&in_flight, &first, claimed, NULL);
    assert_int_equal(sent->claim, claimed->number + 1);
    assert_ptr_equal(sent->follower, &follower);
    neo_in_flight_delivery *next = neo_in_flight_add(&in_flight, &follower, claimed, NULL);
    assert_int_equal(next->claim, claimed->number);
    neo_claimed_drop(claimed);
    neo_in_flight_remove(&in_flight, sent, 1);
    assert_int_equal(claimed->uses, 1);
    neo_in_flight_remove(&in_flight, next, 1);
}

TEST(delayed_deliveries_do_not_count_unless_the_receiver_is_slow)
{
    neo_in_flight in_flight;
    neo_claimed claimed = {.uses = 1};
    neo_in_flight_delivery *delayed[PER_SUBSCRIPTION];
    neo_in_flight_init(&in_flight, NULL, 64, PER_SUBSCRIPTION, *state);
    for (int i = 0; i < PER_SUBSCRIPTION; i++)
        neo_in_flight_delay(&in_flight, delayed[i] = neo_in_flight_add(&in_flight, &due, &claimed, NULL));
    assert_int_equal(load_of(&in_flight, *state)->count, 0);
    for (int i = 0; i < PER_SUBSCRIPTION; i++)
        assert_true(neo_in_flight_start(&in_flight, delayed[i]));
    assert_int_equal(load_of(&in_flight, *state)->count, PER_SUBSCRIPTION);
    neo_in_flight_delivery *last = neo_in_flight_add(&in_flight, &due, &claimed, NULL);
    neo_in_flight_delay(&in_flight, last);
    assert_int_equal(load_of(&in_flight, *state)->count, PER_SUBSCRIPTION);
    assert_false(neo_in_flight_start(&in_flight, last));
    assert_int_equal(load_of(&in_flight, *state)->count, PER_SUBSCRIPTION + 1);
    neo_in_flight_drop(&in_flight, last);
    assert_int_equal(load_of(&in_flight, *state)->count, PER_SUBSCRIPTION);
    for (int i = 0; i < PER_SUBSCRIPTION; i++)
        neo_in_flight_remove(&in_flight, delayed[i], 1);
}
