/* SPDX-License-Identifier: Apache-2.0 */
/* The event log: lists events newest first, follows the log from a position, shows one event. */
#include <apr_strings.h>
#include <string.h>

#include "core/encode.h"
#include "list.h"
#include "resources/scope.h"
#include "sql/event_log.h"

#define NOW      "now"
#define MAX_WAIT 30 /* seconds */

static const char *readable_types(neo_call *call)
{
    return neo_event_types_readable(call->scopes, call->pool);
}

static neo_pg_status fetch_events(neo_call *call, neo_pg *pg, const neo_selection *selection, neo_rows *rows)
{
    return neo_event_list(pg, &call->actor, readable_types(call), selection, call->pool, rows);
}

/* ---------------------------------------------------------------- parameters */

typedef struct {
    neo_listing list;
    const char *after; /* a position, "" or "now" */
    neo_ms until;      /* neo_steady_ms until which an empty page waits for events */
} following;

static void add_error(neo_call *call, const char *name, const char *message, neo_problem **problem)
{
    neo_problem_field(problem, call->pool, NEO_VALIDATION_PARAMETER_INVALID, "", name, "%s", message);
}

static int is_position(const char *text)
{
    return strncmp(text, "evt_", 4) == 0 && strlen(text) == NEO_ID_LEN &&
           strspn(text + 4, "0123456789abcdef") == NEO_ID_LEN - 4;
}

/* Whether the page follows the log. The parameters of one order are refused in the other one. */
static int read_direction(neo_call *call, neo_problem **problem)
{
    static const char *const only_asc[] = {"after", "wait"};
    const char *order = apr_table_get(call->query, "order");
    int follows = order && strcmp(order, "asc") == 0;
    if (order && !follows && strcmp(order, "desc") != 0)
        add_error(call, "order", "must be asc or desc", problem);
    if (follows && apr_table_get(call->query, "cursor") && apr_table_get(call->query, "after"))
        add_error(call, "cursor", "cannot be used with after", problem);
    for (apr_size_t i = 0; !follows && i < sizeof only_asc / sizeof *only_asc; i++)
        if (apr_table_get(call->query, only_asc[i]))
            add_error(call, only_asc[i], "requires order=asc", problem);
    return follows;
}

static neo_problem *read_following(neo_call *call, following *f)
{
    neo_problem *problem = neo_listing_read(call, &f->list);
    const char *name = apr_table_get(call->query, "cursor") ? "cursor" : "after", *after = apr_table_get(call->query, name);
    const char *text = apr_table_get(call->query, "wait");
    long long wait = 0;
    f->after = after ? after : "";
    if (*f->after && strcmp(f->after, NOW) != 0 && !is_position(f->after))
        add_error(call, name, "must be X-Events-Position of a response, the id of an event, now, or empty", &problem);
    if (text && (!neo_integer_parse(text, &wait) || wait < 0 || wait > MAX_WAIT))
        add_error(call, "wait", "must be an integer from 0 to " APR_STRINGIFY(MAX_WAIT), &problem);
    else
        f->until = neo_steady_ms() + wait * 1000;
    return problem;
}

/* ---------------------------------------------------------------- pages */

static neo_pg_status fetch_following(neo_call *call, neo_pg *pg, const following *f, neo_rows *rows)
{
    neo_selection selection = neo_listing_selection(&f->list);
    selection.order = &neo_orders[NEO_OLDEST_FIRST];
    return neo_event_follow(pg, &call->actor, readable_types(call), f->after, &selection, call->pool, rows);
}

static neo_problem *fetch_current(neo_call *call, const following *f, neo_rows *rows)
{
    neo_pg *pg;
    neo_problem *problem = neo_call_acquire(call, &pg);
    if (problem)
        return problem;
    neo_pg_status status = fetch_following(call, pg, f, rows);
    if (status == NEO_PG_OK && !neo_rows_is_true(rows, 0, NEO_FOLLOWED_IS_CURRENT)) {
        status = neo_event_check_epoch(pg, call->pool, rows);
        if (status == NEO_PG_OK)
            status = fetch_following(call, pg, f, rows);
    }
    neo_call_release(call, pg);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, rows);
    if (!neo_rows_is_true(rows, 0, NEO_FOLLOWED_IS_VALID))
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_POSITION_EXPIRED, "", "after",
                          "is older than the oldest event, or was issued before a restore of the database; export again");
    return problem;
}

/* Fetches a page. While it is empty and there is time, waits for events and fetches again. Each fetch confirms the credential.
 */
