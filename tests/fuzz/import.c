/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of `neoapictl import`, with functions instead of the database: an input is a file. */
#include <apr_strings.h>
#include <string.h>

#include "core/id.h"
#include "ctl/import.h"
#include "expect.h"

#define ORGANIZATION "org_01jd3x00000000000000000001"
#define TENANT       "tnt_01jd3x00000000000000000000"

static long long collected, last_line;

const char *neo_import_find(neo_import *import, neo_import_lookup *lookups, int count, apr_pool_t *pool)
{
    (void)import;
    (void)pool;
    for (int i = 0; i < count; i++) {
        EXPECT(lookups[i].given || lookups[i].external_id);
        EXPECT(neo_id_is(lookups[i].id, lookups[i].kind->prefix));
    }
    return NULL;
}

const char *neo_import_collect(neo_import *import, const neo_import_line *lines, int count, apr_pool_t *pool)
{
    (void)import;
    for (int i = 0; i < count; i++, collected++) {
        EXPECT(lines[i].number > last_line && neo_id_is(lines[i].id, lines[i].kind->prefix));
        last_line = lines[i].number;
        if (!lines[i].row)
            continue;
        check_json(neo_json_text(lines[i].row, pool), pool);
        EXPECT(strcmp(neo_json_string_at(lines[i].row, "organization_id"), ORGANIZATION) == 0);
        EXPECT(strcmp(neo_json_string_at(lines[i].row, "id"), lines[i].id) == 0);
        EXPECT(lines[i].clean);
    }
    return NULL;
}

void neo_ctl_progress_show(neo_ctl_progress *progress, long long rows, long long part, long long whole)
{
    (void)progress;
    (void)whole;
    EXPECT(rows >= 0 && part >= 0);
}

static void check_result(const neo_import_job *job)
{
    EXPECT(collected + job->skipped <= job->rows && job->rows <= job->lines && last_line <= job->lines);
    EXPECT(job->problems->nelts <= NEO_IMPORT_MAX_SHOWN && job->problem_count >= job->problems->nelts);
    for (int i = 0; i < job->problems->nelts; i++) {
        const neo_import_problem *problem = &APR_ARRAY_IDX(job->problems, i, neo_import_problem);
        EXPECT(problem->number >= 0 && problem->number <= job->lines);
        check_utf8(problem->message);
        if (problem->field)
            check_utf8(problem->field);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = input_pool();
    const neo_ctl ctl = {.pool = pool};
    neo_import_job job = {.ctl = &ctl, .organization = ORGANIZATION, .tenant = TENANT};
    job.problems = apr_array_make(pool, 4, sizeof(neo_import_problem));
    job.in = size ? fmemopen(apr_pmemdup(pool, data, size), size, "r") : NULL;
    if (!job.in)
        return 0;
    collected = last_line = 0;
    EXPECT(!neo_import_job_read(&job));
    EXPECT(job.bytes == (long long)size);
    check_result(&job);
    fclose(job.in);
    apr_pool_clear(pool);
    return 0;
}
