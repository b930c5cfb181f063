/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl webhook: lists subscriptions and deliveries, sends deliveries again, follows attempts. */
#include <apr_strings.h>
#include <apr_time.h>
#include <signal.h>
#include <string.h>

#include "admin/webhook.h"
#include "ctl/noun.h"
#include "ctl/output.h"
#include "ctl/session.h"

#define POLL_INTERVAL_MS 500

/* ---------------------------------------------------------------- deliveries */

static neo_ctl_exit deliveries(neo_ctl *ctl)
{
    const char *error;
    neo_json *list;
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = neo_admin_list_deliveries(pg, neo_ctl_value(ctl, "subscription"), neo_ctl_value(ctl, "status"),
                                          neo_ctl_value(ctl, "limit"), ctl->pool, &list);
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    neo_ctl_print(ctl, list);
    return NEO_CTL_OK;
}

static neo_ctl_exit print_result(const neo_ctl *ctl, const char *error, neo_json *answer, int is_waiting)
{
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    neo_ctl_print(ctl, answer);
    if (is_waiting)
        neo_ctl_say(ctl, "The subscription is inactive: pending deliveries wait until it is active again.");
    return NEO_CTL_OK;
}

static neo_ctl_exit retry(neo_ctl *ctl)
{
    const char *error;
    neo_json *answer = NULL;
    int is_waiting = 0;
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = neo_admin_retry(pg, neo_ctl_value(ctl, "delivery"), ctl->pool, &answer, &is_waiting);
    return print_result(ctl, error, answer, is_waiting);
}

/* Sets a member to the time in an option, which was validated with the command line. */
static void add_time(neo_json *body, const neo_ctl *ctl, const char *name)
{
    char text[NEO_MS_TEXT_SIZE];
    neo_ms ms;
    if (neo_ctl_value(ctl, name) && neo_ms_parse(neo_ctl_value(ctl, name), &ms)) {
        neo_ms_format(text, ms);
        neo_json_set(body, name, neo_json_make_string(text, ctl->pool));
    }
}

static void add_values(neo_json *body, const neo_ctl *ctl, const char *member, const char *option)
{
    apr_array_header_t *values = neo_ctl_values(ctl, option);
    neo_json *list = neo_json_make_array(ctl->pool);
    for (int i = 0; i < values->nelts; i++)
        neo_json_append(list, neo_json_make_string(APR_ARRAY_IDX(values, i, const char *), ctl->pool));
    neo_json_set(body, member, list);
}

static neo_ctl_exit recover(neo_ctl *ctl)
{
    const char *error;
    neo_json *answer = NULL, *body = neo_json_make_object(ctl->pool);
    int is_waiting = 0;
    neo_pg *pg = neo_ctl_open(ctl, &error);
    add_time(body, ctl, "since");
    add_time(body, ctl, "until");
    add_values(body, ctl, "statuses", "status");
    add_values(body, ctl, "event_types", "event");
    if (pg)
        error = neo_admin_recover(pg, neo_ctl_value(ctl, "subscription"), body, ctl->pool, &answer, &is_waiting);
    return print_result(ctl, error, answer, is_waiting);
}

/* ---------------------------------------------------------------- tail */

static volatile sig_atomic_t is_over;

static void end(int number)
{
    (void)number;
    is_over = 1;
}

