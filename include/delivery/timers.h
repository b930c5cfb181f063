/* Moments at which there will be something to do: a heap, the earliest on top. It has a limited size; what does not fit is
 * forgotten, since the queue is looked at regularly anyway. */
#ifndef NEO_DELIVERY_TIMERS_H
#define NEO_DELIVERY_TIMERS_H

#include "core/clock.h"

#define NEO_MAX_TIMERS 4096

typedef struct neo_timers {
    int count;
    neo_ms at[NEO_MAX_TIMERS];
} neo_timers;

/* Moments are rounded up to so many milliseconds, so that many fall together. */
#define NEO_TIMER_STEP_MS 10
void neo_timers_add(neo_timers *timers, neo_ms at);

/* The earliest one; 0 where there is none. */
neo_ms neo_timers_next(const neo_timers *timers);

/* Removes those that have come. */
void neo_timers_expire(neo_timers *timers, neo_ms now);

#endif
