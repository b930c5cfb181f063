/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl user: manages users. */
#include "ctl/noun.h"

static const neo_ctl_field fields[] = {
    {{"tenant", NEO_CTL_TENANT_ID, NEO_CTL_REQUIRED | NEO_CTL_CREATE | NEO_CTL_LIST, NULL,
      "the tenant that the user belongs to"},
     "tenant_id",
     NULL},
    {{"email", NEO_CTL_EMAIL, NEO_CTL_REQUIRED | NEO_CTL_CREATE | NEO_CTL_CHANGE, NULL,
      "the user's e-mail address, unique in the tenant"},
     "email",
     NULL},
    {{"role", NEO_CTL_ROLE, NEO_CTL_REQUIRED | NEO_CTL_CREATE | NEO_CTL_CHANGE, NULL,
      "the role of the user and of the user's tokens"},
     "role",
     NULL},
    {{"name", NEO_CTL_NAME, NEO_CTL_ARGUMENT | NEO_CTL_CHANGE, NULL, "the user's name"}, "name", NULL},
    {{0}, NULL, NULL},
};

static const neo_ctl_noun user = {NEO_ADMIN_USERS, {"user", NEO_CTL_USER_ID, 0, NULL, "the user's id"}, fields};

const neo_ctl_command neo_ctl_user[] = {
    {"user", "create", "Create a user in a tenant.", NULL, NULL, NULL, neo_ctl_run_create, &user, NEO_CTL_CREATE},
    {"user", "list", "List the users.", NULL, NULL, NULL, neo_ctl_run_list, &user, NEO_CTL_LIST},
    {"user", "change", "Change a user's name, e-mail address or role. A new role applies to the user's tokens at once.", NULL,
     NULL, NULL, neo_ctl_run_change, &user, NEO_CTL_CHANGE},
    {"user", "remove", "Remove a user without valid tokens. Revoked tokens are removed as well.", NULL, NULL, NULL,
     neo_ctl_run_remove, &user, NEO_CTL_WHICH},
    {0},
};
