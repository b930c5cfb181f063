/* neoapictl tenant */
#include <string.h>

#include "ctl/change.h"

static const char *add(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE])
{
    return neo_admin_add_tenant(pg, neo_ctl_value(ctl, "name"), neo_ctl_value(ctl, "plan"), neo_ctl_value(ctl, "id"), ctl->pool,
                                id);
}

static const char *set_plan(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE])
{
    memcpy(id, neo_ctl_value(ctl, "tenant"), NEO_ID_SIZE);
    const char *wrong = neo_admin_set_plan(pg, id, neo_ctl_value(ctl, "new-plan"), ctl->pool);
    if (!wrong)
        neo_ctl_await_cache_sync(ctl, pg, "It has another plan");
    return wrong;
}

static const neo_ctl_parameter add_arguments[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "what people call the tenant"},
    {0},
};

static const neo_ctl_parameter add_options[] = {
    {"plan", NEO_CTL_PLAN, 0, "default", "how many requests it may make"},
    {"id", NEO_CTL_TENANT_ID, 0, NULL, "the id that it had before, for an import of what was exported; else it gets a new one"},
    {0},
};

static const neo_ctl_parameter set_plan_arguments[] = {
    {"tenant", NEO_CTL_TENANT_ID, 0, NULL, "the tenant's id"},
    {"new-plan", NEO_CTL_PLAN, 0, NULL, "the plan that it has from now on"},
    {0},
};

static const neo_ctl_parameter which[] = {
    {"tenant", NEO_CTL_TENANT_ID, 0, NULL, "the tenant's id"},
    {0},
};

static const neo_ctl_parameter change_options[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "what people call the tenant"},
    {"plan", NEO_CTL_PLAN, 0, NULL, "how many requests it may make"},
    {0},
};

const neo_ctl_command neo_ctl_tenant[] = {
    {"tenant", "add", "Add a tenant: a company that has organizations and users.", NULL, add_arguments, add_options,
     neo_ctl_run_row, add, 0},
    {"tenant", "list", "List the tenants.", NULL, NULL, NULL, neo_ctl_run_list, NULL, NEO_ADMIN_TENANTS},
    {"tenant", "set-plan", "Give a tenant another plan; it holds at once.", NULL, set_plan_arguments, NULL, neo_ctl_run_row,
     set_plan, 0},
    {"tenant", "change", "Change a tenant's name or plan; it holds at once.", NULL, which, change_options, neo_ctl_run_change,
     NULL, NEO_ADMIN_TENANTS},
    {"tenant", "remove", "Remove a tenant that has no organizations and no users.",
     "With all that it has it is removed by: neoapictl purge tenant", which, NULL, neo_ctl_run_remove, NULL, NEO_ADMIN_TENANTS},
    {0},
};
