/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl tenant: manages tenants. */
#include "ctl/change.h"
#include "ctl/session.h"

static const char *add(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE])
{
    return neo_admin_add_tenant(pg, neo_ctl_value(ctl, "name"), neo_ctl_value(ctl, "plan"), neo_ctl_value(ctl, "id"), ctl->pool,
                                id);
}

static neo_ctl_exit set_plan(neo_ctl *ctl)
{
    const char *wrong;
    neo_pg *pg = neo_ctl_open(ctl, &wrong);
    if (pg)
        wrong = neo_admin_set_plan(pg, neo_ctl_value(ctl, "tenant"), neo_ctl_value(ctl, "new-plan"), ctl->pool);
    return neo_ctl_finish_change(ctl, pg, wrong, "The plan was changed");
}

static const neo_ctl_parameter add_arguments[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "the tenant's name"},
    {0},
};

static const neo_ctl_parameter add_options[] = {
    {"plan", NEO_CTL_PLAN, 0, "default", "the plan that limits its requests"},
    {"id", NEO_CTL_TENANT_ID, 0, NULL, "the id of a tenant that was exported and purged; defaults to a new id"},
    {0},
};

static const neo_ctl_parameter set_plan_arguments[] = {
    {"tenant", NEO_CTL_TENANT_ID, 0, NULL, "the tenant's id"},
    {"new-plan", NEO_CTL_PLAN, 0, NULL, "the new plan"},
    {0},
};

static const neo_ctl_parameter which[] = {
    {"tenant", NEO_CTL_TENANT_ID, 0, NULL, "the tenant's id"},
    {0},
};

static const neo_ctl_parameter change_options[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "the tenant's name"},
    {"plan", NEO_CTL_PLAN, 0, NULL, "the plan that limits its requests"},
    {0},
};

const neo_ctl_command neo_ctl_tenant[] = {
    {"tenant", "add", "Add a tenant: a company with organizations and users.", NULL, add_arguments, add_options,
     neo_ctl_run_row, add, 0},
    {"tenant", "list", "List the tenants.", NULL, NULL, NULL, neo_ctl_run_list, NULL, NEO_ADMIN_TENANTS},
    {"tenant", "set-plan", "Change a tenant's plan. Takes effect at once.", NULL, set_plan_arguments, NULL, set_plan, NULL, 0},
    {"tenant", "change", "Change a tenant's name or plan. Takes effect at once.", NULL, which, change_options,
     neo_ctl_run_change, NULL, NEO_ADMIN_TENANTS},
    {"tenant", "remove", "Remove a tenant without organizations and users.",
     "To remove one with its data, use: neoapictl purge tenant", which, NULL, neo_ctl_run_remove, NULL, NEO_ADMIN_TENANTS},
    {0},
};
