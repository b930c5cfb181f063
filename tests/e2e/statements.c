/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the SQL of the statements that a process prepares for requests, each ended by a zero byte. Linked with
 * --wrap=neo_statement_make. */
#include <apr_general.h>
#include <stdio.h>
#include <string.h>

#include "api/service.h"
#include "pg/pg.h"

neo_statement *__real_neo_statement_make(apr_pool_t *pool, const char *sql, int params, int writes);
neo_statement *__wrap_neo_statement_make(apr_pool_t *pool, const char *sql, int params, int writes);

neo_statement *__wrap_neo_statement_make(apr_pool_t *pool, const char *sql, int params, int writes)
{
    fwrite(sql, 1, strlen(sql) + 1, stdout);
    return __real_neo_statement_make(pool, sql, params, writes);
}

int main(void)
{
    apr_pool_t *pool;
    apr_initialize();
    apr_pool_create(&pool, NULL);
    neo_service_make_statements(pool);
    apr_terminate();
    return fflush(stdout) == 0 ? 0 : 1;
}
