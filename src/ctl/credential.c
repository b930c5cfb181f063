/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, rotates and revokes credentials (see ctl/credential.h). */
#include "ctl/credential.h"

#include <string.h>

#include "ctl/noun.h"
#include "ctl/output.h"
#include "ctl/session.h"

static void show(const neo_ctl *ctl, const char *id, const char *secret)
{
    neo_json *made = neo_json_make_object(ctl->pool);
    neo_json_set(made, "id", neo_json_make_string(id, ctl->pool));
    neo_json_set(made, "secret", neo_json_make_string(secret, ctl->pool));
    neo_ctl_print(ctl, made);
    neo_ctl_say(ctl, "Store the secret: it is shown only once. Clients send it in the header X-API-Key.");
}

/* Creates a credential, or replaces its secret. */
typedef const char *(*maker)(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE]);

static neo_ctl_exit create(neo_ctl *ctl, maker make, neo_pg **connection)
{
    const char *error;
    char id[NEO_ID_SIZE], secret[NEO_SECRET_SIZE];
    neo_pg *pg = neo_ctl_open(ctl, &error);
    *connection = pg;
    if (pg)
        error = neo_ctl_exec(ctl, pg, "begin");
    if (!error)
        error = make(ctl, pg, id, secret);
    if (!error) {
        show(ctl, id, secret);
        error = neo_ctl_flush(ctl);
        if (!error && (error = neo_ctl_exec(ctl, pg, "commit")))
            return neo_ctl_fail(ctl, "the secret of %s was shown but may not be valid: %s", id, error);
    }
    return error ? neo_ctl_fail(ctl, "%s", error) : NEO_CTL_OK; /* closing the connection rolls back */
}

static const char *insert(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE])
{
    return neo_admin_create_credential(pg, ctl->command->noun->what, neo_ctl_settings(ctl), ctl->pool, id, secret);
}

neo_ctl_exit neo_ctl_create_credential(neo_ctl *ctl)
{
    neo_pg *pg;
    return create(ctl, insert, &pg);
}

static const char *rotate(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE], char secret[NEO_SECRET_SIZE])
{
    memcpy(id, neo_ctl_value(ctl, "id"), NEO_ID_SIZE);
    return neo_admin_rotate(pg, id, neo_ctl_value(ctl, "grace"), neo_ctl_value(ctl, "end-previous") != NULL, ctl->pool, secret);
}

neo_ctl_exit neo_ctl_rotate(neo_ctl *ctl)
{
    neo_pg *pg;
    const char *grace = neo_ctl_value(ctl, "grace");
    neo_ctl_exit status = create(ctl, rotate, &pg);
    if (status != NEO_CTL_OK)
        return status;
    if (strcmp(grace, "0") == 0)
        neo_ctl_say(ctl, "The old secret is no longer valid.");
    else
        neo_ctl_say(ctl, "The old secret stays valid for %s seconds.", grace);
    return neo_ctl_await_cache_sync(ctl, pg, "The secret was replaced");
}

const neo_ctl_parameter neo_ctl_rotate_options[] = {
    {"grace", NEO_CTL_GRACE, 0, "86400", "how long the old secret stays valid; 0: not at all"},
    {"end-previous", NEO_CTL_FLAG, 0, NULL, "end a secret that is still valid from an earlier rotation at once"},
    {0},
};

neo_ctl_exit neo_ctl_revoke(neo_ctl *ctl)
{
    const char *error;
    neo_pg *pg = neo_ctl_open(ctl, &error);
    if (pg)
        error = neo_admin_revoke(pg, neo_ctl_value(ctl, "id"), ctl->pool);
    return neo_ctl_finish_change(ctl, pg, error, "Revoked");
}
