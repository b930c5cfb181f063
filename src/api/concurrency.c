/* SPDX-License-Identifier: Apache-2.0 */
/* Lock-free counters of requests in progress (see api/concurrency.h). */
#include "api/concurrency.h"

#include <apr_siphash.h>
#include <stdalign.h>
#include <string.h>

#include "core/crypto.h"

#define CACHE_LINE 64   /* bytes */
#define ROWS       4096 /* in each table */

/* After the header follow the numbers of the processes, 0 for a free slot, and the tables. */
struct neo_concurrency_memory {
    int processes;                        /* 0 if the memory is new */
    atomic_int used;                      /* slots, including free ones between them */
    unsigned char key[APR_SIPHASH_KSIZE]; /* so that no organization can be chosen to share another's rows */
    alignas(CACHE_LINE) _Atomic pid_t pids[];
};

/* In units of a cache line, so that rows of different organizations share none. */
static size_t aligned(size_t size)
{
    return (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static size_t row_size(int processes)
{
    return aligned((size_t)processes * sizeof(uint16_t));
}

size_t neo_concurrency_size(int processes)
{
    return sizeof(neo_concurrency_memory) + aligned((size_t)processes * sizeof(pid_t)) +
           NEO_CONCURRENCY_TABLES * ROWS * row_size(processes);
}

/* All tables' rows are numbered in one sequence. */
static _Atomic uint16_t *row_at(neo_concurrency_memory *memory, size_t row)
{
    char *tables = (char *)memory->pids + aligned((size_t)memory->processes * sizeof(pid_t));
    return (_Atomic uint16_t *)(void *)(tables + row * row_size(memory->processes));
}

neo_concurrency neo_concurrency_attach(void *memory, int processes)
{
    neo_concurrency_memory *m = memory;
    if (!m->processes) {
        neo_random(m->key, sizeof m->key);
        m->processes = processes;
    }
    return (neo_concurrency){m, -1};
}

void neo_concurrency_join(neo_concurrency *concurrency, pid_t pid)
{
    neo_concurrency_memory *m = concurrency->memory;
    for (int i = 0; i < m->processes; i++) {
        pid_t none = 0;
        if (!atomic_compare_exchange_strong(&m->pids[i], &none, pid))
            continue;
        for (int used = atomic_load(&m->used); used <= i && !atomic_compare_exchange_weak(&m->used, &used, i + 1);) {
        }
        concurrency->slot = i;
        return;
    }
}

void neo_concurrency_remove(const neo_concurrency *concurrency, pid_t pid)
{
    neo_concurrency_memory *m = concurrency->memory;
    int slot = 0;
    while (slot < m->processes && atomic_load(&m->pids[slot]) != pid)
        slot++;
    if (slot == m->processes)
        return;
    for (size_t row = 0; row < (size_t)NEO_CONCURRENCY_TABLES * ROWS; row++)
        atomic_store(&row_at(m, row)[slot], 0);
    atomic_store(&m->pids[slot], 0);
}

static int row_sum(const neo_concurrency *concurrency, size_t row)
{
    _Atomic uint16_t *cells = row_at(concurrency->memory, row);
    int sum = 0;
    for (int i = atomic_load(&concurrency->memory->used) - 1; i >= 0; i--)
        sum += atomic_load(&cells[i]);
    return sum;
}

/* An organization's row in each table. */
static void find_rows(const neo_concurrency *concurrency, const char *organization, size_t rows[NEO_CONCURRENCY_TABLES])
{
    uint64_t hash = apr_siphash24(organization, strlen(organization), concurrency->memory->key);
    for (size_t table = 0; table < NEO_CONCURRENCY_TABLES; table++, hash >>= 32)
        rows[table] = table * ROWS + hash % ROWS;
}

/* The lowest of the rows' sums. */
static int lowest_sum(const neo_concurrency *concurrency, const size_t rows[NEO_CONCURRENCY_TABLES])
{
    int count = row_sum(concurrency, rows[0]);
    for (int table = 1; table < NEO_CONCURRENCY_TABLES; table++) {
        int sum = row_sum(concurrency, rows[table]);
        count = sum < count ? sum : count;
    }
    return count;
}

int neo_concurrency_count(const neo_concurrency *concurrency, const char *organization)
{
    size_t rows[NEO_CONCURRENCY_TABLES];
    find_rows(concurrency, organization, rows);
    return lowest_sum(concurrency, rows);
}

/* The request is added to both rows before a sum is read, so that concurrent requests cannot exceed the limit. If more arrive
 * at once than the limit allows, all of them may be refused, although there was room for some. Without room it is not added,
 * because neo_concurrency_count would count it until it is refused. */
int neo_concurrency_enter(const neo_concurrency *concurrency, const char *organization, int limit, neo_concurrency_place *place)
{
    size_t rows[NEO_CONCURRENCY_TABLES];
    *place = (neo_concurrency_place){{NULL}};
    if (concurrency->slot < 0)
        return 1;
    find_rows(concurrency, organization, rows);
    if (lowest_sum(concurrency, rows) >= limit)
        return 0;
    for (int table = 0; table < NEO_CONCURRENCY_TABLES; table++) {
        place->cells[table] = &row_at(concurrency->memory, rows[table])[concurrency->slot];
        atomic_fetch_add(place->cells[table], 1);
    }
    int is_admitted = lowest_sum(concurrency, rows) <= limit;
    if (!is_admitted)
        neo_concurrency_leave(place);
    return is_admitted;
}

void neo_concurrency_leave(neo_concurrency_place *place)
{
    for (int table = 0; table < NEO_CONCURRENCY_TABLES; table++)
        if (place->cells[table])
            atomic_fetch_sub(place->cells[table], 1);
    *place = (neo_concurrency_place){{NULL}};
}
