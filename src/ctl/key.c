/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl key: manages API keys. */
#include <apr_strings.h>

#include "ctl/credential.h"
#include "ctl/noun.h"
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
    return excess_scopes(ctl, role) ? refuse_excess_scopes(ctl, role) : neo_ctl_create_credential(ctl);
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

static const neo_ctl_field fields[] = {
    {{"name", NEO_CTL_NAME, NEO_CTL_ARGUMENT | NEO_CTL_CHANGE, NULL, "what the key is used for"}, "name", NULL},
    {{"organization", NEO_CTL_ORGANIZATION_ID, NEO_CTL_REQUIRED | NEO_CTL_CREATE | NEO_CTL_LIST, NULL,
      "the organization that the key gives access to"},
     "organization_id",
     NULL},
    {{"role", NEO_CTL_ROLE, NEO_CTL_REQUIRED | NEO_CTL_CREATE | NEO_CTL_CHANGE, NULL, "the key's role"}, "role", NULL},
    {{"scope", NEO_CTL_SCOPE, NEO_CTL_REPEATED | NEO_CTL_CREATE | NEO_CTL_CHANGE, NULL,
      "a scope of the role; restricts the key to the given scopes"},
     "scopes",
     "a scope of the role, which must be given too; restricts the key to the given scopes"},
    {{"every-scope", NEO_CTL_FLAG, NEO_CTL_CHANGE, NULL, "give the key all scopes of its role"}, "scopes", NULL},
    {{0}, NULL, NULL},
};

static const neo_ctl_noun api_key = {NEO_ADMIN_KEYS, {"id", NEO_CTL_KEY_ID, 0, NULL, "the key's id"}, fields};

static const neo_ctl_parameter revoke_arguments[] = {
    {"id", NEO_CTL_KEY_ID, 0, NULL, "the key's id: the first 30 characters of its secret"},
    {0},
};

const neo_ctl_command neo_ctl_key[] = {
    {"key", "create", "Create an API key and show its secret.",
     "The secret is shown only once, because only its hash is stored. Without --scope the key has all scopes of its role.",
     NULL, NULL, create, &api_key, NEO_CTL_CREATE},
    {"key", "list", "List the API keys.", NULL, NULL, NULL, neo_ctl_run_list, &api_key, NEO_CTL_LIST},
    {"key", "revoke", "Revoke an API key permanently. Takes effect on all servers at once.", NEO_CTL_DOC_UNCONFIRMED,
     revoke_arguments, NULL, neo_ctl_revoke, &api_key, NEO_CTL_WHICH},
    {"key", "rotate", "Give an API key a new secret and show it. The old one stays valid for a while.",
     "The key's id does not change. The secret is shown only once, because only its hash is stored.", NULL,
     neo_ctl_rotate_options, neo_ctl_rotate, &api_key, NEO_CTL_WHICH},
    {"key", "change", "Change an API key's name, role or scopes. Takes effect on all servers at once.",
     "If a key restricted to scopes gets a new role, it keeps those that the role has, unless --scope or --every-scope is "
     "given.",
     NULL, NULL, change, &api_key, NEO_CTL_CHANGE},
    {"key", "remove", "Remove a revoked API key from the list.", NULL, NULL, NULL, neo_ctl_run_remove, &api_key, NEO_CTL_WHICH},
    {0},
};
