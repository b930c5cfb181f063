/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl portal: manages the portals that may post leads. */
#include <apr_strings.h>
#include <string.h>

#include "core/encode.h"
#include "ctl/noun.h"
#include "ctl/output.h"
#include "ctl/secrets.h"
#include "ctl/session.h"
#include "resources/portal.h"

#define SECRET_LEN 43
#define MIN_SECRET 16 /* characters of a given secret, which is all that protects the address */

/* Sets the hash of the given secret, or of a new one. */
static const char *set_secret(const neo_ctl *ctl, apr_array_header_t *settings, const char **secret)
{
    unsigned char hash[NEO_SHA256_SIZE], bits[32];
    neo_ctl_secret secrets[] = {{"secret", "Secret", 1, 0, NULL}, {0}};
    if (neo_ctl_value(ctl, "secrets")) {
        const char *error = neo_ctl_read_secrets(ctl, secrets);
        if (error)
            return error;
        if (strlen(secrets->value) < MIN_SECRET)
            return apr_psprintf(ctl->pool, "the secret has fewer than %d characters", MIN_SECRET);
        *secret = secrets->value;
    } else {
        char *made = apr_palloc(ctl->pool, SECRET_LEN + 1);
        neo_random(bits, sizeof bits);
        neo_base62(bits, sizeof bits, made, SECRET_LEN);
        *secret = made;
    }
    neo_sha256(*secret, strlen(*secret), hash);
    neo_admin_set(settings, "secret_hash", neo_admin_hash_text(hash, ctl->pool));
    return NULL;
}

/* Commits after the secret was printed. A secret that was given is not printed. */
static neo_ctl_exit print_and_commit(neo_ctl *ctl, neo_pg *pg, const char *id, const char *secret)
{
    const char *error;
    int is_given = neo_ctl_value(ctl, "secrets") != NULL;
    neo_ctl_print(ctl, is_given ? neo_ctl_object(ctl, "id", id, NULL) : neo_ctl_object(ctl, "id", id, "secret", secret, NULL));
    neo_ctl_say(ctl,
                "The portal posts leads to https://HOST/leads/%s, or where SetHandler neoapi-leads is, with this secret as the "
                "password of Basic authentication or as a Bearer token. A secret is not shown again.",
                id);
    if ((error = neo_ctl_flush(ctl)) || (error = neo_ctl_exec(ctl, pg, "commit")))
        return neo_ctl_fail(ctl, "%s", error);
    return NEO_CTL_OK;
}

static neo_ctl_exit create_portal(neo_ctl *ctl)
{
    char id[NEO_ID_SIZE];
    const char *error, *secret;
    apr_array_header_t *settings = neo_ctl_settings(ctl);
    neo_id_issue(id, NEO_PORTAL_PREFIX);
    neo_admin_set(settings, "id", id);
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg && !(error = set_secret(ctl, settings, &secret)) && !(error = neo_ctl_exec(ctl, pg, "begin")))
        error = neo_admin_create(pg, &neo_noun_portal, settings, ctl->pool);
    return error ? neo_ctl_fail(ctl, "%s", error) : print_and_commit(ctl, pg, id, secret);
}

static neo_ctl_exit rotate_portal(neo_ctl *ctl)
{
    const char *error, *secret, *values[] = {neo_ctl_value(ctl, "portal"), NULL};
    apr_array_header_t *settings = neo_admin_settings(ctl->pool, NULL);
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg && !(error = set_secret(ctl, settings, &secret)) && !(error = neo_ctl_exec(ctl, pg, "begin"))) {
        values[1] = APR_ARRAY_IDX(settings, 0, neo_admin_setting).value;
        error = neo_admin_exec_on_one(pg, "update neoapi.lead_portal set secret_hash = $2 where id = $1 returning true", 2,
                                      values, ctl->pool, neo_noun_portal.missing);
    }
    return error ? neo_ctl_fail(ctl, "%s", error) : print_and_commit(ctl, pg, values[0], secret);
}

/* ---------------------------------------------------------------- the table */

static const neo_parameter secret_options[] = {
    {"secrets", NEO_KIND_FILE, 0, NULL, "a file with the line secret=...; - is standard input"},
    {0},
};

const neo_ctl_command neo_ctl_portal[] = {
    {"portal", "create", "Let a portal post leads of an organization.",
     "Without --secrets, a secret is generated and shown. Only its hash is stored. Grupo OLX issues the secret: put it in "
     "FILE.",
     NULL, secret_options, create_portal, &neo_noun_portal, NEO_USE_CREATE},
    {"portal", "list", "List the portals.", .noun = &neo_noun_portal, .use = NEO_USE_LIST},
    {"portal", "rotate", "Replace a portal's secret. The previous one is not accepted any more.", NULL, NULL, secret_options,
     rotate_portal, &neo_noun_portal, NEO_USE_ONE},
    {"portal", "remove", "Remove a portal; its leads are kept.", .noun = &neo_noun_portal, .use = NEO_USE_ONE},
    {0},
};
