/* SPDX-License-Identifier: Apache-2.0 */
/* A library for LD_PRELOAD that delays PQconnectStart, as a slow resolver does, by a number of milliseconds that a test sets.
 * httpd calls it to find out why a connection failed; mod_dbd calls PQconnectdb, which may call it, too. */
#include <dlfcn.h>

#include "preload.h"

typedef void *connect_function(const char *);

connect_function PQconnectStart, PQconnectdb;

static __thread int is_inside; /* PQconnectdb */

void *PQconnectStart(const char *conninfo)
{
    if (number && !is_inside)
        usleep((useconds_t)(1000 * *number));
    return ((connect_function *)dlsym(RTLD_NEXT, "PQconnectStart"))(conninfo);
}

void *PQconnectdb(const char *conninfo)
{
    is_inside = 1;
    void *conn = ((connect_function *)dlsym(RTLD_NEXT, "PQconnectdb"))(conninfo);
    is_inside = 0;
    return conn;
}
