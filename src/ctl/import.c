/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl import: reads an organization's data, checks all of it, then writes it. */
#include "ctl/import.h"

#include <apr_strings.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/json.h"
#include "ctl/output.h"
#include "ctl/session.h"

/* ---------------------------------------------------------------- errors */

static int compare_problems(const void *a, const void *b)
{
    const neo_import_problem *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static neo_ctl_exit print_problems(neo_import_job *job)
{
    const neo_ctl *ctl = job->ctl;
    apr_array_header_t *all = job->problems;
    neo_json *report = neo_json_make_object(ctl->pool), *list = neo_json_make_array(ctl->pool);
    qsort(all->elts, (size_t)all->nelts, sizeof(neo_import_problem), compare_problems);
    for (int i = 0; i < all->nelts; i++) {
        const neo_import_problem *c = &APR_ARRAY_IDX(all, i, neo_import_problem);
        neo_json *row = neo_json_make_object(ctl->pool);
        if (c->number)
            neo_json_set_integer(row, "line", c->number, ctl->pool);
        neo_json_set_string(row, "field", c->field, ctl->pool);
        neo_json_set_string(row, "message", c->message, ctl->pool);
        neo_json_append(list, row);
        const char *where = c->number ? apr_psprintf(ctl->pool, "line %" APR_INT64_T_FMT ": ", (apr_int64_t)c->number) : "";
        const char *text = apr_pstrcat(ctl->pool, where, c->field ? c->field : "", c->field ? " " : "", c->message, NULL);
        if (!ctl->json)
            fprintf(stderr, "%s\n", neo_ctl_one_line(text, ctl->pool));
    }
    neo_json_set(report, "errors", list);
    if (ctl->json)
        neo_ctl_print(ctl, report);
    if (job->problem_count > all->nelts)
        return neo_ctl_fail(ctl, "nothing was imported: more than %d errors; only the first ones are shown", all->nelts);
    return neo_ctl_fail(ctl, "nothing was imported: %d error%s", all->nelts, all->nelts == 1 ? "" : "s");
}

/* ---------------------------------------------------------------- writing */

static neo_ctl_exit report_rows(const neo_import_job *job, const neo_import_batch *sum, int was_written)
{
    const neo_ctl *ctl = job->ctl;
    long long rows = job->rows - job->skipped;
    neo_json *done = neo_json_make_object(ctl->pool);
    neo_json_set_integer(done, "rows", rows, ctl->pool);
    if (was_written) {
        neo_json_set_integer(done, "created", sum->created, ctl->pool);
        neo_json_set_integer(done, "changed", sum->updated, ctl->pool);
        neo_json_set_integer(done, "unchanged", rows - sum->created - sum->updated - sum->skipped, ctl->pool);
        neo_json_set_integer(done, "skipped_whatsapp", sum->skipped, ctl->pool);
    }
    neo_json_set_integer(done, "skipped_webhooks", job->skipped, ctl->pool);
    neo_ctl_print(ctl, done);
    if (!was_written)
        neo_ctl_say(ctl, "No errors. Nothing was written.");
    if (job->skipped)
        neo_ctl_say(ctl, "Webhook subscriptions are not imported, because the file has no secrets; create them again.");
    if (was_written && sum->skipped)
        neo_ctl_say(
            ctl, "Conversations of WhatsApp numbers that the organization does not have were skipped; add the numbers and run "
                 "the same command again.");
    return NEO_CTL_OK;
}

static neo_ctl_exit write_import(neo_import_job *job)
{
    neo_import_batch sum = {0}, batch = {0};
    const char *error = NULL;
    apr_pool_t *pool;
    long long rows = job->rows - job->skipped;
    apr_pool_create(&pool, job->ctl->pool);
    neo_ctl_progress_begin(&job->progress, job->ctl, "writing");
    while (!error && !batch.is_done && !neo_ctl_is_interrupted) {
        apr_pool_clear(pool);
        error = neo_import_write(job->import, pool, &batch);
        sum.rows += batch.rows;
        sum.created += batch.created;
        sum.updated += batch.updated;
        sum.skipped += batch.skipped;
        neo_ctl_progress_show(&job->progress, sum.rows, sum.rows, rows);
    }
    neo_ctl_progress_end(&job->progress);
    if (!error && batch.is_done)
        return report_rows(job, &sum, 1);
    return neo_ctl_fail(job->ctl,
                        "stopped with %" APR_INT64_T_FMT " of %" APR_INT64_T_FMT
                        " rows written: %s. Run the same command again to resume.",
                        (apr_int64_t)sum.rows, (apr_int64_t)rows, error ? error : "interrupted");
}

/* ---------------------------------------------------------------- the command */

static const char *open_file(neo_import_job *job, const char *path)
{
    struct stat info;
    job->in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!job->in)
        return apr_psprintf(job->ctl->pool, "%s cannot be read: %s", path, strerror(errno));
    if (fstat(fileno(job->in), &info) == 0 && S_ISREG(info.st_mode))
        job->size = info.st_size;
    return NULL;
}

