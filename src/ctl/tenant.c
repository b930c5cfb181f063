/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl tenant: manages tenants. */
#include "ctl/change.h"

static const char *create(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE])
{
    return neo_admin_create_tenant(pg, neo_ctl_value(ctl, "name"), neo_ctl_value(ctl, "plan"), neo_ctl_value(ctl, "id"),
                                   ctl->pool, id);
}

static const neo_ctl_parameter create_arguments[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "the tenant's name"},
    {0},
};

static const neo_ctl_parameter create_options[] = {
    {"plan", NEO_CTL_PLAN, 0, "default", "the plan that limits its requests"},
    {"id", NEO_CTL_TENANT_ID, 0, NULL, "the id of a tenant that was exported and purged; defaults to a new id"},
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
    {"tenant", "create", "Create a tenant: a company with organizations and users.", NULL, create_arguments, create_options,
     neo_ctl_run_row, create, 0},
    {"tenant", "list", "List the tenants.", NULL, NULL, NULL, neo_ctl_run_list, NULL, NEO_ADMIN_TENANTS},
    {"tenant", "change", "Change a tenant's name or plan. Takes effect at once.", NULL, which, change_options,
     neo_ctl_run_change, NULL, NEO_ADMIN_TENANTS},
    {"tenant", "remove", "Remove a tenant without organizations and users.",
     "To remove one with its data, use: neoapictl purge tenant", which, NULL, neo_ctl_run_remove, NULL, NEO_ADMIN_TENANTS},
    {0},
};
