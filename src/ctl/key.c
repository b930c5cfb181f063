/* neoapictl key */
#include <apr_strings.h>

#include "ctl/change.h"
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

/* The scopes that were asked for and the role does not have. */
static neo_scopes beyond(const neo_ctl *ctl, const char *role)
{
    neo_scopes of_role = 0;
    return neo_role_scopes(role, &of_role) ? narrowed(ctl) & ~of_role : 0;
}

static neo_ctl_exit refuse_beyond(neo_ctl *ctl, const char *role)
{
    return neo_ctl_misused(ctl, "the role %s does not have the scope %s", role, neo_scope_text(beyond(ctl, role), ctl->pool));
}

static neo_ctl_exit create(neo_ctl *ctl)
{
    const char *role = neo_ctl_value(ctl, "role");
    return beyond(ctl, role) ? refuse_beyond(ctl, role) : neo_ctl_create_credential(ctl, make);
}

static neo_ctl_exit change(neo_ctl *ctl)
{
    const char *role = neo_ctl_value(ctl, "role");
    if (narrowed(ctl) && !role)
        return neo_ctl_misused(ctl, "--scope needs --role, so that it is known what the key can be narrowed from");
    if (narrowed(ctl) && neo_ctl_value(ctl, "every-scope"))
        return neo_ctl_misused(ctl, "--scope and --every-scope contradict each other");
    return role && beyond(ctl, role) ? refuse_beyond(ctl, role) : neo_ctl_run_change(ctl);
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

static const neo_ctl_parameter which[] = {
    {"id", NEO_CTL_KEY_ID, 0, NULL, "the key's id"},
    {0},
};

static const neo_ctl_parameter change_options[] = {
    {"name", NEO_CTL_NAME, 0, NULL, "what the key is for"},
    {"role", NEO_CTL_ROLE, 0, NULL, "what the key may do"},
    {"scope", NEO_CTL_SCOPE, NEO_CTL_REPEATED, NULL,
     "a scope of the role, which must be given too; the key then has just the scopes that are given"},
    {"every-scope", NEO_CTL_FLAG, 0, NULL, "the key then has every scope of its role"},
    {0},
};

const neo_ctl_command neo_ctl_key[] = {
    {"key", "create", "Make an API key and show its secret.",
     "The secret is shown this once: only a hash of it is kept. Without --scope the key has every scope of its role.",
     create_arguments, create_options, create, NULL, 0},
    {"key", "list", "List the API keys.", NULL, NULL, list_options, neo_ctl_run_list, NULL, NEO_ADMIN_KEYS},
    {"key", "revoke", "End an API key for good; every server sees it at once.", NULL, revoke_arguments, NULL, neo_ctl_run_row,
     neo_ctl_revoke, 0},
    {"key", "rotate", "Give an API key another secret and show it; the old one is good for a while.",
     "The key's id stays. The secret is shown this once: only a hash of it is kept.", which, neo_ctl_rotate_options,
     neo_ctl_rotate, NULL, 0},
    {"key", "change", "Change an API key's name, role or scopes; every server sees it at once.",
     "A key that was narrowed to some scopes keeps these, as far as a new role has them, unless --scope or --every-scope is "
     "given.",
     which, change_options, change, NULL, NEO_ADMIN_KEYS},
    {"key", "remove", "Remove a revoked API key from the list.", NULL, which, NULL, neo_ctl_run_remove, NULL, NEO_ADMIN_KEYS},
    {0},
};
