/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl webhook, events: lists subscriptions and deliveries, sends deliveries again, follows attempts, begins an epoch of
 * the event log. */
#include <apr_strings.h>
#include <apr_time.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/noun.h"
#include "ctl/output.h"
#include "ctl/session.h"
#include "ctl/webhook.sql.h"
#include "resources/list.h"
#include "webhooks/delivery.h"

#define POLL_INTERVAL_MS 500
#define MAX_ID_AGE_MS    60000 /* how much older a delivery's id may be than the statement that inserts it */

/* ---------------------------------------------------------------- deliveries */

/* The subscription of a command. */
typedef struct {
    const char *id;
    neo_actor actor;
    int is_active;
} subscription;

/* Reads a row with the organization, the subscription or null, and whether it is active. */
static const char *find_subscription(const neo_ctl *ctl, neo_pg *pg, const char *sql, const char *id, const char *missing,
                                     subscription *found)
{
    neo_rows rows;
    const char *error = neo_admin_exec(pg, sql, 1, &id, ctl->pool, &rows);
    if (error || !rows.count)
        return error ? error : missing;
    *found = (subscription){.id = neo_rows_value(&rows, 0, 1),
                            .actor = {.organization = neo_rows_value(&rows, 0, 0)},
                            .is_active = neo_rows_is_true(&rows, 0, 2)};
    return found->id ? NULL : "its subscription has been deleted";
}

/* Connects with `open` and finds the subscription of the argument. On failure returns NULL and sets *error. */
static neo_pg *open_subscription(const neo_ctl *ctl, neo_pg *(*open)(const neo_ctl *ctl, const char **error),
                                 subscription *found, const char **error)
{
    neo_pg *pg = open(ctl, error);
    if (pg)
        *error =
            find_subscription(ctl, pg, "select organization_id, id, is_active from neoapi.webhook_subscription where id = $1",
                              neo_ctl_value(ctl, "subscription"), neo_noun_subscription.missing, found);
    return *error ? NULL : pg;
}

static const char *read_deliveries(const neo_ctl *ctl, neo_pg *pg, const subscription *target, neo_json *list)
{
    neo_rows rows;
    const char *error = NULL, *status = neo_ctl_value(ctl, "status");
    neo_condition condition = {neo_filter_in(neo_delivery_filters, "status"), &status, 1};
    neo_selection selection = {.conditions = &condition,
                               .count = status != NULL,
                               .order = &neo_orders[NEO_NEWEST_FIRST],
                               .limit = atoi(neo_ctl_value(ctl, "limit"))};
    const char *answer = apr_pstrcat(ctl->pool, "(", delivery_sql, ")", NULL);
    if (neo_delivery_list(pg, &target->actor, target->id, answer, &selection, ctl->pool, &rows) != NEO_PG_OK)
        return rows.message;
    for (int i = 0; !error && i < rows.count; i++)
        neo_json_append(list, neo_json_parse(neo_rows_text(&rows, i, 0), ctl->pool, &error));
    return error;
}

static neo_ctl_exit run_deliveries(neo_ctl *ctl)
{
    const char *error;
    subscription target;
    neo_json *list = neo_json_make_array(ctl->pool);
    neo_pg *pg = open_subscription(ctl, neo_ctl_open_to_read, &target, &error);
    if (pg)
        error = read_deliveries(ctl, pg, &target, list);
    return neo_ctl_finish(ctl, error, list);
}

/* ---------------------------------------------------------------- sending again */

/* Reads the answer of a statement that made deliveries. */
static const char *read_answer(neo_pg_status status, const neo_rows *rows, apr_pool_t *pool, neo_json **answer)
{
    const char *error = status != NEO_PG_OK ? rows->message : rows->count == 0 ? "it has been deleted" : NULL;
    if (!error)
        *answer = neo_json_parse(neo_rows_text(rows, 0, 0), pool, &error);
    return error;
}

