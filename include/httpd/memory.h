/* Memory that all processes of this httpd share. It is made in the parent and outlives graceful restarts. */
#ifndef NEO_HTTPD_MEMORY_H
#define NEO_HTTPD_MEMORY_H

#include <httpd.h>

#include "service/limiter.h"

/* Counters for as many credentials and as many addresses. False, and logged, where there is no memory. */
int neo_memory_limiters(server_rec *main_server, apr_size_t entries, neo_limiter **credentials, neo_limiter **addresses);

#endif
