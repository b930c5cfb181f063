/* A sequence lock for data in shared memory: one writes, any number read, and nobody waits. A reader gets a consistent copy, or
 * none.
 *
 * A writer that is killed in the middle leaves what cannot be read; the next one's is read again. */
#ifndef NEO_CORE_SEQLOCK_H
#define NEO_CORE_SEQLOCK_H

#include <stddef.h>

/* Of a board: odd while it is written to. Zero to begin with. */
typedef unsigned int neo_seqlock;

/* One at a time. */
void neo_seqlock_write(neo_seqlock *lock, void *shared, const void *data, size_t size);

/* False where it cannot be read whole. */
int neo_seqlock_read(const neo_seqlock *lock, const void *shared, void *data, size_t size);

#endif
