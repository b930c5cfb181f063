/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap of times (see webhooks/timers.h). */
#include "webhooks/timers.h"

static void swap(neo_timers *timers, int a, int b)
{
    neo_ms swapped = timers->at[a];
    timers->at[a] = timers->at[b];
    timers->at[b] = swapped;
}

void neo_timers_add(neo_timers *timers, neo_ms at)
{
    at = (at + NEO_TIMER_STEP_MS - 1) / NEO_TIMER_STEP_MS * NEO_TIMER_STEP_MS;
    if (timers->count == NEO_MAX_TIMERS || (timers->count && at == timers->at[0]))
        return;
    int i = timers->count++;
    timers->at[i] = at;
    for (; i > 0 && timers->at[i] < timers->at[(i - 1) / 2]; i = (i - 1) / 2)
        swap(timers, i, (i - 1) / 2);
}

neo_ms neo_timers_next(const neo_timers *timers)
{
    return timers->count ? timers->at[0] : 0;
}

static void remove_first(neo_timers *timers)
{
    timers->at[0] = timers->at[--timers->count];
    for (int i = 0, child; (child = 2 * i + 1) < timers->count; i = child) {
        if (child + 1 < timers->count && timers->at[child + 1] < timers->at[child])
            child++;
        if (timers->at[i] <= timers->at[child])
            break;
        swap(timers, i, child);
    }
}

void neo_timers_expire(neo_timers *timers, neo_ms now)
{
    while (timers->count && timers->at[0] <= now)
        remove_first(timers);
}
