/* Threads of a child process beside those that serve requests. */
#ifndef NEO_HTTPD_THREAD_H
#define NEO_HTTPD_THREAD_H

#include <apr_pools.h>

/* Runs `run(data)` in a thread of its own, which takes no signals. Before `pchild` is destroyed, `stop(data)` is called, which
 * makes it end soon, and it is waited for. */
void neo_thread_start(apr_pool_t *pchild, void (*run)(void *data), void (*stop)(void *data), void *data);

#endif
