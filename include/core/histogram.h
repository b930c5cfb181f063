/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of durations. All have the same buckets, 50, 70, 100, 150, 200, 300, 500 microseconds and so on up to 30 seconds,
 * so they can be added and subtracted. Quantiles are exact to about a fifth. */
#ifndef NEO_CORE_HISTOGRAM_H
#define NEO_CORE_HISTOGRAM_H

#include <stdint.h>

#define NEO_BUCKETS 35

typedef struct neo_histogram {
    uint64_t count[NEO_BUCKETS]; /* the last one: longer than the last bound */
    uint64_t sum;                /* microseconds */
} neo_histogram;

/* The bucket of a duration. A negative one, after a clock stepped back, is in bucket 0. */
int neo_histogram_bucket(long long microseconds);

/* The upper bound of a bucket in microseconds, inclusive; 0 for the last one, which has none. */
long long neo_histogram_bound(int bucket);

/* Whether the bound is one of those that /metrics exports: 1, 2 and 5 of each decade, and the last. */
int neo_histogram_is_coarse(int bucket);

uint64_t neo_histogram_count(const neo_histogram *histogram);

/* A quantile (0.95) in microseconds; 0 if nothing was counted. */
double neo_histogram_quantile(const neo_histogram *histogram, double quantile);

void neo_histogram_add(neo_histogram *to, const neo_histogram *more);

#endif
