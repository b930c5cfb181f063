/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory of the rate limiters. It is created in the parent and kept on graceful restarts. */
#ifndef NEO_HTTPD_MEMORY_H
#define NEO_HTTPD_MEMORY_H

#include <httpd.h>

#include "api/limiter.h"

/* Creates counters for `entries` credentials and as many addresses. Returns false, and logs, if there is no memory. */
int neo_memory_limiters(server_rec *main_server, apr_size_t entries, neo_limiter **credentials, neo_limiter **addresses);

#endif
