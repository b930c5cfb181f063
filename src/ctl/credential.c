/* Credentials made and revoked (see ctl/credential.h). */
#include "ctl/credential.h"

#include <string.h>

#include "ctl/change.h"
#include "ctl/output.h"
#include "ctl/session.h"

static void show(const neo_ctl *ctl, const char *id, const char *secret)
{
    neo_json *made = neo_json_make_object(ctl->pool);
    neo_json_set(made, "id", neo_json_make_string(id, ctl->pool));
    neo_json_set(made, "secret", neo_json_make_string(secret, ctl->pool));
    neo_ctl_print(ctl, made);
    neo_ctl_say(ctl, "The secret is shown this once and kept nowhere. A client sends it in the header X-API-Key.");
}

static const char *exec(const neo_ctl *ctl, neo_pg *pg, const char *sql)
{
    neo_rows rows;
    return neo_pg_exec(pg, sql, 0, NULL, ctl->pool, &rows) == NEO_PG_OK ? NULL : rows.message;
}

/* *pg is the connection, which has committed where it was done. */
static neo_ctl_exit create(neo_ctl *ctl, neo_ctl_maker make, neo_pg **connection)
{
    const char *wrong;
    char id[NEO_ID_SIZE], secret[NEO_SECRET_SIZE];
    neo_pg *pg = neo_ctl_open(ctl, &wrong);
    *connection = pg;
    if (pg)
        wrong = exec(ctl, pg, "begin");
    if (!wrong)
        wrong = make(ctl, pg, id, secret);
    if (!wrong) {
        show(ctl, id, secret);
        wrong = neo_ctl_flush(ctl);
        if (!wrong && (wrong = exec(ctl, pg, "commit")))
            return neo_ctl_fail(ctl, "the secret of %s was shown and may not hold: %s", id, wrong);
    }
    return wrong ? neo_ctl_fail(ctl, "%s", wrong) : NEO_CTL_OK; /* what is not committed ends with the connection */
}

neo_ctl_exit neo_ctl_create_credential(neo_ctl *ctl, neo_ctl_maker make)
{
    neo_pg *pg;
    return create(ctl, make, &pg);
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
        neo_ctl_say(ctl, "The old secret has ended.");
    else
        neo_ctl_say(ctl, "The old secret is good for %s seconds more.", grace);
    neo_ctl_await_cache_sync(ctl, pg, "It has another secret");
    return NEO_CTL_OK;
}

const neo_ctl_parameter neo_ctl_rotate_options[] = {
    {"grace", NEO_CTL_GRACE, 0, "86400", "how long the old secret is good beside the new one; 0: it ends at once"},
    {"end-previous", NEO_CTL_FLAG, 0, NULL,
     "also where a secret of an earlier rotation is still promised to be good: it ends at once then"},
    {0},
};

const char *neo_ctl_revoke(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE])
{
    memcpy(id, neo_ctl_value(ctl, "id"), NEO_ID_SIZE);
    const char *wrong = neo_admin_revoke(pg, id, ctl->pool);
    if (!wrong)
        neo_ctl_await_cache_sync(ctl, pg, "It is revoked");
    return wrong;
}
