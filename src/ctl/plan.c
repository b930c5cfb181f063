/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl plan: manages plans (limits of tenants). */
#include "ctl/noun.h"
#include "resources/plan_limits.h"

/* clang-format off */
#define LIMIT_FIELD(column, option, kind, default_value, summary, change_summary)                                              \
    {{option, NEO_CTL_##kind, /* the cast: clang warns of a literal as a condition */                                          \
      ((const char *)default_value ? 0 : NEO_CTL_REQUIRED) | NEO_CTL_CREATE | NEO_CTL_CHANGE, default_value, summary},         \
     #column, change_summary},

static const neo_ctl_field fields[] = {
    {{"name", NEO_CTL_PLAN, NEO_CTL_ARGUMENT, NULL, "the plan's name: lowercase letters, digits, hyphens and underscores"},
     "name", NULL},
    NEO_PLAN_LIMITS(LIMIT_FIELD)
    {{0}, NULL, NULL},
};
/* clang-format on */

static const neo_ctl_noun plan = {NEO_ADMIN_PLANS, {"plan", NEO_CTL_PLAN, 0, NULL, "the plan's name"}, fields};

const neo_ctl_command neo_ctl_plan[] = {
    {"plan", "create", "Create a plan: limits for tenants.", NULL, NULL, NULL, neo_ctl_run_create, &plan, NEO_CTL_CREATE},
    {"plan", "list", "List the plans.", NULL, NULL, NULL, neo_ctl_run_list, &plan, NEO_CTL_LIST},
    {"plan", "change", "Change a plan for all tenants that have it. Takes effect at once.", NULL, NULL, NULL,
     neo_ctl_run_change, &plan, NEO_CTL_CHANGE},
    {"plan", "remove", "Remove a plan that no tenant has.", "The plan \"default\" cannot be removed.", NULL, NULL,
     neo_ctl_run_remove, &plan, NEO_CTL_WHICH},
    {0},
};
