/* SPDX-License-Identifier: Apache-2.0 */
/* A sequence lock for data in shared memory (see core/seqlock.h). */
#include "core/seqlock.h"

#include <string.h>

#define MAX_TRIES 1000

/* A killed writer can have left the number odd; adding one would make it even while this one writes. */
void neo_seqlock_write(neo_seqlock *lock, void *shared, const void *data, size_t size)
{
    neo_seqlock odd = __atomic_load_n(lock, __ATOMIC_ACQUIRE) | 1;
    __atomic_store_n(lock, odd, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(shared, data, size);
    __atomic_store_n(lock, odd + 1, __ATOMIC_RELEASE);
}

int neo_seqlock_read(const neo_seqlock *lock, const void *shared, void *data, size_t size)
{
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        neo_seqlock before = __atomic_load_n(lock, __ATOMIC_ACQUIRE);
        memcpy(data, shared, size);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (before % 2 == 0 && __atomic_load_n(lock, __ATOMIC_RELAXED) == before)
            return 1;
    }
    return 0;
}
