/* SPDX-License-Identifier: Apache-2.0 */
/* Timers: the times at which deliveries are due, in a heap. If it is full, further times are dropped, because the courier polls
 * the queue anyway. */
#ifndef NEO_WEBHOOKS_TIMERS_H
#define NEO_WEBHOOKS_TIMERS_H

#include "core/clock.h"

#define NEO_MAX_TIMERS 4096

typedef struct neo_timers {
    int count;
    neo_ms at[NEO_MAX_TIMERS];
} neo_timers;

/* Times are rounded up to this step, so that one claim serves many of them. */
#define NEO_TIMER_STEP_MS 10
void neo_timers_add(neo_timers *timers, neo_ms at);

/* Returns the earliest time, 0 if there is none. */
neo_ms neo_timers_next(const neo_timers *timers);

/* Removes the times up to `now`. */
void neo_timers_expire(neo_timers *timers, neo_ms now);

#endif
