/* SPDX-License-Identifier: Apache-2.0 */
/* For libraries for LD_PRELOAD that a test controls (see preload.py): maps a number that may change at any time. */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static const volatile int64_t *number; /* NULL if the file cannot be read */

__attribute__((constructor)) static void map_number(void)
{
    int file = open(NUMBER_FILE, O_RDONLY | O_CLOEXEC);
    void *memory = mmap(NULL, sizeof *number, PROT_READ, MAP_SHARED, file, 0);
    number = memory == MAP_FAILED ? NULL : memory;
    close(file);
}
