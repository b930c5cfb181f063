/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the lines of an import: parses each, assigns its ids and validates it, in chunks whose memory is freed. */
#include <apr_hash.h>
#include <apr_strings.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "core/json.h"
#include "ctl/import.h"
#include "schema/import.h"
#include "schema/references.h"

#define MAX_LINES 500 /* in a chunk */
#define MAX_BYTES (1024 * 1024)

typedef struct {
    long long number;
    const neo_resource *kind;
    neo_json *body;
    const char *id;
    int lookup;   /* the index in chunk.lookups that gives its id; -1 if the id is known */
    int is_moved; /* the row is from another organization */
} line;

typedef struct {
    neo_import_job *job;
    apr_pool_t *pool;
    apr_array_header_t *lines;   /* elements: line */
    apr_array_header_t *lookups; /* elements: neo_import_lookup, of foreign ids */
    apr_hash_t *lookup_indexes;  /* "kind id" to an index in `lookups` (int) */
    const line *renamed;         /* the line whose references are being renamed */
} chunk;

void neo_import_job_add_problem(void *data, long long number, const char *field, const char *message)
{
    neo_import_job *job = data;
    apr_pool_t *pool = job->ctl->pool;
    if (job->problem_count++ < NEO_IMPORT_MAX_SHOWN)
        APR_ARRAY_PUSH(job->problems, neo_import_problem) =
            (neo_import_problem){number, field ? apr_pstrdup(pool, field) : NULL, apr_pstrdup(pool, message)};
}

/* ---------------------------------------------------------------- one line */

static void read_head(neo_import_job *job, neo_text text, long long number)
{
    const char *error;
    neo_json *head = neo_json_get(neo_json_parse(text, job->ctl->pool, &error), NEO_TRANSFER_HEAD);
    neo_json *format = neo_json_get_kind(head) == NEO_JSON_OBJECT ? neo_json_get(head, "format") : NULL;
    if (job->head || job->rows)
        neo_import_job_add_problem(job, number, NULL, "is a header and not the first line");
    else if (!format || neo_json_get_kind(format) != NEO_JSON_INTEGER || neo_json_integer(format) != NEO_TRANSFER_FORMAT)
        neo_import_job_add_problem(job, number, "format", "is not supported; use a newer neoapictl");
    else
        job->head = head;
}

/* Whether the row is from another organization, by its organization_id or else by the header. */
static int is_moved(const neo_import_job *job, const neo_json *body)
{
    const neo_json *own = neo_json_get(body, "organization_id"), *head = neo_json_get(job->head, "organization");
    const char *from = neo_json_string(own ? own : neo_json_get(head, "id"));
    return from && strcmp(from, job->organization) != 0;
}

static int find_lookup(chunk *c, const neo_resource *kind, const char *given, const char *external_id, neo_ms time)
{
    const char *key = apr_pstrcat(c->pool, kind->name, " ", given, NULL);
    int *index = given ? apr_hash_get(c->lookup_indexes, key, APR_HASH_KEY_STRING) : NULL;
    if (!index) {
        char *id = apr_palloc(c->pool, NEO_ID_SIZE);
        neo_import_new_id(id, kind->prefix, time);
        index = apr_palloc(c->pool, sizeof *index);
        *index = c->lookups->nelts;
        APR_ARRAY_PUSH(c->lookups, neo_import_lookup) = (neo_import_lookup){kind, given, NULL, id};
        if (given)
            apr_hash_set(c->lookup_indexes, key, APR_HASH_KEY_STRING, index);
    }
    if (external_id)
        APR_ARRAY_IDX(c->lookups, *index, neo_import_lookup).external_id = external_id;
    return *index;
}

static const char *collect_reference(void *data, const neo_resource *kind, const char *given)
{
    if (!neo_id_is(given, kind->prefix))
        find_lookup(data, kind, given, NULL, neo_now_ms());
    return given;
}

static const char *renamed_reference(void *data, const neo_resource *kind, const char *given)
{
    const chunk *c = data;
    if (neo_id_is(given, kind->prefix))
        return c->renamed->is_moved ? neo_import_moved_id(c->job->organization, given, c->pool) : given;
    const int *index = apr_hash_get(c->lookup_indexes, apr_pstrcat(c->pool, kind->name, " ", given, NULL), APR_HASH_KEY_STRING);
    return index ? APR_ARRAY_IDX(c->lookups, *index, neo_import_lookup).id : given;
}