static neo_problem *fetch_awaited(neo_call *call, following *f, neo_rows *rows)
{
    const neo_request *request = call->request;
    for (;;) {
        unsigned int generation = neo_credential_cache_generation(call->site->credential_cache);
        neo_problem *problem = fetch_current(call, f, rows);
        if (problem || neo_rows_value(rows, 0, NEO_FOLLOWED_ANSWER) || neo_rows_is_true(rows, 0, NEO_FOLLOWED_HAS_MORE) ||
            neo_steady_ms() >= f->until)
            return problem;
        f->after = neo_rows_value(rows, 0, NEO_FOLLOWED_POSITION);
        neo_event_wait wait = {call->actor.tenant, call->actor.organization, f->after, generation, f->until};
        int retry_after = request->host->await_event(request->context, &wait);
        if (retry_after) {
            neo_call_set_header(call, "Retry-After", apr_itoa(call->pool, retry_after));
            return NULL;
        }
    }
}

/* The position after the page is that of its last event if more matching events follow. */
static neo_problem *follow_log(neo_call *call, following *f, neo_result *result)
{
    neo_rows rows;
    const char *cursors[] = {NULL, NULL};
    neo_problem *problem = fetch_awaited(call, f, &rows);
    if (problem)
        return problem;
    int found = neo_rows_value(&rows, 0, NEO_FOLLOWED_ANSWER) ? rows.count : 0, is_full = found > f->list.limit;
    neo_page page = {.rows = &rows,
                     .count = is_full ? f->list.limit : found,
                     .cursors = cursors,
                     .has_more = is_full || neo_rows_is_true(&rows, 0, NEO_FOLLOWED_HAS_MORE)};
    const char *position = cursors[1] =
        is_full ? neo_call_representation_id(neo_rows_text(&rows, page.count - 1, NEO_FOLLOWED_ANSWER), call->pool)
                : neo_rows_value(&rows, 0, NEO_FOLLOWED_POSITION);
    neo_call_set_header(call, "X-Events-Position", position);
    if (page.has_more)
        neo_listing_link(call, &f->list, apr_pstrcat(call->pool, "&order=asc&after=", position, NULL));
    *result = (neo_result){.status = 200, .body = neo_page_body(call, &page)};
    return NULL;
}

/* ---------------------------------------------------------------- operations */

static neo_problem *list_events(neo_call *call, neo_result *result)
{
    following f;
    if (!read_direction(call, &call->query_problem))
        return neo_list_with(call, fetch_events, result);
    neo_problem *problem = read_following(call, &f);
    return problem ? problem : follow_log(call, &f, result);
}

static neo_problem *read_event(neo_call *call, neo_result *result)
{
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = neo_call_acquire_for_id(call, &pg);
    if (problem)
        return problem;
    neo_pg_status status = neo_event_read(pg, &call->actor, readable_types(call), call->match.id, call->pool, &rows);
    neo_call_release(call, pg);
    return neo_call_return_row(call, status, &rows, result);
}

const neo_operation neo_event_operations[] = {
    {.method = "GET",
     .path = "events",
     .run = list_events,
     .access = NEO_ACCESS_EVENTS,
     .accepts = NEO_ACCEPTS_PAGE | NEO_ACCEPTS_FILTERS | NEO_ACCEPTS_FOLLOW,
     .status = 200,
     .response_headers = NEO_RESPONSE_LINK | NEO_RESPONSE_POSITION | NEO_RESPONSE_RETRY_AFTER,
     .filters = neo_event_filters,
     .resource = &neo_event_log,
     .media_type = "application/json",
     .problems = NEO_PAGE_PROBLEMS | NEO_PROBLEM_BIT(NEO_VALIDATION_POSITION_EXPIRED),
     .schema = "EventList",
     .tag = "Events",
     .verb = "listEvents",
     .summary = "List or follow events",
     .doc = "The changes of the resources that the credential's scopes can read. Newest first, or with `order=asc` from a "
            "position: every event once, in the same order for every reader, without gaps. Continue from X-Events-Position, "
            "also after a page with few events or none. Per resource, the greatest `updated_at` in the payloads is the "
            "newest.",
     .answer = "A page of events."},
    {.method = "GET",
     .path = "events/{id}",
     .run = read_event,
     .access = NEO_ACCESS_EVENTS,
     .status = 200,
     .resource = &neo_event_log,
     .media_type = "application/json",
     .schema = "Event",
     .tag = "Events",
     .verb = "getEvent",
     .summary = "Get an event",
     .doc = "For as long as events are stored.",
     .answer = "The event."},
    {0},
};