/* A signal ends the wait at once, but output is completed. */
static void end_on_signals(void)
{
    struct sigaction action = {.sa_handler = end, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* A member as text, or "-". */
static const char *text_of(neo_json *attempt, const char *name, apr_pool_t *pool)
{
    neo_json *value = neo_json_get(attempt, name);
    if (neo_json_kind_of(value) == NEO_JSON_INTEGER)
        return apr_ltoa(pool, (long)neo_json_integer(value));
    return neo_json_kind_of(value) == NEO_JSON_STRING ? neo_json_string(value) : "-";
}

static void print_attempt(const neo_ctl *ctl, neo_json *attempt)
{
    static const char *const names[] = {"at",          "result",     "http_status", "error",          "attempt",
                                        "duration_ms", "event_type", "delivery_id", "subscription_id"};
    const char *of[sizeof names / sizeof *names];
    for (apr_size_t i = 0; i < sizeof names / sizeof *names; i++)
        of[i] = text_of(attempt, names[i], ctl->pool);
    if (ctl->json)
        neo_ctl_print(ctl, attempt);
    neo_ctl_say(ctl, "%s  %-7s  %s  attempt %s, %s ms  %s  %s  %s", of[0], of[1], strcmp(of[2], "-") != 0 ? of[2] : of[3],
                of[4], of[5], of[6], of[7], of[8]);
}

static const char *print_new_attempts(const neo_ctl *ctl, neo_pg *pg, neo_follower *follower)
{
    neo_json *list;
    const char *error = neo_admin_follow(pg, follower, ctl->pool, &list);
    for (apr_size_t i = 0; !error && i < neo_json_size(list); i++)
        print_attempt(ctl, neo_json_at(list, i));
    return error ? error : neo_ctl_flush(ctl);
}

/* Polls with two pools in turn, because the follower refers to texts of the previous poll. If the database is slow, it polls
 * less often. */
static const char *follow(const neo_ctl *ctl, neo_pg *pg, const char *seconds)
{
    neo_ctl now = *ctl;
    apr_pool_t *pools[2];
    neo_follower follower = {.organization = neo_ctl_value(ctl, "organization")};
    apr_time_t begun = apr_time_now(), until = seconds ? begun + apr_time_from_sec(apr_atoi64(seconds)) : 0;
    const char *error = NULL;
    apr_pool_create(&pools[0], ctl->pool);
    apr_pool_create(&pools[1], ctl->pool);
    for (int turn = 0, is_last = 0; !error && !is_last; turn = !turn) {
        apr_pool_clear(pools[turn]);
        now.pool = pools[turn];
        apr_time_t before = apr_time_now();
        is_last = is_over || (until && before >= until);
        error = print_new_attempts(&now, pg, &follower);
        apr_time_t pause = 2 * (apr_time_now() - before), min_pause = apr_time_from_msec(POLL_INTERVAL_MS);
        if (!error && !is_last && !is_over)
            apr_sleep(pause > min_pause ? pause : min_pause);
    }
    return error ? apr_pstrdup(ctl->pool, error) : NULL;
}

static neo_ctl_exit tail(neo_ctl *ctl)
{
    const char *error;
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg) {
        end_on_signals();
        neo_ctl_say(ctl, "Following delivery attempts. Press Ctrl-C to stop.");
        error = follow(ctl, pg, neo_ctl_value(ctl, "for"));
    }
    return error ? neo_ctl_fail(ctl, "%s", error) : NEO_CTL_OK;
}

/* ---------------------------------------------------------------- the table */

static const neo_ctl_noun subscription = {NEO_ADMIN_WEBHOOKS, {0}, neo_ctl_filtered_by_organization};

static const neo_ctl_parameter of_subscription[] = {
    {"subscription", NEO_CTL_SUBSCRIPTION_ID, 0, NULL, "the subscription's id"},
    {0},
};

static const neo_ctl_parameter deliveries_options[] = {
    {"status", NEO_CTL_DELIVERY_STATUS, 0, NULL, "only with this status"},
    {"limit", NEO_CTL_COUNT, 0, "50", "maximum number of rows"},
    {0},
};

static const neo_ctl_parameter retry_arguments[] = {
    {"delivery", NEO_CTL_DELIVERY_ID, 0, NULL, "the delivery's id"},
    {0},
};

static const neo_ctl_parameter recover_options[] = {
    {"since", NEO_CTL_TIME, NEO_CTL_REQUIRED, NULL, "only events at this time or later"},
    {"until", NEO_CTL_TIME, 0, NULL, "only events at this time or earlier"},
    {"status", NEO_CTL_RECOVERY_STATUS, NEO_CTL_REPEATED, NULL,
     "only with this status: all deliveries failed, one waits, or there is none"},
    {"event", NEO_CTL_EVENT_TYPE, NEO_CTL_REPEATED, NULL, "only events of this type"},
    {0},
};

static const neo_ctl_parameter tail_options[] = {
    {"organization", NEO_CTL_ORGANIZATION_ID, 0, NULL, "only of this organization"},
    {"for", NEO_CTL_SECONDS, 0, NULL, "stop after this time"},
    {0},
};

const neo_ctl_command neo_ctl_webhook[] = {
    {"webhook", "list", "List the subscriptions with their number of pending deliveries.",
     "failing_since is the time of the first failure after the last success. disabled_reason is owner (by a request), gone "
     "(the receiver answered 410) or failing (all attempts failed for five days). Deliveries are pending until limited_until "
     "if the plan's deliveries-per-hour was reached.",
     NULL, NULL, neo_ctl_run_list, &subscription, NEO_CTL_LIST},
    {"webhook", "deliveries", "List a subscription's deliveries, newest first, with the result of the last attempt.", NULL,
     of_subscription, deliveries_options, deliveries, NULL, 0},
    {"webhook", "retry", "Send a delivery's payload again, as a new delivery.", NULL, retry_arguments, NULL, retry, NULL, 0},
    {"webhook", "recover", "Send a subscription the events again that have not arrived.",
     "Each gets a new delivery, unless one is pending, which is sent at once. Events that have arrived or are being sent are "
     "skipped, so it can be repeated.",
     of_subscription, recover_options, recover, NULL, 0},
    {"webhook", "tail", "Follow delivery attempts, one line each.",
     "The result \"retry\" means that the attempt failed and another follows. With --json each line is an object.", NULL,
     tail_options, tail, NULL, 0},
    {0},
};
