/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl export: writes an organization's data, one line of JSON per row. */
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "admin/export.h"
#include "core/json.h"
#include "ctl/import.h"
#include "ctl/output.h"
#include "ctl/session.h"
#include "schema/import.h"

typedef struct {
    const neo_ctl *ctl;
    neo_pg *pg;
    const char *organization;
    const neo_resource **kinds;
    FILE *out;
    long long rows, all;
    neo_json *left_out;
    neo_ctl_progress progress;
} work;

/* The kinds in the order of import, then the webhook subscriptions. */
static const neo_resource **export_order(apr_pool_t *pool)
{
    const neo_resource **order = neo_import_order(pool);
    int count = 0, all = 0;
    while (order[count])
        count++;
    while (neo_import_kinds[all])
        all++;
    const neo_resource **kinds = apr_pcalloc(pool, (apr_size_t)(all + 1) * sizeof *kinds);
    memcpy(kinds, order, (apr_size_t)count * sizeof *kinds);
    for (const neo_resource *const *r = neo_import_kinds; *r; r++) {
        int k = 0;
        while (k < count && kinds[k] != *r)
            k++;
        if (k == count)
            kinds[count++] = *r;
    }
    return kinds;
}

/* ---------------------------------------------------------------- lines */

static const char *write_entry(const work *w, const char *name, neo_text value)
{
    if (fprintf(w->out, "{\"%s\":", name) < 0 || fwrite(value.ptr, 1, value.len, w->out) != value.len ||
        fputs("}\n", w->out) == EOF)
        return apr_psprintf(w->ctl->pool, "the export cannot be written: %s", strerror(errno));
    return NULL;
}

/* The header line: format, organization, time, number of rows. */
static const char *write_header(work *w, neo_json *head)
{
    const char *error = NULL;
    long long count;
    neo_json *rows = neo_json_make_object(w->ctl->pool);
    for (const neo_resource **k = w->kinds; *k && !error; k++)
        if (!(error = neo_export_count(w->pg, *k, w->organization, w->ctl->pool, &count))) {
            neo_json_set_integer(rows, (*k)->name, count, w->ctl->pool);
            w->all += count;
        }
    if (error)
        return error;
    w->left_out = neo_json_get(head, "left_out");
    neo_json_set_integer(head, "format", NEO_TRANSFER_FORMAT, w->ctl->pool);
    neo_json_set(head, "rows", rows);
    return write_entry(w, NEO_TRANSFER_HEAD, neo_json_text(head, w->ctl->pool));
}

static const char *write_kind(work *w, const neo_resource *kind, apr_pool_t *scratch)
{
    neo_rows rows = {.count = 1};
    const char *error = neo_export_open(w->pg, kind, w->organization, scratch);
    while (!error && rows.count) {
        apr_pool_clear(scratch);
        error = neo_export_next(w->pg, scratch, &rows);
        for (int r = 0; !error && r < rows.count; r++)
            error = write_entry(w, kind->name, neo_rows_text(&rows, r, 0));
        w->rows += error ? 0 : rows.count;
        neo_ctl_progress_show(&w->progress, w->rows, w->rows, w->all);
    }
    return error ? apr_pstrdup(w->ctl->pool, error) : NULL;
}

static const char *write_all_kinds(work *w)
{
    neo_json *head;
    apr_pool_t *scratch;
    apr_pool_create(&scratch, w->ctl->pool);
    const char *error = neo_export_begin(w->pg, w->organization, w->ctl->pool, &head);
    if (!error)
        error = write_header(w, head);
    neo_ctl_progress_begin(&w->progress, w->ctl, "exporting");
    if (w->out == stdout && neo_ctl_is_terminal(stdout))
        w->progress.is_shown = 0; /* the lines are shown there */
    for (const neo_resource **k = w->kinds; *k && !error; k++)
        error = write_kind(w, *k, scratch);
    neo_ctl_progress_end(&w->progress);
    neo_export_end(w->pg, scratch);
    if (!error && (fflush(w->out) != 0 || (w->out != stdout && fsync(fileno(w->out)) != 0)))
        error = apr_psprintf(w->ctl->pool, "the export cannot be written: %s", strerror(errno));
    return error;
}

/* ---------------------------------------------------------------- file */

/* Creates a new file that only its owner can read, and renames it when it is complete. An existing file is removed first: it
 * can be left from an export that was killed, or be a symbolic link. */
static const char *export_to_file(work *w, const char *path)
{
    const char *part = apr_pstrcat(w->ctl->pool, path, ".part", NULL);
    int fd = unlink(part) != 0 && errno != ENOENT ? -1 : open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    w->out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!w->out)
        return apr_psprintf(w->ctl->pool, "%s cannot be written: %s", part, strerror(errno));
    const char *error = write_all_kinds(w);
    if (fclose(w->out) != 0 && !error)
        error = apr_psprintf(w->ctl->pool, "%s cannot be written: %s", part, strerror(errno));
    if (!error && rename(part, path) != 0)
        error = apr_psprintf(w->ctl->pool, "%s cannot be renamed to %s: %s", part, path, strerror(errno));
    if (error)
        unlink(part);
    return error;
}

static void report_left_out(const work *w)
{
    neo_buf list;
    neo_buf_init(&list, w->ctl->pool, 128);
    for (void *m = neo_json_first(w->left_out); m; m = neo_json_next(w->left_out, m)) {
        long long count = neo_json_integer(neo_json_member_value(m));
        if (count)
            neo_buf_printf(&list, "%s%s %lld", list.len ? ", " : "", neo_json_member_key(m), count);
    }
    if (list.len)
        neo_ctl_say(w->ctl, "Not in the file: %s. An export never contains these; a purge removes them.", list.ptr);
}

static neo_ctl_exit run_export(neo_ctl *ctl)
{
    const char *error, *path = neo_ctl_value(ctl, "output");
    work w = {.ctl = ctl, .organization = neo_ctl_value(ctl, "organization"), .kinds = export_order(ctl->pool), .out = stdout};
    w.pg = neo_ctl_open(ctl, &error);
    if (w.pg)
        error = path ? export_to_file(&w, path) : write_all_kinds(&w);
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    if (!path)
        return NEO_CTL_OK;
    neo_json *done = neo_ctl_object(ctl, "file", path, NULL);
    neo_json_set_integer(done, "rows", w.rows, ctl->pool);
    if (!ctl->quiet)
        neo_ctl_print(ctl, done);
    report_left_out(&w);
    return NEO_CTL_OK;
}

static const neo_parameter options[] = {
    {"output", NEO_KIND_FILE, 0, NULL,
     "the file, which only its owner can read; it is renamed when it is complete; otherwise standard output"},
    {0},
};

const neo_ctl_command neo_ctl_export[] = {
    {"export", NULL, "Export an organization's data, one line of JSON per row.",
     "The export is a consistent snapshot. Its first line describes it and counts the rows: {\"export\": {...}}. Each other "
     "line is a resource as the API returns it, {\"broker\": {...}}, after those that it refers to. Leads are "
     "included as {\"lead\": {...}}, WhatsApp opt-outs, conversations and messages as {\"whatsapp_opt_out\": {...}} and so on, "
     "webhook subscriptions without their secrets.\n"
     "Not exported: " NEO_TRANSFER_LEFT_OUT ". The first line counts the WhatsApp numbers in left_out. For a full backup use "
     "pg_dump, for the audit log neoapictl audit export. To move a WhatsApp number, add it again, and then import its "
     "conversations.",
     NULL, options, run_export, &neo_noun_organization, NEO_USE_ONE},
    {0},
};
