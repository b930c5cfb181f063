/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl lead: imports leads from CSV, lists and removes them. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/csv.h"
#include "ctl/lead.sql.h"
#include "ctl/noun.h"
#include "ctl/output.h"
#include "ctl/secrets.h"
#include "ctl/session.h"
#include "resources/lead.h"
#include "sql/portal.h"

#define MAX_FILE          (256 << 20)
#define MAX_PROBLEMS      100   /* errors that are printed */
#define CHUNK             2000  /* rows in one statement */
#define PROGRESS_MIN_ROWS 20000 /* smaller imports show no progress */

typedef struct {
    const neo_ctl *ctl;
    const char *path;
    neo_text text;
    int columns[64]; /* neo_lead_column of each column of the file, terminated by -1 */
    int rows;
    int problems;
    apr_hash_t *phones;         /* phone number to line number */
    apr_array_header_t *chunks; /* elements: neo_text, rows as JSON */
    neo_buf chunk;
    int in_chunk;
} lead_import;

static void add_line_problem(lead_import *i, int line, const char *message)
{
    if (i->problems++ < MAX_PROBLEMS)
        neo_ctl_fail(i->ctl, "%s, line %d: %s", i->path, line, message);
}

/* ---------------------------------------------------------------- reading */

static const char *read_heading(lead_import *i, const neo_csv_record *record)
{
    int seen[NEO_LEAD_COLUMNS] = {0};
    apr_pool_t *pool = i->ctl->pool;
    if (record->error)
        return apr_psprintf(pool, "line %d: %s", record->line, record->error);
    if (record->count >= (int)(sizeof i->columns / sizeof *i->columns))
        return "too many columns";
    for (int c = 0; c < record->count; c++) {
        int column = neo_lead_column_named(record->fields[c]);
        if (column < 0)
            return apr_psprintf(pool, "line %d: unknown column \"%s\"; the columns are name, phone, email and party_id",
                                record->line, record->fields[c]);
        if (seen[column]++)
            return apr_psprintf(pool, "line %d: the column %s appears twice", record->line, record->fields[c]);
        i->columns[c] = column;
    }
    i->columns[record->count] = -1;
    for (int c = 0; c < NEO_LEAD_COLUMNS; c++)
        if (!seen[c] && neo_lead_column_is_required((neo_lead_column)c))
            return apr_psprintf(pool, "line %d: the column %s is missing", record->line,
                                neo_lead_column_name((neo_lead_column)c));
    return NULL;
}

static void end_chunk(lead_import *i)
{
    if (!i->in_chunk)
        return;
    neo_buf_putc(&i->chunk, ']');
    APR_ARRAY_PUSH(i->chunks, neo_text) = neo_buf_text(&i->chunk);
    i->in_chunk = 0;
}

static void add_lead(lead_import *i, int line, const char *const values[NEO_LEAD_COLUMNS])
{
    if (!i->in_chunk)
        neo_buf_init(&i->chunk, i->ctl->pool, CHUNK * 96);
    neo_buf_printf(&i->chunk, "%c{\"line\":%d", i->in_chunk++ ? ',' : '[', line);
    for (int c = 0; c < NEO_LEAD_COLUMNS; c++)
        if (values[c]) {
            neo_buf_printf(&i->chunk, ",\"%s\":", neo_lead_column_name((neo_lead_column)c));
            neo_buf_json(&i->chunk, values[c]);
        }
    neo_buf_putc(&i->chunk, '}');
    if (i->in_chunk == CHUNK)
        end_chunk(i);
}

/* Whether an earlier line has the same number. */
static int is_repeated(lead_import *i, int line, const char *phone)
{
    apr_pool_t *pool = i->ctl->pool;
    const char *folded = apr_pstrdup(pool, neo_phone_key(phone, pool));
    const int *before = apr_hash_get(i->phones, folded, APR_HASH_KEY_STRING);
    if (before) {
        add_line_problem(i, line, apr_psprintf(pool, "phone: line %d has the same number", *before));
        return 1;
    }
    apr_hash_set(i->phones, folded, APR_HASH_KEY_STRING, apr_pmemdup(pool, &line, sizeof line));
    return 0;
}

