/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl user: manages users. */
#include "ctl/change.h"

static const char *create(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE])
{
    return neo_admin_create_user(pg, neo_ctl_value(ctl, "tenant"), neo_ctl_value(ctl, "email"), neo_ctl_value(ctl, "role"),
                                 neo_ctl_value(ctl, "name"), ctl->pool, id);
}

static const neo_ctl_parameter create_arguments[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "the user's name"},
    {0},
};

static const neo_ctl_parameter create_options[] = {
    {"tenant", NEO_CTL_TENANT_ID, NEO_CTL_REQUIRED, NULL, "the tenant that the user belongs to"},
    {"email", NEO_CTL_EMAIL, NEO_CTL_REQUIRED, NULL, "the user's e-mail address, unique in the tenant"},
    {"role", NEO_CTL_ROLE, NEO_CTL_REQUIRED, NULL, "the role of the user and of the user's tokens"},
    {0},
};

static const neo_ctl_parameter list_options[] = {
    {"tenant", NEO_CTL_TENANT_ID, 0, NULL, "only of this tenant"},
    {0},
};

static const neo_ctl_parameter which[] = {
    {"user", NEO_CTL_USER_ID, 0, NULL, "the user's id"},
    {0},
};

static const neo_ctl_parameter change_options[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "the user's name"},
    {"email", NEO_CTL_EMAIL, 0, NULL, "the user's e-mail address, unique in the tenant"},
    {"role", NEO_CTL_ROLE, 0, NULL, "the role of the user and of the user's tokens"},
    {0},
};

const neo_ctl_command neo_ctl_user[] = {
    {"user", "create", "Create a user in a tenant.", NULL, create_arguments, create_options, neo_ctl_run_row, create, 0},
    {"user", "list", "List the users.", NULL, NULL, list_options, neo_ctl_run_list, NULL, NEO_ADMIN_USERS},
    {"user", "change", "Change a user's name, e-mail address or role. A new role applies to the user's tokens at once.", NULL,
     which, change_options, neo_ctl_run_change, NULL, NEO_ADMIN_USERS},
    {"user", "remove", "Remove a user without valid tokens. Revoked tokens are removed as well.", NULL, which, NULL,
     neo_ctl_run_remove, NULL, NEO_ADMIN_USERS},
    {0},
};
