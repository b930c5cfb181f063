/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl plan: manages plans (limits of tenants). */
#include "ctl/change.h"
#include "ctl/output.h"
#include "ctl/session.h"

static neo_ctl_exit create(neo_ctl *ctl)
{
    neo_new_plan plan = {neo_ctl_value(ctl, "name"),
                         neo_ctl_value(ctl, "requests"),
                         neo_ctl_value(ctl, "window"),
                         neo_ctl_value(ctl, "subscriptions"),
                         neo_ctl_value(ctl, "concurrent-requests"),
                         neo_ctl_value(ctl, "idempotency-bytes"),
                         neo_ctl_value(ctl, "deliveries-per-hour")};
    const char *wrong;
    neo_pg *pg = neo_ctl_open(ctl, &wrong);
    if (pg)
        wrong = neo_admin_create_plan(pg, &plan, ctl->pool);
    if (wrong)
        return neo_ctl_fail(ctl, "%s", wrong);
    neo_json *made = neo_json_make_object(ctl->pool);
    neo_json_set(made, "name", neo_json_make_string(plan.name, ctl->pool));
    neo_ctl_print(ctl, made);
    return NEO_CTL_OK;
}

static const neo_ctl_parameter create_arguments[] = {
    {"name", NEO_CTL_PLAN, 0, NULL, "the plan's name: lowercase letters, digits, hyphens and underscores"},
    {0},
};

static const neo_ctl_parameter create_options[] = {
    {"requests", NEO_CTL_COUNT, NEO_CTL_REQUIRED, NULL, "requests per window and credential"},
    {"window", NEO_CTL_SECONDS, NEO_CTL_REQUIRED, NULL, "length of the window"},
    {"subscriptions", NEO_CTL_LIMIT, 0, "50", "webhook subscriptions per organization"},
    {"concurrent-requests", NEO_CTL_LIMIT, 0, "50", "requests in progress per organization and host"},
    {"idempotency-bytes", NEO_CTL_LIMIT, 0, "1000000000", "stored responses per organization, host and day, in bytes"},
    {"deliveries-per-hour", NEO_CTL_LIMIT, 0, "100000",
     "webhook deliveries per organization, receiver and host in an hour; others wait"},
    {0},
};

static const neo_ctl_parameter which[] = {
    {"plan", NEO_CTL_PLAN, 0, NULL, "the plan's name"},
    {0},
};

static const neo_ctl_parameter change_options[] = {
    {"requests", NEO_CTL_COUNT, 0, NULL, "requests per window and credential"},
    {"window", NEO_CTL_SECONDS, 0, NULL, "length of the window"},
    {"subscriptions", NEO_CTL_LIMIT, 0, NULL, "webhook subscriptions per organization; more that exist are kept"},
    {"concurrent-requests", NEO_CTL_LIMIT, 0, NULL, "requests in progress per organization and host"},
    {"idempotency-bytes", NEO_CTL_LIMIT, 0, NULL, "stored responses per organization, host and day, in bytes"},
    {"deliveries-per-hour", NEO_CTL_LIMIT, 0, NULL,
     "webhook deliveries per organization, receiver and host in an hour; others wait"},
    {0},
};

const neo_ctl_command neo_ctl_plan[] = {
    {"plan", "create", "Create a plan: limits for tenants.", NULL, create_arguments, create_options, create, NULL, 0},
    {"plan", "list", "List the plans.", NULL, NULL, NULL, neo_ctl_run_list, NULL, NEO_ADMIN_PLANS},
    {"plan", "change", "Change a plan for all tenants that have it. Takes effect at once.", NULL, which, change_options,
     neo_ctl_run_change, NULL, NEO_ADMIN_PLANS},
    {"plan", "remove", "Remove a plan that no tenant has.", "The plan \"default\" cannot be removed.", which, NULL,
     neo_ctl_run_remove, NULL, NEO_ADMIN_PLANS},
    {0},
};