static neo_ctl_exit print_answer(const neo_ctl *ctl, const char *error, neo_json *answer, const subscription *target)
{
    neo_ctl_exit status = neo_ctl_finish(ctl, error, answer);
    if (status == NEO_CTL_OK && !target->is_active)
        neo_ctl_say(ctl, "The subscription is inactive: pending deliveries wait until it is active again.");
    return status;
}

static neo_ctl_exit run_retry(neo_ctl *ctl)
{
    const char *error, *delivery = neo_ctl_value(ctl, "delivery");
    neo_json *answer = NULL;
    neo_rows rows;
    subscription target = {0};
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = find_subscription(ctl, pg, owner_sql, delivery, "no such delivery; see: neoapictl webhook deliveries", &target);
    if (!error)
        error = read_answer(neo_delivery_make(pg, &target.actor, NULL, target.id, delivery, ctl->pool, &rows), &rows, ctl->pool,
                            &answer);
    return print_answer(ctl, error, answer, &target);
}

/* `body` is a valid neo_recovery and is changed. */
static const char *recover_all(const neo_ctl *ctl, neo_pg *pg, const subscription *target, neo_json *body, neo_json **answer)
{
    neo_rows rows;
    neo_json *position;
    long long recovered = 0;
    do {
        const char *error = read_answer(neo_delivery_recover(pg, &target->actor, NULL, target->id, body, ctl->pool, &rows),
                                        &rows, ctl->pool, answer);
        if (error)
            return error;
        recovered += neo_json_integer(neo_json_get(*answer, "recovered"));
        position = neo_json_get(*answer, "position");
        if (position)
            neo_json_set(body, "position", position);
    } while (position);
    neo_json_set_integer(*answer, "recovered", recovered, ctl->pool);
    return NULL;
}

/* Sets a member to the time in an option, which was validated with the command line. */
static void set_time(neo_json *body, const neo_ctl *ctl, const char *name)
{
    char text[NEO_MS_TEXT_SIZE];
    neo_ms ms;
    if (neo_ctl_value(ctl, name) && neo_ms_parse(neo_ctl_value(ctl, name), &ms)) {
        neo_ms_format(text, ms);
        neo_json_set_string(body, name, text, ctl->pool);
    }
}

static void set_values(neo_json *body, const neo_ctl *ctl, const char *member, const char *option)
{
    apr_array_header_t *values = neo_ctl_values(ctl, option);
    neo_json *list = neo_json_make_array(ctl->pool);
    for (int i = 0; i < values->nelts; i++)
        neo_json_append_string(list, APR_ARRAY_IDX(values, i, const char *), ctl->pool);
    neo_json_set(body, member, list);
}

static neo_ctl_exit run_recover(neo_ctl *ctl)
{
    const char *error;
    neo_json *answer = NULL, *body = neo_json_make_object(ctl->pool);
    subscription target = {0};
    set_time(body, ctl, "since");
    set_time(body, ctl, "until");
    set_values(body, ctl, "statuses", "status");
    set_values(body, ctl, "event_types", "event");
    neo_pg *pg = open_subscription(ctl, neo_ctl_open, &target, &error);
    if (pg)
        error = recover_all(ctl, pg, &target, body, &answer);
    return print_answer(ctl, error, answer, &target);
}

/* ---------------------------------------------------------------- tail */

/* The position in the attempts; initially all zero. */
typedef struct {
    const char *organization;             /* NULL: attempts of all organizations */
    const char *snapshot, *first, *since; /* they belong to the pool of the last call */
} follower;

/* Sets *list to a JSON array of the attempts recorded since the last call with this follower, in the order in which they ended;
 * empty at the first call. No attempt is returned twice. `pool` must last until the next call has returned. */
