/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of batches (see api/batch_queue.h). */
#include "api/batch_queue.h"

#include <string.h>

#include "core/thread.h"

#define MAX_IN_PROGRESS 2

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static neo_batch_place *waiting, *in_progress; /* `waiting` is in the order of arrival */
static int in_progress_count;

static void append_place(neo_batch_place **list, neo_batch_place *place)
{
    while (*list)
        list = &(*list)->next;
    place->next = NULL;
    *list = place;
}

static void remove_place(neo_batch_place **list, const neo_batch_place *place)
{
    while (*list != place)
        list = &(*list)->next;
    *list = place->next;
}

static int has_batch_in_progress(const char *organization)
{
    const neo_batch_place *place = in_progress;
    while (place && strcmp(place->organization, organization) != 0)
        place = place->next;
    return place != NULL;
}

static void admit_place(neo_batch_place *place)
{
    append_place(&in_progress, place);
    in_progress_count++;
    place->is_admitted = 1;
}

static void admit_next(void)
{
    neo_batch_place *next = waiting;
    while (next && has_batch_in_progress(next->organization))
        next = next->next;
    if (!next)
        next = waiting;
    if (!next || in_progress_count >= MAX_IN_PROGRESS)
        return;
    remove_place(&waiting, next);
    admit_place(next);
    pthread_cond_signal(&next->admitted);
}

void neo_batch_queue_enter(neo_batch_place *place, const char *organization, int max_wait_ms)
{
    neo_ms until = neo_steady_ms() + max_wait_ms;
    *place = (neo_batch_place){.organization = organization};
    neo_cond_init(&place->admitted);
    pthread_mutex_lock(&mutex);
    append_place(&waiting, place);
    admit_next();
    while (!place->is_admitted && neo_steady_ms() < until)
        (void)neo_cond_wait(&place->admitted, &mutex, until);
    if (!place->is_admitted) {
        remove_place(&waiting, place);
        admit_place(place);
    }
    pthread_mutex_unlock(&mutex);
    pthread_cond_destroy(&place->admitted);
}

void neo_batch_queue_leave(neo_batch_place *place)
{
    pthread_mutex_lock(&mutex);
    remove_place(&in_progress, place);
    in_progress_count--;
    admit_next();
    pthread_mutex_unlock(&mutex);
}

int neo_batch_queue_length(void)
{
    int length = 0;
    pthread_mutex_lock(&mutex);
    for (const neo_batch_place *place = waiting; place; place = place->next)
        length++;
    pthread_mutex_unlock(&mutex);
    return length;
}
