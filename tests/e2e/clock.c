/* SPDX-License-Identifier: Apache-2.0 */
/* A library for LD_PRELOAD: the wall clock is SHIFT seconds ahead. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (!failed && clock == CLOCK_REALTIME)
        now->tv_sec += SHIFT;
    return failed;
}
