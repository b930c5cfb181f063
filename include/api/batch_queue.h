/* SPDX-License-Identifier: Apache-2.0 */
/* Limits the batches in progress of this process. Two at the same time keep a processor of the database busy; more take turns
 * on it, and each row costs more. The limit is soft: a batch waits for a limited time, so that one that waits for a lock or a
 * slow disk does not stop others. An organization without a batch in progress comes first, so that one with many does not stop
 * others. */
#ifndef NEO_API_BATCH_QUEUE_H
#define NEO_API_BATCH_QUEUE_H

#include <pthread.h>

/* A batch that waits for its turn or is in progress. */
typedef struct neo_batch_place {
    struct neo_batch_place *next;
    const char *organization; /* its id, valid until the batch leaves */
    int is_admitted;
    pthread_cond_t admitted;
} neo_batch_place;

/* Waits, for a limited time, while too many batches are in progress. */
void neo_batch_queue_enter(neo_batch_place *place, const char *organization, int max_wait_ms);
void neo_batch_queue_leave(neo_batch_place *place);

/* The number of batches that wait, for tests. */
int neo_batch_queue_length(void);

#endif
