/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the number of slots of a queue of creates with which creates are fastest (see api/create_queue.h).
 *
 * With few slots many rows share a statement, which saves PostgreSQL's processor time. With many slots rows do not wait for
 * each other's commit, disk or network. Which matters more depends on the machines and the load, so the tuner measures it: it
 * tries the next higher and lower number in turns and keeps the best one. All processes of a host share it: each alone would
 * use ever more slots to get a larger share of PostgreSQL, until no statement is shared. */
#ifndef NEO_API_SLOT_TUNER_H
#define NEO_API_SLOT_TUNER_H

#define NEO_SLOT_LEVELS 5 /* 1, 2, 4, 8 or 16 slots */
#define NEO_MAX_SLOTS   (1 << (NEO_SLOT_LEVELS - 1))
#define NEO_SLOT_WINDOW 256 /* rows that are measured with one number of slots */

typedef struct neo_slot_tuner {
    int is_fixed;
    int level, best;                /* the current one, and the one that is kept */
    int windows;                    /* those that have ended */
    int is_downward;                /* the next trial */
    int rows, statements;           /* counts of this window */
    int concurrent;                 /* rows whose requests began while others were in progress */
    long long times;                /* the sum for these rows, in microseconds */
    double scores[NEO_SLOT_LEVELS]; /* a moving average for each level; less is better; 0 if it is not known yet */
} neo_slot_tuner;

/* Makes a tuner with a fixed number of slots, of which the next lower power of two is used. One that searches is all zeros. */
void neo_slot_tuner_fix(neo_slot_tuner *tuner, int slots);

int neo_slot_tuner_slots(const neo_slot_tuner *tuner);

/* Counts a row that took so many microseconds from the beginning of its create. */
void neo_slot_tuner_count_row(neo_slot_tuner *tuner, long long took, int is_concurrent);

/* Counts the statement of the last rows. The number of slots can be another one afterwards. */
void neo_slot_tuner_count_statement(neo_slot_tuner *tuner);

#endif
