/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl key, token, listings: manages API keys, personal access tokens and feeds of listings. */
#include <string.h>

#include "ctl/noun.h"
#include "ctl/output.h"
#include "ctl/session.h"
#include "resources/scope.h"

/* ---------------------------------------------------------------- secrets */

#define SENT_BY_CLIENTS "Clients send it in the header X-API-Key."

/* Creates a credential, or gives it a new secret. Commits after the secret was printed: if it cannot be, nothing is changed.
 * `use` says what the secret is used for. */
static neo_ctl_exit make_secret(neo_ctl *ctl, neo_pg **pg, const char *use)
{
    const char *error;
    char id[NEO_ID_SIZE], secret[NEO_SECRET_SIZE];
    *pg = neo_ctl_open(ctl, &error);
    if (*pg)
        error = neo_ctl_exec(ctl, *pg, "begin");
    if (!error && ctl->command->use == NEO_USE_CREATE) {
        error = neo_admin_create_credential(*pg, ctl->command->noun, neo_ctl_settings(ctl), ctl->pool, id, secret);
    } else if (!error) {
        memcpy(id, neo_ctl_value(ctl, "id"), NEO_ID_SIZE);
        error = neo_admin_rotate(*pg, id, neo_ctl_value(ctl, "grace"), neo_ctl_value(ctl, "end-previous") != NULL, ctl->pool,
                                 secret);
    }
    neo_ctl_exit status = neo_ctl_finish(ctl, error, error ? NULL : neo_ctl_object(ctl, "id", id, "secret", secret, NULL));
    if (status != NEO_CTL_OK)
        return status; /* closing the connection rolls back */
    neo_ctl_say(ctl, "Store the secret: it is shown only once. %s", use);
    if ((error = neo_ctl_flush(ctl)))
        return neo_ctl_fail(ctl, "%s", error);
    if ((error = neo_ctl_exec(ctl, *pg, "commit")))
        return neo_ctl_fail(ctl, "the secret of %s was shown but may not be valid: %s", id, error);
    return NEO_CTL_OK;
}

static neo_ctl_exit rotate_credential(neo_ctl *ctl)
{
    neo_pg *pg;
    const char *grace = neo_ctl_value(ctl, "grace");
    neo_ctl_exit status = make_secret(ctl, &pg, SENT_BY_CLIENTS);
    if (status != NEO_CTL_OK)
        return status;
    if (strcmp(grace, "0") == 0)
        neo_ctl_say(ctl, "The old secret is no longer valid.");
    else
        neo_ctl_say(ctl, "The old secret stays valid for %s seconds.", grace);
    return neo_ctl_await_cache_sync(ctl, pg, "The secret was replaced");
}

static neo_ctl_exit revoke_credential(neo_ctl *ctl)
{
    const char *error;
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = neo_admin_revoke(pg, ctl->command->noun, neo_ctl_value(ctl, "id"), ctl->pool);
    return neo_ctl_finish_change(ctl, pg, error, "Revoked");
}

/* ---------------------------------------------------------------- scopes of a key */

/* A token has neither a role nor scopes of its own. */
static neo_ctl_exit check_scopes(const neo_ctl *ctl)
{
    neo_scopes requested = 0, role_scopes = 0, one = 0;
    const char *role = neo_ctl_value(ctl, "role");
    apr_array_header_t *texts = neo_ctl_values(ctl, "scope");
    for (int i = 0; i < texts->nelts; i++)
        if (neo_scope_parse(APR_ARRAY_IDX(texts, i, const char *), &one))
            requested |= one;
    if (requested && !role)
        return neo_ctl_usage_error(ctl, "--scope needs --role");
    neo_scopes excess = role && neo_role_scopes(role, &role_scopes) ? requested & ~role_scopes & ~NEO_SCOPES_MASKED : 0;
    return !excess
               ? NEO_CTL_OK
               : neo_ctl_usage_error(ctl, "the role %s does not have the scope %s", role, neo_scope_text(excess, ctl->pool));
}

static neo_ctl_exit create_feed(neo_ctl *ctl)
{
    neo_pg *pg;
    return make_secret(ctl, &pg,
                       "Enter this address in the portal: https://HOST/listings/SECRET, where /listings is the location of "
                       "SetHandler neoapi-listings.");
}

static neo_ctl_exit create_credential(neo_ctl *ctl)
{
    neo_pg *pg;
    neo_ctl_exit status = check_scopes(ctl);
    return status == NEO_CTL_OK ? make_secret(ctl, &pg, SENT_BY_CLIENTS) : status;
}

static neo_ctl_exit change_key(neo_ctl *ctl)
{
    neo_ctl_exit status = check_scopes(ctl);
    return status == NEO_CTL_OK ? neo_ctl_run_change(ctl) : status;
}

