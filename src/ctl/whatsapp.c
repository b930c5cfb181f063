/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl whatsapp: manages WhatsApp numbers. */
#include <apr_strings.h>
#include <string.h>

#include "core/encode.h"
#include "core/secret.h"
#include "ctl/noun.h"
#include "ctl/output.h"
#include "ctl/secrets.h"
#include "ctl/session.h"

#define TOKEN_LEN 43

enum { ACCESS_TOKEN, APP_SECRET, VERIFY_TOKEN };

/* Reads the secrets, encrypts those that are given for the number, and adds them to the settings. */
static const char *set_secrets(const neo_ctl *ctl, const char *id, int is_new, apr_array_header_t *settings,
                               const char **verify_token)
{
    neo_keys keys;
    unsigned char hash[NEO_SHA256_SIZE];
    neo_ctl_secret secrets[] = {
        [ACCESS_TOKEN] = {"access_token", "Access token (a system user's, with whatsapp_business_messaging and _management)",
                          is_new, 0, NULL},
        [APP_SECRET] = {"app_secret", "App secret (in the app's basic settings)", is_new, 0, NULL},
        [VERIFY_TOKEN] = {"verify_token", "Verify token of the callback", 0, 1, NULL},
        {0},
    };
    const char *error = neo_keys_read(&keys, neo_ctl_value(ctl, "key-file"), ctl->pool);
    if (error)
        return apr_pstrcat(ctl->pool, "--key-file: ", error, NULL);
    if ((error = neo_ctl_read_secrets(ctl, secrets)))
        return error;
    const char *token = secrets[ACCESS_TOKEN].value, *secret = secrets[APP_SECRET].value;
    *verify_token = secrets[VERIFY_TOKEN].value;
    if (token)
        neo_admin_set(settings, "access_token", neo_secret_seal(&keys, id, token, ctl->pool));
    if (secret)
        neo_admin_set(settings, "app_secret", neo_secret_seal(&keys, id, secret, ctl->pool));
    if (is_new && !*verify_token) {
        unsigned char bits[32];
        char *made = apr_palloc(ctl->pool, TOKEN_LEN + 1);
        neo_random(bits, sizeof bits);
        neo_base62(bits, sizeof bits, made, TOKEN_LEN);
        *verify_token = made;
    }
    if (*verify_token) {
        neo_sha256(*verify_token, strlen(*verify_token), hash);
        neo_admin_set(settings, "verify_token_hash", neo_admin_hash_text(hash, ctl->pool));
    }
    explicit_bzero(&keys, sizeof keys);
    return NULL;
}

/* Commits after the verify token was printed: if it cannot be, the number is not created. */
static neo_ctl_exit create_number(neo_ctl *ctl)
{
    char id[NEO_ID_SIZE];
    const char *error, *verify_token;
    apr_array_header_t *settings = neo_ctl_settings(ctl);
    neo_id_issue(id, "wan_");
    neo_admin_set(settings, "id", id);
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg && !(error = set_secrets(ctl, id, 1, settings, &verify_token)) && !(error = neo_ctl_exec(ctl, pg, "begin")))
        error = neo_admin_create(pg, &neo_noun_number, settings, ctl->pool);
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    neo_ctl_print(ctl, neo_ctl_object(ctl, "id", id, "verify_token", verify_token, NULL));
    neo_ctl_say(
        ctl, "In the app's WhatsApp settings at Meta, enter the callback's address and this verify token, and subscribe to the "
             "fields messages and user_preferences. The token is shown only once.");
    if ((error = neo_ctl_flush(ctl)) || (error = neo_ctl_exec(ctl, pg, "commit")))
        return neo_ctl_fail(ctl, "%s", error);
    return NEO_CTL_OK;
}

static neo_ctl_exit change_number(neo_ctl *ctl)
{
    const char *error, *verify_token, *id = neo_ctl_value(ctl, "number");
    apr_array_header_t *settings = neo_ctl_settings(ctl);
    int given = settings->nelts, asks_for_secrets = neo_ctl_value(ctl, "secrets") || !given;
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg && asks_for_secrets)
        error = set_secrets(ctl, id, 0, settings, &verify_token);
    if (!error && asks_for_secrets && settings->nelts == given)
        error = "nothing was changed, because no secret was given";
    if (!error)
        error = neo_admin_change(pg, &neo_noun_number, id, settings, ctl->pool);
    return neo_ctl_finish(ctl, error, neo_ctl_object(ctl, "id", id, NULL));
}

/* ---------------------------------------------------------------- the table */

static const neo_parameter secret_options[] = {
    {"secrets", NEO_KIND_FILE, 0, NULL,
     "a file with the lines access_token=..., app_secret=... and verify_token=...; - is standard input"},
    NEO_CTL_KEY_FILE_OPTION,
    {0},
};

const neo_ctl_command neo_ctl_whatsapp[] = {
    {"whatsapp", "number create", "Create a WhatsApp number of an organization.",
     "Secrets are read from a file, standard input or the terminal, and stored encrypted. If no verify token is given, one is "
     "generated and shown.",
     NULL, secret_options, create_number, &neo_noun_number, NEO_USE_CREATE},
    {"whatsapp", "number change", "Change a number's secrets, display or WhatsApp Business Account.",
     "What is not given is not changed. With --display or --waba-id, secrets are read only if --secrets is given. The "
     "phone_number_id cannot be changed; if it changes at Meta, create a new number.",
     NULL, secret_options, change_number, &neo_noun_number, NEO_USE_CHANGE},
    {"whatsapp", "number list", "List the numbers.", .noun = &neo_noun_number, .use = NEO_USE_LIST},
    {"whatsapp", "number remove", "Remove a number; it can no longer send or receive.",
     "A number with conversations is removed only with --with-conversations. Its opt-outs are kept, and then count for all "
     "numbers of the organization. This cannot be undone.",
     NULL, neo_ctl_remove_options, NULL, &neo_noun_number, NEO_USE_ONE},
    {0},
};
