/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl tenant: manages tenants. */
#include "ctl/noun.h"

static const neo_ctl_field fields[] = {
    {{"name", NEO_CTL_NAME, NEO_CTL_ARGUMENT | NEO_CTL_CHANGE, NULL, "the tenant's name"}, "name", NULL},
    {{"plan", NEO_CTL_PLAN, NEO_CTL_CREATE | NEO_CTL_CHANGE, "default", "the plan that limits its requests"}, "plan", NULL},
    {{"id", NEO_CTL_TENANT_ID, NEO_CTL_CREATE, NULL, "the id of a tenant that was exported and purged; defaults to a new id"},
     "id",
     NULL},
    {{0}, NULL, NULL},
};

static const neo_ctl_noun tenant = {NEO_ADMIN_TENANTS, {"tenant", NEO_CTL_TENANT_ID, 0, NULL, "the tenant's id"}, fields};

const neo_ctl_command neo_ctl_tenant[] = {
    {"tenant", "create", "Create a tenant: a company with organizations and users.", NULL, NULL, NULL, neo_ctl_run_create,
     &tenant, NEO_CTL_CREATE},
    {"tenant", "list", "List the tenants.", NULL, NULL, NULL, neo_ctl_run_list, &tenant, NEO_CTL_LIST},
    {"tenant", "change", "Change a tenant's name or plan. Takes effect at once.", NULL, NULL, NULL, neo_ctl_run_change, &tenant,
     NEO_CTL_CHANGE},
    {"tenant", "remove", "Remove a tenant without organizations and users.",
     "To remove one with its data, use: neoapictl purge tenant", NULL, NULL, neo_ctl_run_remove, &tenant, NEO_CTL_WHICH},
    {0},
};
