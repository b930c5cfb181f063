/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of durations (see core/histogram.h). */
#include "core/histogram.h"

/* Microseconds. */
static const long long bounds[NEO_BUCKETS - 1] = {
    50,     70,     100,     150,     200,     300,     500,     700,     1000,     1500,     2000,   3000,
    5000,   7000,   10000,   15000,   20000,   30000,   50000,   70000,   100000,   150000,   200000, 300000,
    500000, 700000, 1000000, 1500000, 2000000, 3000000, 5000000, 7000000, 10000000, 30000000,
};

int neo_histogram_bucket(long long microseconds)
{
    int i = 0;
    while (i < NEO_BUCKETS - 1 && microseconds > bounds[i])
        i++;
    return i;
}

long long neo_histogram_bound(int bucket)
{
    return bucket < NEO_BUCKETS - 1 ? bounds[bucket] : 0;
}

int neo_histogram_is_coarse(int bucket)
{
    long long first = neo_histogram_bound(bucket);
    while (first >= 10 && first % 10 == 0)
        first /= 10;
    return first == 0 || first == 1 || first == 2 || first == 5 || bucket == NEO_BUCKETS - 2;
}

uint64_t neo_histogram_count(const neo_histogram *histogram)
{
    uint64_t count = 0;
    for (int i = 0; i < NEO_BUCKETS; i++)
        count += histogram->count[i];
    return count;
}

/* Interpolates linearly; the last bucket has no upper bound, so its lower one is returned. */
double neo_histogram_quantile(const neo_histogram *histogram, double quantile)
{
    double wanted = quantile * (double)neo_histogram_count(histogram), before = 0;
    for (int i = 0; i < NEO_BUCKETS; i++) {
        double count = (double)histogram->count[i], from = i ? (double)bounds[i - 1] : 0;
        if (count > 0 && before + count >= wanted)
            return i == NEO_BUCKETS - 1 ? from : from + ((double)bounds[i] - from) * ((wanted - before) / count);
        before += count;
    }
    return 0;
}

void neo_histogram_add(neo_histogram *to, const neo_histogram *more)
{
    for (int i = 0; i < NEO_BUCKETS; i++)
        to->count[i] += more->count[i];
    to->sum += more->sum;
}
