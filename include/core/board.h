/* A board in shared memory: one writes, any number read, and nobody waits. Who reads gets what was written whole, or nothing.
 *
 * A writer that is killed in the middle leaves what cannot be read; the next one's is read again. */
#ifndef NEO_CORE_BOARD_H
#define NEO_CORE_BOARD_H

#include <stddef.h>

/* Of a board: odd while it is written to. Zero to begin with. */
typedef unsigned int neo_board_turn;

/* One at a time. */
void neo_board_write(neo_board_turn *turn, void *board, const void *what, size_t size);

/* False where it cannot be read whole. */
int neo_board_read(const neo_board_turn *turn, const void *board, void *what, size_t size);

#endif
