/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms: every duration has a bucket, and quantiles are exact to a bucket. */
#include "unit.h"

#include "core/histogram.h"

/* Equal except for rounding errors. */
static int is_near(double a, double b)
{
    return a - b < 1e-6 && b - a < 1e-6;
}

static void add(neo_histogram *histogram, long long microseconds, unsigned int times)
{
    histogram->count[neo_histogram_bucket(microseconds)] += times;
    histogram->sum += (uint64_t)microseconds * times;
}

TEST(a_duration_is_in_the_first_bucket_that_holds_it)
{
    assert_int_equal(neo_histogram_bucket(-5), 0);
    assert_int_equal(neo_histogram_bucket(0), 0);
    for (int i = 0; i < NEO_BUCKETS - 1; i++) {
        assert_int_equal(neo_histogram_bucket(neo_histogram_bound(i)), i);
        assert_int_equal(neo_histogram_bucket(neo_histogram_bound(i) + 1), i + 1);
        assert_true(i == 0 || neo_histogram_bound(i) > neo_histogram_bound(i - 1));
    }
    assert_int_equal(neo_histogram_bucket(1LL << 60), NEO_BUCKETS - 1);
}

TEST(exported_bounds_are_round)
{
    static const double expected[] = {5e-5, 1e-4, 2e-4, 5e-4, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30};
    int count = 0;
    for (int i = 0; i < NEO_BUCKETS - 1; i++)
        if (neo_histogram_is_coarse(i)) {
            assert_true(count < COUNT(expected));
            assert_true(is_near((double)neo_histogram_bound(i) / 1e6, expected[count++]));
        }
    assert_int_equal(count, COUNT(expected));
}

TEST(quantiles_are_within_their_bucket)
{
    neo_histogram histogram = {0};
    assert_true(is_near(neo_histogram_quantile(&histogram, 0.5), 0));
    add(&histogram, 250, 90);
    add(&histogram, 40000, 10);
    assert_int_equal(neo_histogram_count(&histogram), 100);
    assert_in_range((uintmax_t)neo_histogram_quantile(&histogram, 0.5), 200, 300);
    assert_in_range((uintmax_t)neo_histogram_quantile(&histogram, 0.9), 200, 300);
    assert_in_range((uintmax_t)neo_histogram_quantile(&histogram, 0.91), 30000, 50000);
    assert_in_range((uintmax_t)neo_histogram_quantile(&histogram, 0.99), 30000, 50000);
    assert_int_equal(histogram.sum, 90 * 250 + 10 * 40000);
    assert_true(neo_histogram_quantile(&histogram, 0.2) < neo_histogram_quantile(&histogram, 0.8));
}

TEST(a_value_above_all_bounds_is_in_the_last_bucket)
{
    neo_histogram histogram = {0};
    add(&histogram, 999000000, 1);
    assert_true(is_near(neo_histogram_quantile(&histogram, 0.5), 30e6));
}

TEST(histograms_can_be_added)
{
    neo_histogram all = {0}, more = {0};
    add(&all, 100, 1);
    add(&more, 100, 2);
    add(&more, 5000, 3);
    neo_histogram_add(&all, &more);
    assert_int_equal(neo_histogram_count(&all), 6);
    assert_int_equal(all.count[neo_histogram_bucket(100)], 3);
    assert_int_equal(all.sum, 15300);
}