/* ---------------------------------------------------------------- the tables */

static const neo_parameter rotate_options[] = {
    {"grace", NEO_KIND_GRACE, 0, "86400", "how long the old secret stays valid; 0: not at all"},
    {"end-previous", NEO_KIND_FLAG, 0, NULL, "end a secret that is still valid from an earlier rotation at once"},
    {0},
};

#define SHOWN_ONCE "The secret is shown only once, because only its hash is stored."

#define UNCONFIRMED                                                                                                            \
    "Waits until every server has confirmed it, for at most three seconds. Then nothing is in progress with it any more. If "  \
    "one has not, the exit status is 4: it is revoked, but that server may accept it, or execute a write that it has begun, "  \
    "for 15 seconds more."

static const neo_parameter revoke_key_arguments[] = {
    {"id", NEO_KIND_KEY_ID, 0, NULL, "the key's id: the first 30 characters of its secret"},
    {0},
};

const neo_ctl_command neo_ctl_key[] = {
    {"key", "create", "Create an API key and show its secret.",
     SHOWN_ONCE " Without --scope the key has all scopes of its role. With a scope such as parties:read_masked it reads "
                "them with sensitive personal data masked.",
     NULL, NULL, create_credential, &neo_noun_key, NEO_USE_CREATE},
    {"key", "list", "List the API keys.", .noun = &neo_noun_key, .use = NEO_USE_LIST},
    {"key", "revoke", "Revoke an API key permanently. Takes effect on all servers at once.", UNCONFIRMED, revoke_key_arguments,
     NULL, revoke_credential, &neo_noun_key, NEO_USE_ONE},
    {"key", "rotate", "Give an API key a new secret and show it. The old one stays valid for a while.",
     "The key's id does not change. " SHOWN_ONCE, NULL, rotate_options, rotate_credential, &neo_noun_key, NEO_USE_ONE},
    {"key", "change", "Change an API key. Takes effect on all servers at once.",
     "If a key restricted to scopes gets a new role, it keeps those that the role has, unless --scope or --every-scope is "
     "given.",
     NULL, NULL, change_key, &neo_noun_key, NEO_USE_CHANGE},
    {"key", "remove", "Remove a revoked API key from the list.", .noun = &neo_noun_key, .use = NEO_USE_ONE},
    {0},
};

static const neo_parameter revoke_token_arguments[] = {
    {"id", NEO_KIND_TOKEN_ID, 0, NULL, "the token's id: the first 30 characters of its secret"},
    {0},
};

const neo_ctl_command neo_ctl_token[] = {
    {"token", "create", "Create a personal access token for a user and show its secret.", SHOWN_ONCE, NULL, NULL,
     create_credential, &neo_noun_token, NEO_USE_CREATE},
    {"token", "list", "List the personal access tokens.", .noun = &neo_noun_token, .use = NEO_USE_LIST},
    {"token", "revoke", "Revoke a personal access token permanently. Takes effect on all servers at once.", UNCONFIRMED,
     revoke_token_arguments, NULL, revoke_credential, &neo_noun_token, NEO_USE_ONE},
    {"token", "rotate", "Give a personal access token a new secret and show it. The old one stays valid for a while.",
     "The token's id does not change. " SHOWN_ONCE, NULL, rotate_options, rotate_credential, &neo_noun_token, NEO_USE_ONE},
    {"token", "change", "Change a token. Takes effect on all servers at once.", .noun = &neo_noun_token, .use = NEO_USE_CHANGE},
    {"token", "remove", "Remove a revoked personal access token from the list.", .noun = &neo_noun_token, .use = NEO_USE_ONE},
    {0},
};

const neo_ctl_command neo_ctl_listings[] = {
    {"listings", "create", "Create a feed of an organization's active properties for a portal and show its secret.",
     SHOWN_ONCE " The secret is a part of the address that the portal reads.", NULL, NULL, create_feed, &neo_noun_feed,
     NEO_USE_CREATE},
    {"listings", "list", "List the feeds.", .noun = &neo_noun_feed, .use = NEO_USE_LIST},
    {"listings", "change", "Change a feed's name or contact.", .noun = &neo_noun_feed, .use = NEO_USE_CHANGE},
    {"listings", "revoke", "Revoke a feed permanently. Takes effect on all servers at once.", UNCONFIRMED, NULL, NULL,
     revoke_credential, &neo_noun_feed, NEO_USE_ONE},
    {"listings", "remove", "Remove a revoked feed from the list.", .noun = &neo_noun_feed, .use = NEO_USE_ONE},
    {0},
};
