/* SPDX-License-Identifier: Apache-2.0 */
/* A library for LD_PRELOAD that shifts the wall clock by the milliseconds in the file of preload.h. */
#include "preload.h"
#include <sys/syscall.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (failed || clock != CLOCK_REALTIME || !number)
        return failed;
    int64_t nanoseconds = now->tv_nsec + *number % 1000 * 1000000;
    now->tv_sec += *number / 1000 + (nanoseconds >= 1000000000) - (nanoseconds < 0);
    now->tv_nsec = (nanoseconds + 1000000000) % 1000000000;
    return 0;
}
