/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl token: manages personal access tokens. */
#include "ctl/change.h"
#include "ctl/credential.h"
#include "ctl/output.h"

static const char *make(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE])
{
    neo_json *organizations = neo_json_make_array(ctl->pool);
    apr_array_header_t *given = neo_ctl_values(ctl, "organization");
    for (int i = 0; i < given->nelts; i++)
        neo_json_append(organizations, neo_json_make_string(APR_ARRAY_IDX(given, i, const char *), ctl->pool));
    return neo_admin_create_token(pg, neo_ctl_value(ctl, "user"), organizations, neo_ctl_value(ctl, "name"), ctl->pool, id,
                                  secret);
}

static neo_ctl_exit create(neo_ctl *ctl)
{
    return neo_ctl_create_credential(ctl, make);
}

static const neo_ctl_parameter create_arguments[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "what the token is used for"},
    {0},
};

static const neo_ctl_parameter create_options[] = {
    {"user", NEO_CTL_USER_ID, NEO_CTL_REQUIRED, NULL, "the user, whose role the token has"},
    {"organization", NEO_CTL_ORGANIZATION_ID, NEO_CTL_REQUIRED | NEO_CTL_REPEATED, NULL,
     "an organization of the user's tenant that the token gives access to"},
    {0},
};

static const neo_ctl_parameter list_options[] = {
    {"user", NEO_CTL_USER_ID, 0, NULL, "only of this user"},
    {0},
};

static const neo_ctl_parameter revoke_arguments[] = {
    {"id", NEO_CTL_TOKEN_ID, 0, NULL, "the token's id: the first 30 characters of its secret"},
    {0},
};

static const neo_ctl_parameter which[] = {
    {"id", NEO_CTL_TOKEN_ID, 0, NULL, "the token's id"},
    {0},
};

static const neo_ctl_parameter change_options[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "what the token is used for"},
    {"organization", NEO_CTL_ORGANIZATION_ID, NEO_CTL_REPEATED, NULL,
     "an organization that the token gives access to; replaces the current ones"},
    {0},
};

const neo_ctl_command neo_ctl_token[] = {
    {"token", "create", "Create a personal access token for a user and show its secret.",
     "The secret is shown only once, because only its hash is stored.", create_arguments, create_options, create, NULL, 0},
    {"token", "list", "List the personal access tokens.", NULL, NULL, list_options, neo_ctl_run_list, NULL, NEO_ADMIN_TOKENS},
    {"token", "revoke", "Revoke a personal access token permanently. Takes effect on all servers at once.",
     NEO_CTL_DOC_UNCONFIRMED, revoke_arguments, NULL, neo_ctl_revoke, NULL, 0},
    {"token", "rotate", "Give a personal access token a new secret and show it. The old one stays valid for a while.",
     "The token's id does not change. The secret is shown only once, because only its hash is stored.", which,
     neo_ctl_rotate_options, neo_ctl_rotate, NULL, 0},
    {"token", "change", "Change a token's name or organizations. Takes effect on all servers at once.", NULL, which,
     change_options, neo_ctl_run_change, NULL, NEO_ADMIN_TOKENS},
    {"token", "remove", "Remove a revoked personal access token from the list.", NULL, which, NULL, neo_ctl_run_remove, NULL,
     NEO_ADMIN_TOKENS},
    {0},
};
