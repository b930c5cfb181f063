/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the best number of slots (see api/slot_tuner.h). */
#include "api/slot_tuner.h"

#include <math.h>

#define FIRST_TRIALS 3   /* windows: the level itself and both neighbours */
#define TRIAL_EVERY  8   /* windows: rarely, because a trial can be slow */
#define WEIGHT       0.5 /* the last window's in a score */
#define OVERHEAD     3.0 /* PostgreSQL's time for a statement, divided by its time for a row */

void neo_slot_tuner_fix(neo_slot_tuner *tuner, int slots)
{
    *tuner = (neo_slot_tuner){.is_fixed = 1};
    while (tuner->level + 1 < NEO_SLOT_LEVELS && 2 << tuner->level <= slots)
        tuner->level++;
}

int neo_slot_tuner_slots(const neo_slot_tuner *tuner)
{
    return 1 << __atomic_load_n(&tuner->level, __ATOMIC_RELAXED);
}

static int is_level(int level)
{
    return level >= 0 && level < NEO_SLOT_LEVELS;
}

/* Returns the level with the lowest score: the last best one or a neighbour that has been measured. */
static int find_best(const neo_slot_tuner *tuner)
{
    int best = tuner->best;
    for (int level = tuner->best - 1; level <= tuner->best + 1; level++)
        if (is_level(level) && tuner->scores[level] > 0 && tuner->scores[level] < tuner->scores[best])
            best = level;
    return best;
}

/* The time of a row alone is not enough as its score: with more slots a host gets a larger share of PostgreSQL, which other
 * hosts lose. So the estimated processor time counts as well. After a successful trial the next one is in the same direction.
 */
static void end_window(neo_slot_tuner *tuner, double time, double statements)
{
    int level = tuner->level, trial;
    double last = time * sqrt(1 + OVERHEAD * statements), *known = &tuner->scores[level];
    *known = *known > 0 ? (1 - WEIGHT) * *known + WEIGHT * last : last;
    int best = find_best(tuner), has_moved = best != tuner->best && best == level;
    if (has_moved)
        tuner->is_downward = best < tuner->best;
    tuner->windows++;
    tuner->best = level = best;
    if (has_moved || tuner->windows < FIRST_TRIALS || tuner->windows % TRIAL_EVERY == 0) {
        trial = tuner->is_downward ? best - 1 : best + 1;
        level = is_level(trial) ? trial : best;
        tuner->is_downward = !tuner->is_downward;
    }
    __atomic_store_n(&tuner->level, level, __ATOMIC_RELAXED);
}

void neo_slot_tuner_count_row(neo_slot_tuner *tuner, long long took, int is_concurrent)
{
    __atomic_fetch_add(&tuner->times, took, __ATOMIC_RELAXED);
    __atomic_fetch_add(&tuner->concurrent, is_concurrent, __ATOMIC_RELAXED);
    __atomic_fetch_add(&tuner->rows, 1, __ATOMIC_RELEASE);
}

/* Only the process that takes a window's rows ends it; the next window is full long after that. A killed process loses it. A
 * window is ignored if most of its requests had no concurrent ones: they do not depend on the number of slots. */
void neo_slot_tuner_count_statement(neo_slot_tuner *tuner)
{
    __atomic_fetch_add(&tuner->statements, 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&tuner->rows, __ATOMIC_RELAXED) < NEO_SLOT_WINDOW)
        return;
    int rows = __atomic_exchange_n(&tuner->rows, 0, __ATOMIC_ACQUIRE);
    int statements = __atomic_exchange_n(&tuner->statements, 0, __ATOMIC_RELAXED);
    int concurrent = __atomic_exchange_n(&tuner->concurrent, 0, __ATOMIC_RELAXED);
    long long times = __atomic_exchange_n(&tuner->times, 0, __ATOMIC_RELAXED);
    if (!tuner->is_fixed && rows >= NEO_SLOT_WINDOW && concurrent >= rows / 2)
        end_window(tuner, (double)times / rows, (double)statements / rows);
}
