/* SPDX-License-Identifier: Apache-2.0 */
/* A sequence lock for data in shared memory: one writer, any number of readers, none of them blocks. A reader gets a consistent
 * copy or none. After a writer is killed while writing, reads fail until the next write. */
#ifndef NEO_CORE_SEQLOCK_H
#define NEO_CORE_SEQLOCK_H

#include <stddef.h>

/* Odd while the data are being written. Starts as 0. */
typedef unsigned int neo_seqlock;

/* There must be only one writer at a time. */
void neo_seqlock_write(neo_seqlock *lock, void *shared, const void *data, size_t size);

/* Returns false if no consistent copy could be read. */
int neo_seqlock_read(const neo_seqlock *lock, const void *shared, void *data, size_t size);

#endif