/* Sets the line's id, or its lookup. False if it has neither id nor external_id. */
static int set_line_id(chunk *c, line *l)
{
    const neo_json *id = neo_json_get(l->body, "id");
    const char *given = neo_import_given(id, c->pool), *created_at = neo_json_string(neo_json_get(l->body, "created_at"));
    const char *external_id = neo_json_string(neo_json_get(l->body, "external_id"));
    neo_ms time;
    l->lookup = -1;
    if (given && neo_id_is(given, l->kind->prefix)) {
        l->id = l->is_moved ? neo_import_moved_id(c->job->organization, given, c->pool) : given;
        return 1;
    }
    if (given && neo_utf8_length(given) > 200) {
        neo_import_job_add_problem(c->job, l->number, "id", "must have at most 200 characters");
        return 0;
    }
    if (!given && !external_id) {
        neo_import_job_add_problem(c->job, l->number, "id",
                                   "is required, or an external_id, to identify the row when the import is repeated");
        return 0;
    }
    if (!created_at || !neo_ms_parse(created_at, &time))
        time = neo_now_ms();
    l->lookup = find_lookup(c, l->kind, given, external_id, time);
    return 1;
}

static void collect_line(chunk *c, const neo_resource *kind, neo_json *body, long long number)
{
    line l = {.number = number, .kind = kind, .body = body};
    if (neo_json_get_kind(body) != NEO_JSON_OBJECT) {
        neo_import_job_add_problem(c->job, number, kind->name, "must be an object");
        return;
    }
    const char *external = neo_reference_by_external_id(kind, body, NULL, c->pool);
    if (external) { /* the row with this external id may come later in the file */
        neo_import_job_add_problem(c->job, number, external, "must be an id; an import cannot refer by external_id");
        return;
    }
    l.is_moved = is_moved(c->job, body);
    if (set_line_id(c, &l)) {
        neo_import_rename(kind, body, collect_reference, c, c->pool);
        APR_ARRAY_PUSH(c->lines, line) = l;
    }
}

/* Removes "line 1, " from the parser's message: it sees one line only. */
static void add_syntax_problem(const chunk *c, long long number, const char *error)
{
    static const char own[] = "line 1, ";
    const char *at = strstr(error, own);
    if (at)
        error = apr_pstrcat(c->pool, apr_pstrmemdup(c->pool, error, (apr_size_t)(at - error)), at + strlen(own), NULL);
    neo_import_job_add_problem(c->job, number, NULL, apr_pstrcat(c->pool, "is not JSON: ", error, NULL));
}

static void read_line_text(chunk *c, neo_text text, long long number)
{
    const char *error;
    neo_json *whole = neo_json_parse(text, c->pool, &error);
    void *member =
        whole && neo_json_get_kind(whole) == NEO_JSON_OBJECT && neo_json_size(whole) == 1 ? neo_json_first(whole) : NULL;
    const neo_resource *kind = member ? neo_import_kind_named(neo_json_member_key(member)) : NULL;
    if (!whole)
        add_syntax_problem(c, number, error);
    else if (member && strcmp(neo_json_member_key(member), NEO_TRANSFER_HEAD) == 0)
        read_head(c->job, text, number);
    else if (!kind)
        neo_import_job_add_problem(c->job, number, NULL,
                                   "must be an object with one member, named after its kind: {\"broker\": {…}}");
    else {
        const neo_resource *const *k = neo_import_kinds, *const *importable = c->job->kinds;
        while (*k != kind)
            k++;
        c->job->counts[k - neo_import_kinds]++;
        c->job->rows++;
        while (*importable && *importable != kind)
            importable++;
        if (*importable)
            collect_line(c, kind, neo_json_member_value(member), number);
        else
            c->job->skipped++; /* a webhook subscription: its secret is not in the file */
    }
}

/* ---------------------------------------------------------------- a chunk */

static void add_problem_items(neo_import_job *job, long long number, const neo_problem *problem)
{
    if (!problem->items)
        neo_import_job_add_problem(job, number, NULL, problem->detail);
    for (int i = 0; problem->items && i < problem->items->nelts; i++) {
        const neo_problem_item *item = &APR_ARRAY_IDX(problem->items, i, neo_problem_item);
        neo_import_job_add_problem(job, number, item->field, item->message);
    }
}

