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

/* Reads the secrets and encrypts them for the number; those that are not given are NULL. */
static const char *read_secrets(const neo_ctl *ctl, const char *id, int is_new, neo_new_number *number,
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
    const char *wrong = neo_keys_read(&keys, neo_ctl_value(ctl, "key-file"), ctl->pool);
    if (wrong)
        return apr_pstrcat(ctl->pool, "--key-file: ", wrong, NULL);
    if ((wrong = neo_ctl_read_secrets(ctl, secrets)))
        return wrong;
    const char *token = secrets[ACCESS_TOKEN].value, *secret = secrets[APP_SECRET].value;
    *verify_token = secrets[VERIFY_TOKEN].value;
    number->access_token = token ? neo_secret_seal(&keys, id, token, ctl->pool) : NULL;
    number->app_secret = secret ? neo_secret_seal(&keys, id, secret, ctl->pool) : NULL;
    if (is_new && !*verify_token) {
        unsigned char bits[32];
        char *made = apr_palloc(ctl->pool, TOKEN_LEN + 1);
        neo_random(bits, sizeof bits);
        neo_base62(bits, sizeof bits, made, TOKEN_LEN);
        *verify_token = made;
    }
    if (*verify_token) {
        char *hex = apr_palloc(ctl->pool, 2 * sizeof hash + 1);
        neo_sha256(*verify_token, strlen(*verify_token), hash);
        neo_hex(hash, sizeof hash, hex);
        number->verify_token_hash = hex;
    }
    explicit_bzero(&keys, sizeof keys);
    return NULL;
}

static const char *exec(const neo_ctl *ctl, neo_pg *pg, const char *sql)
{
    neo_rows rows;
    return neo_pg_exec(pg, sql, 0, NULL, ctl->pool, &rows) == NEO_PG_OK ? NULL : rows.message;
}

/* Commits after the verify token was printed: if it cannot be, the number is not created. */
static neo_ctl_exit create(neo_ctl *ctl)
{
    char id[NEO_ID_SIZE];
    const char *wrong, *verify_token;
    neo_new_number number = {
        .organization = neo_ctl_value(ctl, "organization"),
        .phone_number_id = neo_ctl_value(ctl, "phone-number-id"),
        .waba_id = neo_ctl_value(ctl, "waba-id"),
        .display = neo_ctl_value(ctl, "display"),
    };
    neo_id_issue(id, "wan_");
    neo_pg *pg = neo_ctl_open(ctl, &wrong);
    if (pg && !(wrong = read_secrets(ctl, id, 1, &number, &verify_token)) && !(wrong = exec(ctl, pg, "begin")))
        wrong = neo_admin_create_number(pg, id, &number, ctl->pool);
    if (wrong)
        return neo_ctl_fail(ctl, "%s", wrong);
    neo_json *made = neo_json_make_object(ctl->pool);
    neo_json_set(made, "id", neo_json_make_string(id, ctl->pool));
    neo_json_set(made, "verify_token", neo_json_make_string(verify_token, ctl->pool));
    neo_ctl_print(ctl, made);
    neo_ctl_say(
        ctl, "In the app's WhatsApp settings at Meta, enter the callback's address and this verify token, and subscribe to the "
             "fields messages and user_preferences. The token is shown only once.");
    if ((wrong = neo_ctl_flush(ctl)) || (wrong = exec(ctl, pg, "commit")))
        return neo_ctl_fail(ctl, "%s", wrong);
    return NEO_CTL_OK;
}

static neo_ctl_exit change(neo_ctl *ctl)
{
    const char *wrong, *verify_token, *id = neo_ctl_value(ctl, "number");
    neo_new_number number = {.waba_id = neo_ctl_value(ctl, "waba-id"), .display = neo_ctl_value(ctl, "display")};
    int asks_for_secrets = neo_ctl_value(ctl, "secrets") || (!number.waba_id && !number.display);
    neo_pg *pg = neo_ctl_open(ctl, &wrong);
    if (pg && asks_for_secrets)
        wrong = read_secrets(ctl, id, 0, &number, &verify_token);
    if (!wrong && asks_for_secrets && !number.access_token && !number.app_secret && !number.verify_token_hash)
        wrong = "nothing was changed, because no secret was given";
    if (!wrong)
        wrong = neo_admin_change_number(pg, id, &number, ctl->pool);
    if (wrong)
        return neo_ctl_fail(ctl, "%s", wrong);
    neo_json *done = neo_json_make_object(ctl->pool);
    neo_json_set(done, "id", neo_json_make_string(id, ctl->pool));
    neo_ctl_print(ctl, done);
    return NEO_CTL_OK;
}

/* ---------------------------------------------------------------- the table */

static const neo_ctl_parameter create_arguments[] = {
    {"display", NEO_CTL_NAME, 0, NULL, "the number as displayed: \"+55 11 4000-1234\""},
    {0},
};

/* clang-format off */
#define SECRETS_OPTION                                                                                                         \
    {                                                                                                                          \
        "secrets", NEO_CTL_FILE, 0, NULL,                                                                                      \
            "a file with the lines access_token=..., app_secret=... and verify_token=...; - is standard input"                 \
    }
/* clang-format on */

static const neo_ctl_parameter create_options[] = {
    {"organization", NEO_CTL_ORGANIZATION_ID, NEO_CTL_REQUIRED, NULL, "the organization that uses the number"},
    {"phone-number-id", NEO_CTL_PROVIDER_ID, NEO_CTL_REQUIRED, NULL, "the number's id at Meta"},
    {"waba-id", NEO_CTL_PROVIDER_ID, NEO_CTL_REQUIRED, NULL, "the id of the WhatsApp Business Account at Meta"},
    SECRETS_OPTION,
    NEO_CTL_KEY_FILE_OPTION,
    {0},
};

static const neo_ctl_parameter change_options[] = {
    {"display", NEO_CTL_NAME, 0, NULL, "the number as displayed"},
    {"waba-id", NEO_CTL_PROVIDER_ID, 0, NULL, "the id of the WhatsApp Business Account at Meta"},
    SECRETS_OPTION,
    NEO_CTL_KEY_FILE_OPTION,
    {0},
};

static const neo_ctl_noun number = {
    NEO_ADMIN_NUMBERS, {"number", NEO_CTL_NUMBER_ID, 0, NULL, "the number's id"}, neo_ctl_filtered_by_organization};

const neo_ctl_command neo_ctl_whatsapp[] = {
    {"whatsapp", "number create", "Create a WhatsApp number of an organization.",
     "Secrets are read from a file, standard input or the terminal, and stored encrypted. If no verify token is given, one is "
     "generated and shown.",
     create_arguments, create_options, create, NULL, 0},
    {"whatsapp", "number change", "Change a number's secrets, display or WhatsApp Business Account.",
     "What is not given is not changed. With --display or --waba-id, secrets are read only if --secrets is given. The "
     "phone_number_id cannot be changed; if it changes at Meta, create a new number.",
     NULL, change_options, change, &number, NEO_CTL_CHANGE},
    {"whatsapp", "number list", "List the numbers.", NULL, NULL, NULL, neo_ctl_run_list, &number, NEO_CTL_LIST},
    {"whatsapp", "number remove", "Remove a number; it can no longer send or receive.",
     "A number with conversations is removed only with --with-conversations. Its opt-outs are kept, and then count for all "
     "numbers of the organization. This cannot be undone.",
     NULL, neo_ctl_remove_options, neo_ctl_run_remove, &number, NEO_CTL_WHICH},
    {0},
};
