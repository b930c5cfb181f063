/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, mutexes, conditions and sequence locks (see core/thread.h). */
#include "core/thread.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/log.h"

#define MAX_TRIES 1000 /* a reader's attempts to get a consistent copy */

/* Adaptive: held too briefly to be worth sleeping. */
void neo_mutex_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t adaptive;
    if (pthread_mutexattr_init(&adaptive) != 0 || pthread_mutexattr_settype(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP) != 0 ||
        pthread_mutex_init(mutex, &adaptive) != 0)
        abort();
    pthread_mutexattr_destroy(&adaptive);
}

void neo_cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) != 0 || pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) != 0 ||
        pthread_cond_init(condition, &monotonic) != 0)
        abort();
    pthread_condattr_destroy(&monotonic);
}

int neo_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, neo_ms until)
{
    const struct timespec at = {until / 1000, until % 1000 * 1000000};
    return pthread_cond_timedwait(condition, mutex, &at) == 0;
}

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

/* ---------------------------------------------------------------- threads */

typedef struct {
    pthread_t id;
    void (*run)(void *data);
    void (*stop)(void *data);
    void *data;
} thread;

static void *run_thread(void *data)
{
    thread *t = data;
    t->run(t->data);
    return NULL;
}

static apr_status_t stop_and_join(void *data)
{
    thread *t = data;
    t->stop(t->data);
    pthread_join(t->id, NULL);
    return APR_SUCCESS;
}

void neo_thread_start(apr_pool_t *pchild, void (*run_it)(void *data), void (*stop)(void *data), void *data)
{
    sigset_t all, before;
    thread *t = apr_palloc(pchild, sizeof *t);
    t->run = run_it;
    t->stop = stop;
    t->data = data;
    sigfillset(&all); /* httpd's own threads handle its signals */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&t->id, NULL, run_thread, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        neo_log(NEO_LOG_NO_THREAD, NULL, "cannot start a thread: %s", strerror(failed));
        abort();
    }
    apr_pool_pre_cleanup_register(pchild, t, stop_and_join);
}
