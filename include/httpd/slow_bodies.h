/* SPDX-License-Identifier: Apache-2.0 */
/* Limits how many threads of this process wait for bodies: half of them, and a few for one credential or address. Otherwise
 * some slow clients could occupy all threads. */
#ifndef NEO_HTTPD_SLOW_BODIES_H
#define NEO_HTTPD_SLOW_BODIES_H

#include <stdint.h>

/* Who a thread waits for, as hashes. */
typedef struct neo_slow_body {
    uint64_t credential; /* 0: none */
    uint64_t address;
} neo_slow_body;

/* Call it in a child process, before requests are served. */
void neo_slow_bodies_prepare(void);

/* Returns false if the thread must not wait. `credential` may be NULL. */
int neo_slow_bodies_enter(neo_slow_body *body, const char *credential, const char *address);
void neo_slow_bodies_leave(const neo_slow_body *body);

#endif
