/* The heap of moments (see delivery/alarms.h). */
#include "delivery/alarms.h"

static void swap(neo_alarms *alarms, int a, int b)
{
    neo_ms kept = alarms->at[a];
    alarms->at[a] = alarms->at[b];
    alarms->at[b] = kept;
}

void neo_alarms_set(neo_alarms *alarms, neo_ms at)
{
    at = (at + NEO_ALARM_STEP - 1) / NEO_ALARM_STEP * NEO_ALARM_STEP;
    if (alarms->count == NEO_ALARMS || (alarms->count && at == alarms->at[0]))
        return;
    int i = alarms->count++;
    alarms->at[i] = at;
    for (; i > 0 && alarms->at[i] < alarms->at[(i - 1) / 2]; i = (i - 1) / 2)
        swap(alarms, i, (i - 1) / 2);
}

neo_ms neo_alarms_next(const neo_alarms *alarms)
{
    return alarms->count ? alarms->at[0] : 0;
}

static void remove_first(neo_alarms *alarms)
{
    alarms->at[0] = alarms->at[--alarms->count];
    for (int i = 0, child; (child = 2 * i + 1) < alarms->count; i = child) {
        if (child + 1 < alarms->count && alarms->at[child + 1] < alarms->at[child])
            child++;
        if (alarms->at[i] <= alarms->at[child])
            break;
        swap(alarms, i, child);
    }
}

void neo_alarms_pass(neo_alarms *alarms, neo_ms now)
{
    while (alarms->count && alarms->at[0] <= now)
        remove_first(alarms);
}
