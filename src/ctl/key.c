/* neoapictl key */
#include <apr_strings.h>

#include "ctl/credential.h"
#include "ctl/output.h"

/* The scopes that were asked for; 0 where none was. */
static neo_scopes narrowed(const neo_ctl *ctl)
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
    return neo_admin_make_key(pg, neo_ctl_value(ctl, "organization"), neo_ctl_value(ctl, "role"), narrowed(ctl),
                              neo_ctl_value(ctl, "name"), ctl->pool, id, secret);
}

static neo_ctl_exit create(neo_ctl *ctl)
{
    const char *role = neo_ctl_value(ctl, "role");
    neo_scopes of_role = 0;
    neo_scopes beyond = neo_role_scopes(role, &of_role) ? narrowed(ctl) & ~of_role : 0;
    if (beyond)
        return neo_ctl_misused(ctl, "the role %s does not have the scope %s", role, neo_scope_text(beyond, ctl->pool));
    return neo_ctl_create_credential(ctl, make);
}

static const neo_ctl_parameter create_arguments[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "what the key is for, so that it can be told from others"},
    {0},
};

static const neo_ctl_parameter create_options[] = {
    {"organization", NEO_CTL_ORGANIZATION_ID, NEO_CTL_REQUIRED, NULL, "the organization that the key reaches"},
    {"role", NEO_CTL_ROLE, NEO_CTL_REQUIRED, NULL, "what the key may do"},
    {"scope", NEO_CTL_SCOPE, NEO_CTL_REPEATED, NULL, "a scope of the role; the key then has just the scopes that are given"},
    {0},
};

static const neo_ctl_parameter list_options[] = {
    {"organization", NEO_CTL_ORGANIZATION_ID, 0, NULL, "only those of this organization"},
    {0},
};

static const neo_ctl_parameter revoke_arguments[] = {
    {"id", NEO_CTL_KEY_ID, 0, NULL, "the key's id: the first 30 characters of its secret"},
    {0},
};

const neo_ctl_command neo_ctl_key[] = {
    {"key", "create", "Make an API key and show its secret.",
     "The secret is shown this once: only a hash of it is kept. Without --scope the key has every scope of its role.",
     create_arguments, create_options, create, NULL, 0},
    {"key", "list", "List the API keys.", NULL, NULL, list_options, neo_ctl_run_list, NULL, NEO_ADMIN_KEYS},
    {"key", "revoke", "End an API key for good; every server sees it at once.", NULL, revoke_arguments, NULL, neo_ctl_run_row,
     neo_ctl_revoke, 0},
    {0},
};
