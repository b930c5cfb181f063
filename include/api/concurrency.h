/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the requests in progress of each organization, and the leads of each portal, across all processes that share the
 * memory. Below, a portal's id can be in the place of an organization's.
 *
 * Every process counts in its own cells, which a reader sums. When a process is killed, its cells are cleared. An organization
 * has a row of cells in each of two tables, and the lower of the two sums is used: another organization's requests count only
 * if it shares both rows. The rows are chosen with a random key. */
#ifndef NEO_API_CONCURRENCY_H
#define NEO_API_CONCURRENCY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NEO_CONCURRENCY_TABLES 2

typedef struct neo_concurrency_memory neo_concurrency_memory;

/* A process's access to the memory. */
typedef struct neo_concurrency {
    neo_concurrency_memory *memory;
    int slot; /* the number of the process's cells; -1: it has none, and its requests are not counted */
} neo_concurrency;

/* Where a request is counted. */
typedef struct neo_concurrency_place {
    _Atomic uint16_t *cells[NEO_CONCURRENCY_TABLES]; /* NULL: nowhere */
} neo_concurrency_place;

/* The size for `processes` in bytes. New memory must be zeroed and aligned to a cache line. */
size_t neo_concurrency_size(int processes);
neo_concurrency neo_concurrency_attach(void *memory, int processes);

/* Call it in a new process, before it counts. */
void neo_concurrency_join(neo_concurrency *concurrency, pid_t pid);
/* Call it when the process has ended. */
void neo_concurrency_remove(const neo_concurrency *concurrency, pid_t pid);

/* Counts a request until it leaves. Returns false, and does not count it, if `limit` are in progress. */
int neo_concurrency_enter(const neo_concurrency *concurrency, const char *organization, int limit,
                          neo_concurrency_place *place);
/* The requests of the organization that are in progress. */
int neo_concurrency_count(const neo_concurrency *concurrency, const char *organization);
/* Does nothing if the request was not counted, or has left. */
void neo_concurrency_leave(neo_concurrency_place *place);

#endif
