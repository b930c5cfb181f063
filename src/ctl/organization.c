/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl organization: manages organizations. */
#include "ctl/change.h"

static const char *create(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE])
{
    return neo_admin_create_organization(pg, neo_ctl_value(ctl, "tenant"), neo_ctl_value(ctl, "name"), neo_ctl_value(ctl, "id"),
                                         ctl->pool, id);
}

static const neo_ctl_parameter create_arguments[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "the organization's name"},
    {0},
};

static const neo_ctl_parameter create_options[] = {
    {"tenant", NEO_CTL_TENANT_ID, NEO_CTL_REQUIRED, NULL, "the tenant that it belongs to"},
    {"id", NEO_CTL_ORGANIZATION_ID, 0, NULL, "the id of an exported organization, to import into; defaults to a new id"},
    {0},
};

static const neo_ctl_parameter list_options[] = {
    {"tenant", NEO_CTL_TENANT_ID, 0, NULL, "only of this tenant"},
    {0},
};

static const neo_ctl_parameter which[] = {
    {"organization", NEO_CTL_ORGANIZATION_ID, 0, NULL, "the organization's id"},
    {0},
};

static const neo_ctl_parameter change_options[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "the organization's name"},
    {0},
};

const neo_ctl_command neo_ctl_organization[] = {
    {"organization", "create", "Create an organization in a tenant. It owns brokers and all other data.", NULL,
     create_arguments, create_options, neo_ctl_run_row, create, 0},
    {"organization", "list", "List the organizations.", NULL, NULL, list_options, neo_ctl_run_list, NULL,
     NEO_ADMIN_ORGANIZATIONS},
    {"organization", "change", "Change an organization's name.", NULL, which, change_options, neo_ctl_run_change, NULL,
     NEO_ADMIN_ORGANIZATIONS},
    {"organization", "remove", "Remove an organization without data, keys and tokens.",
     "To remove one with its data, use: neoapictl purge organization", which, NULL, neo_ctl_run_remove, NULL,
     NEO_ADMIN_ORGANIZATIONS},
    {0},
};
