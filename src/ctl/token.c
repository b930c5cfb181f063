/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl token: manages personal access tokens. */
#include "ctl/credential.h"
#include "ctl/noun.h"

static const neo_ctl_field fields[] = {
    {{"name", NEO_CTL_NAME, NEO_CTL_ARGUMENT | NEO_CTL_CHANGE, NULL, "what the token is used for"}, "name", NULL},
    {{"user", NEO_CTL_USER_ID, NEO_CTL_REQUIRED | NEO_CTL_CREATE | NEO_CTL_LIST, NULL, "the user, whose role the token has"},
     "user_id",
     NULL},
    {{"organization", NEO_CTL_ORGANIZATION_ID, NEO_CTL_REQUIRED | NEO_CTL_REPEATED | NEO_CTL_CREATE | NEO_CTL_CHANGE, NULL,
      "an organization of the user's tenant that the token gives access to"},
     "organizations",
     "an organization that the token gives access to; replaces the current ones"},
    {{0}, NULL, NULL},
};

static const neo_ctl_noun token = {NEO_ADMIN_TOKENS, {"id", NEO_CTL_TOKEN_ID, 0, NULL, "the token's id"}, fields};

static const neo_ctl_parameter revoke_arguments[] = {
    {"id", NEO_CTL_TOKEN_ID, 0, NULL, "the token's id: the first 30 characters of its secret"},
    {0},
};

const neo_ctl_command neo_ctl_token[] = {
    {"token", "create", "Create a personal access token for a user and show its secret.",
     "The secret is shown only once, because only its hash is stored.", NULL, NULL, neo_ctl_create_credential, &token,
     NEO_CTL_CREATE},
    {"token", "list", "List the personal access tokens.", NULL, NULL, NULL, neo_ctl_run_list, &token, NEO_CTL_LIST},
    {"token", "revoke", "Revoke a personal access token permanently. Takes effect on all servers at once.",
     NEO_CTL_DOC_UNCONFIRMED, revoke_arguments, NULL, neo_ctl_revoke, &token, NEO_CTL_WHICH},
    {"token", "rotate", "Give a personal access token a new secret and show it. The old one stays valid for a while.",
     "The token's id does not change. The secret is shown only once, because only its hash is stored.", NULL,
     neo_ctl_rotate_options, neo_ctl_rotate, &token, NEO_CTL_WHICH},
    {"token", "change", "Change a token's name or organizations. Takes effect on all servers at once.", NULL, NULL, NULL,
     neo_ctl_run_change, &token, NEO_CTL_CHANGE},
    {"token", "remove", "Remove a revoked personal access token from the list.", NULL, NULL, NULL, neo_ctl_run_remove, &token,
     NEO_CTL_WHICH},
    {0},
};
