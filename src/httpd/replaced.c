/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses database servers that have been replaced (see httpd/replaced.h). */
#include "httpd/replaced.h"

#include <string.h>

#include "core/clock.h"
#include "core/encode.h"
#include "core/log.h"
#include "sql/event_log.h"

#define TIMEOUT_S        3
#define LOOK_INTERVAL_MS 5000
#define FIRST_LOOK_MS    5000 /* other connections wait this long for it */
#define POLL_INTERVAL_US 20000

/* The host's entry for the servers that the connection's string names, also by its service: that file may change while the host
 * remembers. Returns NULL if there is none left. */
static neo_seen_rank *find_seen_rank(const neo_pg *pg, apr_pool_t *pool)
{
    static int is_logged;
    neo_seen_rank *ranks = neo_shared_metrics_get()->ranks->entries;
    const char *servers = neo_pg_servers(pg, pool);
    unsigned int key = neo_crc32(servers, strlen(servers)) | 1;
    for (int i = 0; i < NEO_MAX_DATABASES; i++) {
        unsigned int found = 0;
        if (__atomic_compare_exchange_n(&ranks[i].servers, &found, key, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) || found == key)
            return &ranks[i];
    }
    if (!__atomic_exchange_n(&is_logged, 1, __ATOMIC_RELAXED))
        neo_log(NEO_LOG_RANKS_FULL, NULL, "%s: the host has connected to %d other databases", servers, NEO_MAX_DATABASES);
    return NULL;
}

static void raise_rank(neo_seen_rank *seen, long long rank)
{
    long long highest = __atomic_load_n(&seen->rank, __ATOMIC_ACQUIRE);
    while (rank > highest)
        if (__atomic_compare_exchange_n(&seen->rank, &highest, rank, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            __atomic_fetch_add(&neo_shared_metrics_get()->ranks->generation, 1, __ATOMIC_RELEASE);
            return;
        }
}

/* Learns the ranks of the servers of DBDParams: at first of all of them, later of one each time. */
static void look_at_servers(neo_seen_rank *seen, neo_pg *pg, int is_first, apr_pool_t *pool)
{
    const char *host, *error;
    long long rank;
    int n = is_first ? 0 : seen->next_server;
    do {
        neo_pg *server = neo_pg_connect_nth(pg, n++, pool, &host, &error);
        if (server && neo_log_rank_read(server, TIMEOUT_S, pool, &rank) == NEO_PG_OK && neo_log_has_replaced(rank, 0))
            raise_rank(seen, rank);
    } while (is_first && host);
    seen->next_server = host ? n : 0;
}

/* The first connection of a host that has just been started looks at all servers, and others wait for that. Later the listeners
 * do, whose connections are verified again every second: the successor may not have responded, or not existed. */
static void look_if_due(neo_seen_rank *seen, neo_pg *pg, int was_accepted, apr_pool_t *pool)
{
    neo_ms now = neo_steady_ms(), last = __atomic_load_n(&seen->looked_at, __ATOMIC_RELAXED);
    if ((!last || (was_accepted && now - last >= LOOK_INTERVAL_MS)) &&
        __atomic_compare_exchange_n(&seen->looked_at, &last, now, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        look_at_servers(seen, pg, !last, pool);
        __atomic_store_n(&seen->has_looked, 1, __ATOMIC_RELEASE);
    }
    while (!__atomic_load_n(&seen->has_looked, __ATOMIC_ACQUIRE) &&
           neo_steady_ms() - __atomic_load_n(&seen->looked_at, __ATOMIC_RELAXED) < FIRST_LOOK_MS)
        apr_sleep(POLL_INTERVAL_US);
}

/* The highest rank is loaded before the statement, so that the server which has it returns at least as much, even if it begins
 * an epoch meanwhile. The lowest bit of *verified is set, because 0 means that the connection is new. */
int neo_replaced_verify(neo_pg *pg, void *baton, unsigned int *verified)
{
    (void)baton;
    unsigned int generation = __atomic_load_n(&neo_shared_metrics_get()->ranks->generation, __ATOMIC_ACQUIRE) << 1 | 1;
    long long rank;
    apr_pool_t *pool;
    if (*verified == generation)
        return 1;
    apr_pool_create_unmanaged_ex(&pool, NULL, NULL);
    neo_seen_rank *seen = find_seen_rank(pg, pool);
    if (seen)
        look_if_due(seen, pg, *verified != 0, pool);
    long long highest = seen ? __atomic_load_n(&seen->rank, __ATOMIC_ACQUIRE) : 0;
    neo_pg_status status = neo_log_rank_read(pg, TIMEOUT_S, pool, &rank);
    apr_pool_destroy(pool);
    int is_replaced = status == NEO_PG_OK && rank != NEO_LOG_NO_RANK && rank < highest;
    neo_metrics_count(neo_shared_metrics_get()->metrics, NEO_COUNT_REPLACED, is_replaced);
    if (is_replaced && *verified)
        __atomic_fetch_add(&neo_shared_metrics_get()->ranks->generation, 1, __ATOMIC_RELEASE);
    else if (seen && status == NEO_PG_OK)
        raise_rank(seen, rank);
    if (status == NEO_PG_OK || status == NEO_PG_SCHEMA)
        *verified = generation;
    return !is_replaced;
}
