/* neoapictl tenant */
#include <string.h>

#include "ctl/command.h"

static const char *add(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE])
{
    return neo_admin_add_tenant(pg, neo_ctl_value(ctl, "name"), neo_ctl_value(ctl, "plan"), ctl->pool, id);
}

static const char *set_plan(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE])
{
    memcpy(id, neo_ctl_value(ctl, "tenant"), NEO_ID_SIZE);
    return neo_admin_set_plan(pg, id, neo_ctl_value(ctl, "new-plan"), ctl->pool);
}

static const neo_ctl_parameter add_arguments[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "what people call the tenant"},
    {0},
};

static const neo_ctl_parameter add_options[] = {
    {"plan", NEO_CTL_PLAN, 0, "default", "how many requests it may make"},
    {0},
};

static const neo_ctl_parameter set_plan_arguments[] = {
    {"tenant", NEO_CTL_TENANT_ID, 0, NULL, "the tenant's id"},
    {"new-plan", NEO_CTL_PLAN, 0, NULL, "the plan that it has from now on"},
    {0},
};

const neo_ctl_command neo_ctl_tenant[] = {
    {"tenant", "add", "Add a tenant: a company that has organizations and users.", NULL, add_arguments, add_options,
     neo_ctl_run_row, add, 0},
    {"tenant", "list", "List the tenants.", NULL, NULL, NULL, neo_ctl_run_list, NULL, NEO_ADMIN_TENANTS},
    {"tenant", "set-plan", "Give a tenant another plan; it holds at once.", NULL, set_plan_arguments, NULL, neo_ctl_run_row,
     set_plan, 0},
    {0},
};
