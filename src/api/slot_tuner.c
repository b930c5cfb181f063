/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the best number of slots (see api/slot_tuner.h). */
#include "api/slot_tuner.h"

#include <math.h>

#define FIRST_LEVEL  1   /* two slots */
#define FIRST_TRIALS 3   /* windows: the level itself and both neighbours */
#define TRIAL_EVERY  8   /* windows: rarely, because a trial can be slow */
#define WEIGHT       0.5 /* of the last window in a score */
#define OVERHEAD     3.0 /* PostgreSQL's time for a statement, divided by its time for a row */

void neo_slot_tuner_init(neo_slot_tuner *tuner, int slots)
{
    *tuner = (neo_slot_tuner){.is_fixed = slots > 0, .level = slots > 0 ? 0 : FIRST_LEVEL, .best = FIRST_LEVEL, .direction = 1};
    while (tuner->level + 1 < NEO_SLOT_LEVELS && 2 << tuner->level <= slots)
        tuner->level++;
}

int neo_slot_tuner_slots(const neo_slot_tuner *tuner)
{
    return 1 << tuner->level;
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

/* The time of a row alone is not enough as its score: with more slots a process gets a larger share of PostgreSQL, which other
 * processes lose, until all use so many that no statement is shared. So the estimated processor time counts as well. After a
 * successful trial the next one is in the same direction. */
static void end_window(neo_slot_tuner *tuner)
{
    double last = tuner->times / tuner->rows * sqrt(1 + OVERHEAD * tuner->statements / tuner->rows);
    double *known = &tuner->scores[tuner->level];
    *known = *known > 0 ? (1 - WEIGHT) * *known + WEIGHT * last : last;
    int best = find_best(tuner), has_moved = best != tuner->best && best == tuner->level;
    if (has_moved)
        tuner->direction = best - tuner->best;
    tuner->windows++;
    tuner->best = tuner->level = best;
    if (!has_moved && tuner->windows >= FIRST_TRIALS && tuner->windows % TRIAL_EVERY)
        return;
    if (is_level(best + tuner->direction))
        tuner->level = best + tuner->direction;
    tuner->direction = -tuner->direction;
}

void neo_slot_tuner_count_row(neo_slot_tuner *tuner, long long took, int is_concurrent)
{
    tuner->rows++;
    tuner->times += (double)took;
    tuner->concurrent += is_concurrent;
}

/* A window is ignored if most of its requests had no concurrent ones: they do not depend on the number of slots. */
void neo_slot_tuner_count_statement(neo_slot_tuner *tuner)
{
    tuner->statements++;
    if (tuner->rows < NEO_SLOT_WINDOW)
        return;
    if (!tuner->is_fixed && tuner->concurrent >= tuner->rows / 2)
        end_window(tuner);
    tuner->rows = tuner->statements = tuner->concurrent = 0;
    tuner->times = 0;
}
