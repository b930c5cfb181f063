/* SPDX-License-Identifier: Apache-2.0 */
/* A library for LD_PRELOAD that simulates a full file system of PostgreSQL's data directory, which is its working directory. If
 * the number is GROWTH, files cannot grow. If it is ALL, every write fails, as on a file system that allocates on write.
 * PostgreSQL writes tables and its log with these functions. */
#include "preload.h"
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum { GROWTH = 1, ALL = 2 };

static int is_refused(int file, off_t end)
{
    struct stat one, data;
    if (!number || !*number || fstat(file, &one) || stat(".", &data) || one.st_dev != data.st_dev)
        return 0;
    errno = ENOSPC;
    return *number == ALL || end > one.st_size;
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at)
{
    ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
    return is_refused(file, at + (off_t)size) ? -1 : real(file, bytes, size, at);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t at)
{
    ssize_t (*real)(int, const struct iovec *, int, off_t) = dlsym(RTLD_NEXT, "pwritev");
    return is_refused(file, at + 1) ? -1 : real(file, parts, count, at);
}

int posix_fallocate(int file, off_t at, off_t size)
{
    int (*real)(int, off_t, off_t) = dlsym(RTLD_NEXT, "posix_fallocate");
    return is_refused(file, at + size) ? ENOSPC : real(file, at, size);
}
