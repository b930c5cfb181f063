/* A board in shared memory (see core/board.h). */
#include "core/board.h"

#include <string.h>

#define TRIES 1000

/* The turn is odd whatever it was: one that a killed writer left odd is not to become even in the middle of this. */
void neo_board_write(neo_board_turn *turn, void *board, const void *what, size_t size)
{
    neo_board_turn odd = __atomic_load_n(turn, __ATOMIC_ACQUIRE) | 1;
    __atomic_store_n(turn, odd, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(board, what, size);
    __atomic_store_n(turn, odd + 1, __ATOMIC_RELEASE);
}

int neo_board_read(const neo_board_turn *turn, const void *board, void *what, size_t size)
{
    for (int tries = 0; tries < TRIES; tries++) {
        neo_board_turn before = __atomic_load_n(turn, __ATOMIC_ACQUIRE);
        memcpy(what, board, size);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (before % 2 == 0 && __atomic_load_n(turn, __ATOMIC_RELAXED) == before)
            return 1;
    }
    return 0;
}
