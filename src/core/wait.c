/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes and conditions (see core/wait.h). */
#include "core/wait.h"

#include <stdlib.h>
#include <time.h>

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
