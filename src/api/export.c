/* SPDX-License-Identifier: Apache-2.0 */
/* Exports: a whole list in one snapshot, as lines of JSON that are read while they are sent. */
#include <string.h>

#include "call.h"
#include "resources/vrsync.h"
#include "sql/table.h"

#define END_MARGIN_S  30 /* after the time limit, which the host enforces, the database ends the transaction */
#define RESERVED_PART 5  /* a fifth of the rate limit is left to the credential's other requests */
#define ROW_SIZE      1024

/* Adds the line of a resource, or nothing. `pool` is cleared after it. */
typedef void neo_line_writer(neo_buf *out, neo_text representation, apr_pool_t *pool);

typedef struct {
    neo_stream stream;
    neo_call call; /* a copy, because the request's ends before the stream */
    neo_pg *pg;    /* NULL once all rows are read */
    neo_text part;
    apr_pool_t *part_pool;
    apr_pool_t *principal_pool; /* NULL if the principal is the first one */
    int is_counted;             /* against the rate limit */
    neo_line_writer *add_line;
} export;

/* ---------------------------------------------------------------- reading */

neo_pg_status neo_call_begin_snapshot(neo_call *call, neo_pg *pg, neo_snapshot *snapshot)
{
    return neo_snapshot_begin(pg, &call->actor, call->site->export_timeout + END_MARGIN_S, call->pool, snapshot);
}

void neo_call_end_snapshot(neo_call *call, neo_pg **pg)
{
    if (!*pg)
        return;
    neo_pg_roll_back(*pg);
    neo_call_release(call, *pg);
    *pg = NULL;
}

/* Reads the next part, which is empty at the end. The connection is released with the last one. */
static neo_pg_status read_part(export *e, neo_rows *rows)
{
    apr_pool_clear(e->part_pool);
    e->part = (neo_text){"", 0};
    e->is_counted = 0;
    neo_pg_status status = neo_snapshot_fetch(e->pg, e->part_pool, rows);
    if (status != NEO_PG_OK)
        return status;
    neo_buf out;
    neo_buf_init(&out, e->part_pool, ROW_SIZE * (apr_size_t)(rows->count + 1));
    apr_pool_t *row_pool;
    apr_pool_create(&row_pool, e->part_pool);
    for (int i = 0; i < rows->count; i++) {
        neo_text line = neo_rows_text(rows, i, 0);
        if (!neo_call_mask(&e->call, &line, row_pool))
            return NEO_PG_FAILED;
        e->add_line(&out, line, row_pool);
        apr_pool_clear(row_pool);
    }
    e->part = neo_buf_text(&out);
    neo_call_count_usage(&e->call, &(neo_usage_counts){.rows = rows->count, .bytes = (int64_t)e->part.len});
    if (rows->count < NEO_SNAPSHOT_ROWS)
        neo_call_end_snapshot(&e->call, &e->pg);
    return NEO_PG_OK;
}

/* ---------------------------------------------------------------- the stream */

static neo_stream_status next(neo_stream *stream, neo_text *part, const char **why)
{
    export *e = (export *)stream->baton;
    neo_rows rows;
    if (neo_call_has_lost_access(&e->call, &e->principal_pool, why))
        return NEO_STREAM_FAILED;
    while (!e->part.len && e->pg) /* a part can be empty without being the last one */
        if (read_part(e, &rows) != NEO_PG_OK) {
            *why = "the database failed";
            return NEO_STREAM_FAILED;
        }
    if (e->part.len && !e->is_counted && !(e->is_counted = neo_call_count_part(&e->call, RESERVED_PART)))
        return NEO_STREAM_WAIT;
    *part = e->part;
    e->part.len = 0;
    return part->len ? NEO_STREAM_PART : NEO_STREAM_END;
}

static void close_stream(neo_stream *stream)
{
    export *e = (export *)stream->baton;
    neo_call_end_snapshot(&e->call, &e->pg);
    apr_pool_destroy(e->part_pool);
}

/* ---------------------------------------------------------------- the start */

static neo_problem *acquire_connection(export *e, int is_replica)
{
    const neo_request *request = e->call.request;
    int is_full = 0;
    if (is_replica)
        return neo_call_acquire_read(&e->call, 1, &e->pg);
    e->pg = request->host->acquire_long(request->context, &is_full);
    if (is_full)
        return neo_call_try_later(&e->call, NEO_INTERNAL_UNAVAILABLE, NEO_EXPORT_RETRY_SECONDS,
                                  "The server has as many exports in progress as it allows. Try again later.");
    return e->pg ? NULL : neo_call_failed(&e->call, NEO_PG_UNAVAILABLE, NULL);
}

