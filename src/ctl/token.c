/* neoapictl token */
#include "ctl/change.h"
#include "ctl/credential.h"
#include "ctl/output.h"

static const char *make(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE])
{
    neo_json *organizations = neo_json_make_array(ctl->pool);
    apr_array_header_t *given = neo_ctl_values(ctl, "organization");
    for (int i = 0; i < given->nelts; i++)
        neo_json_append(organizations, neo_json_make_string(APR_ARRAY_IDX(given, i, const char *), ctl->pool));
    return neo_admin_make_token(pg, neo_ctl_value(ctl, "user"), organizations, neo_ctl_value(ctl, "name"), ctl->pool, id,
                                secret);
}

static neo_ctl_exit create(neo_ctl *ctl)
{
    return neo_ctl_create_credential(ctl, make);
}

static const neo_ctl_parameter create_arguments[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "what the token is for, so that it can be told from others"},
    {0},
};

static const neo_ctl_parameter create_options[] = {
    {"user", NEO_CTL_USER_ID, NEO_CTL_REQUIRED, NULL, "the user whose role the token has"},
    {"organization", NEO_CTL_ORGANIZATION_ID, NEO_CTL_REQUIRED | NEO_CTL_REPEATED, NULL,
     "an organization of the user's tenant that the token reaches"},
    {0},
};

static const neo_ctl_parameter list_options[] = {
    {"user", NEO_CTL_USER_ID, 0, NULL, "only those of this user"},
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
    {"name", NEO_CTL_NAME, 0, NULL, "what the token is for"},
    {"organization", NEO_CTL_ORGANIZATION_ID, NEO_CTL_REPEATED, NULL,
     "an organization that the token reaches; it then reaches just those that are given"},
    {0},
};

const neo_ctl_command neo_ctl_token[] = {
    {"token", "create", "Make a personal access token for a user and show its secret.",
     "The secret is shown this once: only a hash of it is kept.", create_arguments, create_options, create, NULL, 0},
    {"token", "list", "List the personal access tokens.", NULL, NULL, list_options, neo_ctl_run_list, NULL, NEO_ADMIN_TOKENS},
    {"token", "revoke", "End a personal access token for good; every server sees it at once.", NULL, revoke_arguments, NULL,
     neo_ctl_run_row, neo_ctl_revoke, 0},
    {"token", "rotate", "Give a personal access token another secret and show it; the old one is good for a while.",
     "The token's id stays. The secret is shown this once: only a hash of it is kept.", which, neo_ctl_rotate_options,
     neo_ctl_rotate, NULL, 0},
    {"token", "change", "Change a token's name or the organizations that it reaches; every server sees it at once.", NULL,
     which, change_options, neo_ctl_run_change, NULL, NEO_ADMIN_TOKENS},
    {"token", "remove", "Remove a revoked personal access token from the list.", NULL, which, NULL, neo_ctl_run_remove, NULL,
     NEO_ADMIN_TOKENS},
    {0},
};
