/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a host's leases, for lease.c, which counts requests, and lease_exchange.c. */
#ifndef NEO_LEASE_ENTRY_H
#define NEO_LEASE_ENTRY_H

#include <apr_siphash.h>
#include <stdatomic.h>

#include "api/lease.h"
#include "core/clock.h"

#define NEO_LEASE_IN_PROGRESS 0 /* instead of a window: the limit is of requests in progress */
#define NEO_NO_LEASE          (-1)
#define NEO_NO_LEASE_RECORD   (-1) /* instead of a limit: it is not known what the table has */

/* What the table has of this host. Only the process that exchanges leases uses it. */
typedef struct {
    int limit, lease, used, demand, wanted;
} neo_lease_record;

typedef struct {
    atomic_int limit, window;
    atomic_int lease;
    atomic_int tried; /* requests since the last exchange; of requests in progress, refused ones */
    atomic_int demand;
    atomic_int wanted; /* how many requests a batch counts as that was refused lately; 0: none */
    _Atomic neo_ms wanted_at;
    atomic_int other_used, other_demand, other_wanted;
    _Atomic neo_ms seen; /* the last exchange whose response had the limit */
    neo_lease_record recorded;
    char name[NEO_LEASE_NAME_SIZE];
} neo_lease_entry;

/* After the entries follow their states, which are apart so that an exchange does not read unused entries. */
struct neo_leases {
    apr_size_t buckets;                   /* 0: the memory is new */
    unsigned char key[APR_SIPHASH_KSIZE]; /* so that no name can be chosen to share another's bucket */
    atomic_int hosts;                     /* 0: unknown */
    atomic_int full;
    atomic_int is_failing;
    atomic_int has_others;   /* other hosts have leases, or have used a limit */
    atomic_int is_recorded;  /* an exchange has succeeded since the memory was new */
    _Atomic neo_ms number;   /* that of the exchange that began last; it also grows when the host is restarted */
    atomic_llong known;      /* which state of the other hosts this one has; passed to neoapi.exchange_leases; 0: none */
    _Atomic neo_ms next;     /* exchange, neo_steady_ms, as all times here */
    _Atomic neo_ms valid_at; /* when the last successful exchange began; 0: never */
    _Atomic neo_ms called_at, lower_since;
    neo_lease_entry entries[];
};

/* Returns the first used entry from the *at-th on, and sets *at behind it; NULL if there is none. */
neo_lease_entry *neo_lease_next(neo_leases *leases, apr_size_t *at);

/* Finds the entry with this name, or creates it. Returns NULL if its bucket is full. Two threads may create it twice; then
 * only the first one is found again, and the next exchange removes the other. */
neo_lease_entry *neo_lease_find(neo_leases *leases, const char *name, int limit, int window);
void neo_lease_remove(neo_leases *leases, const neo_lease_entry *entry);

int neo_leases_are_valid(const neo_leases *leases);

/* The host's part of a limit if there are other hosts. `entry` may be NULL. */
int neo_lease_part(const neo_leases *leases, const neo_lease_entry *entry, int limit, int hosts);

#endif