/* Validates the lines and adds them to the import. */
static const char *finish_chunk(chunk *c)
{
    neo_import_job *job = c->job;
    const char *error = NULL;
    if (c->lookups->nelts)
        error = neo_import_find(job->import, (neo_import_lookup *)c->lookups->elts, c->lookups->nelts, c->pool);
    neo_import_line *rows = apr_pcalloc(c->pool, (apr_size_t)(c->lines->nelts + 1) * sizeof *rows);
    for (int i = 0; !error && i < c->lines->nelts; i++) {
        line *l = &APR_ARRAY_IDX(c->lines, i, line);
        neo_json *row, *clean;
        c->renamed = l;
        if (l->lookup >= 0)
            l->id = APR_ARRAY_IDX(c->lookups, l->lookup, neo_import_lookup).id;
        neo_json *body = neo_import_rename(l->kind, l->body, renamed_reference, c, c->pool);
        const neo_import_owner index = {.tenant = job->tenant, .organization = job->organization, .id = l->id};
        neo_problem *problem = neo_import_check(l->kind, body, &index, c->pool, &row, &clean);
        rows[i] = (neo_import_line){l->number, l->kind, l->id, problem ? NULL : row, problem ? NULL : clean};
        if (problem)
            add_problem_items(job, l->number, problem);
    }
    if (!error && c->lines->nelts)
        error = neo_import_collect(job->import, rows, c->lines->nelts, c->pool);
    return error ? apr_pstrdup(job->ctl->pool, error) : NULL;
}

/* Reads the next line without its line break. Returns 0 at the end of the file. */
static int next_line(neo_import_job *job, char **buffer, size_t *capacity, neo_text *text)
{
    ssize_t len = getline(buffer, capacity, job->in);
    if (len < 0)
        return 0;
    job->lines++;
    job->bytes += len;
    while (len > 0 && strchr("\r\n", (*buffer)[len - 1]) && (*buffer)[len - 1])
        len--;
    *text = (neo_text){*buffer, (apr_size_t)len};
    return 1;
}

static int is_blank(neo_text text)
{
    for (apr_size_t i = 0; i < text.len; i++)
        if (!strchr(" \t", text.ptr[i]) || !text.ptr[i])
            return 0;
    return 1;
}

static const char *read_file_chunk(neo_import_job *job, apr_pool_t *pool, char **buffer, size_t *capacity, int *is_done)
{
    neo_text text;
    chunk c = {.job = job,
               .pool = pool,
               .lines = apr_array_make(pool, MAX_LINES, sizeof(line)),
               .lookups = apr_array_make(pool, 16, sizeof(neo_import_lookup)),
               .lookup_indexes = apr_hash_make(pool)};
    for (long long from = job->bytes; c.lines->nelts < MAX_LINES && job->bytes - from < MAX_BYTES;) {
        if ((*is_done = !next_line(job, buffer, capacity, &text)))
            break;
        if (text.len > NEO_TRANSFER_MAX_LINE)
            neo_import_job_add_problem(job, job->lines, NULL, "has more than 1048576 bytes");
        else if (!is_blank(text))
            read_line_text(&c, text, job->lines);
    }
    return finish_chunk(&c);
}

/* ---------------------------------------------------------------- the file */

/* Compares the number of rows with the header's. */
static void check_counts(neo_import_job *job)
{
    neo_json *expected = neo_json_get(job->head, "rows");
    for (int k = 0; expected && neo_import_kinds[k]; k++) {
        const neo_json *count = neo_json_get(expected, neo_import_kinds[k]->name);
        if (count && neo_json_integer(count) != job->counts[k])
            neo_import_job_add_problem(job, 0, NULL,
                                       apr_psprintf(job->ctl->pool,
                                                    "the file is incomplete: %s in the header %" APR_INT64_T_FMT
                                                    ", in the file %" APR_INT64_T_FMT,
                                                    neo_import_kinds[k]->collection, (apr_int64_t)neo_json_integer(count),
                                                    (apr_int64_t)job->counts[k]));
    }
}

const char *neo_import_job_read(neo_import_job *job)
{
    const char *error = NULL;
    char *buffer = NULL;
    size_t capacity = 0;
    apr_pool_t *pool;
    int kinds = 0;
    job->kinds = neo_import_order(job->ctl->pool);
    while (neo_import_kinds[kinds])
        kinds++;
    job->counts = apr_pcalloc(job->ctl->pool, (apr_size_t)kinds * sizeof *job->counts);
    apr_pool_create(&pool, job->ctl->pool);
    for (int is_done = 0; !error && !is_done; apr_pool_clear(pool)) {
        error = read_file_chunk(job, pool, &buffer, &capacity, &is_done);
        neo_ctl_progress_show(&job->progress, job->rows, job->bytes, job->size);
    }
    if (!error && ferror(job->in))
        error = apr_psprintf(job->ctl->pool, "the file cannot be read: %s", strerror(errno));
    free(buffer);
    if (!error && job->head)
        check_counts(job);
    return error;
}
