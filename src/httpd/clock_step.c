/* SPDX-License-Identifier: Apache-2.0 */
/* Records steps of the system clock for neoapictl doctor (see httpd/clock_step.h). */
#include "httpd/clock_step.h"

#include <apr_strings.h>
#include <unistd.h>

#include "httpd/clock_step.sql.h"

#define HOST_SIZE 256

neo_pg_status neo_clock_step_record(neo_pg *pg, neo_ms ahead, apr_pool_t *pool)
{
    neo_rows rows;
    char host[HOST_SIZE] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        apr_cpystrn(host, "unknown", sizeof host);
    const char *values[] = {host, apr_psprintf(pool, "%" APR_INT64_T_FMT, (apr_int64_t)ahead)};
    return neo_pg_exec(pg, record_clock_step_sql, 2, values, pool, &rows);
}
