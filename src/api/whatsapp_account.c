/* SPDX-License-Identifier: Apache-2.0 */
/* GET /whatsapp/numbers, templates and usage: what WhatsApp reports about the organization's accounts.
 *
 * Numbers and templates are stored, and read from Meta when they are outdated. If Meta does not answer, the stored ones are the
 * response; their reported_at says how old they are. */
#include "whatsapp/account.h"

#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "list.h"
#include "provider.h"
#include "whatsapp/reported.h"
#include "whatsapp/template.h"

#define MAX_PAGES   100   /* pages of an account's templates */
#define MAX_READ_MS 20000 /* for all accounts and pages of a request, beside the last call */

/* ---------------------------------------------------------------- reading from Meta */

/* An account that is read. */
typedef struct {
    const char *account, *token, *claimed;
    neo_ms until;
    const char *next_page; /* where it continues */
    const char *error;     /* why the last call failed */
    int is_refused;        /* Meta answered, but not with a list */
    int is_known;          /* an older report, or a part of it, is stored */
} reading;

/* Returns false if the last call, or storing what it returned, failed. */
typedef int (*reader)(neo_call *call, reading *r);

static void get(neo_call *call, reading *r, const char *path, neo_provider_response *answer)
{
    neo_call_read_provider(call, path, r->token, answer);
    r->is_refused = answer->outcome == NEO_PROVIDER_RESPONDED && answer->http_status >= 400 && answer->http_status < 500 &&
                    answer->http_status != 429;
}

/* Stores a page of templates; without one, ends the reading. */
static int store_page(neo_call *call, reading *r, const neo_json *page)
{
    neo_pg *pg = call->request->host->acquire(call->request->context);
    r->error = "the database is unavailable";
    if (!pg)
        return 0;
    neo_pg_status status = page ? neo_whatsapp_store_templates(pg, &call->actor, r->account, page, call->pool)
                                : neo_whatsapp_finish_templates(pg, &call->actor, r->account, r->claimed, call->pool);
    neo_call_release(call, pg);
    return status == NEO_PG_OK;
}

/* The next request continues with the page that could not be read, unless Meta refuses it: cursors expire. */
static void pause_reading(neo_call *call, const reading *r, const char *next)
{
    neo_pg *pg = call->request->host->acquire(call->request->context);
    if (!pg)
        return;
    neo_pg_status status =
        neo_whatsapp_pause_templates(pg, &call->actor, r->account, r->claimed, r->is_refused ? NULL : next, call->pool);
    (void)status;
    neo_call_release(call, pg);
}

static int read_templates(neo_call *call, reading *r)
{
    const char *next = r->next_page, *after;
    for (int page = 0; page < MAX_PAGES; page++) {
        neo_provider_response answer;
        get(call, r, neo_templates_path(r->account, next, call->pool), &answer);
        const neo_json *rows = neo_templates_read(&answer, call->pool, &after, &r->error);
        if (!rows || !store_page(call, r, rows))
            break;
        if (!after)
            return store_page(call, r, NULL);
        next = after;
        r->is_known = 1;
        r->error = "there are too many, or they are read too slowly; the next request continues";
        if (neo_steady_ms() >= r->until)
            break;
    }
    if (next)
        pause_reading(call, r, next);
    return 0;
}

/* If Meta refuses one of the fields, the others are read. */
static int read_numbers(neo_call *call, reading *r)
{
    neo_json *rows = NULL;
    neo_provider_response answer = {.http_status = 400};
    for (int is_reduced = 0; is_reduced < 2 && !rows && answer.http_status == 400; is_reduced++) {
        get(call, r, neo_numbers_path(r->account, is_reduced, call->pool), &answer);
        rows = neo_numbers_read(&answer, call->pool, &r->error);
    }
    if (!rows)
        return 0;
    r->error = "the database is unavailable";
    neo_pg *pg = call->request->host->acquire(call->request->context);
    if (!pg)
        return 0;
    neo_pg_status status = neo_whatsapp_store_numbers(pg, &call->actor, r->account, rows, r->claimed, call->pool);
    neo_call_release(call, pg);
    return status == NEO_PG_OK;
}

/* At most once in a while, because each request can fail. */
static void log_failure(const neo_call *call, const reading *r, const char *kind)
{
    static atomic_llong last;
    if (neo_call_may_log(&last))
        neo_log(NEO_LOG_NO_REPORT, call->request->log_context, "Meta does not return the %s of account %s (%s)", kind,
                r->account, r->error);
}

/* Reads the accounts whose report of this kind is outdated. After a failure the others are left for the next request, so that
 * this one does not wait several times. `required`: a report of which nothing was ever read is a 503. */
static neo_problem *refresh(neo_call *call, const char *kind, reader read, int is_required)
{
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = neo_call_acquire(call, &pg);
    if (problem)
        return problem;
    neo_pg_status status = neo_whatsapp_claim_reports(pg, &call->actor, kind, call->pool, &rows);
    neo_call_release(call, pg);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, NULL);
    neo_ms until = neo_steady_ms() + MAX_READ_MS;
    for (int i = 0; i < rows.count; i++) {
        reading r = {.account = neo_rows_value(&rows, i, NEO_REPORT_ACCOUNT),
                     .claimed = neo_rows_value(&rows, i, NEO_REPORT_CLAIMED_AT),
                     .next_page = neo_rows_value(&rows, i, NEO_REPORT_NEXT_PAGE),
                     .token = neo_call_open_number(call, &rows, i, NEO_REPORT_NUMBER).token,
                     .is_known = neo_rows_is_true(&rows, i, NEO_REPORT_IS_KNOWN),
                     .until = until};
        if (r.claimed && read(call, &r))
            continue;
        if (r.claimed)
            log_failure(call, &r, kind);
        if (r.is_known || !is_required)
            return NULL;
        return neo_call_try_later(
            call, NEO_INTERNAL_PROVIDER_UNAVAILABLE, NEO_PROVIDER_RETRY_SECONDS,
            r.is_refused || !r.token
                ? "WhatsApp does not return them until an administrator has corrected the configuration of "
                  "the organization's number."
                : "WhatsApp is unavailable. Try again later.");
    }
    return NULL;
}

