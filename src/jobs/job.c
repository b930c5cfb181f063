/* SPDX-License-Identifier: Apache-2.0 */
/* Claims background jobs and records their runs (see jobs/job.h). */
#include "jobs/job.h"

#include <apr_strings.h>
#include <stdlib.h>

#include "jobs/job.sql.h"
#include "pg/array.h"

enum { CLAIMED_NAME, CLAIMED_NEXT };
enum { NAME, RUNS, FAILURES, SUCCEEDED, FAILED, DURATION };

static neo_statement *claim_job, *record_job;

void neo_job_make_statements(apr_pool_t *pool)
{
    claim_job = neo_statement_make(pool, claim_job_sql, 2, 1);
    record_job = neo_statement_make(pool, record_job_sql, 4, 1);
}

static const char *name_array(const char *const *names, int count, apr_pool_t *pool)
{
    neo_buf array;
    neo_buf_init(&array, pool, 128);
    for (int i = 0; i < count; i++)
        neo_array_add_plain(&array, names[i]);
    return neo_array_end(&array);
}

neo_pg_status neo_job_add(neo_pg *pg, const char *const *names, int count, apr_pool_t *pool)
{
    neo_rows rows;
    const char *values[] = {name_array(names, count, pool)};
    return neo_pg_exec(pg, add_jobs_sql, 1, values, pool, &rows);
}

static long long number_at(const neo_rows *rows, int row, int column)
{
    const char *text = neo_rows_value(rows, row, column);
    return text ? atoll(text) : -1;
}

neo_pg_status neo_job_claim(neo_pg *pg, const char *const *names, int count, int lease, apr_pool_t *pool, const char **name,
                            neo_ms *next)
{
    neo_rows rows;
    const char *values[] = {name_array(names, count, pool), apr_itoa(pool, lease)};
    neo_pg_status status = neo_pg_run(pg, claim_job, values, pool, &rows);
    *name = status == NEO_PG_OK ? neo_rows_value(&rows, 0, CLAIMED_NAME) : NULL;
    *next = status == NEO_PG_OK ? number_at(&rows, 0, CLAIMED_NEXT) : -1;
    return status;
}

neo_pg_status neo_job_record(neo_pg *pg, const char *name, int is_success, neo_ms duration, int interval, apr_pool_t *pool)
{
    neo_rows rows;
    const char *values[] = {name, is_success ? "true" : "false", apr_itoa(pool, (int)duration), apr_itoa(pool, interval)};
    return neo_pg_run(pg, record_job, values, pool, &rows);
}

neo_pg_status neo_job_read(neo_pg *pg, apr_pool_t *pool, neo_job_status jobs[NEO_MAX_JOBS], int *count)
{
    neo_rows rows;
    neo_pg_status status = neo_pg_query(pg, read_jobs_sql, 0, NULL, pool, &rows);
    *count = status == NEO_PG_OK ? rows.count : 0;
    if (*count > NEO_MAX_JOBS)
        *count = NEO_MAX_JOBS;
    for (int i = 0; i < *count; i++) {
        jobs[i] = (neo_job_status){.runs = number_at(&rows, i, RUNS),
                                   .failures = number_at(&rows, i, FAILURES),
                                   .succeeded = number_at(&rows, i, SUCCEEDED),
                                   .failed = number_at(&rows, i, FAILED),
                                   .duration = number_at(&rows, i, DURATION)};
        apr_cpystrn(jobs[i].name, neo_rows_value(&rows, i, NAME), sizeof jobs[i].name);
    }
    return status;
}