/* `pool` is cleared after this row. */
static void read_lead(lead_import *i, const neo_csv_record *record, apr_pool_t *pool)
{
    const char *values[NEO_LEAD_COLUMNS] = {0}, *error[NEO_LEAD_COLUMNS];
    int columns = 0;
    i->rows++;
    if (record->error) {
        add_line_problem(i, record->line, record->error);
        return;
    }
    while (i->columns[columns] >= 0)
        columns++;
    if (record->count > columns) {
        add_line_problem(i, record->line,
                         apr_psprintf(pool, "the line has %d columns, the first line %d", record->count, columns));
        return;
    }
    for (int c = 0; c < record->count; c++)
        values[i->columns[c]] = record->fields[c];
    int count = neo_lead_check(values, error, pool);
    for (int c = 0; c < NEO_LEAD_COLUMNS; c++)
        if (error[c])
            add_line_problem(i, record->line,
                             apr_pstrcat(pool, neo_lead_column_name((neo_lead_column)c), ": ", error[c], NULL));
    if (!count && !is_repeated(i, record->line, values[NEO_LEAD_PHONE]))
        add_lead(i, record->line, values);
}

static const char *read_file(lead_import *i)
{
    apr_pool_t *pool;
    neo_csv csv;
    neo_csv_record record;
    const char *error = NULL;
    neo_csv_begin(&csv, i->text);
    apr_pool_create(&pool, i->ctl->pool);
    if (!neo_csv_next(&csv, pool, &record))
        error = "the file is empty; its first line must name the columns: name, phone, email, party_id";
    else
        error = read_heading(i, &record);
    while (!error && neo_csv_next(&csv, pool, &record)) {
        read_lead(i, &record, pool);
        apr_pool_clear(pool);
    }
    end_chunk(i);
    apr_pool_destroy(pool);
    return error;
}

/* ---------------------------------------------------------------- writing */

typedef const char *(*step)(lead_import *i, neo_pg *pg, neo_text rows, apr_pool_t *pool);

/* $1 of a statement is the organization, $2 the rows. */
static const char *run_on_rows(const lead_import *i, neo_pg *pg, const char *sql, neo_text rows, const char *id_block,
                               apr_pool_t *pool, neo_rows *result)
{
    const char *values[] = {neo_ctl_value(i->ctl, "organization"), rows.ptr, id_block};
    neo_pg_status status = neo_pg_exec(pg, sql, id_block ? 3 : 2, values, pool, result);
    if (status == NEO_PG_UNIQUE_VIOLATION || status == NEO_PG_FK_VIOLATION)
        return "leads or parties were changed at the same time; try again";
    return status == NEO_PG_OK ? NULL : result->message;
}

static const char *check_chunk(lead_import *i, neo_pg *pg, neo_text rows, apr_pool_t *pool)
{
    neo_rows found;
    neo_json *problems = NULL;
    const char *error = run_on_rows(i, pg, problems_sql, rows, NULL, pool, &found);
    if (!error)
        problems = neo_json_parse(neo_rows_text(&found, 0, 0), pool, &error);
    for (apr_size_t p = 0; !error && p < neo_json_size(problems); p++) {
        const neo_json *one = neo_json_at(problems, p);
        add_line_problem(i, (int)neo_json_integer(neo_json_get(one, "line")), neo_json_string_at(one, "message"));
    }
    return error;
}

static const char *add_chunk(lead_import *i, neo_pg *pg, neo_text rows, apr_pool_t *pool)
{
    neo_rows made;
    char id_block[NEO_ID_BLOCK_SIZE];
    neo_id_issue_block(id_block, "led_");
    return run_on_rows(i, pg, add_sql, rows, id_block, pool, &made);
}

static const char *run_on_chunks(lead_import *i, neo_pg *pg, const char *what, step run_step)
{
    apr_pool_t *pool;
    const char *error = NULL;
    apr_pool_create(&pool, i->ctl->pool);
    for (int c = 0; c < i->chunks->nelts && !error; c++) {
        error = run_step(i, pg, APR_ARRAY_IDX(i->chunks, c, neo_text), pool);
        error = error ? apr_pstrdup(i->ctl->pool, error) : NULL;
        apr_pool_clear(pool);
        int done = c + 1 == i->chunks->nelts ? i->rows : (c + 1) * CHUNK;
        if (i->rows >= PROGRESS_MIN_ROWS && isatty(STDERR_FILENO) && !i->ctl->json)
            fprintf(stderr, "\r%s: %d of %d rows%s", what, done, i->rows, done >= i->rows ? "\n" : "");
    }
    apr_pool_destroy(pool);
    return error;
}

/* Checks everything before writing, in one transaction. */
static const char *write_leads(lead_import *i, neo_pg *pg)
{
    const char *error = neo_ctl_exec(i->ctl, pg, "begin");
    if (!error)
        error = run_on_chunks(i, pg, "checked", check_chunk);
    if (!error && !i->problems)
        error = run_on_chunks(i, pg, "written", add_chunk);
    return error || i->problems ? error : neo_ctl_exec(i->ctl, pg, "commit"); /* closing the connection rolls back */
}