static const char *read_attempts(neo_pg *pg, follower *f, apr_pool_t *pool, neo_json **list)
{
    neo_rows rows;
    char recent[NEO_ID_SIZE];
    neo_id_bound(recent, "whd_", neo_now_ms() - MAX_ID_AGE_MS, 0);
    const char *values[] = {f->snapshot, f->first, f->since, f->organization, recent};
    const char *error = neo_admin_exec(pg, follow_sql, 5, values, pool, &rows);
    if (error)
        return error;
    f->snapshot = neo_rows_value(&rows, 0, 0);
    f->first = neo_rows_value(&rows, 0, 1);
    f->since = neo_rows_value(&rows, 0, 2);
    *list = neo_json_parse(neo_rows_text(&rows, 0, 3), pool, &error);
    return error;
}

static void print_attempt(const neo_ctl *ctl, neo_json *attempt)
{
    static const char *const names[] = {"at",          "result",     "http_status", "error",          "attempt",
                                        "duration_ms", "event_type", "delivery_id", "subscription_id"};
    const char *text[sizeof names / sizeof *names];
    for (apr_size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const neo_json *value = neo_json_get(attempt, names[i]);
        neo_json_kind kind = neo_json_get_kind(value);
        text[i] = kind == NEO_JSON_INTEGER  ? apr_ltoa(ctl->pool, (long)neo_json_integer(value))
                  : kind == NEO_JSON_STRING ? neo_json_string(value)
                                            : "-";
    }
    if (ctl->json)
        neo_ctl_print(ctl, attempt);
    neo_ctl_say(ctl, "%s  %-7s  %s  attempt %s, %s ms  %s  %s  %s", text[0], text[1],
                strcmp(text[2], "-") != 0 ? text[2] : text[3], text[4], text[5], text[6], text[7], text[8]);
}

static const char *print_new_attempts(const neo_ctl *ctl, neo_pg *pg, follower *f)
{
    neo_json *list;
    const char *error = read_attempts(pg, f, ctl->pool, &list);
    for (apr_size_t i = 0; !error && i < neo_json_size(list); i++)
        print_attempt(ctl, neo_json_at(list, i));
    return error ? error : neo_ctl_flush(ctl);
}

/* Polls with two pools in turn, because the follower refers to texts of the previous poll. If the database is slow, it polls
 * less often. */
static const char *follow_attempts(const neo_ctl *ctl, neo_pg *pg, const char *seconds)
{
    neo_ctl now = *ctl;
    apr_pool_t *pools[2];
    follower position = {.organization = neo_ctl_value(ctl, "organization")};
    apr_time_t begun = apr_time_now(), until = seconds ? begun + apr_time_from_sec(apr_atoi64(seconds)) : 0;
    const char *error = NULL;
    apr_pool_create(&pools[0], ctl->pool);
    apr_pool_create(&pools[1], ctl->pool);
    for (int turn = 0, is_last = 0; !error && !is_last; turn = !turn) {
        apr_pool_clear(pools[turn]);
        now.pool = pools[turn];
        apr_time_t before = apr_time_now();
        is_last = neo_ctl_is_interrupted || (until && before >= until);
        error = print_new_attempts(&now, pg, &position);
        apr_time_t pause = 2 * (apr_time_now() - before), min_pause = apr_time_from_msec(POLL_INTERVAL_MS);
        if (!error && !is_last && !neo_ctl_is_interrupted)
            apr_sleep(pause > min_pause ? pause : min_pause);
    }
    return error ? apr_pstrdup(ctl->pool, error) : NULL;
}

static neo_ctl_exit run_tail(neo_ctl *ctl)
{
    const char *error;
    neo_pg *pg = neo_ctl_open_to_read(ctl, &error);
    if (pg) {
        neo_ctl_catch_signals(); /* they end the wait at once, but output is completed */
        neo_ctl_say(ctl, "Following delivery attempts. Press Ctrl-C to stop.");
        error = follow_attempts(ctl, pg, neo_ctl_value(ctl, "for"));
    }
    return error ? neo_ctl_fail(ctl, "%s", error) : NEO_CTL_OK;
}

