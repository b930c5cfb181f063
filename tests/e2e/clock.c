/* SPDX-License-Identifier: Apache-2.0 */
/* A library for LD_PRELOAD: the wall clock is so many milliseconds ahead as the file SHIFT_FILE says, a 64-bit integer that may
 * change at any time. */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *shift;

__attribute__((constructor)) static void map_shift(void)
{
    int file = open(SHIFT_FILE, O_RDONLY | O_CLOEXEC);
    void *memory = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
    shift = memory == MAP_FAILED ? NULL : memory;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (failed || clock != CLOCK_REALTIME || !shift)
        return failed;
    int64_t nanoseconds = now->tv_nsec + *shift % 1000 * 1000000;
    now->tv_sec += *shift / 1000 + (nanoseconds >= 1000000000) - (nanoseconds < 0);
    now->tv_nsec = (nanoseconds + 1000000000) % 1000000000;
    return 0;
}
