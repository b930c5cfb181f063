/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses database servers that have been replaced (see httpd/replaced.h). */
#include "httpd/replaced.h"

#include <string.h>

#include "core/encode.h"
#include "sql/event_log.h"

#define TIMEOUT_S   3
#define LOWEST_RANK 1 /* of no server */

neo_seen_rank *neo_seen_rank_find(const char *params)
{
    neo_seen_rank *ranks = neo_shared_metrics_get()->ranks;
    unsigned int key = neo_crc32(params, strlen(params)) | 1;
    for (int i = 0; i < NEO_MAX_DATABASES; i++) {
        unsigned int found = 0;
        if (__atomic_compare_exchange_n(&ranks[i].params, &found, key, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) || found == key)
            return &ranks[i];
    }
    return NULL;
}

static void raise_rank(neo_seen_rank *seen, long long rank)
{
    long long highest = __atomic_load_n(&seen->rank, __ATOMIC_ACQUIRE);
    while (rank > highest)
        if (__atomic_compare_exchange_n(&seen->rank, &highest, rank, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            __atomic_fetch_add(&seen->generation, 1, __ATOMIC_RELEASE);
            return;
        }
}

/* A host that has just been started learns the ranks of all servers of DBDParams once. */
static void look_at_all_servers(neo_seen_rank *seen, neo_pg *pg, apr_pool_t *pool)
{
    const char *host, *error;
    long long rank = 0;
    if (!__atomic_compare_exchange_n(&seen->rank, &rank, LOWEST_RANK, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    for (int n = 0;; n++) {
        neo_pg *server = neo_pg_connect_nth(pg, n, pool, &host, &error);
        if (!host)
            return;
        if (server && neo_log_rank_read(server, TIMEOUT_S, pool, &rank) == NEO_PG_OK && neo_log_has_replaced(rank, LOWEST_RANK))
            raise_rank(seen, rank);
    }
}

/* The highest rank is loaded before the statement, so that the server which has it returns at least as much, even if it begins
 * an epoch meanwhile. The lowest bit of *verified is set, because 0 means that the connection is new. */
int neo_replaced_verify(neo_pg *pg, void *baton, unsigned int *verified)
{
    neo_seen_rank *seen = baton;
    unsigned int generation = __atomic_load_n(&seen->generation, __ATOMIC_ACQUIRE) << 1 | 1;
    long long rank;
    apr_pool_t *pool;
    if (*verified == generation)
        return 1;
    apr_pool_create_unmanaged_ex(&pool, NULL, NULL);
    look_at_all_servers(seen, pg, pool);
    long long highest = __atomic_load_n(&seen->rank, __ATOMIC_ACQUIRE);
    neo_pg_status status = neo_log_rank_read(pg, TIMEOUT_S, pool, &rank);
    apr_pool_destroy(pool);
    int is_replaced = status == NEO_PG_OK && rank != NEO_LOG_NO_RANK && rank < highest;
    neo_metrics_count(neo_shared_metrics_get()->metrics, NEO_COUNT_REPLACED, is_replaced);
    if (is_replaced && *verified)
        __atomic_fetch_add(&seen->generation, 1, __ATOMIC_RELEASE);
    else if (status == NEO_PG_OK)
        raise_rank(seen, rank);
    *verified = generation;
    return !is_replaced;
}
