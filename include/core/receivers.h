/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of webhook receivers by host, over the last 30 to 60 minutes, in shared memory. URLs can have secrets, so only
 * host and port are stored. */
#ifndef NEO_CORE_RECEIVERS_H
#define NEO_CORE_RECEIVERS_H

#include <stddef.h>
#include <stdint.h>

#define NEO_RECEIVERS 512 /* hosts; a new one replaces one that was not used recently */
#define NEO_HOST_SIZE 72  /* name and port; longer ones are cut */

typedef struct neo_receivers neo_receivers;

/* The size of the shared memory in bytes. neo_receivers_attach expects it zeroed, or as it was before a restart. */
size_t neo_receivers_size(void);
neo_receivers *neo_receivers_attach(void *memory);

/* Host and port of a URL, without user, password and path. */
void neo_receivers_host(const char *url, char host[NEO_HOST_SIZE]);

/* The host of a URL in lower case, without the port and a trailing dot. */
void neo_receivers_hostname(const char *url, char hostname[NEO_HOST_SIZE]);

/* Counts an attempt; `took` and `now` in microseconds. False if it was not counted, because another process was claiming the
 * same slot. */
int neo_receivers_attempt(neo_receivers *receivers, const char *host, int is_success, long long took, long long now);

typedef struct neo_receiver {
    char host[NEO_HOST_SIZE];
    uint64_t attempts, failures;
    double mean;      /* microseconds */
    uint64_t longest; /* microseconds */
} neo_receiver;

/* The receivers with the highest mean, at most `max`. Returns their number. */
int neo_receivers_slowest(const neo_receivers *receivers, long long now, neo_receiver *out, int max);

#endif
