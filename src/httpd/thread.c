/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and joins threads (see httpd/thread.h). */
#include "httpd/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"

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
