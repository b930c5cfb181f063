/* Durations, counted in classes that are the same everywhere: 50, 70, 100, 150, 200, 300, 500 microseconds and so on up to 30
 * seconds. What is counted can be added up, subtracted and told apart later; what is asked of it is right to about a fifth. */
#ifndef NEO_CORE_HISTOGRAM_H
#define NEO_CORE_HISTOGRAM_H

#include <stdint.h>

#define NEO_BUCKETS 35

typedef struct neo_histogram {
    uint64_t count[NEO_BUCKETS]; /* the last one: longer than every bound */
    uint64_t sum;                /* microseconds */
} neo_histogram;

/* The bucket of a duration in microseconds; a negative one, as when a clock steps back, is 0. */
int neo_histogram_bucket(long long microseconds);

/* The longest duration that a bucket counts, in microseconds; 0 for the last one, which has no end. */
long long neo_histogram_bound(int bucket);

/* Whether a bucket's bound is one of those that monitoring is told: 1, 2 and 5 of each decade, and the last. */
int neo_histogram_is_coarse(int bucket);

uint64_t neo_histogram_count(const neo_histogram *histogram);

/* The duration in microseconds that this part of all (0.95) stayed below; 0 where nothing was counted. */
double neo_histogram_quantile(const neo_histogram *histogram, double quantile);

/* The mean in microseconds; 0 where nothing was counted. */
double neo_histogram_mean(const neo_histogram *histogram);

void neo_histogram_add(neo_histogram *to, const neo_histogram *more);

#endif
