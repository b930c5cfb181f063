/* How receivers of webhooks do, by host, in memory that all processes share. Nobody else's address is known of them: no path,
 * no secret. What counts is the last half an hour to hour. */
#ifndef NEO_CORE_RECEIVERS_H
#define NEO_CORE_RECEIVERS_H

#include <stddef.h>
#include <stdint.h>

#define NEO_RECEIVERS 512 /* hosts that are remembered; the one heard of longest ago is forgotten first */
#define NEO_HOST_SIZE 72  /* of a name with its port; longer ones are cut */

typedef struct neo_receivers neo_receivers;

/* The bytes that are needed, and receivers in so many bytes of zeros. */
size_t neo_receivers_size(void);
neo_receivers *neo_receivers_attach(void *memory);

/* Host and port of an address: nothing of what may be in front of them (a name and password), nor of the path. */
void neo_receivers_host(const char *url, char host[NEO_HOST_SIZE]);

/* An attempt to deliver to this host; microseconds. False where it was not counted, because two new hosts came at once. */
int neo_receivers_attempt(neo_receivers *receivers, const char *host, int is_success, long long took, long long now);

typedef struct neo_receiver {
    char host[NEO_HOST_SIZE];
    uint64_t attempts, failures;
    double mean;      /* microseconds */
    uint64_t longest; /* microseconds */
} neo_receiver;

/* The slowest by their mean, at most so many. Returns how many there are. */
int neo_receivers_slowest(const neo_receivers *receivers, long long now, neo_receiver *out, int max);

#endif