static const char *read_and_check(neo_import_job *job, neo_pg *pg)
{
    neo_import_events events = neo_ctl_value(job->ctl, "no-events")       ? NEO_IMPORT_NO_EVENTS
                               : neo_ctl_value(job->ctl, "send-webhooks") ? NEO_IMPORT_WEBHOOKS
                                                                          : NEO_IMPORT_EVENTS;
    const char *error = neo_import_begin(pg, job->organization, events, job->ctl->pool, &job->import, &job->tenant);
    neo_ctl_progress_begin(&job->progress, job->ctl, "checking");
    if (!error)
        error = neo_import_job_read(job);
    if (!error)
        error = neo_import_validate(job->import, neo_import_job_add_problem, job, job->ctl->pool);
    neo_ctl_progress_end(&job->progress);
    return error;
}

static neo_ctl_exit run_import(neo_ctl *ctl)
{
    neo_import_job job = {.ctl = ctl,
                          .organization = neo_ctl_value(ctl, "organization"),
                          .problems = apr_array_make(ctl->pool, 16, sizeof(neo_import_problem))};
    if (neo_ctl_value(ctl, "no-events") && neo_ctl_value(ctl, "send-webhooks"))
        return neo_ctl_usage_error(ctl, "--no-events and --send-webhooks cannot be combined");
    const char *error = open_file(&job, neo_ctl_value(ctl, "file"));
    neo_pg *pg = error ? NULL : neo_ctl_open(ctl, &error);
    if (pg)
        error = read_and_check(&job, pg);
    if (job.in)
        fclose(job.in);
    if (error)
        return neo_ctl_fail(ctl, "nothing was imported: %s", error);
    if (job.problem_count)
        return print_problems(&job);
    if (neo_ctl_value(ctl, "check"))
        return report_rows(&job, NULL, 0);
    if ((error = neo_import_store_ids(job.import, ctl->pool)))
        return neo_ctl_fail(ctl, "nothing was imported: %s", error);
    neo_ctl_catch_signals(); /* they end the import after the current batch */
    return write_import(&job);
}

static const neo_parameter arguments[] = {
    {"file", NEO_KIND_FILE, 0, NULL, "lines of JSON as `export` writes them; - is standard input"},
    {0},
};

static const neo_parameter options[] = {
    {"organization", NEO_KIND_ORGANIZATION_ID, NEO_PARAMETER_REQUIRED, NULL, "the organization to import into"},
    {"check", NEO_KIND_FLAG, 0, NULL, "check everything and write nothing"},
    {"send-webhooks", NEO_KIND_FLAG, 0, NULL,
     "send webhook events for the rows that are created or changed; by default none are sent"},
    {"no-events", NEO_KIND_FLAG, 0, NULL, "do not record the rows that are created or changed in the event log"},
    {0},
};

const neo_ctl_command neo_ctl_import[] = {
    {"import", NULL, "Import rows into an organization: an export, or data from another system.",
     "Each line is an object with one member, named after the kind of its value: {\"broker\": {...}}. "
     "Lines can be in any order. All of them are checked by the API's rules before the first is written; only the previous "
     "status is not checked. If there are errors, they are printed with their line numbers and nothing is imported. "
     "If an import is interrupted, run the same command again to resume.\n"
     "A row replaces the row with the same id, or else with the same external_id; identical rows are not changed. "
     "Ids can be any text: each is replaced by an id of the API, the same one in every import and reference. "
     "Rows of another organization get new ids. Timestamps and authors that a row contains are kept; "
     "a row that exists gets its updated_at only if that is later, because updated_at increases with every change. "
     "Webhook subscriptions are skipped.\n"
     "Leads are checked as by `lead import`. An opt-out has contact_phone or contact_bsuid, opted_out_at, and phone_number_id, "
     "the number at Meta that received it. Without that, or until the organization has that number, it applies to all of its "
     "numbers. An opt-out does not apply to an existing conversation whose contact has opted in since.\n"
     "Conversations need the number with their phone_number_id, otherwise they are skipped. "
     "Conversations and messages that exist are not changed. "
     "A conversation whose contact has another one in the organization is merged with it.",
     arguments, options, run_import, NULL, 0},
    {0},
};
