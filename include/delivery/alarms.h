/* Moments at which there will be something to do: a heap, the earliest on top. It has a limited size; what does not fit is
 * forgotten, since the queue is looked at regularly anyway. */
#ifndef NEO_DELIVERY_ALARMS_H
#define NEO_DELIVERY_ALARMS_H

#include "core/clock.h"

#define NEO_ALARMS 4096

typedef struct neo_alarms {
    int count;
    neo_ms at[NEO_ALARMS];
} neo_alarms;

/* Moments are rounded up to so many milliseconds, so that many fall together. */
#define NEO_ALARM_STEP 10
void neo_alarms_set(neo_alarms *alarms, neo_ms at);

/* The earliest one; 0 where there is none. */
neo_ms neo_alarms_next(const neo_alarms *alarms);

/* Removes those that have come. */
void neo_alarms_pass(neo_alarms *alarms, neo_ms now);

#endif
