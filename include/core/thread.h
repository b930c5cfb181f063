/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, mutexes that are held briefly, waits with a limit that a step of the system clock does not change, and sequence
 * locks. */
#ifndef NEO_CORE_THREAD_H
#define NEO_CORE_THREAD_H

#include <apr_pools.h>
#include <pthread.h>

#include "core/clock.h"

void neo_mutex_init(pthread_mutex_t *mutex);
void neo_cond_init(pthread_cond_t *condition);

/* Waits until the condition is signalled, which may also happen without a reason, or until neo_steady_ms is `until`. Returns
 * false at that time. The caller holds the mutex, and the condition was made by neo_cond_init. */
int neo_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, neo_ms until);

/* A sequence lock for data in shared memory: one writer, any number of readers, none of them blocks. A reader gets a consistent
 * copy or none. After a writer is killed while writing, reads fail until the next write. The number is odd while the data are
 * being written, and starts as 0. */
typedef unsigned int neo_seqlock;

/* There must be only one writer at a time. */
void neo_seqlock_write(neo_seqlock *lock, void *shared, const void *data, size_t size);

/* Returns false if no consistent copy could be read. */
int neo_seqlock_read(const neo_seqlock *lock, const void *shared, void *data, size_t size);

/* Runs `run(data)` in a new thread with all signals blocked. Before `pchild` is destroyed, `stop(data)` is called, which must
 * make the thread end soon, and the thread is joined. */
void neo_thread_start(apr_pool_t *pchild, void (*run)(void *data), void (*stop)(void *data), void *data);

#endif
