/* SPDX-License-Identifier: Apache-2.0 */
/* What each credential has used since the last flush, in shared memory. Counting takes no lock and writes nothing to the
 * database; a flush takes the counters, which belong to one statement from then on. */
#ifndef NEO_CORE_USAGE_H
#define NEO_CORE_USAGE_H

#include <stddef.h>
#include <stdint.h>

#include "core/id.h"

#define NEO_USAGE_SLOTS       8192 /* an organization's credential and operation each */
#define NEO_USAGE_INTERVAL_MS 10000
#define NEO_USAGE_OPERATION   72
#define NEO_USAGE_DELIVERY    "webhook delivery" /* the operation of attempts; the credential is the subscription */

/* clang-format off */
#define NEO_USAGE_COUNTS(X) X(requests) X(refusals) X(rows) X(bytes)
/* clang-format on */

typedef struct neo_usage_key {
    const char *organization, *credential, *method, *path; /* the operation is method and path, or only one of the two */
} neo_usage_key;

#define NEO_USAGE_COUNT(name) int64_t name;
typedef struct neo_usage_counts {
    NEO_USAGE_COUNTS(NEO_USAGE_COUNT)
} neo_usage_counts;

typedef struct neo_usage neo_usage;

/* The size of the shared memory in bytes. neo_usage_attach expects it zeroed, or as it was before a restart. */
size_t neo_usage_size(void);
neo_usage *neo_usage_attach(void *memory);

/* Adds to the counters. If all slots that it may have are taken by others, it is not counted. */
void neo_usage_add(neo_usage *usage, const neo_usage_key *key, const neo_usage_counts *counts);

/* Whether it is time to flush. Returns true to one process only in each interval; `now` is neo_steady_ms. */
int neo_usage_is_due(neo_usage *usage, int64_t now);

typedef struct neo_usage_record {
    char organization[NEO_ID_SIZE], credential[NEO_ID_SIZE], operation[NEO_USAGE_OPERATION];
    neo_usage_counts counts;
} neo_usage_record;

/* Calls `each` for each slot with counts, and sets these to 0. A slot that was not used for a time is free afterwards. */
void neo_usage_take(neo_usage *usage, void (*each)(void *data, const neo_usage_record *record), void *data);

#endif
