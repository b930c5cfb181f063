/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes that are held briefly, and waits with a limit that a step of the system clock does not change. */
#ifndef NEO_CORE_WAIT_H
#define NEO_CORE_WAIT_H

#include <pthread.h>

#include "core/clock.h"

void neo_mutex_init(pthread_mutex_t *mutex);
void neo_cond_init(pthread_cond_t *condition);

/* Waits until the condition is signalled, which may also happen without a reason, or until neo_steady_ms is `until`. Returns
 * false at that time. The caller holds the mutex, and the condition was made by neo_cond_init. */
int neo_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, neo_ms until);

#endif