/* ---------------------------------------------------------------- templates and numbers */

static neo_pg_status fetch_templates(neo_call *call, neo_pg *pg, const neo_selection *selection, neo_rows *rows)
{
    return neo_whatsapp_list_templates(pg, &call->actor, selection, call->pool, rows);
}

/* Further pages are those of the list that the first one has read. */
static neo_problem *list_templates(neo_call *call, neo_result *result)
{
    neo_listing list;
    neo_problem *problem = neo_listing_read(call, &list); /* a 400 must not wait for Meta, nor be its 503 */
    if (!problem && !apr_table_get(call->query, "cursor"))
        problem = refresh(call, "templates", read_templates, 1);
    return problem ? problem : neo_list_with(call, fetch_templates, result);
}

static neo_problem *list_numbers(neo_call *call, neo_result *result)
{
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = refresh(call, "numbers", read_numbers, 0);
    if (problem || (problem = neo_call_acquire(call, &pg)))
        return problem;
    neo_pg_status status = neo_whatsapp_list_numbers(pg, &call->actor, call->pool, &rows);
    neo_call_release(call, pg);
    return neo_call_return_row(call, status, &rows, result);
}

/* ---------------------------------------------------------------- usage */

static const neo_filter usage_filters[] = {
    {.name = "from",
     .kind = NEO_FILTER_FROM,
     .value = NEO_VALUE_MONTH,
     .doc = "The first month; absent: the oldest.",
     .example = "\"2026-01\""},
    {.name = "to",
     .kind = NEO_FILTER_TO,
     .value = NEO_VALUE_MONTH,
     .doc = "The last month; absent: the newest.",
     .example = "\"2026-02\""},
    {0},
};

static neo_problem *read_usage(neo_call *call, neo_result *result)
{
    neo_pg *pg;
    neo_rows rows;
    neo_selection months;
    neo_problem *problem = neo_call_read_conditions(call, &months);
    const char *from = apr_table_get(call->query, "from"), *to = apr_table_get(call->query, "to");
    if (problem || (problem = neo_call_acquire(call, &pg)))
        return problem;
    neo_pg_status status = neo_whatsapp_usage(pg, &call->actor, from, to, call->pool, &rows);
    neo_call_release(call, pg);
    return neo_call_return_row(call, status, &rows, result);
}

const neo_operation neo_whatsapp_account_operations[] = {
    {.method = "GET",
     .path = "whatsapp/numbers",
     .run = list_numbers,
     .access = NEO_ACCESS_READ,
     .status = 200,
     .resource = &neo_conversation,
     .media_type = "application/json",
     .schema = "WhatsAppNumbers",
     .tag = "WhatsApp",
     .verb = "listWhatsAppNumbers",
     .summary = "List the organization's numbers",
     .doc = "With their quality and limit, which are read from WhatsApp when they are older than ten minutes. If WhatsApp is "
            "unavailable, the last known ones are returned; see `reported_at`.",
     .answer = "The numbers."},
    {.method = "GET",
     .path = "whatsapp/templates",
     .run = list_templates,
     .access = NEO_ACCESS_READ,
     .accepts = NEO_ACCEPTS_LIST | NEO_ACCEPTS_SORT_BY_ID,
     .status = 200,
     .response_headers = NEO_RESPONSE_LINK | NEO_RESPONSE_TOTAL,
     .filters = neo_template_filters,
     .prefix = "wat_",
     .resource = &neo_conversation,
     .media_type = "application/json",
     .problems = NEO_PAGE_PROBLEMS | NEO_PROBLEM_BIT(NEO_INTERNAL_PROVIDER_UNAVAILABLE),
     .schema = "TemplateList",
     .tag = "WhatsApp",
     .verb = "listTemplates",
     .summary = "List message templates",
     .doc = "The templates of the organization's WhatsApp Business Accounts and what a message with each must have. They are "
            "read from WhatsApp when they are older than ten minutes, or when WhatsApp has reported a change. If WhatsApp is "
            "unavailable, the last known ones are returned; see `reported_at`.",
     .answer = "A page of templates."},
    {.method = "GET",
     .path = "whatsapp/usage",
     .run = read_usage,
     .access = NEO_ACCESS_READ,
     .accepts = NEO_ACCEPTS_FILTERS,
     .status = 200,
     .filters = usage_filters,
     .resource = &neo_conversation,
     .media_type = "application/json",
     .schema = "WhatsAppUsage",
     .tag = "WhatsApp",
     .verb = "getWhatsAppUsage",
     .summary = "Read how many messages are billed",
     .doc =
         "The sent messages of each month (in UTC, by `occurred_at`) for which WhatsApp has reported `pricing`, by number and "
         "category. Failed messages are not counted.",
     .answer = "The sums, newest month first."},
    {0},
};
