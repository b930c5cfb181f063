/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl key: manages API keys. */
#include <apr_strings.h>

#include "ctl/change.h"
#include "ctl/credential.h"
#include "ctl/output.h"

/* The scopes in --scope, or 0. */
static neo_scopes requested_scopes(const neo_ctl *ctl)
{
    neo_scopes all = 0, one = 0;
    apr_array_header_t *texts = neo_ctl_values(ctl, "scope");
    for (int i = 0; i < texts->nelts; i++)
        if (neo_scope_parse(APR_ARRAY_IDX(texts, i, const char *), &one))
            all |= one;
    return all;
}

static const char *make(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE])
{
    return neo_admin_create_key(pg, neo_ctl_value(ctl, "organization"), neo_ctl_value(ctl, "role"), requested_scopes(ctl),
                                neo_ctl_value(ctl, "name"), ctl->pool, id, secret);
}

/* The scopes in --scope that the role does not have. */
static neo_scopes excess_scopes(const neo_ctl *ctl, const char *role)
{
    neo_scopes of_role = 0;
    return neo_role_scopes(role, &of_role) ? requested_scopes(ctl) & ~of_role : 0;
}

static neo_ctl_exit refuse_excess_scopes(neo_ctl *ctl, const char *role)
{
    return neo_ctl_usage_error(ctl, "the role %s does not have the scope %s", role,
                               neo_scope_text(excess_scopes(ctl, role), ctl->pool));
}

static neo_ctl_exit create(neo_ctl *ctl)
{
    const char *role = neo_ctl_value(ctl, "role");
    return excess_scopes(ctl, role) ? refuse_excess_scopes(ctl, role) : neo_ctl_create_credential(ctl, make);
}

static neo_ctl_exit change(neo_ctl *ctl)
{
    const char *role = neo_ctl_value(ctl, "role");
    if (requested_scopes(ctl) && !role)
        return neo_ctl_usage_error(ctl, "--scope needs --role");
    if (requested_scopes(ctl) && neo_ctl_value(ctl, "every-scope"))
        return neo_ctl_usage_error(ctl, "--scope and --every-scope cannot be combined");
    return role && excess_scopes(ctl, role) ? refuse_excess_scopes(ctl, role) : neo_ctl_run_change(ctl);
}

static const neo_ctl_parameter create_arguments[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "what the key is used for"},
    {0},
};

static const neo_ctl_parameter create_options[] = {
    {"organization", NEO_CTL_ORGANIZATION_ID, NEO_CTL_REQUIRED, NULL, "the organization that the key gives access to"},
    {"role", NEO_CTL_ROLE, NEO_CTL_REQUIRED, NULL, "the key's role"},
    {"scope", NEO_CTL_SCOPE, NEO_CTL_REPEATED, NULL, "a scope of the role; restricts the key to the given scopes"},
    {0},
};

static const neo_ctl_parameter list_options[] = {
    {"organization", NEO_CTL_ORGANIZATION_ID, 0, NULL, "only of this organization"},
    {0},
};

static const neo_ctl_parameter revoke_arguments[] = {
    {"id", NEO_CTL_KEY_ID, 0, NULL, "the key's id: the first 30 characters of its secret"},
    {0},
};

static const neo_ctl_parameter which[] = {
    {"id", NEO_CTL_KEY_ID, 0, NULL, "the key's id"},
    {0},
};

static const neo_ctl_parameter change_options[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "what the key is used for"},
    {"role", NEO_CTL_ROLE, 0, NULL, "the key's role"},
    {"scope", NEO_CTL_SCOPE, NEO_CTL_REPEATED, NULL,
     "a scope of the role, which must be given too; restricts the key to the given scopes"},
    {"every-scope", NEO_CTL_FLAG, 0, NULL, "give the key all scopes of its role"},
    {0},
};

const neo_ctl_command neo_ctl_key[] = {
    {"key", "create", "Create an API key and show its secret.",
     "The secret is shown only once, because only its hash is stored. Without --scope the key has all scopes of its role.",
     create_arguments, create_options, create, NULL, 0},
    {"key", "list", "List the API keys.", NULL, NULL, list_options, neo_ctl_run_list, NULL, NEO_ADMIN_KEYS},
    {"key", "revoke", "Revoke an API key permanently. Takes effect on all servers at once.", NEO_CTL_DOC_UNCONFIRMED,
     revoke_arguments, NULL, neo_ctl_revoke, NULL, 0},
    {"key", "rotate", "Give an API key a new secret and show it. The old one stays valid for a while.",
     "The key's id does not change. The secret is shown only once, because only its hash is stored.", which,
     neo_ctl_rotate_options, neo_ctl_rotate, NULL, 0},
    {"key", "change", "Change an API key's name, role or scopes. Takes effect on all servers at once.",
     "If a key restricted to scopes gets a new role, it keeps those that the role has, unless --scope or --every-scope is "
     "given.",
     which, change_options, change, NULL, NEO_ADMIN_KEYS},
    {"key", "remove", "Remove a revoked API key from the list.", NULL, which, NULL, neo_ctl_run_remove, NULL, NEO_ADMIN_KEYS},
    {0},
};