/* ---------------------------------------------------------------- the epoch of the event log */

static neo_ctl_exit run_new_epoch(neo_ctl *ctl)
{
    const char *error;
    neo_rows rows;
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = neo_ctl_exec(ctl, pg, "select neoapi.begin_event_epoch()");
    if (!error)
        error =
            neo_admin_exec(pg, "select neoapi.format_timestamp(begun_at) from neoapi.event_epoch", 0, NULL, ctl->pool, &rows);
    return neo_ctl_finish(ctl, error, error ? NULL : neo_ctl_object(ctl, "begun_at", neo_rows_value(&rows, 0, 0), NULL));
}

/* ---------------------------------------------------------------- the tables */

static const neo_parameter deliveries_options[] = {
    {"status", NEO_KIND_DELIVERY_STATUS, 0, NULL, "only with this status"},
    {"limit", NEO_KIND_COUNT, 0, "50", "maximum number of rows"},
    {0},
};

static const neo_parameter retry_arguments[] = {
    {"delivery", NEO_KIND_DELIVERY_ID, 0, NULL, "the delivery's id"},
    {0},
};

static const neo_parameter recover_options[] = {
    {"since", NEO_KIND_TIME, NEO_PARAMETER_REQUIRED, NULL, "only events at this time or later"},
    {"until", NEO_KIND_TIME, 0, NULL, "only events at this time or earlier"},
    {"status", NEO_KIND_RECOVERY_STATUS, NEO_PARAMETER_REPEATED, NULL,
     "only with this status: all deliveries failed, one waits, or there is none"},
    {"event", NEO_KIND_EVENT_TYPE, NEO_PARAMETER_REPEATED, NULL, "only events of this type"},
    {0},
};

static const neo_parameter tail_options[] = {
    {"organization", NEO_KIND_ORGANIZATION_ID, 0, NULL, "only of this organization"},
    {"for", NEO_KIND_SECONDS, 0, NULL, "stop after this time"},
    {0},
};

const neo_ctl_command neo_ctl_webhook[] = {
    {"webhook", "list", "List the subscriptions with their number of pending deliveries.",
     "failing_since is the time of the first failure after the last success. disabled_reason is owner (by a request), gone "
     "(the receiver answered 410) or failing (all attempts failed for five days). Deliveries are pending until limited_until "
     "if the plan's deliveries-per-hour was reached, and until paused_until if the receiver asked to wait.",
     .noun = &neo_noun_subscription, .use = NEO_USE_LIST},
    {"webhook", "deliveries", "List a subscription's deliveries, newest first, with the result of the last attempt.", NULL,
     NULL, deliveries_options, run_deliveries, &neo_noun_subscription, NEO_USE_ONE},
    {"webhook", "retry", "Send a delivery's payload again, as a new delivery.", NULL, retry_arguments, NULL, run_retry, NULL,
     0},
    {"webhook", "recover", "Send a subscription the events again that have not arrived.",
     "Each gets a new delivery, unless one is pending, which is sent at once. Events that have arrived or are being sent are "
     "skipped, so it can be repeated.",
     NULL, recover_options, run_recover, &neo_noun_subscription, NEO_USE_ONE},
    {"webhook", "tail", "Follow delivery attempts, one line each.",
     "The result \"retry\" means that the attempt failed and another follows. With --json each line is an object.", NULL,
     tail_options, run_tail, NULL, 0},
    {0},
};

const neo_ctl_command neo_ctl_events[] = {
    {"events", "new-epoch", "Make clients that follow the event log export again.",
     "Run it if committed changes were lost and the module cannot notice it: the files of the PostgreSQL cluster were replaced "
     "by an older copy, or a crash lost transactions because of synchronous_commit = off. Restored dumps, point-in-time "
     "recovery and failovers are noticed without it. Every position that clients have is refused afterwards. Connect as a "
     "superuser or as a member of the role that owns the schema.",
     .run = run_new_epoch},
    {0},
};
