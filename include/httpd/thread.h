/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a child process, in addition to those that serve requests. */
#ifndef NEO_HTTPD_THREAD_H
#define NEO_HTTPD_THREAD_H

#include <apr_pools.h>

/* Runs `run(data)` in a new thread with all signals blocked. Before `pchild` is destroyed, `stop(data)` is called, which must
 * make the thread end soon, and the thread is joined. */
void neo_thread_start(apr_pool_t *pchild, void (*run)(void *data), void (*stop)(void *data), void *data);

#endif