static neo_ctl_exit report_leads(const lead_import *i)
{
    if (i->problems > MAX_PROBLEMS)
        neo_ctl_fail(i->ctl, "%d more errors are not shown", i->problems - MAX_PROBLEMS);
    if (i->problems)
        return neo_ctl_fail(i->ctl, "nothing was imported: %d error%s", i->problems, i->problems == 1 ? "" : "s");
    neo_json *done = neo_json_make_object(i->ctl->pool);
    neo_json_set_integer(done, "imported", i->rows, i->ctl->pool);
    neo_ctl_print(i->ctl, done);
    return NEO_CTL_OK;
}

static neo_ctl_exit run_lead_import(neo_ctl *ctl)
{
    const char *error, *path = neo_ctl_value(ctl, "file"), *organization = neo_ctl_value(ctl, "organization");
    lead_import i = {.ctl = ctl, .path = strcmp(path, "-") ? path : "standard input"};
    neo_pg *pg = neo_ctl_open(ctl, &error);
    i.phones = apr_hash_make(ctl->pool);
    i.chunks = apr_array_make(ctl->pool, 16, sizeof(neo_text));
    if (pg)
        error = neo_admin_exec_on_one(pg, "select from neoapi.organization where id = $1", 1, &organization, ctl->pool,
                                      neo_noun_organization.missing);
    if (!error)
        error = neo_ctl_read_all(path, MAX_FILE, ctl->pool, &i.text);
    if (!error && (error = read_file(&i)))
        return neo_ctl_fail(ctl, "%s: %s", i.path, error);
    if (!error)
        error = write_leads(&i, pg);
    return error ? neo_ctl_fail(ctl, "%s", error) : report_leads(&i);
}

/* ---------------------------------------------------------------- rejected leads of portals */

static const char *create_again(neo_pg *pg, const char *id, apr_pool_t *pool)
{
    neo_portal *portal;
    neo_portal_result result = {0};
    neo_text raw;
    neo_pg_status status = neo_portal_find_rejected(pg, id, pool, &portal, &raw);
    if (status == NEO_PG_OK && !raw.ptr)
        return "no such rejected lead, or its portal was removed; see: neoapictl lead rejected";
    if (status == NEO_PG_OK)
        status = neo_portal_receive(pg, portal, raw, NULL, pool, &result);
    return status == NEO_PG_OK ? result.reason : "the lead could not be created; try again";
}

static neo_ctl_exit accept_rejected(neo_ctl *ctl)
{
    const char *error, *id = neo_ctl_value(ctl, "rejected");
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = create_again(pg, id, ctl->pool);
    return neo_ctl_finish(ctl, error, neo_ctl_object(ctl, "id", id, NULL));
}

/* ---------------------------------------------------------------- the table */

static const neo_parameter import_arguments[] = {
    {"file", NEO_KIND_FILE, 0, NULL, "a CSV file in UTF-8; - is standard input"},
    {0},
};

static const neo_parameter import_options[] = {
    {"organization", NEO_KIND_ORGANIZATION_ID, NEO_PARAMETER_REQUIRED, NULL, "the organization to import into"},
    {0},
};

const neo_ctl_command neo_ctl_lead[] = {
    {"lead", "import", "Import leads from a CSV file: all rows or none.",
     "The first line names the columns, in any order: name, phone, and optionally email and party_id. The separator is a comma "
     "or a semicolon. Numbers without a country code are Brazilian. Errors are printed with their line numbers.",
     import_arguments, import_options, run_lead_import, NULL, 0},
    {"lead", "list", "List the leads.", .noun = &neo_noun_lead, .use = NEO_USE_LIST},
    {"lead", "rejected", "List the leads of portals that could not be created, with the reason.",
     "They are kept for 30 days after they were last posted.", .noun = &neo_noun_rejected, .use = NEO_USE_LIST},
    {"lead", "accept", "Create a rejected lead, for example after its property was added.", NULL, NULL, NULL, accept_rejected,
     &neo_noun_rejected, NEO_USE_ONE},
    {"lead", "remove", "Remove a lead, for example at the person's request.",
     "A lead with conversations is removed only with --with-conversations, which also removes its opt-outs. Responses stored "
     "for repeated requests expire within a day. This cannot be undone.",
     NULL, neo_ctl_remove_options, NULL, &neo_noun_lead, NEO_USE_ONE},
    {0},
};
