/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl organization: manages organizations. */
#include "ctl/noun.h"

static const neo_ctl_field fields[] = {
    {{"tenant", NEO_CTL_TENANT_ID, NEO_CTL_REQUIRED | NEO_CTL_CREATE | NEO_CTL_LIST, NULL, "the tenant that it belongs to"},
     "tenant_id",
     NULL},
    {{"name", NEO_CTL_NAME, NEO_CTL_ARGUMENT | NEO_CTL_CHANGE, NULL, "the organization's name"}, "name", NULL},
    {{"id", NEO_CTL_ORGANIZATION_ID, NEO_CTL_CREATE, NULL,
      "the id of an exported organization, to import into; defaults to a new id"},
     "id",
     NULL},
    {{0}, NULL, NULL},
};

static const neo_ctl_noun organization = {
    NEO_ADMIN_ORGANIZATIONS, {"organization", NEO_CTL_ORGANIZATION_ID, 0, NULL, "the organization's id"}, fields};

const neo_ctl_command neo_ctl_organization[] = {
    {"organization", "create", "Create an organization in a tenant. It owns brokers and all other data.", NULL, NULL, NULL,
     neo_ctl_run_create, &organization, NEO_CTL_CREATE},
    {"organization", "list", "List the organizations.", NULL, NULL, NULL, neo_ctl_run_list, &organization, NEO_CTL_LIST},
    {"organization", "change", "Change an organization's name.", NULL, NULL, NULL, neo_ctl_run_change, &organization,
     NEO_CTL_CHANGE},
    {"organization", "remove", "Remove an organization without data, keys and tokens.",
     "To remove one with its data, use: neoapictl purge organization", NULL, NULL, neo_ctl_run_remove, &organization,
     NEO_CTL_WHICH},
    {0},
};