static neo_problem *begin_snapshot(export *e)
{
    neo_call *call = &e->call;
    neo_snapshot snapshot;
    neo_pg_status status = neo_call_begin_snapshot(call, e->pg, &snapshot);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, NULL);
    if (snapshot.is_within_organization && snapshot.is_within_tenant) {
        neo_call_set_header(call, "X-Events-Position", snapshot.position);
        return NULL;
    }
    return neo_call_try_later(call, NEO_RATE_LIMIT_EXPORTS, NEO_EXPORT_RETRY_SECONDS,
                              snapshot.is_within_organization ? "The tenant's organizations have three exports in progress."
                                                              : "The organization has two exports in progress.");
}

/* Reads the first part, so that an early failure gets an error response. The request itself is counted for this part. */
static neo_problem *read_first(export *e, const neo_selection *selection)
{
    neo_call *call = &e->call;
    neo_rows rows;
    neo_pg_status status = neo_table_open_snapshot(e->pg, call->match.resource, &call->actor, selection, call->pool, &rows);
    if (status == NEO_PG_OK)
        status = read_part(e, &rows);
    e->is_counted = 1;
    return status == NEO_PG_OK ? NULL : neo_call_failed(call, status, &rows);
}

/* On a replica if one is ready, otherwise on the primary; also if the replica fails before anything is sent, for example
 * because of a conflict with what it replays. */
static neo_problem *start(export *e, const neo_selection *selection)
{
    neo_problem *problem = NULL;
    int is_head = strcmp(e->call.request->method, "HEAD") == 0;
    for (int is_replica = 1; is_replica >= 0; is_replica--) {
        problem = acquire_connection(e, is_replica);
        if (!problem && !e->pg)
            continue;
        if (!problem)
            problem = begin_snapshot(e);
        if (!problem && is_replica && !e->call.request->host->confirm_read(e->call.request->context))
            problem = neo_call_failed(&e->call, NEO_PG_UNAVAILABLE, NULL);
        if (!problem && !is_head)
            problem = read_first(e, selection);
        if (!problem || neo_problem_status(problem) < 500)
            break;
        neo_call_end_snapshot(&e->call, &e->pg);
    }
    return problem;
}

/* The end of an HTTP/1.0 response without a length looks like that of one that was aborted. */
neo_problem *neo_call_check_streaming(neo_call *call)
{
    if (call->request->can_stream)
        return NULL;
    neo_problem *problem = neo_problem_make(call->pool, NEO_VALIDATION_MALFORMED_REQUEST,
                                            "The response needs HTTP/1.1 or later. A proxy may have used HTTP/1.0.");
    problem->status = 505;
    return problem;
}

static neo_problem *export_lines(neo_call *call, neo_line_writer *add_line, neo_result *result)
{
    neo_selection selection;
    neo_problem *problem = neo_call_read_conditions(call, &selection);
    if (problem)
        return problem;
    if ((problem = neo_call_check_streaming(call)))
        return problem;
    export *e = apr_pcalloc(call->pool, sizeof *e);
    e->stream = (neo_stream){.next = next, .close = close_stream, .baton = e};
    e->add_line = add_line;
    e->call = *call;
    apr_pool_create(&e->part_pool, call->pool);
    problem = start(e, &selection);
    if (!problem && strcmp(call->request->method, "HEAD") != 0)
        problem = neo_call_audit_export(call);
    if (problem)
        close_stream(&e->stream);
    else
        *result = (neo_result){.status = 200, .stream = &e->stream};
    return problem;
}

static void add_resource(neo_buf *out, neo_text representation, apr_pool_t *pool)
{
    (void)pool;
    neo_buf_add(out, representation.ptr, representation.len);
    neo_buf_putc(out, '\n');
}

neo_problem *neo_call_export(neo_call *call, neo_result *result)
{
    return export_lines(call, add_resource, result);
}

static neo_problem *export_portal_problems(neo_call *call, neo_result *result)
{
    return export_lines(call, neo_vrsync_add_problems, result);
}

const neo_operation neo_portal_operations[] = {
    {.method = "GET",
     .path = "portal-problems",
     .run = export_portal_problems,
     .access = NEO_ACCESS_READ,
     .accepts = NEO_ACCEPTS_FILTERS,
     .status = 200,
     .response_headers = NEO_RESPONSE_POSITION,
     .resource = &neo_property,
     .schema = "PortalProblems",
     .media_type = "application/x-ndjson",
     .problems = NEO_PROBLEM_BIT(NEO_RATE_LIMIT_EXPORTS) | NEO_PROBLEM_BIT(NEO_INTERNAL_QUERY_TIMEOUT),
     .verb = "exportPortalProblems",
     .summary = "Export what portals would refuse",
     .doc =
         "The properties that match the filters and that a portal would refuse, and why. With `status=active`, those that are "
         "missing in the organization's feeds of listings.",
     .answer = "A line of JSON for each of these properties."},
    {0},
};
